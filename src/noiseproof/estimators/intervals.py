"""Prediction intervals that hold for every pattern of missing values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._conformal import Calibration, missing_values, without
from noiseproof._private import _safe_indexing

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

_SHARE = 4  # of the rows at most one in so many is kept aside
_ALONE = 50  # rows that have a pattern from the beginning and then calibrate it alone
_LEAST = 4  # rows that calibrate anything: for a coverage of 0.8


class Intervals:
    """A model, and rows that it was not fitted on, which calibrate its intervals.

    The model says low(x) ≤ high(x): its prediction twice, or two quantiles. A target y
    is as wrong as it is outside: max(low(x) - y, y - high(x)). With t the quantile of
    that over the calibration rows, an interval is [low(x) - t, high(x) + t].
    """

    def __init__(self, model: Any, X: Any, y: Any):
        self.model = model
        self.calibration = Calibration(X, np.asarray(y, np.float64), alone=_ALONE)

    def predict(self, X: Any, coverage: float) -> Array:
        """Ends of the intervals, of shape (n, 2)."""
        self.calibration.check(coverage)
        missing, limit = self.calibration.limits(
            missing_values(X), coverage, partial(self._scores, coverage=coverage)
        )
        low, high = self._band(without(X, missing), coverage)
        low, high = low - limit, high + limit
        # the threshold is below zero if two quantiles are too far apart
        middle = (low + high) / 2
        return np.stack([np.minimum(low, middle), np.maximum(high, middle)], axis=1)

    def _scores(self, X: Any, y: Array, coverage: float) -> Array:
        low, high = self._band(X, coverage)
        return np.maximum(low - y, y - high)

    def _band(self, X: Any, coverage: float) -> tuple[Array, Array]:
        band = getattr(self.model, "_band", None)
        if band is not None:
            low, high = band(X, coverage)
            return low, high
        prediction = np.asarray(self.model.predict(X), dtype=np.float64)
        return prediction, prediction


def calibrated(
    fitted: Callable[[Rows], Any],
    X: Any,
    y: Any,
    order: Rows,
    n_calibration: int,
    share: int = _SHARE,
) -> Intervals | str:
    """Intervals of a model of some rows, by the others; or why there are none.

    `fitted` gives a model of the rows with these numbers, and `order` is a random one.
    """
    if n_calibration == 0:
        return "n_calibration is 0"
    if y.ndim > 1:
        return "there are several targets"
    n = min(n_calibration, len(order) // share)
    if n < _LEAST:
        return f"{len(order)} training rows are too few"
    held, others = np.sort(order[:n]), np.sort(order[n:])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all rows warns, too
            model = fitted(others)
    except ValueError as error:
        return f"the estimator cannot be fitted without {n} of the rows: {error}"
    return Intervals(model, _safe_indexing(X, held), y[held])


def kept_aside(intervals: Any) -> tuple[Any, Any, NDArray[Any]] | None:
    """A model that was fitted without some training rows, these, and their targets.

    None if there are none.
    """
    if not isinstance(intervals, Intervals):
        return None
    own = intervals.calibration
    return intervals.model, own.rows.take(), own.targets


def ask_intervals(intervals: Any, X: Any, coverage: float) -> Array:
    """Intervals, or one sentence why there are none."""
    if not isinstance(intervals, Intervals):
        raise ValueError(f"There are no intervals: {intervals}.")
    return intervals.predict(X, coverage)


def holding(intervals: Array, points: Any) -> Array:
    """Intervals that are widened to hold a point each."""
    low = np.minimum(intervals[:, 0], points)
    return np.stack([low, np.maximum(intervals[:, 1], points)], axis=1)
