"""Checks of budgets and feature values, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ROUNDING = 1e-12  # ten values of 0.1 fit into a budget of 1


def check_budget(budget: float, values: Any, n_features: int) -> Array:
    """The feature values as an array, or one sentence: bad values or a bad budget."""
    v = np.ones(n_features) if values is None else np.asarray(values, dtype=np.float64)
    if v.shape != (n_features,):
        raise ValueError(
            f"Feature values must be one number per feature, {n_features}; "
            f"got shape {v.shape}."
        )
    if not np.all(np.isfinite(v)) or np.any(v < 0):
        raise ValueError("Feature values must be finite and not negative.")
    total = float(v.sum())
    if not 0 <= budget <= total * (1 + _ROUNDING):
        raise ValueError(
            f"The budget must lie between 0 and the total value of the features, "
            f"{total:g}; got {budget!r}."
        )
    return v


def effective_budget(budget: float, values: Array) -> float:
    """The budget with room for rounding; whole, if whole features are all there is."""
    if np.all((values == 0) | (values == 1)):
        return float(np.floor(budget * (1 + _ROUNDING)))
    return budget * (1 + _ROUNDING)
