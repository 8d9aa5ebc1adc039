"""One-vs-rest classification by marginalised losses."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions

from noiseproof.design import Array
from noiseproof.estimators.base import MarginalEstimator
from noiseproof.estimators.linear import LinearClassifier
from noiseproof.estimators.progress import with_callbacks
from noiseproof.estimators.validation import read_training


class MarginalClassifier(LinearClassifier, MarginalEstimator):
    """Classes one against the rest, solved together over the same passes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MarginalEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data; NaN means that a feature is missing there.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        X_unlabeled : array-like, sparse matrix or list of them, default=None
            Rows without labels, which help to estimate the noising penalty (Wager et
            al. 2013, section 6), each counting `unlabeled_weight`. Pass `[X_unlabeled]`
            inside a cross-validation, which would else split rows that are as many as
            those of X.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        parts = self._prepare(X_unlabeled)
        X, y = read_training(self, X, y)
        labels = self._encode(y)
        weights = self._weights(X, sample_weight)
        if self.class_weight is not None:
            weights = weights * self._class_weights(y, labels, weights)[labels]
        self._minimize(X, self._signs(labels), weights, parts, X_unlabeled)
        return self

    def _class_weights(self, y: Any, labels: Any, weights: Array) -> Array:
        """Weight of each class; a balanced one makes all classes weigh the same."""
        if self.class_weight != "balanced":
            per_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y
            )
            return np.asarray(per_class)
        mass = np.bincount(labels, weights)  # scikit-learn 1.6 would count rows
        return np.asarray(mass.sum() / (len(mass) * np.where(mass > 0, mass, 1.0)))
