"""Logistic regression under noise (Dropout-Logistic, MCF-Logistic and others)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import brentq

from noiseproof._docs import shared_docs
from noiseproof._rows import Array, by_blocks, expit, given, host, is_lazy
from noiseproof.estimators.marginal import MarginalClassifier

_LARGEST_SCALE = 2.0**20  # where the search for `scale_` gives up


@shared_docs
class DropoutLogisticRegression(MarginalClassifier):
    """Logistic regression trained on infinitely many corrupted copies of the data.

    Minimises

        ½ ‖w‖² + C Σ_i s_i E[log(1 + exp(-y_i (w·x~_i + b)))]

    for each class against the rest, where x~ is x after noise and s_i is the weight of
    row i (Chen et al. 2014; Wager et al. 2013). C is half of Chen's c.

    Parameters
    ----------
    {noise, C}
    expectation : {"variational", "jensen", "taylor", "gaussian"}, default="variational"
        How the expectation is computed. "variational": the upper bound of Chen et al.
        "jensen": the upper bound of van der Maaten et al. (MCF-Logistic). "taylor": the
        quadratic penalty of Wager et al., which is not convex. "gaussian": the exact
        value if noise makes the score Gaussian, and an approximation otherwise.
    {fit_intercept, solver, tol, max_iter, warm_start, class_weight, unlabeled_weight}
    calibrated : bool, default=False
        Whether probabilities are the softmax of the scores times a factor, `scale_`. A
        model that is trained for noise has small weights, and so its probabilities
        suit noisy rows but are too close to each other on clean rows. The factor
        minimises the objective of plain (multinomial) logistic regression, with the
        same C and on the same rows, over all multiples of the weights. With it,
        probabilities on clean rows are about as good as those of plain logistic
        regression. Predicted classes do not change.
    {missing, verbose}

    Attributes
    ----------
    {coef_, intercept_, classes_, objective_, n_iter_, noise_}
    scale_ : float
        The factor by which scores are multiplied for probabilities. Only if
        `calibrated` is True.
    {missing_in_training_}

    See Also
    --------
    DropoutSVC : Hinge loss.
    DropoutSGDClassifier : For streams, and for data that does not fit into memory.
    AverageOverMissing : For values that are known to be missing.
    penalty : Computes the penalty that noise amounts to.

    {References: Chen 2014, Maaten 2013, Wager 2013}

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
        "calibrated": ["boolean"],
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
        calibrated: bool = False,
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
        self.calibrated = calibrated
        self.missing = missing
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> Self:
        if self.calibrated and is_lazy(X):
            raise ValueError(
                "calibrated=True needs the scores of all rows in memory, so it is not "
                "available for Dask collections; use calibrated=False."
            )
        super().fit(X, y, sample_weight, X_unlabeled)
        self.__dict__.pop("scale_", None)
        if self.calibrated:
            self.scale_ = self._best_scale(X, y, sample_weight)
        return self

    fit.__doc__ = MarginalClassifier.fit.__doc__

    def _best_scale(self, X: Any, y: Any, sample_weight: Any) -> float:
        """The a > 0 that minimises ½ ‖a w‖² - C Σ s log softmax(a scores)_y.

        With two classes the first has the score 0. The derivative is negative at a = 0
        and grows with a, so the minimum is where it is zero.
        """
        scores = host(_of_classes(self._scores(X)))
        labels = np.searchsorted(host(self.classes_), np.asarray(host(y)).ravel())
        weights = np.ones(len(labels)) if sample_weight is None else host(sample_weight)
        weights = np.asarray(weights, dtype=np.float64)
        weights = self.C * weights * self._class_weights(labels, weights)
        size = float(np.sum(np.square(host(self.coef_), dtype=np.float64)))
        own = float(weights @ scores[np.arange(len(labels)), labels])

        def slope(a: float) -> float:
            each = weights @ (_softmax(a * scores) * scores)
            return a * size + float(np.sum(each)) - own

        if slope(0.0) >= 0:  # the scores are uninformative
            return 1.0
        high = 1.0
        while slope(high) < 0 and high < _LARGEST_SCALE:
            high *= 2
        return float(brentq(slope, 0.0, high)) if slope(high) >= 0 else high

    @by_blocks
    def predict_proba(self, X: Any) -> Array:
        """Probability of each class.

        With more than two classes, the one-vs-rest probabilities of the classes are
        normalised to sum to one. If `calibrated` is True, probabilities are the softmax
        of the scores times `scale_`.

        {(X) -> probabilities}
        """
        return given(self._probabilities(X))

    def _probabilities(self, X: Any) -> Array:
        scores = self._scores(X)
        if self.calibrated:
            return _softmax(self.scale_ * _of_classes(scores))
        p = expit(scores)
        if p.shape[1] == 1:
            return np.hstack([1 - p, p])
        # every score may be so low that all probabilities vanish
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1), 1 / p.shape[1])

    @by_blocks
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of the probability of each class.

        {(X) -> probabilities}
        """
        with np.errstate(divide="ignore"):
            return given(np.log(self._probabilities(X)))


def _of_classes(scores: Array) -> Array:
    """A score for each class; with two classes the first has the score 0."""
    if scores.shape[1] > 1:
        return scores
    return np.hstack([np.zeros_like(scores), scores])


def _softmax(scores: Array) -> Array:
    """Softmax, by functions that also work for arrays on a device."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
