"""Base class of the meta-estimators, which delegate to the estimator inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from noiseproof._docs import shared_docs
from noiseproof._pipelines import takes_nan
from noiseproof._rows import Array, by_blocks, read, read_weights


def _has(method: str) -> Any:
    def check(self: Any) -> bool:
        return hasattr(getattr(self, "estimator_", self._base()), method)

    return available_if(check)


def passed_weights(base: Any, sample_weight: Any, X: Any) -> Array | None:
    """Validated sample weights to pass on to an estimator, or None."""
    if sample_weight is None:
        return None
    if not has_fit_parameter(base, "sample_weight"):
        raise TypeError(
            f"{type(base).__name__} does not accept sample_weight; fit without it or "
            "use another estimator."
        )
    return read_weights(sample_weight, X)


@shared_docs
class Delegator(MetaEstimatorMixin, BaseEstimator, ABC):
    """Base class: delegates predictions to `estimator_`, a fitted `estimator`."""

    estimator: Any
    estimator_: Any

    @staticmethod
    @abstractmethod
    def _default() -> Any:
        """The estimator to fit if the parameter `estimator` is None."""

    def _base(self) -> Any:
        return self._default() if self.estimator is None else self.estimator

    def _keep(self, fitted: Any) -> None:
        """Set `estimator_`, and `classes_` if the estimator has classes."""
        self.estimator_ = fitted
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_

    def _new_rows(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return read(self, X, reset=False)

    def _delegate(self, method: str, X: Any) -> Any:
        X = self._new_rows(X)
        return getattr(self.estimator_, method)(X)

    @by_blocks
    def predict(self, X: Any) -> Any:
        """Predict with the fitted estimator.

        {(X) -> predictions}
        """
        return self._delegate("predict", X)

    @_has("decision_function")
    @by_blocks
    @shared_docs
    def decision_function(self, X: Any) -> Any:
        """Decision function of the fitted estimator.

        {(X) -> scores}
        """
        return self._delegate("decision_function", X)

    @_has("predict_proba")
    @by_blocks
    @shared_docs
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities with the fitted estimator.

        {(X) -> probabilities}
        """
        return self._delegate("predict_proba", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the fitted estimator: accuracy or R².

        {(X, y, sample_weight) -> score}
        """
        X = self._new_rows(X)
        return float(self.estimator_.score(X, y, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_base = get_tags(self._base())
        tags.estimator_type = of_base.estimator_type
        tags.classifier_tags = of_base.classifier_tags
        tags.regressor_tags = of_base.regressor_tags
        tags.target_tags = of_base.target_tags
        tags.input_tags.sparse = of_base.input_tags.sparse
        tags.input_tags.allow_nan = takes_nan(self._base())
        return tags
