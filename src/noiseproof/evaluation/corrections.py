"""Correction of estimated losses by labelled rows with the same missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from noiseproof._conformal import missing_values, without
from noiseproof._private import _safe_indexing
from noiseproof.evaluation.averaged import Averaged, Drawn, losses, risk

Array = NDArray[np.float64]

_MASKED = 600  # labelled rows, each counted once for each pattern that it gets
ENOUGH = 2  # labelled rows for each row of today; more would hardly narrow intervals
_MOST = 4  # patterns that a labelled row gets
_FEW = 20  # complete labelled rows, below which they correct nothing
_SLOPE = 0.3  # by how much the slope of a correction usually differs from one
_PRIOR = 20  # labelled rows that count as much as the belief that there is no bias
WIDTH = float(ndtri(0.975))  # of an interval, in standard errors


class Correction:
    """A straight line from the expected loss of a model to the actual one.

    `expected` and `found`, both (m, repeats), have a row for each labelled row. The
    difference of their means and the slope of the line have Gaussian priors around zero
    and one, so few rows correct little. The expected squared error does not contain the
    noise of the target, so for squared errors the prior of the difference is flat.
    """

    def __init__(self, expected: Array, found: Array, of_squares: bool):
        bias, self.middle = found - expected, float(expected.mean())
        away = expected - self.middle
        reach = (away**2).sum() + np.var(bias) * bias.shape[1] / _SLOPE**2
        reach = max(float(reach), 1e-300)
        self.slope = max(1.0 + float((away * bias).sum()) / reach, 0.0)
        trust = 1.0 if of_squares else len(bias) / (len(bias) + _PRIOR)
        self.height = self.middle + trust * float(bias.mean())
        self.residuals = found - found.mean() - self.slope * away
        # how far each labelled row moves the height and the slope
        self.up = np.sqrt(trust) * self.residuals.sum(axis=1) / bias.size
        self.turned = (away * self.residuals).sum(axis=1) / reach

    def at(self, expected: float) -> tuple[float, Array]:
        """The corrected mean loss of rows with this mean expected loss.

        Also returns how far each labelled row moves it; the sum of their squares is its
        variance.
        """
        away = expected - self.middle
        return self.height + self.slope * away, self.up + away * self.turned


@dataclass(frozen=True)
class Masked:
    """Labelled rows, `own` of whose values are missing, with today's patterns.

    `X` are the rows that miss what `missing` marks, and `found` are their losses.
    """

    averaged: Averaged
    labelled: Any
    y: NDArray[Any]
    own: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    X: Any
    found: Array


@dataclass(frozen=True)
class Labelled:
    """Corrections for the loss of incomplete rows, and for what missing values cost.

    `whole` marks the complete labelled rows, from which the second correction is
    learned. If there are few of them, it is None.
    """

    today: Correction
    cost: Correction | None
    whole: NDArray[np.bool_]
    masked: Masked

    @classmethod
    def of(
        cls, averaged: Averaged, X: Any, y: Any, gone: Any, scoring: str, rng: Any
    ) -> Labelled:
        """Remove from labelled rows what today's rows miss, and compare the losses."""
        own, y = missing_values(X), np.asarray(y)
        n = len(own)
        repeats = int(np.clip(-(-min(_MASKED, ENOUGH * len(gone)) // n), 1, _MOST))
        places = np.tile(np.arange(n), repeats + 1)  # the last time as they are
        missing = [*(own | like(own, gone, rng) for _ in range(repeats)), own]
        rows = without(_safe_indexing(X, places), np.concatenate(missing))
        answers = averaged.answers(rows)
        actual = losses(answers, y[places], averaged.classes, scoring)
        changed = _safe_indexing(rows, np.arange(repeats * n))
        risks = today_risks(averaged, changed, answers[:-n], scoring)
        found, expected = (part.reshape(-1, n).T for part in (actual[:-n], risks))
        last = _safe_indexing(changed, np.arange((repeats - 1) * n, repeats * n))
        masked = Masked(averaged, X, y, own, missing[-2], last, found[:, -1])
        today = Correction(expected, found, of_squares=scoring == "squared_error")
        whole = np.asarray(~own.any(axis=1))
        if whole.sum() < min(_FEW, n):
            return cls(today, None, whole, masked)
        then = whole_risks(answers[-n:], scoring)[:, None]
        more, worse = (expected - then)[whole], (found - actual[-n:, None])[whole]
        return cls(today, Correction(more, worse, of_squares=False), whole, masked)

    def estimates(self, today: float, complete: float) -> Array:
        """Corrected losses: as rows are, with nothing missing, and the difference.

        The rows of the result, of shape (3, 3), are the means, the variances due to the
        labelled rows, and the variances of the loss of a single row.
        """
        now, moved = self.today.at(today)
        left = self.today.residuals
        gap, by_gap = self.today.slope * (today - complete), np.zeros(len(self.whole))
        sizes = [np.var(left), np.var(left), 2 * np.var(left)]
        if self.cost is None:
            by_gap = (today - complete) * self.today.turned
        else:
            gap, by_gap[self.whole] = self.cost.at(today - complete)
            apart = left[self.whole] - self.cost.residuals
            sizes[1:] = np.var(apart), np.var(self.cost.residuals)
        sums = [float((part**2).sum()) for part in (moved, moved - by_gap, by_gap)]
        return np.array([[now, now - gap, gap], sums, sizes])


def today_risks(averaged: Averaged, X: Any, answers: Array, scoring: str) -> Array:
    """The expected loss of these answers; squared errors are estimated from draws."""
    if scoring == "squared_error":
        return Drawn(averaged, X).risks(scoring)[0]
    return whole_risks(answers, scoring)


def whole_risks(answers: Array, scoring: str) -> Array:
    """The expected loss of answers for complete rows."""
    if scoring == "squared_error":
        return np.zeros(len(answers))
    return risk(answers, scoring)


def like(own: Any, gone: Any, rng: Any) -> NDArray[np.bool_]:
    """Draw a pattern of today's missing values for each labelled row.

    If possible, the pattern contains everything that the labelled row misses itself.
    """
    if not len(gone):
        return np.zeros_like(own)
    patterns = gone[rng.integers(len(gone), size=min(len(gone), 1000))]
    if not own.any():
        return np.asarray(patterns[rng.integers(len(patterns), size=len(own))])
    beyond = own.astype(np.float64) @ (~patterns).T.astype(np.float64)
    order = beyond + rng.random(beyond.shape) / 2
    return np.asarray(patterns[order.argmin(axis=1)])
