"""Dropout-SVM."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from noiseproof._private import Interval
from noiseproof.estimators.marginal import MarginalClassifier


class DropoutSVC(MarginalClassifier):
    """Linear SVM trained on infinitely many corrupted copies of the data.

    Minimises

        ½ ‖w‖² + C Σ_i s_i E[max(0, margin - y_i (w·x~_i + b))]

    for each class against the rest, where x~ is x after noise, at about the price of
    one clean fit (Chen et al. 2014, "Dropout training for support vector machines").
    C is the paper's c.

    Parameters
    ----------
    noise : float, "auto", dict, Noise or None, default=0.5
        What may happen to a feature after training: a number is the rate of
        `noiseproof.noise.Dropout`, "auto" a rate from the numbers of rows and
        features, a dictionary has rates by name, and None means no noise.
    C : float, default=1.0
        Weight of the data against the penalty.
    margin : float, default=1.0
        Score that a row needs to cost nothing, the paper's ℓ.
    expectation : {"variational", "gaussian"}, default="variational"
        The paper's upper bound; or the exact value for a score that noise makes
        Gaussian, an approximation for other noises.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is neither penalised nor noised.
    solver : {"newton", "lbfgs", "irls"}, default="newton"
        How to minimise. All reach the same optimum; "irls" is the papers' own
        algorithm.
    tol : float, default=1e-6
        Relative accuracy of the objective: the solver stops when what a Newton step
        could still gain is below `tol` times the objective.
    max_iter : int, default=1000
        Steps allowed before a `ConvergenceWarning`.
    warm_start : bool, default=False
        Whether to start from the last solution.
    class_weight : dict, "balanced" or None, default=None
        Weight of the rows of each class.
    missing : {"allow", "warn", "error"}, default="allow"
        What to do with NaN in X, which means that the feature is not there and adds
        nothing to the score: allow it, warn where the feature was never missing in
        training, or refuse it.
    verbose : int, default=0
        Whether to print a line per step.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : array of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : array of shape (n_classes,)
        Class labels.
    objective_ : float or array of shape (n_classes,)
        The minimised value, one per one-vs-rest problem.
    n_iter_ : int
        Steps taken.
    noise_ : Noise
        The noise that was trained for, with its rate.
    missing_in_training_ : array of bool of shape (n_features,)
        Which features were missing in some training row.

    See Also
    --------
    DropoutLogisticRegression : Logistic loss, with probabilities.
    CorruptedCopies : Finitely many copies, for any model.
    RobustLPClassifier : For the worst case in place of the average one.
    noiseproof.evaluation.certify : How many features must go to change a prediction.

    References
    ----------
    N. Chen, J. Zhu, J. Chen and B. Zhang, "Dropout training for support vector
    machines", AAAI Conference on Artificial Intelligence, 2014.

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
