"""Coverage and width of prediction intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, check_random_state

from noiseproof._charts import Chart, Line, Series
from noiseproof._docs import shared_docs
from noiseproof._pipelines import intervals_of
from noiseproof._private import Interval, validate_parameter_constraints
from noiseproof._rows import check_targets, contain
from noiseproof.evaluation.models import named_in_errors, read_models
from noiseproof.evaluation.results import Result

Array = NDArray[np.float64]

_LEGAL: dict[str, list[Any]] = {
    "coverage": [Interval(Real, 0, 1, closed="neither")],
    "n_patterns": [Interval(Integral, 1, None, closed="left")],
}


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class IntervalCoverage(Result):
    """Coverage of prediction intervals, as `interval_coverage` returns it.

    Parameters
    ----------
    models : tuple of str
        Names of the models.
    levels : tuple of float
        Probabilities that a column is missing.
    coverage : float
        Nominal coverage: the share of targets that the intervals should contain.
    covered : array of shape (n_models, n_levels)
        Share of targets that they do contain.
    error : array of shape (n_models, n_levels)
        Standard error of that share, over rows.
    width : array of shape (n_models, n_levels)
        Mean width of the intervals.

    {See Also: interval_coverage}
    """

    models: tuple[str, ...]
    levels: tuple[float, ...]
    coverage: float
    covered: Array
    error: Array
    width: Array

    def _title(self) -> str:
        return (
            f"Share of targets inside intervals of nominal coverage {self.coverage:g}"
        )

    def _columns(self) -> dict[str, Any]:
        return {
            "model": np.repeat(self.models, len(self.levels)),
            "missing": np.tile(self.levels, len(self.models)),
            "covered": self.covered.ravel(),
            "± s.e.": self.error.ravel(),
            "width": self.width.ravel(),
        }

    def _chart(self) -> Chart:
        lines = []
        for i, name in enumerate(self.models):
            y, reach = self.covered[i], 2 * self.error[i]
            ends = tuple((y - reach).tolist()), tuple((y + reach).tolist())
            lines.append(Line(name, Series(self.levels, tuple(y.tolist()), *ends), i))
        nominal = ("nominal", self.coverage)
        return Chart(lines, "share of columns missing", "coverage", reference=nominal)


@shared_docs
def interval_coverage(
    models: Any,
    X: Any,
    y: Any,
    coverage: float = 0.9,
    levels: Sequence[float] = (0.0, 0.3, 0.6),
    *,
    n_patterns: int = 5,
    random_state: Any = None,
) -> IntervalCoverage:
    """Measure how often prediction intervals contain the target if columns are missing.

    For each level, a few patterns of missing columns are drawn: each column is missing
    with that probability. Each row gets one of these patterns at random. There are only
    a few, because intervals must be calibrated for each of them.

    Parameters
    ----------
    models : model, dict of str to model, or list of (str, model)
        Fitted regressors with `predict_interval`.
    {held out X, true y}
    coverage : float, default=0.9
        Nominal coverage of the intervals.
    levels : sequence of float, default=(0.0, 0.3, 0.6)
        Probabilities that a column is missing.
    n_patterns : int, default=5
        Number of patterns at each level above zero.
    {random_state}

    Returns
    -------
    found : IntervalCoverage
        Share of targets inside the intervals, its standard error, and mean widths.

    {See Also: conformal_sets, AverageOverMissing, ConformalRegressor}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from noiseproof import ConformalRegressor
    >>> from noiseproof.evaluation import interval_coverage
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ConformalRegressor(random_state=0).fit(X[:300], y[:300])
    >>> found = interval_coverage(model, X[300:], y[300:], random_state=0)
    >>> found.covered.round(2)
    array([[0.96, 0.95, 0.94]])
    """
    named = read_models(models)
    y = _checked(X, y, coverage, levels, n_patterns)
    rng = check_random_state(random_state)
    found = np.empty((3, len(named), len(levels)))
    for j, level in enumerate(levels):
        rows = _masked(X, level, n_patterns, rng)
        for i, (name, model) in enumerate(named.items()):
            with named_in_errors(name):
                low, high = intervals_of(model, rows, coverage).T
            inside = (low <= y) & (y <= high)
            error = inside.std() / np.sqrt(len(y))
            found[:, i, j] = inside.mean(), error, np.mean(high - low)
    at = tuple(float(level) for level in levels)
    return IntervalCoverage(tuple(named), at, float(coverage), *found)


def _checked(
    X: Any, y: Any, coverage: float, levels: Sequence[float], n_patterns: int
) -> Array:
    """The targets as numbers, or one clear sentence before any work."""
    validate_parameter_constraints(
        _LEGAL,
        {"coverage": coverage, "n_patterns": n_patterns},
        caller_name="interval_coverage",
    )
    at = np.asarray(levels, dtype=np.float64)
    if at.ndim != 1 or not at.size or not np.all((at >= 0) & (at <= 1)):
        raise ValueError(f"levels are probabilities from 0 to 1; got {levels!r}.")
    check_targets(y)
    check_consistent_length(X, y)
    y = np.asarray(y, dtype=np.float64)
    if y.ndim != 1 or not len(y):
        raise ValueError(
            f"y must hold one number for each row, at least one; got shape {y.shape}."
        )
    return y


def _masked(X: Any, level: float, n_patterns: int, rng: Any) -> Any:
    """Rows in which one of a few sets of columns is missing."""
    if level == 0:
        return X
    n, d = np.shape(X)
    patterns = rng.random_sample((n_patterns, d)) < level
    return contain(X, "nan").without(patterns[rng.permutation(n) % n_patterns])
