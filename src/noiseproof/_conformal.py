"""Rows kept aside that calibrate a model for every pattern of missing values.

This is CP-MDA-Exact (Zaffran et al. 2023). For a row that misses m, all calibration
rows that miss nothing else lose m as well; the threshold is a quantile of how badly the
model does on them. They and the new row are exchangeable then, so its own score is
below the threshold with the probability asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import KeptRows, contain, density
from noiseproof.conditionals import holes

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# of rows that miss just what they shall, and their targets: how wrong the model is
Score = Callable[[Any, NDArray[Any]], Array]

_PATTERNS = 100_000  # whose thresholds are remembered


class Calibration:
    """Rows that a model was not fitted on, their targets, and the thresholds so far.

    `labels` gives a number to the group of each column: if one column of a group is
    missing, so are the others. A sparse matrix has no missing values that are known,
    so all of its rows have one pattern. Where at least `alone` rows have a pattern from
    the beginning, they alone calibrate it: so the promise holds for any mechanism that
    makes values missing, if it is the same for new rows.
    """

    def __init__(
        self,
        X: Any,
        y: NDArray[Any],
        labels: Any = None,
        alone: int | None = None,
    ):
        missing = missing_values(X)
        self.rows, self.targets, self.alone = KeptRows(X), y, alone
        self.labels = np.arange(missing.shape[1]) if labels is None else labels
        self.missing = self._whole_groups(missing)
        self._forget()

    def _forget(self) -> None:
        # by coverage, and then by the numbers of the columns that are missing
        self.thresholds: dict[float, dict[tuple[int, ...], float]] = {}

    def __len__(self) -> int:
        return len(self.targets)

    def __getstate__(self) -> dict[str, Any]:
        """All but the thresholds, which are computed anew when they are needed."""
        return {k: v for k, v in self.__dict__.items() if k != "thresholds"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def check(self, coverage: Any) -> None:
        """Refuse a coverage for which there are too few rows."""
        if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
            raise ValueError(f"coverage must lie within (0, 1); got {coverage!r}.")
        coverage = float(coverage)
        if _rank(len(self), coverage) > len(self):
            raise ValueError(
                f"coverage={coverage:g} needs at least {_least(coverage)} calibration "
                f"rows; got {len(self)}."
            )

    def limits(self, missing: Mask, coverage: float, score: Score) -> tuple[Mask, Any]:
        """What rows that miss this are treated as missing, and how wrong one may be."""
        missing = self._whole_groups(missing)
        if not missing.size:  # of a sparse matrix, or of no rows
            limit = self._threshold(missing[0], coverage, score) if len(missing) else 0
            return missing, np.full(len(missing), limit)
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        patterns = np.array([self._served(pattern, coverage) for pattern in patterns])
        limits = [self._threshold(pattern, coverage, score) for pattern in patterns]
        return patterns[which.ravel()], np.array(limits)[which.ravel()]

    def _served(self, pattern: Mask, coverage: float) -> Mask:
        """The pattern, with as few values more as give it enough calibration rows.

        It depends on what is missing only, so the promise holds for what it gives.
        """
        while True:
            more = (self.missing & ~pattern).sum(axis=1)
            others = np.flatnonzero(more)
            left = len(more) - len(others)
            if _rank(left, coverage) <= left:
                return pattern
            pattern = pattern | self.missing[others[more[others].argmin()]]

    def _threshold(self, pattern: Mask, coverage: float, score: Score) -> float:
        """The quantile of the scores of calibration rows that miss just this."""
        known = self.thresholds.setdefault(coverage, {})
        key = tuple(np.flatnonzero(pattern).tolist())
        found = known.get(key)
        if found is None:
            usable = self._usable(pattern, coverage)
            gone = np.broadcast_to(pattern, (len(usable), len(pattern)))
            rows = without(self.rows.take(usable), gone)
            rank = _rank(len(usable), coverage) - 1
            scores = score(rows, self.targets[usable])
            found = float(np.partition(scores, rank)[rank])
            if len(known) >= _PATTERNS:
                known.clear()
            known[key] = found
        return found

    def _usable(self, pattern: Mask, coverage: float) -> NDArray[np.intp]:
        """Rows that miss just this, if there are enough, else all that miss no more."""
        own = np.flatnonzero((self.missing == pattern).all(axis=1))
        if self.alone is not None and len(own) >= max(self.alone, _least(coverage)):
            return own
        return np.flatnonzero(~(self.missing & ~pattern).any(axis=1))

    def _whole_groups(self, missing: Mask) -> Mask:
        """Values that are missing, and with them the rest of their groups."""
        touched = np.zeros((len(missing), self.labels.max(initial=-1) + 1), dtype=bool)
        rows, columns = np.nonzero(missing)
        touched[rows, self.labels[columns]] = True
        return touched[:, self.labels]


def missing_values(X: Any) -> Mask:
    """Which values are missing, of shape (n, d); (n, 0) for a sparse matrix."""
    if density(X) is not None:
        return np.zeros((X.shape[0], 0), dtype=bool)
    return holes(X if hasattr(X, "columns") else np.asarray(X, dtype=np.float64))


def without(X: Any, missing: Mask) -> Any:
    """Rows without the values that are marked, if any of these is still there."""
    if not missing.size or not (missing & ~missing_values(X)).any():
        return X
    return contain(X, "nan").without(missing)


def ordered(X: Any, names: Any) -> Any:
    """A data frame with its columns in this order; an array as it is."""
    if names is None or not hasattr(X, "columns") or list(X.columns) == list(names):
        return X
    absent = [name for name in names if name not in X.columns]
    if absent:
        raise ValueError(
            f"X has no column {absent[0]!r}, which the calibration rows have."
        )
    return X[[*names, *(name for name in X.columns if name not in names)]]


def _least(coverage: float) -> int:
    """The number of rows from which on there is a threshold."""
    return int(np.ceil(round(coverage / (1 - coverage), 9)))


def _rank(n: int, coverage: float) -> int:
    """Which of n scores, by size, is the threshold; above n there is none."""
    return int(np.ceil(round((n + 1) * coverage, 9)))
