"""Dense arrays, C or F order, float32 or float64, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noiseproof.design.base import Array, Design, EntryBlock, RowCurvature

_BLOCK_ENTRIES = 1 << 18  # 2 MiB of float64: a block and its squares stay in cache


class DenseDesign(Design):
    """A NumPy array. Missing entries (NaN) count as zero.

    Blocks of rows are converted to float64, squared and multiplied while they are in
    cache, so the extra memory is two blocks whatever the size of X.
    """

    def __init__(self, X: NDArray[Any], has_missing: bool = False):
        self.X = X
        self.shape = X.shape
        self._clean = X.dtype == np.float64 and not has_missing
        self._order: Literal["C", "F"] = "C" if X.flags.c_contiguous else "F"
        self._rows = max(16, _BLOCK_ENTRIES // max(1, X.shape[1]))

    def minimum(self) -> float:
        return min((float(B.min(initial=0.0)) for _, B in self._blocks()), default=0.0)

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        n = self.shape[0]
        for start in range(0, n, self._rows):
            rows = slice(start, min(n, start + self._rows))
            block = self.X[rows]
            if not self._clean:
                block = block.astype(np.float64, order=self._order)
                np.nan_to_num(block, copy=False, nan=0.0)
            yield rows, block

    def _powers(self, power: int) -> Iterator[tuple[slice, Array, Array]]:
        buffer = np.empty(
            (min(self._rows, self.shape[0]), self.shape[1]), order=self._order
        )
        for rows, B in self._blocks():
            if power == 2:
                Q = buffer[: B.shape[0]]
                np.multiply(B, B, out=Q)
                yield rows, B, Q
            else:
                yield rows, B, B

    def _empty(self, k: int) -> Array:
        return np.empty((k, self.shape[0]))

    def moments(self, W: Array, S: Array, power: int) -> tuple[Array, Array]:
        m, v = self._empty(len(W)), self._empty(len(W))
        SW = S * W
        for rows, B, Q in self._powers(power):
            m[:, rows] = W @ B.T
            v[:, rows] = SW @ Q.T
        return m, v

    def directions(
        self, P: Array, S: Array, T: Array, power: int
    ) -> tuple[Array, Array, Array]:
        a, e, u = self._empty(len(P)), self._empty(len(P)), self._empty(len(P))
        both = np.concatenate([2 * S * P, T * P])
        for rows, B, Q in self._powers(power):
            a[:, rows] = P @ B.T
            e[:, rows], u[:, rows] = np.split(both @ Q.T, 2)
        return a, e, u

    def pullback(self, A: Array, B: Array, S: Array, power: int) -> Array:
        mean, variance = np.zeros_like(S), np.zeros_like(S)
        for rows, block, Q in self._powers(power):
            mean += A[:, rows] @ block
            variance += B[:, rows] @ Q
        return mean + 2 * S * variance

    def curvature_diagonal(
        self, h: RowCurvature, S: Array, power: int
    ) -> tuple[Array, Array]:
        mm, mv, vv, v = (np.zeros_like(S) for _ in range(4))
        for rows, B, Q in self._powers(power):
            squares = Q if power == 2 else B * B
            mm += h.mm[:, rows] @ squares
            mv += h.mv[:, rows] @ (B * Q)
            vv += h.vv[:, rows] @ (Q * Q)
            v += h.v[:, rows] @ Q
        return mm + 4 * S * (mv + S * vv), 2 * v

    def curvature_product(
        self, P: Array, S: Array, h: RowCurvature, a0: Array, e0: Array, power: int
    ) -> tuple[Array, Array, Array]:
        mean, variance = np.zeros_like(S), np.zeros_like(S)
        sum_a, sum_b = np.zeros(len(P)), np.zeros(len(P))
        SP = 2 * S * P
        for rows, block, Q in self._powers(power):
            a = P @ block.T + a0[:, None]
            e = SP @ Q.T + e0[:, None]
            A = h.mm[:, rows] * a + h.mv[:, rows] * e
            B = h.mv[:, rows] * a + h.vv[:, rows] * e
            mean += A @ block
            variance += B @ Q
            sum_a += A.sum(axis=1)
            sum_b += B.sum(axis=1)
        return mean + 2 * S * variance, sum_a, sum_b

    def gram(self, weights: Array) -> Array:
        d = self.shape[1]
        out = np.zeros((d, d))
        for rows, B in self._blocks():
            out += (B * weights[rows, None]).T @ B
        return out

    def scaled_rows(self, rows: NDArray[Any], scale: Array, with_one: bool) -> Array:
        block = np.nan_to_num(self.X[rows].astype(np.float64), nan=0.0)
        if with_one:
            block = np.hstack([block, np.ones((len(rows), 1))])
        return block * scale[:, None]

    def entry_blocks(self) -> Iterator[EntryBlock]:
        for rows, B in self._blocks():
            yield DenseBlock(rows, B)


class DenseBlock(EntryBlock):
    """Some rows of a dense matrix."""

    columns = slice(None)

    def __init__(self, rows: slice, x: Array):
        self.rows = rows
        self.x = x

    def spread(self, w: Array) -> Array:
        return w[None, :]

    def repeat(self, c: Array) -> Array:
        return c[:, None]

    def row_sums(self, entries: Array) -> Array:
        return entries.sum(axis=1)

    def column_sums(self, entries: Array, out: Array) -> None:
        out += entries.sum(axis=0)
