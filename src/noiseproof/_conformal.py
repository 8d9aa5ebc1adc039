"""Conformal calibration of a model for every pattern of missing values.

This is CP-MDA-Exact (Zaffran et al. 2023). Let m be the set of values that a new row
misses. All calibration rows that miss only values in m are used, and the rest of m is
deleted from them. The threshold is a quantile of the model's errors (scores) on these
rows. They are exchangeable with the new row, so its score is below the threshold with
the requested probability.
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
# maps rows with the same missing values, and their targets, to the model's errors
Score = Callable[[Any, NDArray[Any]], Array]

_PATTERNS = 100_000  # maximum number of patterns whose thresholds are cached


class Calibration:
    """Held-out rows, their targets, and the thresholds computed so far.

    `labels` is the group of each column: if one column of a group is missing, so are
    the others. Missing values of a sparse matrix are unknown, so all of its rows have
    the same pattern. If at least `alone` rows have a pattern from the beginning, and
    they are enough for the coverage, only these calibrate it. The coverage is then
    guaranteed for any mechanism that makes values missing, if it is the same for new
    rows.
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
        # keys: the coverage, then the indices of the missing columns
        self.thresholds: dict[float, dict[tuple[int, ...], float]] = {}

    def __len__(self) -> int:
        return len(self.targets)

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the thresholds, which are recomputed when they are needed."""
        return {k: v for k, v in self.__dict__.items() if k != "thresholds"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def check(self, coverage: Any) -> None:
        """Raise an error if a coverage is invalid, or if there are too few rows."""
        if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
            raise ValueError(f"coverage must lie within (0, 1); got {coverage!r}.")
        coverage = float(coverage)
        if _rank(len(self), coverage) > len(self):
            raise ValueError(
                f"coverage={float(coverage)} needs at least {_least(coverage)} "
                f"calibration rows; got {len(self)}."
            )

    def limits(self, missing: Mask, coverage: float, score: Score) -> tuple[Mask, Any]:
        """Return the missing values to calibrate each row for, and its threshold."""
        missing = self._whole_groups(missing)
        if not missing.size:  # a sparse matrix, or no rows
            limit = self._threshold(missing[0], coverage, score) if len(missing) else 0
            return missing, np.full(len(missing), limit)
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        patterns = np.array([self._served(pattern, coverage) for pattern in patterns])
        limits = [self._threshold(pattern, coverage, score) for pattern in patterns]
        return patterns[which.ravel()], np.array(limits)[which.ravel()]

    def _served(self, pattern: Mask, coverage: float) -> Mask:
        """Extend a pattern, if necessary, until it has enough calibration rows.

        Each step adds as few values as possible. The result depends only on which
        values are missing, so the guarantee still holds.
        """
        while True:
            more = (self.missing & ~pattern).sum(axis=1)
            others = np.flatnonzero(more)
            left = len(more) - len(others)
            if _rank(left, coverage) <= left:
                return pattern
            pattern = pattern | self.missing[others[more[others].argmin()]]

    def _threshold(self, pattern: Mask, coverage: float, score: Score) -> float:
        """Return the quantile of the scores of calibration rows with this pattern."""
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
        """Return the rows with this pattern, if enough, else all that miss no more."""
        own = np.flatnonzero((self.missing == pattern).all(axis=1))
        if self.alone is not None and len(own) >= max(self.alone, _least(coverage)):
            return own
        return np.flatnonzero(~(self.missing & ~pattern).any(axis=1))

    def _whole_groups(self, missing: Mask) -> Mask:
        """Mark the missing values, and with them the rest of their groups."""
        touched = np.zeros((len(missing), self.labels.max(initial=-1) + 1), dtype=bool)
        rows, columns = np.nonzero(missing)
        touched[rows, self.labels[columns]] = True
        return touched[:, self.labels]


def missing_values(X: Any) -> Mask:
    """Mark the missing values, with shape (n, d); (n, 0) for a sparse matrix."""
    if density(X) is not None:
        return np.zeros((X.shape[0], 0), dtype=bool)
    return holes(X if hasattr(X, "columns") else np.asarray(X, dtype=np.float64))


def without(X: Any, missing: Mask) -> Any:
    """Delete the marked values; return X itself if all are missing already."""
    if not missing.size or not (missing & ~missing_values(X)).any():
        return X
    return contain(X, "nan").without(missing)


def ordered(X: Any, names: Any) -> Any:
    """Reorder the columns of a data frame; an array is returned as it is."""
    if names is None or not hasattr(X, "columns") or list(X.columns) == list(names):
        return X
    absent = [name for name in names if name not in X.columns]
    if absent:
        raise ValueError(
            f"X has no column {absent[0]!r}, which the calibration rows have."
        )
    return X[[*names, *(name for name in X.columns if name not in names)]]


def _least(coverage: float) -> int:
    """Return the smallest number of rows for which there is a threshold."""
    return int(np.ceil(round(coverage / (1 - coverage), 9)))


def _rank(n: int, coverage: float) -> int:
    """Return the rank of the threshold among n scores; beyond n, there is none."""
    return int(np.ceil(round((n + 1) * coverage, 9)))
