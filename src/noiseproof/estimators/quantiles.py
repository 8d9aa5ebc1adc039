"""Quantile models, and the quantiles of mixtures of their predicted distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

Array = NDArray[np.float64]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # a quantile model is fitted at these, too
_INSIDE = (
    "estimator",
    "regressor",
    "final_estimator",
)  # parameters that hold the model itself
_HALVINGS = 60  # steps of the bisection that finds a quantile


def quantile_parameter(model: Any) -> tuple[str, float] | None:
    """Name and value of the parameter that sets the level of a quantile model.

    The model may be at the end of a pipeline, or the `estimator` or `regressor` of a
    search, a bag or another wrapper. For other models the result is None, also if one
    parameter cannot set the level: see `contains_quantiles`. Recognised are
    scikit-learn's gradient boosting with `loss="quantile"`, `QuantileRegressor` and
    others with a parameter `quantile`, LightGBM's `objective="quantile"` and XGBoost's
    "reg:quantileerror".

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> quantile_parameter(GradientBoostingRegressor(loss="quantile", alpha=0.8))
    ('alpha', 0.8)
    """
    known = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    name = _parameter(known)
    if name is not None:
        level = known.get(name, 0.9)  # LightGBM's default, which is no named parameter
        return (name, float(level)) if np.ndim(level) == 0 else None
    if isinstance(model, FrozenEstimator):
        return None
    inside = {name: known[name] for name in _INSIDE if name in known}
    if isinstance(model, Pipeline):
        inside = dict(model.steps[-1:])
    grids = known.get("param_grid", known.get("param_distributions")) or []
    searched = {key for grid in np.atleast_1d(grids) for key in grid}
    for name, part in inside.items():
        found = quantile_parameter(part)
        if found is not None and found[0] not in searched:
            return f"{name}__{found[0]}", found[1]
    return None


def contains_quantiles(model: Any) -> bool:
    """Tell whether a model, or any model inside, predicts quantiles."""
    # a pipeline or a vote names its models in its deep parameters
    deep = hasattr(model, "steps") or hasattr(model, "estimators")
    known = model.get_params(deep=deep) if hasattr(model, "get_params") else {}
    if "final_estimator" in known:  # a stack, which predicts what this one does
        known = {"final_estimator": known["final_estimator"]}
    if _parameter(known) or "Quantile" in str(known.get("loss_function")):  # CatBoost
        return True
    return any(contains_quantiles(v) for v in known.values() if not isinstance(v, type))


def _parameter(known: dict[str, Any]) -> str | None:
    """Name of the parameter that sets the level of the model with these parameters."""
    loss = known.get("loss", known.get("objective", "quantile"))
    if loss == "reg:quantileerror":
        return "quantile_alpha"
    if loss == "quantile" and known.get("quantile") is not None:
        return "quantile"
    if "quantile" in (known.get("loss"), known.get("objective")):
        return "alpha"
    return None


def mixture_quantiles(
    knots: Array, levels: Array, weights: Array, starts: Any, wanted: float
) -> Array:
    """Quantiles of mixtures of distributions that are given by some of their quantiles.

    `knots` (m, l) are the quantiles of all components at these `levels`. The components
    of a mixture are consecutive, `starts` are the indices of the first ones, and the
    `weights` of each mixture sum to one. Between two levels, and beyond the outermost
    ones, Φ⁻¹ of the distribution function of a component is taken to be linear, which
    is exact for a Gaussian. The mean distribution function is inverted by bisection.
    """
    knots = np.sort(knots, axis=1)  # quantiles of different models may cross
    low = np.minimum.reduceat(knots[:, 0], starts)
    high = np.maximum.reduceat(knots[:, -1], starts)
    reach = (high - low) + 1e-12 * (np.abs(low) + np.abs(high))
    low, high = low - 2 * reach, high + 2 * reach
    counts = np.diff(np.append(starts, len(knots)))
    origin = np.repeat(np.arange(len(starts)), counts)
    scores = ndtri(levels)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        shares = ndtr(_interpolated(middle[origin], knots, scores))
        below = np.add.reduceat(weights * shares, starts) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


def _interpolated(points: Array, knots: Array, values: Array) -> Array:
    """Interpolate (knots, values) of each row linearly at its point, or extrapolate."""
    right = (points[:, None] > knots[:, 1:-1]).sum(axis=1) + 1
    at = np.arange(len(points))
    x0, x1 = knots[at, right - 1], knots[at, right]
    slope = (values[right] - values[right - 1]) / np.maximum(x1 - x0, 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        found = values[right - 1] + (points - x0) * slope
    # between equal quantiles the distribution function has a step
    return np.where(x1 > x0, found, np.where(points < x0, -np.inf, np.inf))
