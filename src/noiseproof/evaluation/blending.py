"""Weighted means of models, with weights from their predictions for held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

Array = NDArray[np.float64]
# soft predictions of all models, stacked, and y, for each version of a fold's rows: as
# they are, and after each draw of the damage
Fold = list[tuple[Array, Any]]

BLEND = "blend"  # its name among the contenders
_ROUNDS = 100  # of expectation and maximisation
_SMALL = 0.02  # weight that is not worth a model
_UNLIKELY = 1e-6  # log-loss has no bound


def soft_predictions(model: Any, X: Any, classes: Any) -> Array | None:
    """Probabilities of all classes, or predictions if there are no classes.

    None for a classifier that has no probabilities.
    """
    if classes is None:
        return np.asarray(model.predict(X), dtype=np.float64)
    if not hasattr(model, "predict_proba"):
        return None
    found = np.zeros((np.shape(X)[0], len(classes)))
    found[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    return found


def blend_weights(predictions: Array, y: Any, classes: Any) -> Array:
    """Weights of models for their soft predictions of rows with targets y.

    They sum to one and none is negative. `predictions` has the shape (n_models, n_rows,
    n_classes), or (n_models, n_rows) for quantities. Of probabilities the weights make
    y likeliest, of quantities they have the least squared error.
    """
    if classes is None:
        scale = max(float(np.abs(y).max()), 1.0) * 1e3 * len(y) ** 0.5
        rows = np.vstack([predictions.T, np.full(len(predictions), scale)])
        weights = nnls(rows, np.append(y, scale))[0]  # the last row: they sum to one
    else:
        places = np.searchsorted(classes, y)
        likely = np.maximum(predictions[:, np.arange(len(places)), places], _UNLIKELY)
        weights = np.full(len(predictions), 1.0 / len(predictions))
        for _ in range(_ROUNDS):
            shares = weights[:, None] * likely
            weights = (shares / shares.sum(axis=0)).mean(axis=1)
    weights = np.where(weights < _SMALL, 0.0, weights)
    return np.asarray(weights / weights.sum())


def weights_on(folds: Sequence[Fold], classes: Any) -> Array:
    """Weights that suit the damaged rows of these folds."""
    damaged = [version for fold in folds for version in fold[1:]]
    predictions, y = zip(*damaged, strict=True)
    return blend_weights(
        np.concatenate(predictions, axis=1), np.concatenate(y), classes
    )


class _StoredRegressor(RegressorMixin, BaseEstimator):
    """Predictions that are known, in the form of a model."""

    def __init__(self, predictions: Any):
        self.predictions = predictions

    def predict(self, X: Any) -> Any:
        """What is stored, whatever X is."""
        return self.predictions


class _StoredClassifier(ClassifierMixin, BaseEstimator):
    """Probabilities that are known, in the form of a model."""

    def __init__(self, probabilities: Any, classes: Any):
        self.probabilities = probabilities
        self.classes = self.classes_ = classes

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row, whatever X is."""
        return self.classes_[self.probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """What is stored, whatever X is."""
        return self.probabilities


def stored(predictions: Any, classes: Any) -> Any:
    """A model that gives these soft predictions, for scorers."""
    if classes is None:
        return _StoredRegressor(predictions)
    return _StoredClassifier(predictions, classes)
