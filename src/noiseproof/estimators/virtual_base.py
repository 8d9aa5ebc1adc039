"""What the two meta-estimators on transformed copies of the data share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from noiseproof.attacks import Attack
from noiseproof.estimators.delegation import Delegator
from noiseproof.estimators.validation import read_training


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
