"""Support vector classification against the worst transformation of each row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from noiseproof._docs import shared_docs
from noiseproof._invariant import (
    INVARIANT_SOLVERS,
    AttackedRisk,
    InvariantResult,
    KernelRisk,
    ListedRisk,
    class_weights,
    list_candidates,
    make_costs,
    merge_equal_rows,
)
from noiseproof._private import (
    WRAPPERS,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_parameters,
    with_callbacks,
)
from noiseproof._rows import (
    Array,
    as_dense,
    n_stored,
    one_blas_thread,
    read_new,
    read_training,
    read_weights,
    remember_missing,
    values,
    without_zeros,
    zero_missing,
)
from noiseproof._stop import Stop, reporting
from noiseproof.attacks import Attack
from noiseproof.estimators.linear import LinearClassifier

_ENTRIES = 2**22  # of a kernel matrix made at a time


class InvariantEstimator(CallbackSupportMixin):
    """Minimise Σ_i p_i l_i(f) + α/2 ‖f‖², where l_i is the loss at the worst transform.

    Base class of `InvariantSVC` and `StructuredSVM`.
    """

    attack: Attack | None
    alpha: float
    solver: str
    tol: float
    max_iter: int
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "attack": [Attack, None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions(set(INVARIANT_SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _solve(self, risk: Any, X: Any, y: Any) -> InvariantResult:
        rng = check_random_state(self.random_state)
        # matrix products are small here, so that several BLAS threads would be slower
        with reporting(self, X, y) as report, one_blas_thread():
            stop = Stop(self.tol, self.max_iter, report)
            result = INVARIANT_SOLVERS[self.solver](risk, stop, rng)
        self.objective_ = result.value
        self.gap_ = max(0.0, result.value - result.bound)
        self.n_cuts_, self.n_iter_ = result.n_cuts, result.n_iter
        if not (result.converged or result.stopped):
            warnings.warn(
                f"{type(self).__name__} stopped after {result.n_iter} iterations, "
                f"before its gap was below tol={self.tol:g} (see gap_); increase "
                "max_iter, alpha or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=3 + WRAPPERS,
            )
        return result


@shared_docs
class InvariantSVC(InvariantEstimator, LinearClassifier):
    """Multiclass support vector machine trained against an attack.

    Each training row is replaced by the version that the attack allows and that is the
    worst for the model (Teo et al. 2008). Let f(x, y) be the score of class y, and p_i
    the weight of row i: 1/n, or proportional to `sample_weight`. The objective is

        Σ_i p_i max over s, y' of { Γ(y_i, y') [f(s(x_i), y') - f(s(x_i), y_i)]
                                    + Δ(y_i, y', s) }  +  α/2 ‖f‖²        (eq. 2, 5)

    where s runs over the transforms that the attack allows. The norm is that of the
    joint kernel [y = y'] k(x, x'). As in the paper there is no intercept. If you need
    one, add a constant feature, but be aware that the attack may change it, too.
    Without an attack this is the multiclass SVM of Crammer and Singer. For two classes
    with scores ±w·x/2 it is the usual SVM with penalty α/4 ‖w‖².

    Parameters
    ----------
    {attack}
    kernel : {"linear", "rbf"} or callable, default="linear"
        The kernel k. A callable takes two sets of rows and returns their kernel matrix.
        Kernels other than "linear" need an attack that lists its candidates.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernel exp(-gamma ‖x - x'‖²), as in scikit-learn's `SVC`.
    {alpha}
    margin_scale : array-like of shape (k, k) or callable Γ(y, y'), default=None
        Scale of the margin between two classes, not negative, with classes in sorted
        order. None means 1.
    label_cost : array-like or callable Δ(y, y', s), default=None
        Cost of predicting class y' for a row of class y: an array of shape (k, k), or
        of shape (k, k, n_transforms) with transforms in the order of the attack's
        candidates. A callable takes two labels and the index s of the transform, which
        is None if the attack lists no candidates. None means a cost of 1 for every
        wrong class.
    solver : {"column_generation", "bundle", "pegasos"}, default="column_generation"
        Algorithm that minimises the objective. "column_generation" is algorithm 1 of
        the paper. "bundle" is a bundle method, for the linear kernel only. "pegasos" is
        algorithm 2 of the paper, which is stochastic and of low accuracy.
    {certified tol}
    max_iter : int, default=1000
        Maximum number of rounds ("column_generation", "bundle") or of passes over the
        rows ("pegasos").
    cache_size : float, default=1000
        Size in megabytes of the cache of kernel rows or, for the linear kernel, of
        candidates.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the rows. Only used by "pegasos".
    {missing, verbose}

    Attributes
    ----------
    classes_ : array of shape (k,)
        Class labels.
    coef_, intercept_ : arrays of shape (k, n_features) and (k,), or (1, ...) for k = 2
        Weights, and intercepts of zero. Only for the linear kernel.
    support_ : array of int
        Index of the training row that each support vector is a transform of. For the
        linear kernel, each training row that influences the solution is listed once.
        For other kernels, several transforms of a row may be support vectors.
    n_support_ : array of int of shape (k,)
        Number of support vectors of each class.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        The transformed rows that define f. Their coefficients are in `dual_coef_`, of
        shape (n_support, k), or (n_support, 1) for k = 2. Not for the linear kernel.
    gamma_ : float
        The value of gamma that was used. Not for the linear kernel.
    objective_ : float
        Value of the objective at the solution.
    gap_ : float
        The objective is proven to be at most this far above its minimum, provided that
        the attack finds the worst transform.
    {n_cuts_, n_iter_, missing_in_training_}

    See Also
    --------
    StructuredSVM : The same for sequences and other structured outputs.
    VirtualExamples : Trains any model on all transformed copies.
    VirtualSupportVectors : Trains an SVM on transforms of its support vectors.
    noiseproof.attacks.digit_invariances : Transforms images of digits.

    {References: Teo 2008}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from noiseproof import InvariantSVC
    >>> from noiseproof.attacks import FeatureDeletion, ImageShift
    >>> X, y = load_digits(return_X_y=True)
    >>> X = X / 16
    >>> model = InvariantSVC(FeatureDeletion(3)).fit(X[:300], y[:300])
    >>> model.gap_ <= 1e-3 * model.objective_
    True
    >>> shifts = ImageShift(1, shape=(8, 8))
    >>> model = InvariantSVC(shifts, kernel="rbf", alpha=1e-3).fit(X[:100], y[:100])
    >>> plain = InvariantSVC(kernel="rbf", alpha=1e-3).fit(X[:100], y[:100])
    >>> model.score(X[1000:], y[1000:]) > plain.score(X[1000:], y[1000:])
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **InvariantEstimator._parameter_constraints,
        "kernel": [StrOptions({"linear", "rbf"}), callable],
        "gamma": [
            StrOptions({"scale", "auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "margin_scale": ["array-like", callable, None],
        "label_cost": ["array-like", callable, None],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "missing": [StrOptions({"allow", "warn", "error"})],
    }

    def __init__(
        self,
        attack: Attack | None = None,
        *,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: str | float = "scale",
        alpha: float = 0.01,
        margin_scale: Any = None,
        label_cost: Any = None,
        solver: str = "column_generation",
        tol: float = 1e-3,
        max_iter: int = 1000,
        cache_size: float = 1000,
        random_state: Any = None,
        missing: str = "allow",
        verbose: int = 0,
    ):
        self.attack = attack
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.margin_scale = margin_scale
        self.label_cost = label_cost
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.missing = missing
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        {(X, y, sample_weight) -> self}
        """
        check_parameters(self)
        self._check_combination()
        for name in ("coef_", "intercept_", "support_vectors_", "dual_coef_", "gamma_"):
            self.__dict__.pop(name, None)  # an earlier fit may have used another kernel
        X, y = read_training(self, X, y)
        weights = read_weights(sample_weight, X)
        counted, dtype = np.flatnonzero(weights), X.dtype
        labels = self._encode(y[counted])
        if remember_missing(self, X, afresh=True):
            X = zero_missing(X)
        X = without_zeros(X)[counted].astype(np.float64, copy=False)
        first, mass = merge_equal_rows(X, labels, weights[counted])
        X, labels, rows = X[first], labels[first], counted[first]
        risk = self._risk(X, labels, mass / mass.sum())
        result = self._solve(risk, X, y)
        if self.kernel == "linear":
            self._keep_weights(result.function, dtype)
            owner = np.flatnonzero(result.weights > 0)
        else:
            owner = self._keep_points(risk, *result.function)
        self.support_ = rows[owner]
        self.n_support_ = np.bincount(labels[owner], minlength=len(self.classes_))
        return self

    def _check_combination(self) -> None:
        if self.kernel == "linear":
            return
        if self.solver == "bundle":
            raise ValueError(
                f"solver='bundle' needs kernel='linear'; for kernel={self.kernel!r} "
                "use 'column_generation' or 'pegasos'."
            )
        if self.attack is not None and not self.attack.is_finite:
            raise ValueError(
                f"kernel={self.kernel!r} needs an attack that lists its candidates, "
                f"and {type(self.attack).__name__} does not; use kernel='linear'."
            )

    def _risk(self, X: Any, labels: Any, mass: Array) -> Any:
        listed = None if self._too_many(X) else list_candidates(self.attack, X)
        n_transforms = None if listed is None else int(listed.counts.max())
        costs = make_costs(
            self.margin_scale, self.label_cost, self.classes_, n_transforms
        )
        alpha = float(self.alpha)
        if listed is None:
            names = getattr(self, "feature_names_in_", range(X.shape[1]))
            attack = self.attack and self.attack.on(names)
            return AttackedRisk(X, attack, labels, costs, mass, alpha)
        if self.kernel == "linear":
            return ListedRisk(listed, labels, costs, mass, alpha)
        self.gamma_ = self._settled_gamma(X)
        limit = 2.0**20 * self.cache_size
        return KernelRisk(listed, labels, costs, mass, alpha, self._kernel(), limit)

    def _too_many(self, X: Any) -> bool:
        """Whether candidates exceed the cache, so that each round makes them anew."""
        by_transform = callable(self.label_cost) or np.ndim(self.label_cost) == 3
        if self.kernel != "linear" or by_transform or self.attack is None:
            return False
        if not self.attack.is_finite:
            return False
        ways = len(self.attack.candidates(as_dense(X[[0]])[0]))
        return bool(8 * n_stored(X) * ways > 2.0**20 * self.cache_size)

    def _settled_gamma(self, X: Any) -> float:
        """Turn "scale" into 1 / (d · variance of X) and "auto" into 1 / d."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        variance, stored, size = 1.0, values(X), X.shape[0] * X.shape[1]
        if self.gamma == "scale":
            mean = stored.sum() / size
            zeros = (size - stored.size) * mean**2
            variance = float(np.square(stored - mean).sum() + zeros) / size
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0

    def _kernel(self) -> Callable[[Any, Any], Any]:
        """The matrix k(x, x') of two sets of rows."""
        if callable(self.kernel):
            return self.kernel
        return partial(rbf_kernel, gamma=self.gamma_)

    def _keep_weights(self, w: Array, dtype: Any) -> None:
        W = class_weights(w, len(self.classes_))
        coef = W if len(W) > 2 else W[1:] - W[:1]
        self.coef_ = np.ascontiguousarray(coef, dtype=dtype)
        self.intercept_ = np.zeros(len(coef), dtype=dtype)

    def _keep_points(self, risk: KernelRisk, points: Any, A: Array) -> Any:
        """Keep the support vectors and their coefficients.

        Returns the training row that each is a transform of.
        """
        used = np.abs(A).max(axis=1, initial=0.0) > 0
        points, A = points[used], A[used]
        self.support_vectors_ = risk.candidates.X[points]
        self.dual_coef_ = A if A.shape[1] > 2 else A[:, 1:] - A[:, :1]
        return risk.candidates.owner[points]

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self, ["coef_", "dual_coef_"], all_or_any=any)
        if hasattr(self, "coef_"):
            return super()._scores(X)
        X, kernel, A = read_new(self, X), self._kernel(), self.dual_coef_
        scores = np.zeros((X.shape[0], A.shape[1]))
        if len(A):
            for rows in gen_batches(len(scores), max(1, _ENTRIES // len(A))):
                scores[rows] = np.asarray(kernel(X[rows], self.support_vectors_)) @ A
        return scores
