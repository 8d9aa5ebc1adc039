"""What the meta-estimators share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from noiseproof._rows import READ, read_training
from noiseproof._sklearn import HasMethods
from noiseproof.attacks import Attack


def _has(method: str) -> Any:
    def check(self: Any) -> bool:
        return hasattr(getattr(self, "estimator_", self._base()), method)

    return available_if(check)


class Delegator(MetaEstimatorMixin, BaseEstimator, ABC):
    """Passes questions on to `estimator_`, a fitted clone of `estimator`."""

    estimator: Any
    estimator_: Any

    @staticmethod
    @abstractmethod
    def _default() -> Any:
        """What to fit where no estimator is given."""

    def _base(self) -> Any:
        return self._default() if self.estimator is None else self.estimator

    def _keep(self, fitted: Any) -> None:
        """Remember the fitted estimator, and its classes if it has any."""
        self.estimator_ = fitted
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_

    def _delegate(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **READ)
        return getattr(self.estimator_, method)(X)

    def predict(self, X: Any) -> Any:
        """Predict with the fitted estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict for.

        Returns
        -------
        y : array of shape (n_samples,)
            Predictions.
        """
        return self._delegate("predict", X)

    @_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Scores of the fitted estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : array
            As the estimator gives them.
        """
        return self._delegate("decision_function", X)

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the fitted estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            As the estimator gives them.
        """
        return self._delegate("predict_proba", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the fitted estimator: accuracy or R².

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to score.
        y : array-like of shape (n_samples,)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            As the estimator's own `score`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **READ)
        return float(self.estimator_.score(X, y, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_base = get_tags(self._base())
        tags.estimator_type = of_base.estimator_type
        tags.classifier_tags = of_base.classifier_tags
        tags.regressor_tags = of_base.regressor_tags
        tags.target_tags = of_base.target_tags
        tags.input_tags.sparse = of_base.input_tags.sparse
        tags.input_tags.allow_nan = of_base.input_tags.allow_nan
        return tags


class VirtualBase(Delegator):
    """Reads the data, checks the attack and fits."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "attack": [Attack, None],
    }

    def __init__(self, estimator: Any = None, attack: Attack | None = None):
        self.estimator = estimator
        self.attack = attack

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The fitted estimator."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Transform the data and fit the estimator on all copies at once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row and of each of its copies.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        base = self._base()
        if self.attack is not None and not self.attack.is_finite:
            raise ValueError(
                f"{type(self).__name__} needs an attack that lists its candidates, and "
                f"{type(self.attack).__name__} does not: train InvariantSVC with it."
            )
        if sample_weight is not None and not has_fit_parameter(base, "sample_weight"):
            raise TypeError(f"{type(base).__name__} does not take sample_weight.")
        X, y = read_training(self, X, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        self._keep(self._fit(X, y, sample_weight))
        return self

    def _fit_copies(self, X: Any, y: Any, sample_weight: Any, attack: Any) -> Any:
        """A clone of the estimator, fitted on what the attack makes of each row."""
        if attack is not None:
            X, origin = attack.copies(X)
            y = y[origin]
            sample_weight = None if sample_weight is None else sample_weight[origin]
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return clone(self._base()).fit(X, y, **options)
