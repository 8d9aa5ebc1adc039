"""What the meta-estimators for rows with holes share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from noiseproof._private import _check_sample_weight, check_parameters
from noiseproof.conditionals import holes
from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
from noiseproof.estimators.meta import Delegator


class KnownMissing(Delegator):
    """Reads arrays and data frames with holes, and answers rows without any itself."""

    @staticmethod
    def _default() -> Any:
        return DropoutLogisticRegression()

    @abstractmethod
    def _answer(self, method: str, X: Any, missing: NDArray[np.bool_]) -> Any:
        """What `method` says about rows of which some have holes."""

    def _delegate(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        X = self._read(X, reset=False)
        missing = holes(X)
        if not missing.any():
            return getattr(self.estimator_, method)(X)
        return self._answer(method, X, missing)

    def _read(self, X: Any, *, reset: bool, **target: Any) -> Any:
        """X, or X and y: an array of floats, or the data frame as it is."""
        options: dict[str, Any] = {"reset": reset}
        if hasattr(X, "columns"):
            options["skip_check_array"] = True
        else:
            options["dtype"] = [np.float64, np.float32]
            options["ensure_all_finite"] = "allow-nan"
        return validate_data(self, X, **target, **options)

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        """X, y and weights; a frozen estimator needs no y."""
        check_parameters(self)
        base = self._base()
        frozen = isinstance(base, FrozenEstimator)
        if frozen and y is None:
            return self._read(X, reset=True), None, None
        several = get_tags(base).target_tags.multi_output
        X, y = self._read(X, reset=True, y=y, multi_output=several)
        if frozen:
            return X, np.asarray(y), None
        if sample_weight is not None:
            if not has_fit_parameter(base, "sample_weight"):
                raise TypeError(f"{type(base).__name__} does not take sample_weight.")
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return X, np.asarray(y), sample_weight

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with or without holes.
        y : array-like of shape (n_samples,)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            At most 1.
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags
