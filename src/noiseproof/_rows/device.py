"""Data on a device, as dense or CSR arrays of torch or CuPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows.arrays import (
    DeviceArray,
    device_of,
    host,
    is_foreign,
    namespace,
)
from noiseproof._rows.base import Array, DenseBlock, Design, EntryBlock, RowCurvature
from noiseproof._rows.foreign import (
    build_csr,
    csr_parts,
    entry_rows,
    is_sparse,
    zero_missing,
)

_BLOCK_ENTRIES = 1 << 28  # entries of a dense block; its squares take the same again


class DeviceDesign(Design):
    """An array or a CSR matrix of torch or CuPy. Missing entries (NaN) count as zero.

    Weights, scores and everything computed from them are float64. If the data is
    float32, products for values and gradients are still computed in float64. Products
    with the curvature, by far the most frequent, are computed in float32, since they
    only determine the search direction.
    """

    where = "device"

    @classmethod
    def holds(cls, X: Any) -> bool:
        """Return whether X is stored as this design expects."""
        return is_foreign(X)

    def __init__(self, X: Any, has_missing: bool = False):
        X = zero_missing(X) if has_missing else X
        self.shape = tuple(X.shape)
        self._sparse = is_sparse(X)
        self._matrix = _Sparse.of(X) if self._sparse else _Dense(X)
        self._here = DeviceArray(self._matrix.data)

    def hold(self, x: Any) -> Any:
        """Move numbers per row or per feature to the device, as float64."""
        return self._here.wrap(self._here.like(x)).astype(np.float64)

    def extremes(self) -> tuple[float, float]:
        data, xp = self._matrix.data, self._here.xp
        if 0 in data.shape:
            return 0.0, 0.0
        return min(0.0, float(xp.min(data))), max(0.0, float(xp.max(data)))

    def _blocks(self, exact: bool) -> Iterator[tuple[slice, Any]]:
        if self._sparse:
            yield slice(None), self._matrix
            return
        step = max(1, _BLOCK_ENTRIES // max(1, self.shape[1]))
        for low in range(0, max(1, self.shape[0]), step):
            rows = slice(low, min(self.shape[0], low + step))
            block = self._here[rows]
            yield rows, _Dense((block.astype(np.float64) if exact else block).raw)

    def _rows(self, work: Callable[[Any], tuple[Any, ...]]) -> list[DeviceArray]:
        """Concatenate the numbers per row, (k, n), that `work` returns per block."""
        parts = list(
            zip(*(work(block) for _, block in self._blocks(True)), strict=True)
        )
        join = self._here.xp.concat
        found = [part[0] if len(part) == 1 else join(part, axis=1) for part in parts]
        return [self._here.wrap(part) for part in found]

    def _sums(
        self, work: Callable[[slice, Any], list[Any]], exact: bool
    ) -> list[DeviceArray]:
        """Add up the sums over rows that `work` returns for each block."""
        totals: list[Any] = []
        for rows, block in self._blocks(exact):
            found = work(rows, block)
            totals = (
                [t + f for t, f in zip(totals, found, strict=True)] if totals else found
            )
        return [self._here.wrap(total).astype(np.float64) for total in totals]

    def _raw(self, *arrays: Any) -> list[Any]:
        return [self._here.like(x) for x in arrays]

    def moments(self, W: Array, S: Array, power: int) -> tuple[Array, Array]:
        W, SW = self._raw(W, S * W)
        m, v = self._rows(lambda block: (block.scores(W), block.scores(SW, power)))
        return m, v  # type: ignore[return-value]

    def directions(
        self, P: Array, S: Array, T: Array, power: int
    ) -> tuple[Array, Array, Array]:
        k = len(P)
        P, both = self._raw(P, np.concatenate([2 * S * P, T * P]))
        a, eu = self._rows(lambda block: (block.scores(P), block.scores(both, power)))
        return a, eu[:k], eu[k:]  # type: ignore[return-value]

    def pullback(self, A: Array, B: Array, S: Array, power: int) -> Array:
        A, B = self._raw(A, B)
        mean, variance = self._sums(
            lambda rows, block: [block.pull(A[:, rows]), block.pull(B[:, rows], power)],
            exact=True,
        )
        return mean + 2 * S * variance

    def curvature_diagonal(
        self, h: RowCurvature, S: Array, power: int
    ) -> tuple[Array, Array]:
        parts = self._raw(*h)
        powers = (2, 1 + power, 2 * power, power)

        def work(rows: slice, block: Any) -> list[Any]:
            each = zip(parts, powers, strict=True)
            return [block.pull(part[:, rows], q) for part, q in each]

        mm, mv, vv, v = self._sums(work, exact=False)
        return mm + 4 * S * (mv + S * vv), 2 * v

    def curvature_product(
        self, P: Array, S: Array, h: RowCurvature, a0: Array, e0: Array, power: int
    ) -> tuple[Array, Array, Array]:
        P, SP, a0 = self._raw(P, 2 * S * P, a0[:, None])
        some = isinstance(e0, DeviceArray) or e0.any()  # zero for most noises
        shift = self._raw(e0[:, None])[0] if some else 0.0
        parts = self._raw(h.mm, h.mv, h.vv)

        def work(rows: slice, block: Any) -> list[Any]:
            a = block.scores(P) + a0
            e = block.scores(SP, power) + shift
            mm, mv, vv = (part[:, rows] for part in parts)
            A = mm * a + mv * e
            B = mv * a + vv * e
            return [block.pull(A), block.pull(B, power), A.sum(1), B.sum(1)]

        mean, variance, sum_a, sum_b = self._sums(work, exact=False)
        return mean + 2 * S * variance, sum_a, sum_b  # type: ignore[return-value]

    def take(self, rows: NDArray[Any]) -> Design:
        """Return a design of some of the rows, in order."""
        return DeviceDesign(self._matrix.take(*self._raw(rows)))

    def dense_rows(self, rows: slice) -> Array:
        places = np.arange(self.shape[0])[rows]
        block = self._here.wrap(self._matrix.dense(*self._raw(places)))
        return block.astype(np.float64)  # type: ignore[return-value]

    def scaled_rows(self, rows: NDArray[Any], scale: Array, with_one: bool) -> Any:
        block = self._here.wrap(self._matrix.dense(*self._raw(rows)))
        block = block.astype(np.float64)
        if with_one:
            block = np.hstack([block, np.ones((len(rows), 1))])  # type: ignore
        return block * scale[:, None]

    def entry_blocks(self) -> Iterator[EntryBlock]:
        for rows, block in self._blocks(True):
            rows = slice(0, self.shape[0]) if self._sparse else rows
            here = self._here.wrap(block.data)
            yield (
                _SparseBlock(rows, here, block)
                if self._sparse
                else DenseBlock(
                    rows,
                    here,  # type: ignore[arg-type]
                )
            )


class _Dense:
    """Some rows of an array, and their entrywise powers while they are needed."""

    def __init__(self, data: Any):
        self.data = data
        self._powers = {1: data}

    def power(self, q: int) -> Any:
        if q not in self._powers:
            half = self.power(q // 2)
            self._powers[q] = (
                half * half if q % 2 == 0 else half * self.power(q - q // 2)
            )
        return self._powers[q]

    def scores(self, M: Any, q: int = 1) -> Any:
        """Compute Σ_j x_ij^q M_j, (k, n)."""
        return _cast(M, self.data) @ self.power(q).T

    def pull(self, A: Any, q: int = 1) -> Any:
        """Compute Σ_i A_i x_ij^q, (k, d)."""
        return _cast(A, self.data) @ self.power(q)

    def take(self, rows: Any) -> Any:
        return self.data[rows]

    def dense(self, rows: Any) -> Any:
        return self.data[rows]


class _Sparse:
    """A CSR matrix of float64 and its transpose, by the products of the library."""

    def __init__(self, indptr: Any, indices: Any, data: Any, shape: tuple[int, int]):
        self.indptr, self.indices, self.data, self.shape = indptr, indices, data, shape
        self.xp = namespace(data)
        self._made: dict[tuple[int, bool], Any] = {}

    @classmethod
    def of(cls, X: Any) -> _Sparse:
        indptr, indices, data = csr_parts(X)
        xp = namespace(data)
        return cls(indptr, indices, xp.astype(data, xp.float64), tuple(X.shape))

    @cached_property
    def entry_rows(self) -> Any:
        """The row of each entry."""
        return entry_rows(self.indptr, self.indices)

    @cached_property
    def _turned(self) -> tuple[Any, Any, Any]:
        """Index arrays of the transpose, and the position in `data` of its entries."""
        xp = self.xp
        order = xp.argsort(self.indices, stable=True)
        columns = xp.arange(self.shape[1] + 1, device=device_of(self.data))
        starts = xp.searchsorted(
            self.indices[order], xp.astype(columns, self.indices.dtype)
        )
        return starts, self.entry_rows[order], order

    def _matrix(self, q: int, turned: bool) -> Any:
        if (q, turned) not in self._made:
            made = self.with_data(self.data**q, turned)
            if q > 2:  # needed for preconditioners only, so not cached
                return made
            self._made[q, turned] = made
        return self._made[q, turned]

    def with_data(self, data: Any, turned: bool) -> Any:
        """Build a matrix of the library with other entries, or its transpose."""
        if not turned:
            return build_csr(self.indptr, self.indices, data, self.shape)
        indptr, indices, order = self._turned
        return build_csr(indptr, indices, data[order], self.shape[::-1])

    def scores(self, M: Any, q: int = 1) -> Any:
        return (self._matrix(q, False) @ _cast(M, self.data).T).T

    def pull(self, A: Any, q: int = 1) -> Any:
        return (self._matrix(q, True) @ _cast(A, self.data).T).T

    def _chosen(self, rows: Any) -> tuple[Any, Any]:
        """Return the new row of each entry, and which entries are in the `rows`."""
        xp = self.xp
        place = xp.full_like(self.indptr[:-1], -1)
        new = xp.arange(rows.shape[0], dtype=place.dtype, device=device_of(rows))
        place[rows] = new
        place = place[self.entry_rows]
        return place, place >= 0

    def take(self, rows: Any) -> Any:
        """Return some rows, in order, as a matrix of the library."""
        _, kept = self._chosen(rows)
        counts = (self.indptr[1:] - self.indptr[:-1])[rows]
        ends = self.xp.cumulative_sum(counts, include_initial=True)
        shape = (rows.shape[0], self.shape[1])
        return build_csr(ends, self.indices[kept], self.data[kept], shape)

    def dense(self, rows: Any) -> Any:
        """Return some rows as a dense array."""
        place, kept = self._chosen(rows)
        shape = (rows.shape[0], self.shape[1])
        out = self.xp.zeros(shape, dtype=self.data.dtype, device=device_of(rows))
        out[place[kept], self.indices[kept]] = self.data[kept]
        return out


class _SparseBlock(EntryBlock):
    """All entries of a CSR matrix on a device."""

    def __init__(self, rows: slice, x: DeviceArray, matrix: _Sparse):
        self.rows, self._matrix = rows, matrix
        self.x: Any = x

    @cached_property
    def columns(self) -> Any:  # type: ignore[override]
        return host(self._matrix.indices)  # indexes noise levels, which are NumPy's

    def spread(self, w: Array) -> Array:
        return w[self.x.wrap(self._matrix.indices)]

    def repeat(self, c: Array) -> Array:
        return c[self.x.wrap(self._matrix.entry_rows)]

    def _sums(self, entries: Any, turned: bool) -> DeviceArray:
        matrix = self._matrix.with_data(entries.raw, turned)
        ones = self.x.xp.ones(
            (matrix.shape[1], 1), dtype=self.x.raw.dtype, device=device_of(self.x.raw)
        )
        return self.x.wrap((matrix @ ones)[:, 0])

    def row_sums(self, entries: Array) -> Array:
        return self._sums(entries, turned=False)  # type: ignore[return-value]

    def column_sums(self, entries: Array, out: Array) -> None:
        out += self._sums(entries, turned=True)


def _cast(M: Any, data: Any) -> Any:
    return M if M.dtype == data.dtype else namespace(data).astype(M, data.dtype)
