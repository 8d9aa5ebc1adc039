"""What the missing values of single columns, and of groups of columns, cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._conformal import without
from noiseproof._private import _safe_indexing
from noiseproof.evaluation.averaged import N_DRAWS, Averaged, Drawn, losses
from noiseproof.evaluation.cell_values import gains, linear_gains
from noiseproof.evaluation.corrections import WIDTH, Masked, whole_risks

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

_LOOKED_AT = 400  # rows of today for each column
_CELLS = 20_000  # missing values of today, over all columns
_ASKED = 500  # predictions of today's rows in which a group is known
# Predictions of labelled rows in which a group, or a column, is known; no more than
# there are rows today, whose own number then decides how wide intervals are.
_REVEALED = 600
_LEAST = 50  # of them for each group, at least
_OFF = 0.3  # by how much expected gains are usually wrong: all together, and each
_POOLED = 5  # labelled rows that count as much as the spread over all parts


class Expected:
    """Incomplete rows, and what the model expects to gain from knowing columns.

    A part is a set of columns. `parts`, of shape (p, d), marks the columns of each; an
    array `part` and an array `row` name pairs of a part and a row.
    """

    def __init__(self, averaged: Averaged, X: Any, scoring: str, rng: Any):
        self.averaged, self.X, self.scoring, self.rng = averaged, X, scoring, rng
        self.drawn = Drawn(averaged, X)
        self.risks = self.drawn.risks(scoring)

    def gains(self, parts: Mask, part: Places, row: Places) -> Array:
        """How far the expected loss of each row falls if its part is known."""
        if (parts.sum(axis=1) == 1).all():
            return self._of_columns(row, parts.argmax(axis=1)[part])
        drawn = self.drawn
        # for all parts of a row the same draw, which makes them easier to compare
        chance = self.rng.random((len(drawn.missing), 1))[row]
        picked = (drawn.weights[row].cumsum(axis=1) > chance).argmax(axis=1)
        whole = _safe_indexing(drawn.rows, drawn.draw[row, picked])
        known = without(whole, drawn.missing[row] & ~parts[part])
        if self.scoring == "squared_error":
            after = Drawn(self.averaged, known).risks(self.scoring)[0]
        else:
            after = whole_risks(self.averaged.answers(known), self.scoring)
        return np.asarray(self.risks[0][row] - after)

    def _of_columns(self, row: Places, column: Places) -> Array:
        """Gains from single missing values."""
        if self._linear is not None:
            return np.asarray(self._linear[row, column])
        asked = np.zeros(self.drawn.missing.shape, dtype=bool)
        asked[row, column] = True
        found, (told, all_of_it) = gains(self.drawn, self.scoring, asked, N_DRAWS)
        # what is due to chance is known better for all rows than for one
        with np.errstate(invalid="ignore"):
            share = np.nansum(told, axis=0) / np.nansum(all_of_it, axis=0)
        found = found * np.clip(np.nan_to_num(share), 0.0, 1.0)
        return np.asarray(found[row, column])

    @cached_property
    def _linear(self) -> Array | None:
        return linear_gains(self.averaged, self.X, self.scoring)


@dataclass(frozen=True)
class PartCosts:
    """Expected gains of today's rows, corrected by the actual ones of labelled rows.

    Columns are revealed in labelled rows that miss what today's rows miss. The
    correction has a factor for all parts, and an offset for each. The priors are
    Gaussian: the factor is one, and the offsets are zero, give or take `_OFF` (of the
    usual gain). So parts of which the labelled rows tell little keep their order.
    """

    today: Expected
    gone: Mask  # of all rows of today, of which `today` may have a sample
    masked: Masked | None
    refitted: float

    @cached_property
    def _labelled(self) -> Expected:
        """The labelled rows, and what the model expects to gain in them."""
        masked, today = self.masked, self.today
        assert masked is not None
        return Expected(masked.averaged, masked.X, today.scoring, today.rng)

    def of(self, parts: Mask) -> Array:
        """Costs of the parts and the ends of their intervals, of shape (p, 3)."""
        touched = _touched(self.gone, parts).sum(axis=0)
        single = bool((parts.sum(axis=1) == 1).all())
        asked = max(_LEAST, _ASKED // len(parts))
        if single:
            asked = min(_LOOKED_AT, max(1, _CELLS // len(parts)))
        there = _touched(self.today.drawn.missing, parts)
        part, row = _pairs(there, asked, self.today.rng.random((len(there), 1)))
        expected = self.today.gains(parts, part, row)
        mean, spread, n = _by_part(expected, part, len(parts))
        value, variance, noise = self._corrected(parts, mean)
        variance = variance + spread / np.maximum(n, 1) + noise / np.maximum(touched, 1)
        share = touched / len(self.gone)
        reach = WIDTH * np.sqrt(variance)
        return share[:, None] * np.stack([value, value - reach, value + reach], axis=1)

    def _corrected(self, parts: Mask, mean: Array) -> tuple[Array, Array, Array]:
        """Corrected gains, their variances, and the variances of single gains."""
        expected, found, part, row = self._revealed(parts)
        p, total = len(parts), float(expected.sum())
        bias = np.bincount(row, weights=found - expected, minlength=1)
        error = self.refitted * float(((bias - bias.mean()) ** 2).sum())
        reach = (_OFF * total) ** 2
        trust = reach / (reach + error) if reach > 0 else 0.0
        factor = 1.0
        if trust:
            factor = max(1.0 + trust * float(bias.sum()) / total, 0.0)
        apart = found - factor * expected
        offset, spread, n = _by_part(apart, part, p)
        pooled = float(apart.var()) if len(row) else 0.0
        spread = (n * spread + _POOLED * pooled) / (n + _POOLED)
        usual = max(_OFF**2 * float(np.mean(mean**2)), 1e-300)
        own = usual * n / np.maximum(usual * n + self.refitted * spread, 1e-300)
        of_factor = (1.0 - trust) * (_OFF * (1.0 - own) * mean) ** 2
        variance = (1.0 - own) * usual + of_factor
        return factor * mean + own * offset, variance, spread

    def _revealed(self, parts: Mask) -> tuple[Array, Array, Places, Places]:
        """Expected and actual gains of labelled rows, their parts, and the rows."""
        masked = self.masked
        nothing = np.zeros(0), np.zeros(0), *np.zeros((2, 0), dtype=np.intp)
        if masked is None:
            return nothing
        most = min(_REVEALED, max(len(self.gone), _LEAST))
        today, asked = self.today, max(1, most // len(parts))
        known = _touched(masked.missing, parts) & ~_touched(masked.own, parts)
        if not known.any():
            return nothing
        part, row = _pairs(known, asked, today.rng.random(known.shape))
        expected = self._labelled.gains(parts, part, row)
        left = masked.missing[row] & ~parts[part]
        revealed = without(_safe_indexing(masked.labelled, row), left)
        answers = masked.averaged.answers(revealed)
        after = losses(answers, masked.y[row], masked.averaged.classes, today.scoring)
        return expected, masked.found[row] - after, part, row


def _touched(missing: Mask, parts: Mask) -> Mask:
    """Which rows (n, p) miss a value of which part."""
    return np.asarray(missing.astype(np.float32) @ parts.T.astype(np.float32) > 0)


def _pairs(touched: Mask, most: int, chance: Array) -> tuple[Places, Places]:
    """Parts and rows (n, p) that are marked, at most so many rows for each part.

    Those of the smallest `chance` are taken.
    """
    order = np.where(touched, chance, np.inf).argsort(axis=0)
    taken = np.take_along_axis(touched, order, axis=0)[:most]
    part, place = np.nonzero(taken.T)
    return part, order[place, part]


def _by_part(values: Array, part: Places, p: int) -> tuple[Array, Array, Array]:
    """Mean, variance and number of the values of each part."""
    n = np.bincount(part, minlength=p).astype(np.float64)
    some = np.maximum(n, 1)
    mean = np.bincount(part, weights=values, minlength=p) / some
    squares = np.bincount(part, weights=(values - mean[part]) ** 2, minlength=p)
    return mean, squares / some, n
