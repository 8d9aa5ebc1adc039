"""Base classes of the linear models that are trained against feature deletion."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noiseproof._deletion import mutual_info_values
from noiseproof._private import CallbackSupportMixin, Interval, StrOptions
from noiseproof.attacks import check_budget, group_values
from noiseproof.estimators.linear import LinearClassifier, LinearModel

Array = NDArray[np.float64]

_DEFAULT_SHARE = 0.1  # the default budget, as a share of the sum of all values


class RobustModel(CallbackSupportMixin, LinearModel):
    """Base class of linear models trained against feature deletion within a budget."""

    budget: float | None
    feature_values: Any
    groups: Any = None  # also of models saved before there were groups
    missing: str

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [Interval(Real, 0, None, closed="left"), None],
        "feature_values": ["array-like", StrOptions({"mutual_info"}), None],
        "groups": ["array-like", dict, None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "missing": [StrOptions({"allow", "warn", "error"})],
        "verbose": ["verbose"],
    }

    def _set_adversary(self, X: Any, labels: Any, weights: Any = None) -> None:
        """Set and check the feature values and the budget."""
        values, d, what = self.feature_values, X.shape[1], "features"
        informative = isinstance(values, str)
        if informative:
            values = mutual_info_values(X, labels, sample_weight=weights)
        self._labels = None
        if self.groups is None:
            values = check_budget(0.0, values, d)
        else:
            names, what = getattr(self, "feature_names_in_", range(d)), "groups"
            given = None if informative else values
            self._labels, ones = group_values(0.0, given, self.groups, list(names))
            values = np.bincount(self._labels, values) if informative else ones
        total = float(values.sum())
        budget = _DEFAULT_SHARE * total if self.budget is None else float(self.budget)
        if budget >= total:
            raise ValueError(
                f"budget={budget:g} must be less than the total value of the {what}, "
                f"{total:g}; otherwise the adversary can delete them all."
            )
        self.feature_values_, self.budget_ = values, budget


class RobustClassifier(LinearClassifier, RobustModel):
    """Base class of classifiers that require a margin after the deletion."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RobustModel._parameter_constraints,
        "margin": [Interval(Real, 0, None, closed="neither")],
    }
