"""Dropout-SVM."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from noiseproof._docs import shared_docs
from noiseproof._private import Interval
from noiseproof.estimators.marginal import MarginalClassifier


@shared_docs
class DropoutSVC(MarginalClassifier):
    """Linear SVM trained on infinitely many corrupted copies of the data.

    Minimises

        ½ ‖w‖² + C Σ_i s_i E[max(0, margin - y_i (w·x~_i + b))]

    for each class against the rest, where x~ is x after noise, at about the price of
    one clean fit (Chen et al. 2014, "Dropout training for support vector machines").
    C is the paper's c.

    Parameters
    ----------
    {noise, C}
    margin : float, default=1.0
        Score that a row needs to cost nothing, the paper's ℓ.
    expectation : {"variational", "gaussian"}, default="variational"
        The paper's upper bound; or the exact value for a score that noise makes
        Gaussian, an approximation for other noises.
    {fit_intercept, solver, tol, max_iter, warm_start, class_weight, missing, verbose}

    Attributes
    ----------
    {coef_, intercept_, classes_, objective_, n_iter_, noise_, missing_in_training_}

    See Also
    --------
    DropoutLogisticRegression : Logistic loss, with probabilities.
    CorruptedCopies : Finitely many copies, for any model.
    RobustLPClassifier : For the worst case in place of the average one.
    noiseproof.evaluation.certify : How many features must go to change a prediction.

    {References: Chen 2014}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from noiseproof import DropoutSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> X = MaxAbsScaler().fit_transform(X)
    >>> model = DropoutSVC(noise=0.1).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    0.91
    """

    _loss = "hinge"
    _loss_parameters = ("margin",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginalClassifier._parameter_constraints,
        "expectation": [str],
        "margin": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        noise: Any = 0.5,
        *,
        C: float = 1.0,
        margin: float = 1.0,
        expectation: str = "variational",
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
        self.margin = margin
        self.expectation = expectation
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.missing = missing
        self.verbose = verbose
