"""Exponential loss under noise (MCF-Exponential)."""

from __future__ import annotations

from typing import Any

from noiseproof._docs import shared_docs
from noiseproof.estimators.marginal import MarginalClassifier


@shared_docs
class DropoutExponentialClassifier(MarginalClassifier):
    """Exponential-loss classifier trained on infinitely many corrupted copies.

    Minimises

        ½ ‖w‖² + C Σ_i s_i E[exp(-y_i (w·x~_i + b))]

    for each class against the rest, where x~ is x after noise and s_i is the weight of
    row i. This is MCF-Exponential of van der Maaten et al. 2013. The expectation is
    exact for every noise.

    Parameters
    ----------
    {noise, C, fit_intercept}
    solver : {"newton", "lbfgs"}, default="newton"
        Algorithm that minimises the objective. Both reach the same minimum.
    {tol, max_iter, warm_start, class_weight, missing, verbose}

    Attributes
    ----------
    {coef_, intercept_, classes_, objective_, n_iter_, noise_, missing_in_training_}

    See Also
    --------
    DropoutSVC : Hinge loss.
    DropoutLogisticRegression : Logistic loss, with probabilities.
    DropoutRidgeClassifier : Quadratic loss.

    {References: Maaten 2013}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from noiseproof import DropoutExponentialClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X = MaxAbsScaler().fit_transform(X)
    >>> model = DropoutExponentialClassifier(noise=0.1).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    0.93
    """

    _loss = "exponential"

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
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.missing = missing
        self.verbose = verbose
