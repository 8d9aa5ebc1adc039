"""What `robustness_curve` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from noiseproof.evaluation.results import Result, frozen

__all__ = ["CurveRow", "CurveSummary", "RobustnessCurve"]

Array = NDArray[np.float64]


class CurveRow(NamedTuple):
    """One observation."""

    model: str
    level: float
    repeat: int
    score: float


@dataclass(frozen=True, repr=False, eq=False)
class CurveSummary(Result):
    """Mean score and its interval by model and level."""

    curve: RobustnessCurve

    def _title(self) -> str:
        return self.curve._title()

    def _columns(self) -> dict[str, Any]:
        curve = self.curve
        low, high = curve.interval
        return {
            "model": np.repeat(curve.models, len(curve.levels)),
            "level": np.tile(curve.levels, len(curve.models)),
            "mean": curve.mean.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }


@dataclass(frozen=True, repr=False, eq=False)
class RobustnessCurve(Result):
    """Scores of models at each level of a perturbation.

    Parameters
    ----------
    models : tuple of str
        Names.
    levels : array of shape (n_levels,)
        Where the models were scored.
    scores : array of shape (n_models, n_levels, n_repeats)
        All scores; one number along the last axis stands for the same perturbed rows.
    label : str
        What a level means.
    scoring : str
        Name of the metric.
    confidence : float
        That of the intervals.
    """

    models: tuple[str, ...]
    levels: Array
    scores: Array
    label: str
    scoring: str
    confidence: float

    def __post_init__(self) -> None:
        for name in ("levels", "scores"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def n_repeats(self) -> int:
        """How often each level was drawn."""
        return int(self.scores.shape[2])

    @property
    def mean(self) -> Array:
        """Mean score, of shape (n_models, n_levels)."""
        first = self.scores[..., 0]  # where all are equal, so is the mean, exactly
        return np.asarray(first + (self.scores - first[..., None]).mean(axis=2))

    @property
    def interval(self) -> tuple[Array, Array]:
        """Low and high end of the interval of each mean, from Student's t.

        NaN where there is one repeat only, which says nothing about the spread.
        """
        half = self._half_width()
        return self.mean - half, self.mean + half

    def _half_width(self) -> Array:
        n = self.n_repeats
        if n == 1:
            return np.full(self.mean.shape, np.nan)
        quantile = stdtrit(n - 1, (1 + self.confidence) / 2)  # of Student's t
        return np.asarray(quantile * self.scores.std(axis=2, ddof=1) / np.sqrt(n))

    @property
    def rows(self) -> list[CurveRow]:
        """All observations: model, level, repeat, score."""
        columns = self.to_dict()
        return [CurveRow(*row) for row in zip(*columns.values(), strict=True)]

    def summary(self) -> CurveSummary:
        """Mean and interval by model and level, as a table of its own.

        Returns
        -------
        summary : CurveSummary
            With `to_frame()` and `to_dict()`.
        """
        return CurveSummary(self)

    def area(self) -> dict[str, float]:
        """Area under each mean curve over the range of levels: a mean over levels.

        Returns
        -------
        area : dict of str to float
            One number per model; the trapezoid rule, divided by the range.
        """
        order = np.argsort(self.levels)
        levels, means = self.levels[order], self.mean[:, order]
        if levels[0] == levels[-1]:
            areas = means.mean(axis=1)
        else:
            areas = np.trapezoid(means, levels, axis=1) / (levels[-1] - levels[0])
        return dict(zip(self.models, areas.tolist(), strict=True))

    def _title(self) -> str:
        what = f"{self.scoring} by {self.label}"
        if self.n_repeats == 1:
            return what
        return f"{what}: mean of {self.n_repeats} draws, {self.confidence:.0%} interval"

    def _columns(self) -> dict[str, Any]:
        k, m, r = self.scores.shape
        return {
            "model": np.repeat(self.models, m * r),
            "level": np.tile(np.repeat(self.levels, r), k),
            "repeat": np.tile(np.arange(r), k * m),
            "score": self.scores.ravel(),
        }

    def _overview(self) -> dict[str, Any]:
        """Levels down, models across: mean ± half the interval."""
        spread = self._half_width()
        columns = {
            name: [
                f"{mean:.3f}" + (f" ± {half:.3f}" if self.n_repeats > 1 else "")
                for mean, half in zip(*pair, strict=True)
            ]
            for name, *pair in zip(self.models, self.mean, spread, strict=True)
        }
        return {"level": [f"{level:g}" for level in self.levels], **columns}
