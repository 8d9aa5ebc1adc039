"""Prediction intervals with a guarantee for every pattern of missing values."""

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

_SHARE = 4  # at most one in so many training rows is held out for calibration
_ALONE = 20  # so many calibration rows with a pattern calibrate that pattern alone
_LEAST = 4  # minimum number of calibration rows, enough for a coverage of 0.8


class Intervals:
    """A fitted model, and calibration rows that it was not fitted on.

    The model predicts two bounds, low(x) ≤ high(x): two quantiles, or twice the same
    prediction. The score of a target y is its signed distance from these bounds,
    max(low(x) - y, y - high(x)). With t the quantile of the scores over the calibration
    rows, the prediction interval is [low(x) - t, high(x) + t].
    """

    def __init__(self, model: Any, X: Any, y: Any):
        self.model = model
        self.calibration = Calibration(X, np.asarray(y, np.float64), alone=_ALONE)

    def predict(self, X: Any, coverage: float) -> Array:
        """Lower and upper bounds of the intervals, of shape (n, 2)."""
        self.calibration.check(coverage)
        missing, limit = self.calibration.limits(
            missing_values(X), coverage, partial(self._scores, coverage=coverage)
        )
        low, high = self._band(without(X, missing), coverage)
        low, high = low - limit, high + limit
        # the threshold is negative if the two quantiles are too far apart
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
    """Hold out calibration rows, and fit a model on the others.

    `fitted` takes indices of rows and returns a model fitted on them. The first rows of
    the random `order` are held out. Returns a string that says why, if there are no
    intervals.
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
            warnings.simplefilter("ignore")  # the fit on all rows gives them already
            model = fitted(others)
    except ValueError as error:
        return f"the estimator cannot be fitted without {n} of the rows: {error}"
    return Intervals(model, _safe_indexing(X, held), y[held])


def kept_aside(intervals: Any) -> tuple[Any, Any, NDArray[Any]] | None:
    """A model fitted without the calibration rows, these rows, and their targets.

    None if there are no calibration rows.
    """
    if not isinstance(intervals, Intervals):
        return None
    own = intervals.calibration
    return intervals.model, own.rows.take(), own.targets


def ask_intervals(intervals: Any, X: Any, coverage: float) -> Array:
    """Intervals, or an error that says why there are none."""
    if not isinstance(intervals, Intervals):
        raise ValueError(f"There are no intervals: {intervals}.")
    return intervals.predict(X, coverage)


def holding(intervals: Array, points: Any) -> Array:
    """Widen each interval so that it contains its point."""
    low = np.minimum(intervals[:, 0], points)
    return np.stack([low, np.maximum(intervals[:, 1], points)], axis=1)
