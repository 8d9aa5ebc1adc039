"""Correction of the values of missing cells by rows that the model has held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from noiseproof._conformal import missing_values, without
from noiseproof._private import _safe_indexing
from noiseproof.evaluation.averaged import Averaged, Drawn, losses_by_belief

Array = NDArray[np.float64]

_MASKED = 500  # incomplete rows, at least
_RATE = 0.5  # of their values are hidden
_REVEALED = 4  # of these in each row
_OFF = 0.25  # by how much a column's value usually differs from the model's estimate
# Of how far a single value differs from those of its column. Shares that are learned
# for each model vary so much by chance that the order of values is worse.
_KEPT = 0.5
_LEAST = 0.1  # of the estimated gains, at least, are found
# By model: its conditional, and the corrections by loss.
_KNOWN: WeakKeyDictionary[Any, tuple[Any, dict[str, Any]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class ValueCorrection:
    """What values of cells were estimated and found to be, in held-out rows.

    `estimated` and `found` have a number for each column: the mean value of its cells
    divided by the expected loss of their rows. The values of single cells differ from
    this mean for reasons of their row, and because their estimates are noisy, so only a
    part of this difference is kept. The correction moves worth between columns; how
    high values are on the whole depends on how much is missing, so it stays as it is.
    """

    estimated: Array
    found: Array

    def of(self, values: Array, risks: Array) -> Array:
        """Corrected values (n, d) of rows with these expected losses."""
        usual = self.found - _KEPT * self.estimated
        found = risks[:, None] * usual + _KEPT * values
        return np.asarray(np.maximum(found, 0.0))

    @classmethod
    def learned(cls, averaged: Averaged, scoring: str, ask: Any) -> Any:
        """The correction for a model; None if it has held out no rows.

        `ask` estimates the values of cells from draws. Half of the values of the
        held-out rows are hidden, and a few of them are revealed again. What that gains
        is measured by the model's prediction for the whole row, which varies less than
        the label.
        """
        law, known = _KNOWN.get(averaged.model, (None, {}))
        if law is not averaged.law:  # the model was fitted again
            known = {}
            _KNOWN[averaged.model] = averaged.law, known
        if scoring not in known:
            kept = averaged.kept_aside()
            known[scoring] = None if kept is None else cls._of(*kept[:2], scoring, ask)
        return known[scoring]

    @classmethod
    def _of(cls, averaged: Averaged, X: Any, scoring: str, ask: Any) -> Any:
        rng = np.random.default_rng(0)
        n, d = X.shape
        own = missing_values(X)
        place = np.tile(np.arange(n), -(-_MASKED // n))
        chance = np.where(own[place], np.inf, rng.random((len(place), d)))
        hidden = chance < _RATE
        asked = hidden & (chance.argsort(axis=1).argsort(axis=1) < _REVEALED)
        row, column = np.nonzero(asked)
        if not len(row):
            return None
        masked = without(_safe_indexing(X, place), own[place] | hidden)
        drawn = Drawn(averaged, masked)
        risks = drawn.risks(scoring)[0][row]
        estimated = ask(drawn, scoring, asked)[row, column]
        left = (own[place] | hidden)[row]
        left[np.arange(len(row)), column] = False
        revealed = without(_safe_indexing(X, place[row]), left)
        both = averaged.answers(masked)[row], averaged.answers(revealed)
        beliefs = averaged.answers(X)[place[row]]
        before, after = (losses_by_belief(one, beliefs, scoring) for one in both)
        found = (before - after) / _scale(estimated, before - after, place[row])
        return cls._fitted(estimated, found, risks, column, d)

    @classmethod
    def _fitted(
        cls, estimated: Array, found: Array, risks: Array, column: Any, d: int
    ) -> ValueCorrection:
        """Means by column, drawn to those that the model estimates."""
        n, total, sums = (
            np.bincount(column, weights, d)
            for weights in (np.ones(len(column)), risks, estimated)
        )
        means = sums / np.maximum(total, 1e-300)
        apart = found - means[column] * risks
        usual = (_OFF * float(np.mean(estimated))) ** 2
        own = usual * n / np.maximum(usual * n + float(apart.var()), 1e-300)
        offsets = own * np.bincount(column, apart, d) / np.maximum(n, 1)
        worth = means + offsets / max(float(np.mean(risks)), 1e-300)
        return cls(means, np.maximum(worth, 0.0))


def _scale(given: Array, found: Array, row: Any) -> float:
    """How large gains are found to be in units of those that are given, drawn to one.

    The fewer rows there are, and the more they differ, the less it is away from one.
    """
    total = float(given.sum())
    bias = np.bincount(row, found - given)
    error = float(((bias - bias.mean()) ** 2).sum())
    if total <= 0:
        return 1.0
    return max(1.0 + total * float(bias.sum()) / (total**2 + error), _LEAST)
