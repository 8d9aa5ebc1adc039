"""Dense arrays, C or F order, float32 or float64, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows.base import (
    Array,
    DenseBlock,
    Design,
    EntryBlock,
    RowCurvature,
)
from noiseproof._rows.csr import GroupedDense
from noiseproof._rows.matrices import entries
from noiseproof._rows.threads import Workers

# Waking a thread costs as much as some 10⁶ products, so smaller work is not shared
_PRODUCTS_PER_THREAD = 4_000_000
_LIGHT_PRODUCTS = 100_000
_BLOCK_ENTRIES = 1 << 18  # 2 MiB of float64: a block and its squares stay in cache


_Block = tuple[slice, Array]
_PowerBlock = tuple[slice, Array, Array]


class DenseDesign(Design):
    """A NumPy array. Missing entries (NaN) count as zero.

    Blocks of rows are converted to float64, squared and multiplied while they are in
    cache, so the extra memory is two blocks whatever the size of X.
    """

    @classmethod
    def holds(cls, X: Any) -> bool:
        """Return whether X is stored as this design expects."""
        return isinstance(X, np.ndarray)

    def __init__(self, X: NDArray[Any], has_missing: bool = False):
        self.X = X
        self.shape = X.shape
        self._clean = X.dtype == np.float64 and not has_missing
        self._order: Literal["C", "F"] = "C" if X.flags.c_contiguous else "F"
        self._workers = Workers(blas=True)
        self._rows = max(16, _BLOCK_ENTRIES // max(1, X.shape[1]))

    def grouped(self, labels: NDArray[Any], scale: float | Array) -> Design:
        return GroupedDense(self, labels, scale)

    def entries(self) -> tuple[Any, ...]:
        X = self.X if self._clean else np.nan_to_num(self.X, nan=0.0)
        return *entries(X), np.uint64(1)

    def extremes(self) -> tuple[float, float]:
        low, high = 0.0, 0.0
        for _, B in self._blocks():
            low, high = min(low, float(B.min())), max(high, float(B.max()))
        return low, high

    def _blocks(self, start: int = 0, stop: int | None = None) -> Iterator[_Block]:
        end = self.shape[0] if stop is None else stop
        for low in range(start, end, self._rows):
            rows = slice(low, min(end, low + self._rows))
            block = self.X[rows]
            if not self._clean:
                block = block.astype(np.float64, order=self._order)
                np.nan_to_num(block, copy=False, nan=0.0)
            yield rows, block

    def _powers(self, part: tuple[int, int], power: int) -> Iterator[_PowerBlock]:
        """Yield blocks of some rows with their entrywise power."""
        size = (min(self._rows, part[1] - part[0]), self.shape[1])
        buffer = np.empty(size, order=self._order)
        for rows, B in self._blocks(*part):
            if power == 2:
                Q = buffer[: B.shape[0]]
                np.multiply(B, B, out=Q)
                yield rows, B, Q
            else:
                yield rows, B, B

    def _share(
        self, k: int, work: Callable[[_PowerBlock], Any], power: int
    ) -> list[Any]:
        """Apply `work` to every block, with rows shared by threads; sum the results."""
        n, d = self.shape
        products = n * d * k
        threads = self._workers.at_most(min(n, 1 + products // _PRODUCTS_PER_THREAD))
        cuts = np.linspace(0, n, threads + 1).astype(int).tolist()

        def run(part: tuple[int, int]) -> list[Any]:
            sums: list[Any] = []
            for block in self._powers(part, power):
                terms = work(block)
                sums = (
                    [s + t for s, t in zip(sums, terms, strict=True)] if sums else terms
                )
            return sums

        light = products < _LIGHT_PRODUCTS
        pieces = self._workers.map(run, list(pairwise(cuts)), light=light)
        return [sum(parts[1:], parts[0]) for parts in zip(*pieces, strict=True)]

    def _empty(self, k: int) -> Array:
        return np.empty((k, self.shape[0]))

    def moments(self, W: Array, S: Array, power: int) -> tuple[Array, Array]:
        m, v = self._empty(len(W)), self._empty(len(W))
        SW = S * W

        def work(block: _PowerBlock) -> list[Any]:
            rows, B, Q = block
            m[:, rows] = W @ B.T
            v[:, rows] = SW @ Q.T
            return []

        self._share(len(W), work, power)
        return m, v

    def directions(
        self, P: Array, S: Array, T: Array, power: int
    ) -> tuple[Array, Array, Array]:
        a, e, u = self._empty(len(P)), self._empty(len(P)), self._empty(len(P))
        both = np.concatenate([2 * S * P, T * P])

        def work(block: _PowerBlock) -> list[Any]:
            rows, B, Q = block
            a[:, rows] = P @ B.T
            e[:, rows], u[:, rows] = np.split(both @ Q.T, 2)
            return []

        self._share(len(P), work, power)
        return a, e, u

    def pullback(self, A: Array, B: Array, S: Array, power: int) -> Array:
        def work(block: _PowerBlock) -> list[Any]:
            rows, X, Q = block
            return [A[:, rows] @ X, B[:, rows] @ Q]

        mean, variance = self._share(len(S), work, power)
        return np.asarray(mean + 2 * S * variance)

    def curvature_diagonal(
        self, h: RowCurvature, S: Array, power: int
    ) -> tuple[Array, Array]:
        def work(block: _PowerBlock) -> list[Any]:
            rows, X, Q = block
            squares = Q if power == 2 else X * X
            cubes, fourths = X * Q, Q * Q
            mm, mv, vv, v = (part[:, rows] for part in h)
            return [mm @ squares, mv @ cubes, vv @ fourths, v @ Q]

        mm, mv, vv, v = self._share(len(S), work, power)
        return mm + 4 * S * (mv + S * vv), 2 * v

    def curvature_product(
        self, P: Array, S: Array, h: RowCurvature, a0: Array, e0: Array, power: int
    ) -> tuple[Array, Array, Array]:
        SP = 2 * S * P

        def work(block: _PowerBlock) -> list[Any]:
            rows, X, Q = block
            a = P @ X.T + a0[:, None]
            e = SP @ Q.T + e0[:, None]
            mm, mv, vv = h.mm[:, rows], h.mv[:, rows], h.vv[:, rows]
            A = mm * a + mv * e
            B = mv * a + vv * e
            return [A @ X, B @ Q, A.sum(axis=1), B.sum(axis=1)]

        mean, variance, sum_a, sum_b = self._share(len(P), work, power)
        return mean + 2 * S * variance, sum_a, sum_b

    def take(self, rows: NDArray[np.intp]) -> Design:
        return DenseDesign(np.ascontiguousarray(self.X[rows]), not self._clean)

    def dense_rows(self, rows: slice) -> Array:
        block = np.ascontiguousarray(self.X[rows], dtype=np.float64)
        return block if self._clean else np.nan_to_num(block, nan=0.0)

    def scaled_rows(self, rows: NDArray[Any], scale: Array, with_one: bool) -> Array:
        block = np.nan_to_num(self.X[rows].astype(np.float64), nan=0.0)
        if with_one:
            block = np.hstack([block, np.ones((len(rows), 1))])
        return block * scale[:, None]

    def entry_blocks(self) -> Iterator[EntryBlock]:
        for rows, B in self._blocks():
            yield DenseBlock(rows, B)
