"""Regression by marginalised losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from noiseproof.design import Array
from noiseproof.estimators.base import MarginalEstimator
from noiseproof.estimators.progress import with_callbacks
from noiseproof.estimators.validation import read_training
from noiseproof.solvers import Result


class MarginalRegressor(RegressorMixin, MarginalEstimator):
    """One target; `coef_` has shape (n_features,) and `intercept_` is a number."""

    def _check_target(self, y: Array) -> None:
        """Raise one sentence if the loss cannot take such targets."""

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
            Targets.
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
        X, y = read_training(self, X, y, y_numeric=True)
        y = y.astype(np.float64)
        self._check_target(y)
        weights = self._weights(X, sample_weight)
        self._minimize(X, y[None, :], weights, parts, X_unlabeled)
        return self

    def _unpack(self, result: Result, dtype: Any) -> None:
        super()._unpack(result, dtype)
        self.coef_ = self.coef_[0]
        self.intercept_ = float(self.intercept_[0])

    def predict(self, X: Any) -> Array:
        """Predicted mean of the target.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict for; a missing feature (NaN) adds nothing to the score.

        Returns
        -------
        y : array of shape (n_samples,)
            Predictions.
        """
        return self._scores(X)[:, 0]
