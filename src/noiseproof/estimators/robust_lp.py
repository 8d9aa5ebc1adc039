"""The robust linear program as a classifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from noiseproof._deletion import DeletionHinge, DeletionProgram
from noiseproof._docs import shared_docs
from noiseproof.estimators.robust_base import RobustClassifier
from noiseproof.estimators.robust_lp_base import RobustLPModel


@shared_docs
class RobustLPClassifier(RobustClassifier, RobustLPModel):
    """Linear classifier trained for an adversary who deletes features.

    Solves the linear program of Dekel and Shamir 2008, eq. (4), for each class against
    the rest: with feature values v_j, V their sum and P = V - N,

        min (1/(m γ)) Σ_i ξ_i   over ‖w‖_∞ <= C, b and ξ >= 0, subject to
        y_i (b + Σ_{j in J} w_j x_ij) >= γ V(J)/P - ξ_i

    for every row i and every set J of features that remains after the deletion of
    features whose values sum to at most N. If all v_j are 0 or 1, the program is
    equivalent to eq. (3). For other values the adversary may also delete a part of one
    feature, so the minimum is an upper bound of that of eq. (3). The bound on ‖w‖_∞
    spreads the weight over many features.

    Parameters
    ----------
    {budget, feature_values, groups}
        With groups, the budget and the feature values refer to groups. "mutual_info"
        then adds up the values of the members of each group.
    {margin}
        Predicted classes depend on C / γ only.
    C : float, default=1.0
        Maximum absolute value of a weight.
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
    {coef_, intercept_, classes_}
    objective_ : float or array of shape (n_classes,)
        Value of eq. (4) at the solution, on all rows.
    gap_ : float or array of shape (n_classes,)
        The objective is proven to be at most this far above its minimum. With several
        chunks this bounds the loss of accuracy by averaging.
    {n_iter_, feature_values_, budget_, missing_in_training_}

    See Also
    --------
    RobustPerceptron : Learns in one pass, for any number of rows.
    RobustLPRegressor : The same for regression.
    mutual_info_values : Computes feature values from data.
    noiseproof.attacks.FeatureDeletion : The adversary.
    noiseproof.bounds.pac_bayes_risk : Bounds the risk of the model.

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
        **RobustLPModel._parameter_constraints,
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

    def _targets(self, y: Any, weights: Any) -> tuple[Any, Any]:
        labels = self._encode(y)
        return labels, labels

    def _programs(self, targets: Any, **given: Any) -> list[DeletionProgram]:
        margin = float(self.margin)
        return [
            DeletionHinge(y=signs, margin=margin, **given)
            for signs in self._signs(targets)
        ]

    def _chunks(self, labels: Any) -> list[Any]:
        rarest = int(np.bincount(labels).min())
        if self.n_chunks > max(rarest, 1):
            raise ValueError(
                f"n_chunks={self.n_chunks} needs at least that many rows of each "
                f"class, but the rarest class has {rarest}."
            )
        return super()._chunks(labels)
