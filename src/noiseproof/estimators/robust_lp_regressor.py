"""The robust linear program for regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from noiseproof._deletion import DeletionPinball, DeletionProgram, weighted_quantile
from noiseproof._docs import shared_docs
from noiseproof._private import Interval
from noiseproof.estimators.linear import LinearRegressor
from noiseproof.estimators.robust_lp_base import RobustLPModel


@shared_docs
class RobustLPRegressor(LinearRegressor, RobustLPModel):
    """Linear regression trained for an adversary who deletes features.

    Minimises the pinball loss of each row after its worst deletion. This adapts the
    program of Dekel and Shamir 2008 to regression. With feature values v_j, budget N,
    and τ the quantile, the program is

        min (1/m) Σ_i ξ_i   over ‖w‖_∞ <= C, b and ξ, subject to
        ξ_i >=      τ  (y_i - b - Σ_{j in J} w_j x_ij)
        ξ_i >= (τ - 1) (y_i - b - Σ_{j in J} w_j x_ij)

    for every row i and every set J of features that remains after the deletion of
    features whose values sum to at most N, as in eq. (3) for classes. The deletions
    that make a prediction too low and those that make it too high are different. The
    maximum over each kind (eq. 12) is replaced by its dual, as in eq. (4): for a = τ,
    and again for a = τ - 1,

        ξ_i >= a (y_i - b - w·x_i) + N λ_i + Σ_j α_ij
        α_ij >= a w_j x_ij - v_j λ_i,   λ_i >= 0,   α_ij >= 0.

    If all v_j are 0 or 1, this is exact. For other values the adversary may also delete
    a part of one feature, so the minimum is an upper bound of that for deletions of
    whole features. There is no parameter γ as for the classifier, which requires a
    smaller margin after more deletions: a residual counts in full, whatever was
    deleted.

    Parameters
    ----------
    {budget}
    quantile : float, default=0.5
        τ, the quantile to predict. For 0.5 the loss is half the absolute error.
    {feature_values}
        For a regression this is the mutual information between each feature and whether
        the target is above its `quantile`.
    {groups}
        With groups, the budget and the feature values refer to groups. "mutual_info"
        then adds up the values of the members of each group.
    C : float, default=None
        Maximum absolute value of a weight, in units of the target per unit of the
        feature. None means the standard deviation of the target, which suits
        standardised features.
    {fit_intercept}
    n_chunks : int, default=1
        Number of chunks into which the rows are split at random. The program is solved
        for each chunk, and the weights are averaged (bagging, as in the paper).
    solver : {"interior"}, default="interior"
        Algorithm that solves the program: an interior-point method made for it.
    {certified tol, max_iter}
    warm_start : bool, default=False
        Whether to resume the previous call to `fit`, if it was interrupted or less
        accurate and the problem is the same. This keeps the solver's state in memory.
    random_state : int, RandomState instance or None, default=None
        Seed of the split into chunks.
    {missing, verbose}

    Attributes
    ----------
    {single coef_, single intercept_}
    objective_ : float
        Mean pinball loss of the training rows, each after its worst deletion.
    gap_ : float
        The objective is proven to be at most this far above its minimum. With several
        chunks this bounds the loss of accuracy by averaging.
    C_ : float
        The value of C that was used.
    {n_iter_, feature_values_, budget_, missing_in_training_}

    See Also
    --------
    RobustLPClassifier : The same for classification.
    DropoutRidge : Trains for random deletions.
    noiseproof.evaluation.certify : Proves how far deletions can move a prediction.

    {References: Dekel 2008}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof import RobustLPRegressor
    >>> rng = np.random.default_rng(0)
    >>> load = rng.normal(size=200)
    >>> X = load[:, None] + 0.1 * rng.normal(size=(200, 3))  # three meters, one load
    >>> model = RobustLPRegressor(budget=1).fit(X, load)
    >>> model.coef_.round(1)  # no meter can do much harm
    array([0.4, 0.4, 0.4])
    >>> X[:, 0] = 0.0  # one meter fails
    >>> round(model.score(X, load), 2)
    0.96
    """

    _reading: ClassVar[dict[str, Any]] = {"y_numeric": True}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RobustLPModel._parameter_constraints,
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "C": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        budget: float | None = None,
        *,
        quantile: float = 0.5,
        feature_values: Any = None,
        groups: Any = None,
        C: float | None = None,
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
        self.quantile = quantile
        self.feature_values = feature_values
        self.groups = groups
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

    def _targets(self, y: Any, weights: Any) -> tuple[Any, Any]:
        y = y.astype(np.float64)
        middle = weighted_quantile(y, self.quantile, weights)
        return y, (y > middle).astype(np.int64)

    def _programs(self, targets: Any, **given: Any) -> list[DeletionProgram]:
        return [DeletionPinball(y=targets, quantile=float(self.quantile), **given)]

    def _box(self, targets: Any, weights: Any) -> float:
        mean = np.average(targets, weights=weights)
        spread = np.sqrt(np.average((targets - mean) ** 2, weights=weights))
        self.C_ = (float(spread) or 1.0) if self.C is None else float(self.C)
        return self.C_

    def _chunks(self, labels: Any) -> list[Any]:
        if self.n_chunks > len(labels):
            raise ValueError(
                f"n_chunks={self.n_chunks} needs at least that many rows, but there "
                f"are only {len(labels)}."
            )
        return super()._chunks(labels)

    def _unpack(self, results: Any, dtype: Any) -> None:
        super()._unpack(results, dtype)
        self.coef_ = self.coef_[0]
        self.intercept_ = float(results[0].b)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # on data with a single informative feature, which the adversary deletes
        tags.regressor_tags.poor_score = True
        return tags
