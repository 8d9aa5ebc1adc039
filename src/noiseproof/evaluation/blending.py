"""Weighted means of models, with weights learned from held-out predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from noiseproof._blending import blend_weights

Array = NDArray[np.float64]
# soft predictions of all models, stacked, and y, for each version of a fold's rows: as
# they are, and after each draw of the damage
Fold = list[tuple[Array, Any]]

BLEND = "blend"  # its name among the contenders


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


def weights_on(folds: Sequence[Fold], classes: Any) -> Array:
    """Weights of the models that predict the perturbed rows of these folds best."""
    perturbed = [version for fold in folds for version in fold[1:]]
    predictions, y = zip(*perturbed, strict=True)
    return blend_weights(
        np.concatenate(predictions, axis=1), np.concatenate(y), classes
    )


class _StoredRegressor(RegressorMixin, BaseEstimator):
    """A regressor that returns stored predictions."""

    def __init__(self, predictions: Any):
        self.predictions = predictions

    def predict(self, X: Any) -> Any:
        """What is stored, whatever X is."""
        return self.predictions


class _StoredClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that returns stored probabilities."""

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
    """A model that returns these predictions or probabilities, for use by scorers."""
    if classes is None:
        return _StoredRegressor(predictions)
    return _StoredClassifier(predictions, classes)
