"""One-vs-rest classification by marginalised losses."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets

from noiseproof.design import Array
from noiseproof.estimators.base import MarginalEstimator
from noiseproof.estimators.progress import with_callbacks
from noiseproof.estimators.validation import read_training


class MarginalClassifier(ClassifierMixin, MarginalEstimator):
    """Classes one against the rest, solved together over the same passes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginalEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data; NaN means that a feature is missing there.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        parts = self._prepare()
        X, y = read_training(self, X, y)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, but y has only "
                f"1 class: {classes[0]}."
            )
        weights = self._weights(X, sample_weight)
        if self.class_weight is not None:
            per_class = compute_class_weight(
                self.class_weight, classes=classes, y=y, sample_weight=weights
            )
            weights = weights * per_class[labels]
        columns = np.arange(len(classes))[:, None] if len(classes) > 2 else [[1]]
        Y = np.where(labels == columns, 1.0, -1.0)
        self.classes_ = classes
        self._minimize(X, Y, weights, parts)
        return self

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
        return scores[:, 0] if scores.shape[1] == 1 else scores

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
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]
