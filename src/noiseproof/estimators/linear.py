"""What all linear models share once they are fitted: scores, and classes from them."""

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
    """Scores w·x + b for dense or sparse rows with missing entries."""

    coef_: Any
    intercept_: Any

    def _scores(self, X: Any) -> Array:
        """w·x + b for new rows, (n, k); a missing feature adds nothing."""
        check_is_fitted(self)
        X = read_new(self, X)
        return linear_scores(X, self.coef_, self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class LinearRegressor(RegressorMixin, LinearModel):
    """One target; `coef_` has shape (n_features,) and `intercept_` is a number."""

    @by_blocks
    def predict(self, X: Any) -> Array:
        """Predicted target of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict for; a missing feature (NaN) adds nothing to the score.

        Returns
        -------
        y : array of shape (n_samples,)
            Predictions.
        """
        return given(self._scores(X)[:, 0])


class LinearClassifier(ClassifierMixin, LinearModel):
    """Classes one against the rest, by the sign or the largest of the scores."""

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
        """Index of each row's class, with the classes remembered."""
        classes, labels = distinct(y)
        self._set_classes(classes)
        return labels

    def _encode_batch(
        self, y: NDArray[Any], classes: Any, *, first: bool
    ) -> NDArray[np.int64]:
        """The same for `partial_fit`, whose first call names the classes."""
        if first and classes is None:
            raise ValueError("The first call of partial_fit needs all classes.")
        known = np.unique(classes) if first else self.classes_
        unknown = np.setdiff1d(y, known)
        if len(unknown):
            raise ValueError(f"y has labels that are not among the classes: {unknown}.")
        if first:
            self._set_classes(known)
        return np.searchsorted(known, y)

    def _signs(self, labels: NDArray[np.int64]) -> Array:
        """A row of ±1 per one-vs-rest problem; a single one for two classes."""
        k = len(self.classes_)
        columns = np.arange(k)[:, None] if k > 2 else np.array([[1]])
        return np.where(labels == columns, 1.0, -1.0)

    def _class_weights(self, labels: NDArray[np.int64], weights: Array) -> Array:
        """Weight of each row by its class; a balanced one makes all weigh the same."""
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
        """Score of each row: positive for the second class, or one column per class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to score; a missing feature (NaN) adds nothing.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            Signed distances, up to a factor, from the decision boundary.
        """
        scores = self._scores(X)
        return given(scores[:, 0] if scores.shape[1] == 1 else scores)

    @by_blocks
    def predict(self, X: Any) -> Any:
        """Class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to classify; a missing feature (NaN) adds nothing to a score.

        Returns
        -------
        labels : array of shape (n_samples,)
            Predicted classes.
        """
        winners = self._winners(self._scores(X))
        return given(chosen(self.classes_, winners))

    @staticmethod
    def _winners(scores: Array) -> NDArray[np.int64]:
        """Index of the class that each row of scores (n, k) speaks for."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.int64)
        return scores.argmax(axis=1)
