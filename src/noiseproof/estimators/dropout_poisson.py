"""Poisson regression under noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof._rows import Array, by_blocks, given
from noiseproof.estimators.marginal import MarginalRegressor


@shared_docs
class DropoutPoissonRegressor(MarginalRegressor):
    """Poisson regression (log link) trained on infinitely many corrupted copies.

    Minimises

        ½ ‖w‖² + C Σ_i s_i E[exp(w·x~_i + b) - y_i (w·x~_i + b)]

    where x~ is x after noise and s_i is the weight of row i (Wager et al. 2013, eq. 4).

    Parameters
    ----------
    {noise, C}
    expectation : {"exact", "taylor"}, default="exact"
        How the expectation is computed. "exact" is exact for every noise. "taylor" is
        the quadratic penalty of Wager et al., which is not convex where noise makes the
        variance of a score exceed 2.
    {fit_intercept}
    solver : {"newton", "lbfgs"}, default="newton"
        Algorithm that minimises the objective. Both reach the same minimum.
    {tol, max_iter, warm_start, unlabeled_weight, missing, verbose}

    Attributes
    ----------
    {single coef_, single intercept_, single objective_, n_iter_, noise_}
    {missing_in_training_}

    See Also
    --------
    DropoutRidge : Quadratic loss.
    penalty : Computes the penalty that noise amounts to.

    {References: Wager 2013}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof import DropoutPoissonRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = DropoutPoissonRegressor(noise=0.1, C=10.0).fit(X, [1, 3, 7, 20])
    >>> model.predict(X).round(1)
    array([ 2.1,  4. ,  7.7, 14.7])
    """

    _loss = "poisson"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginalRegressor._parameter_constraints,
        "expectation": [str],
    }

    def __init__(
        self,
        noise: Any = 0.5,
        *,
        C: float = 1.0,
        expectation: str = "exact",
        fit_intercept: bool = True,
        solver: str = "newton",
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        unlabeled_weight: float = 0.4,
        missing: str = "allow",
        verbose: int = 0,
    ):
        self.noise = noise
        self.C = C
        self.expectation = expectation
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.unlabeled_weight = unlabeled_weight
        self.missing = missing
        self.verbose = verbose

    def _targets(self, y: Any, weights: Array) -> tuple[Any, Array]:
        lowest = float(y.min())
        if lowest < 0:
            raise ValueError(
                "DropoutPoissonRegressor needs non-negative targets, but y has a "
                f"minimum of {lowest:g}."
            )
        return super()._targets(y, weights)

    @by_blocks
    def predict(self, X: Any) -> Array:
        """Predicted mean of the target, exp(w·x + b).

        {(X) -> predictions}
        """
        return given(np.exp(self._scores(X)[:, 0]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
