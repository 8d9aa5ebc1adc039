"""Linear SVM under noise (Dropout-SVM)."""

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

    for each class against the rest, where x~ is x after noise and s_i is the weight of
    row i (Chen et al. 2014). This takes about as long as a single fit on clean data. C
    is the paper's c.

    Parameters
    ----------
    {noise, C}
    margin : float, default=1.0
        The margin ℓ of the hinge loss: a row with y (w·x + b) >= margin has no loss.
    expectation : {"variational", "gaussian"}, default="variational"
        How the expectation is computed. "variational": the upper bound of the paper.
        "gaussian": the exact value if noise makes the score Gaussian, and an
        approximation otherwise.
    {fit_intercept, solver, tol, max_iter, warm_start, class_weight, missing, verbose}

    Attributes
    ----------
    {coef_, intercept_, classes_, objective_, n_iter_, noise_, missing_in_training_}

    See Also
    --------
    DropoutLogisticRegression : Logistic loss, with probabilities.
    CorruptedCopies : Trains any estimator on finitely many copies.
    RobustLPClassifier : Trains for the worst case instead of the average case.
    noiseproof.evaluation.certify : Finds how many deletions change a prediction.

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
