"""Dropout-Logistic, MCF-Logistic and the quadratic dropout penalty."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from noiseproof._rows import Array, given
from noiseproof.estimators.marginal import MarginalClassifier


class DropoutLogisticRegression(MarginalClassifier):
    """Logistic regression trained on infinitely many corrupted copies of the data.

    Minimises

        ½ ‖w‖² + C Σ_i s_i E[log(1 + exp(-y_i (w·x~_i + b)))]

    for each class against the rest, where x~ is x after noise (Chen et al. 2014;
    Wager et al. 2013). C is half of Chen's c.

    Parameters
    ----------
    noise : float, Noise or None, default=0.5
        What may happen to a feature after training: a number is the rate of
        `noiseproof.noise.Dropout`, None means no noise.
    C : float, default=1.0
        Weight of the data against the penalty.
    expectation : {"variational", "jensen", "taylor", "gaussian"}, default="variational"
        Upper bound of Chen et al.; upper bound of van der Maaten et al.
        (MCF-Logistic); quadratic penalty of Wager et al. (not convex); or the exact
        value for a score that noise makes Gaussian.
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
    unlabeled_weight : float, default=0.4
        What a row of `X_unlabeled` counts in the noising penalty against a labelled
        one, the paper's α.
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
    missing_in_training_ : array of bool of shape (n_features,)
        Which features were missing in some training row.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from noiseproof import DropoutLogisticRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> X = MaxAbsScaler().fit_transform(X)
    >>> model = DropoutLogisticRegression(noise=0.1).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    0.92
    """

    _loss = "logistic"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginalClassifier._parameter_constraints,
        "expectation": [str],
    }

    def __init__(
        self,
        noise: Any = 0.5,
        *,
        C: float = 1.0,
        expectation: str = "variational",
        fit_intercept: bool = True,
        solver: str = "newton",
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.unlabeled_weight = unlabeled_weight
        self.missing = missing
        self.verbose = verbose

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class.

        For several classes the one-vs-rest probabilities are scaled to sum to one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to classify; a missing feature (NaN) adds nothing to a score.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return given(self._probabilities(X))

    def _probabilities(self, X: Any) -> Array:
        p = expit(self._scores(X))
        if p.shape[1] == 1:
            return np.hstack([1 - p, p])
        # every score may be so low that all probabilities vanish
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1), 1 / p.shape[1])

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        log_probabilities : array of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return given(np.log(self._probabilities(X)))
