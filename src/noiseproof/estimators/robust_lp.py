"""The robust linear program as a classifier."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from noiseproof._deletion import (
    ROBUST_LP_SOLVERS,
    DeletionHinge,
    RobustLPResult,
    in_chunks,
    solve_groups,
)
from noiseproof._docs import shared_docs
from noiseproof._private import (
    WRAPPERS,
    Interval,
    StrOptions,
    check_parameters,
    with_callbacks,
)
from noiseproof._rows import (
    read_training,
    read_weights,
    remember_missing,
    stored_rows,
    without_zeros,
)
from noiseproof._stop import Stop, reporting
from noiseproof.estimators.robust_base import RobustClassifier


@shared_docs
class RobustLPClassifier(RobustClassifier):
    """Linear classifier that anticipates the deletion of its best features.

    Solves the linear program of Dekel and Shamir 2008, eq. (4), for each class against
    the rest: with feature values v_j, V their sum and P = V - N,

        min (1/(m γ)) Σ_i ξ_i   over ‖w‖_∞ <= C, b and ξ >= 0, subject to
        y_i (b + Σ_{j in J} w_j x_ij) >= γ V(J)/P - ξ_i

    for every row i and every set J of features that is left after deleting features
    worth up to N. For v_j in {0, 1} this is exact (eq. 3); for other values the
    adversary may also delete a part of one feature, so the value bounds that of eq. (3)
    from above. A bounded ‖w‖_∞ spreads the weight over many features.

    Parameters
    ----------
    {budget, feature_values, groups}
        Budget and values then count groups, and "mutual_info" adds up the values of the
        members of each. HiGHS solves the program in one chunk, whatever `solver` says.
    {margin}
        Only C / γ matters for the decisions.
    C : float, default=1.0
        Largest weight of a feature, in absolute value.
    {fit_intercept}
    n_chunks : int, default=1
        Split the rows at random into so many parts, solve each, and average the
        weights: the paper's bagging.
    solver : {"interior"}, default="interior"
        An interior-point method made for this program.
    {certified tol, max_iter}
    warm_start : bool, default=False
        Whether to continue the last solve, if it was interrupted or less accurate and
        the problem is the same. Keeps the solver's state in memory.
    random_state : int, RandomState instance or None, default=None
        Seed of the split into chunks.
    {missing, verbose}

    Attributes
    ----------
    {coef_, intercept_, classes_}
    objective_ : float or array of shape (n_classes,)
        Value of eq. (4) at the weights, on all rows.
    gap_ : float or array of shape (n_classes,)
        The objective is proven to be at most this far above its minimum; with chunks,
        this is what the averaging may have cost.
    {n_iter_, feature_values_, budget_, missing_in_training_}

    See Also
    --------
    RobustPerceptron : One pass, for any number of rows.
    mutual_info_values : Values of features from data.
    noiseproof.attacks.FeatureDeletion : The adversary.
    noiseproof.bounds.pac_bayes_risk : A bound on the risk of the model.

    {References: Dekel 2008}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof import RobustLPClassifier
    >>> from noiseproof.datasets import make_leaky_labels
    >>> X, y = make_leaky_labels(random_state=0)
    >>> values = np.r_[np.ones(20), 10, 10]
    >>> model = RobustLPClassifier(20, feature_values=values, C=3.0).fit(X, y)
    >>> X[:, 20:] = 0.0  # the two features that knew the label
    >>> round(model.score(X, y), 2)
    0.78
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RobustClassifier._parameter_constraints,
        "n_chunks": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions(set(ROBUST_LP_SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        budget: float | None = None,
        *,
        feature_values: Any = None,
        groups: Any = None,
        margin: float = 1.0,
        C: float = 1.0,
        fit_intercept: bool = True,
        n_chunks: int = 1,
        solver: str = "interior",
        tol: float = 1e-6,
        max_iter: int = 200,
        warm_start: bool = False,
        random_state: Any = None,
        missing: str = "allow",
        verbose: int = 0,
    ):
        self.budget = budget
        self.feature_values = feature_values
        self.groups = groups
        self.margin = margin
        self.C = C
        self.fit_intercept = fit_intercept
        self.n_chunks = n_chunks
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.missing = missing
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        {(X, y, sample_weight) -> self}
        """
        check_parameters(self)
        X, y = read_training(self, X, y)
        weights = read_weights(sample_weight, X)
        counted = weights > 0
        if not counted.all():
            X, y, weights = X[counted], y[counted], weights[counted]
        labels = self._encode(y)
        self._set_adversary(X, labels, weights)
        if self.groups is not None and self.n_chunks > 1:
            raise ValueError(
                "With groups the program is solved in one chunk; use n_chunks=1."
            )
        chunks = self._chunks(labels)
        remember_missing(self, X, afresh=True)
        rows = without_zeros(stored_rows(X).astype(np.float64, copy=False))
        adversary = self.feature_values_, self.budget_, float(self.margin)
        box = float(self.C), bool(self.fit_intercept)
        programs = [
            DeletionHinge(rows, signs, weights, *adversary, *box)
            for signs in self._signs(labels)
        ]
        with reporting(self, X, y) as report:
            stop = Stop(self.tol, self.max_iter, report)
            results = self._solve(programs, chunks, stop)
        self._unpack(results, X.dtype)
        if any(result.interrupted for result in results):
            raise KeyboardInterrupt
        if not all(result.converged for result in results):
            self._warn()
        return self

    def _chunks(self, labels: Any) -> list[Any]:
        """Rows of each chunk, every class dealt out evenly."""
        if self.n_chunks == 1:
            return [np.arange(len(labels))]
        rarest = int(np.bincount(labels).min())
        if self.n_chunks > rarest:
            raise ValueError(
                f"n_chunks={self.n_chunks} needs that many rows of each class, but the "
                f"rarest class has {rarest}."
            )
        rng = check_random_state(self.random_state)
        shuffled = rng.permutation(len(labels))
        dealt = shuffled[np.argsort(labels[shuffled], kind="stable")]
        return [np.sort(dealt[c :: self.n_chunks]) for c in range(self.n_chunks)]

    def _solve(
        self, programs: list[DeletionHinge], chunks: list[Any], stop: Stop
    ) -> list[RobustLPResult]:
        """One program after the other; after an interrupt the rest stay at zero."""
        states = getattr(self, "_states", None) if self.warm_start else None
        if states is None or np.shape(states) != (len(programs), len(chunks)):
            states = [None] * len(programs)
        solver = ROBUST_LP_SOLVERS[self.solver]
        results = []
        for program, state in zip(programs, states, strict=True):
            if self._labels is not None:
                results.append(solve_groups(program, self._labels, stop))
                continue
            results.append(in_chunks(program, chunks, solver, stop, state))
            if results[-1].interrupted:
                stop = replace(stop, max_iter=0)
        if self.warm_start:
            self._states = [result.state for result in results]
        return results

    def _unpack(self, results: list[RobustLPResult], dtype: Any) -> None:
        self.coef_ = np.array([result.w for result in results], dtype=dtype)
        self.intercept_ = np.array([result.b for result in results], dtype=dtype)
        value = np.array([result.value for result in results])
        gap = value - [result.bound for result in results]
        single = len(results) == 1
        self.objective_ = float(value[0]) if single else value
        self.gap_ = float(gap[0]) if single else gap
        self.n_iter_ = sum(result.n_iter for result in results)

    def _warn(self) -> None:
        warnings.warn(
            f"RobustLPClassifier stopped after {self.n_iter_} iterations, before its "
            f"gap was below tol={self.tol:g} (see gap_); increase max_iter, loosen tol "
            "or scale the features.",
            ConvergenceWarning,
            stacklevel=3 + WRAPPERS,
        )

    def __getstate__(self) -> Any:
        """Without the solver's state, which is large and for this process only."""
        state = super().__getstate__()
        return {name: part for name, part in state.items() if name != "_states"}
