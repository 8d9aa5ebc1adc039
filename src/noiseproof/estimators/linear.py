"""Base classes of linear models: scores, predicted targets and predicted classes."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from noiseproof._rows import (
    Array,
    by_blocks,
    chosen,
    distinct,
    given,
    linear_scores,
    look_up,
    read_new,
)


class LinearModel(BaseEstimator):
    """Base class: scores w·x + b for dense or sparse rows with missing values."""

    coef_: Any
    intercept_: Any

    def _scores(self, X: Any) -> Array:
        """w·x + b for new rows, of shape (n, k); a missing feature adds nothing."""
        check_is_fitted(self)
        X = read_new(self, X)
        return linear_scores(X, self.coef_, self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class LinearRegressor(RegressorMixin, LinearModel):
    """Base class of linear models of one target.

    `coef_` has the shape (n_features,), and `intercept_` is a number.
    """

    @by_blocks
    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Input data. A missing feature (NaN) adds nothing to the score.

        Returns
        -------
        y : array of shape (n_samples,)
            Predicted targets.
        """
        return given(self._scores(X)[:, 0])


class LinearClassifier(ClassifierMixin, LinearModel):
    """Base class of linear classifiers, which are one-vs-rest for several classes.

    With two classes the sign of the score decides, otherwise the largest score.
    """

    classes_: NDArray[Any]
    class_weight: Any = None

    def _set_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, but y has only "
                f"1 class: {classes[0]}."
            )
        self.classes_ = classes

    def _encode(self, y: NDArray[Any]) -> NDArray[np.int64]:
        """Index of each row's class. Sets `classes_`."""
        classes, labels = distinct(y)
        self._set_classes(classes)
        return labels

    def _encode_batch(
        self, y: NDArray[Any], classes: Any, *, first: bool
    ) -> NDArray[np.int64]:
        """The same for `partial_fit`, whose first call is given all classes."""
        if first and classes is None:
            raise ValueError(
                "The first call to partial_fit needs all class labels; pass classes."
            )
        known = np.unique(classes) if first else self.classes_
        unknown = np.setdiff1d(y, known)
        if len(unknown):
            raise ValueError(
                "y has labels that were not among the classes of the first call to "
                f"partial_fit: {unknown}."
            )
        if first:
            self._set_classes(known)
        return np.searchsorted(known, y)

    def _signs(self, labels: NDArray[np.int64]) -> Array:
        """A row of ±1 for each one-vs-rest problem; a single row for two classes."""
        k = len(self.classes_)
        columns = np.arange(k)[:, None] if k > 2 else np.array([[1]])
        return np.where(labels == columns, 1.0, -1.0)

    def _class_weights(self, labels: NDArray[np.int64], weights: Array) -> Array:
        """Weight of each row by its class, for the parameter `class_weight`."""
        k, wanted = len(self.classes_), self.class_weight
        if wanted is None:
            return np.ones_like(weights)
        if isinstance(wanted, str):  # by weight, not by number
            mass = np.asarray(np.bincount(labels, weights, minlength=k))
            return look_up(mass.sum() / (k * np.where(mass > 0, mass, 1.0)), labels)
        for label, weight in wanted.items():
            if not (isinstance(weight, Real) and 0 <= float(weight) < np.inf):
                raise ValueError(
                    "class_weight must be finite and not negative, but that of class "
                    f"{label!r} is {weight!r}."
                )
        each = compute_class_weight(wanted, classes=self.classes_, y=self.classes_)
        return look_up(each, labels)

    @by_blocks
    def decision_function(self, X: Any) -> Array:
        """Predict the scores of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Input data. A missing feature (NaN) adds nothing to a score.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            Signed distances from the decision boundary, up to a factor. With two
            classes a positive score means the second class, otherwise there is one
            column for each class.
        """
        scores = self._scores(X)
        return given(scores[:, 0] if scores.shape[1] == 1 else scores)

    @by_blocks
    def predict(self, X: Any) -> Any:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Input data. A missing feature (NaN) adds nothing to a score.

        Returns
        -------
        labels : array of shape (n_samples,)
            Predicted classes.
        """
        winners = self._winners(self._scores(X))
        return given(chosen(self.classes_, winners))

    @staticmethod
    def _winners(scores: Array) -> NDArray[np.int64]:
        """Index of the class that each row of scores (n, k) predicts."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.int64)
        return scores.argmax(axis=1)
