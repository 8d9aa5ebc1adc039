"""Base classes of the meta-estimators for rows with missing values."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from noiseproof._docs import shared_docs
from noiseproof._pipelines import unwrap
from noiseproof._private import check_parameters
from noiseproof._rows import READ, check_targets, check_times, naming_other_columns
from noiseproof.conditionals import holes
from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
from noiseproof.estimators.meta import Delegator, passed_weights


@shared_docs
class TableDelegator(Delegator):
    """Base class: reads tables with missing values, and delegates to `estimator_`."""

    def _delegate(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, method)(self._read(X, reset=False))

    def _read(self, X: Any, *, reset: bool, **target: Any) -> Any:
        """Validated X, or X and y. A data frame stays as it is, the rest are floats."""
        if not hasattr(X, "columns") or _takes_numbers(self._base()):
            check_times(X)
        with naming_other_columns(self, X, reset):
            return self._validated(X, reset=reset, **target)

    def _validated(self, X: Any, *, reset: bool, **target: Any) -> Any:
        options: dict[str, Any] = {"reset": reset}
        if hasattr(X, "columns"):
            options["skip_check_array"] = True
        else:
            options |= READ
            options["accept_sparse"] = get_tags(self).input_tags.sparse and "csr"
        return validate_data(self, X, **target, **options)

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        """Validated X, y and weights. The target is optional for a frozen estimator."""
        check_parameters(self)
        base = self._base()
        frozen = isinstance(base, FrozenEstimator)
        if frozen and y is None:
            return self._read(X, reset=True), None, None
        if y is None:
            name = type(self).__name__
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is "
                "None. A fitted model needs no y if it is frozen: "
                f"{name}(FrozenEstimator(model)).fit(X)."
            )
        check_targets(y)
        several = get_tags(base).target_tags.multi_output
        X, y = self._read(X, reset=True, y=y, multi_output=several)
        if frozen:
            return X, np.asarray(y), None
        return X, np.asarray(y), passed_weights(base, sample_weight, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor.

        {(X, y, sample_weight) -> score}
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))


def _takes_numbers(base: Any) -> bool:
    """Return whether an estimator turns tables into numbers without looking at types.

    Those of scikit-learn do, unless a step or another estimator sees the table first.
    """
    steps, last = unwrap(base)
    composed = steps or hasattr(last, "estimator") or hasattr(last, "estimators")
    return not composed and type(last).__module__.startswith("sklearn.")


@shared_docs
class KnownMissing(TableDelegator):
    """Base class: delegates complete rows only, and predicts for the others itself."""

    @staticmethod
    def _default() -> Any:
        return DropoutLogisticRegression()

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        X, y, sample_weight = super()._read_training(X, y, sample_weight)
        if self.estimator is None and type_of_target(y) == "continuous":
            name = type(self).__name__
            raise ValueError(
                f"Without an estimator {name} is a classifier, but y is continuous; "
                f"pass a regressor, such as {name}(DropoutRidge())."
            )
        return X, y, sample_weight

    @abstractmethod
    def _answer(self, method: str, X: Any, missing: NDArray[np.bool_]) -> Any:
        """Predictions of `method` for rows of which some have missing values."""

    def _delegate(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        X = self._read(X, reset=False)
        missing = holes(X)
        try:
            if not missing.any():
                return getattr(self.estimator_, method)(X)
            return self._answer(method, X, missing)
        except (TypeError, ValueError) as error:
            self._explain(error, X)
            raise

    def _explain(self, error: Exception, X: Any) -> None:
        """Raise a clear error if a column has another kind of values than in training.

        The error of the model, which may be hard to understand, is chained to it.
        """
        cells = getattr(getattr(self, "conditional_", None), "cells_", None)
        changed = None if cells is None else cells.changed(X)
        if changed is not None:
            name, held, now = changed
            raise ValueError(
                f"Column {name} of X held {held} in training, but now it holds {now}; "
                f"pass {held}, or use noiseproof.serving.Served, which reads such "
                "tables."
            ) from error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags
