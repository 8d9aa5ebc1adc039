"""Ridge regression under noise."""

from __future__ import annotations

from typing import Any

from noiseproof._docs import shared_docs
from noiseproof.estimators.marginal import MarginalRegressor


@shared_docs
class DropoutRidge(MarginalRegressor):
    """Ridge regression trained on infinitely many corrupted copies of the data.

    Minimises

        ½ ‖w‖² + C Σ_i s_i E[½ (w·x~_i + b - y_i)²]

    where x~ is x after noise and s_i is the weight of row i. This is the Gaussian
    generalised linear model of Wager et al. 2013. The expectation is exact for every
    noise. Without noise it is ridge regression with alpha = 1 / C.

    Parameters
    ----------
    {noise, C, fit_intercept, solver, tol, max_iter, warm_start, unlabeled_weight}
    {missing, verbose}

    Attributes
    ----------
    {single coef_, single intercept_, single objective_, n_iter_, noise_}
    {missing_in_training_}

    See Also
    --------
    DropoutPoissonRegressor : For counts.
    DropoutRidgeClassifier : The same loss for classes.
    penalty : Computes the penalty that noise amounts to.

    {References: Wager 2013}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from noiseproof import DropoutRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DropoutRidge(noise=0.1, C=100.0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.51
    """

    _loss = "quadratic"

    def __init__(
        self,
        noise: Any = 0.5,
        *,
        C: float = 1.0,
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
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.unlabeled_weight = unlabeled_weight
        self.missing = missing
        self.verbose = verbose
