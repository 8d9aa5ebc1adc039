"""The invariant risk of kernel machines, f(x, y) = Σ_p A_py k(x_p, x)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._invariant.candidates import Candidates
from noiseproof._invariant.costs import Array, Costs
from noiseproof._rows import Workers

Labels = NDArray[np.intp]
_CHUNK = 2**21  # entries of a kernel matrix that are made at a time


@dataclass
class KernelRisk:
    """R(f) with the joint kernel [y = y'] k(x, x'), for listed transforms.

    Parameters
    ----------
    candidates : Candidates
        What each row may become.
    own : array of int of shape (n,)
        Class of each row.
    costs : Costs
        Γ and Δ.
    mass : array of shape (n,)
        Weights of the rows, which sum to 1.
    alpha : float
        Strength of the penalty.
    kernel : callable
        k of two sets of rows, as a matrix.
    cache_size : float
        Bytes of kernel rows to keep in memory.
    """

    candidates: Candidates
    own: Labels
    costs: Costs
    mass: Array
    alpha: float
    kernel: Callable[[Any, Any], Array]
    cache_size: float

    def __post_init__(self) -> None:
        self.k = len(self.costs.scale)
        self.floor = self.costs.floor(self.own)
        self.candidate_own = self.own[self.candidates.owner]

    def losses(self, scores: Array) -> Array:
        """Loss of every (s, y') at given scores of all candidates, (m, k)."""
        return self.costs.losses(scores, self.candidate_own, self.candidates.rank)

    def tops(self, losses: Array) -> Array:
        """l_i of each row, given the losses of all its (s, y')."""
        worst = np.maximum.reduceat(losses.max(axis=1), self.candidates.start[:-1])
        return np.maximum(worst, self.floor)


class KernelRows:
    """Kernel rows of chosen candidates, the points, against all candidates.

    They are kept as long as they fit into `risk.cache_size`; those beyond are computed
    again at every use.

    Parameters
    ----------
    risk : KernelRisk
        Whose candidates and kernel these are.
    """

    def __init__(self, risk: KernelRisk):
        self.risk = risk
        self.points = np.empty(0, dtype=np.intp)
        self._width = risk.candidates.X.shape[0]
        self._room = min(int(risk.cache_size // (8 * self._width)), self._width)
        # memory that is not written to costs nothing
        self._kept = np.empty((self._room, self._width))
        self._workers = Workers(blas=True)

    def extend(self, points: Labels) -> None:
        """Choose more points."""
        old, m = len(self.points), len(self.points) + len(points)
        self.points = np.concatenate([self.points, points])
        parts = list(_chunks(old, min(m, self._room), self._width))
        if parts:
            self._workers.map(self._fill, parts)

    def _fill(self, part: slice) -> None:
        self._kept[part] = self._compute(self.points[part])

    def blocks(self, start: int = 0) -> Iterator[tuple[slice, Array]]:
        """The rows of all points from `start` on, in blocks, with their places."""
        m = len(self.points)
        kept = min(m, self._room)
        if start < kept:
            yield slice(start, kept), self._kept[start:kept]
        for part in _chunks(max(start, kept), m, self._width):
            yield part, self._compute(self.points[part])

    def take(self, places: Labels) -> Array:
        """The rows of some points."""
        if len(places) == 0 or places.max() < self._room:
            return self._kept[places]
        return self._compute(self.points[places])

    def scores(self, A: Array) -> Array:
        """Scores of all candidates, (m, k), for coefficients A of the points."""
        total = np.zeros((self._width, self.risk.k))
        for part, rows in self.blocks():
            total += rows.T @ A[part]
        return total

    def _compute(self, points: Labels) -> Array:
        X = self.risk.candidates.X
        return np.asarray(self.risk.kernel(X[points], X), dtype=np.float64)


def _chunks(start: int, stop: int, width: int) -> Iterator[slice]:
    """Ranges of rows of that width, which make a block of moderate size."""
    step = max(1, _CHUNK // width)
    for low in range(start, stop, step):
        yield slice(low, min(low + step, stop))
