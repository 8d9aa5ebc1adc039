"""CSR matrices: compiled passes over the stored entries, shared by threads."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cache, cached_property
from itertools import pairwise
from threading import get_ident
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._rows.base import Array, DenseBlock, Design, EntryBlock, RowCurvature
from noiseproof._rows.matrices import unsigned
from noiseproof._rows.threads import Workers

# Waking a thread costs as much as some 10⁵ entries, so smaller work is not shared
ENTRIES_PER_THREAD = 400_000
# With fewer classes per thread, threads share rows instead: classes are handled in
# fours and might not divide evenly
_CLASSES_PER_THREAD = 16
_BLOCK_ENTRIES = 1 << 17
_LINE = 8  # numbers in a cache line

# Argument `width` of loops: how many classes they handle at once, see `lanes`
_FOUR, _ONE = (0.0,) * 4, (0.0,)
# Numbers per feature and class in the table of a loop, and per group in its sums
_COLUMNS = {"moments": 2, "directions": 3, "pullback": 2, "diagonal": 3, "product": 3}
_SUMS = {"moments": 1, "directions": 2, "pullback": 1, "diagonal": 1, "product": 2}

_Part = tuple[int, int, int, int]  # rows lo to hi of classes k_lo to k_hi


@cache
def _loops() -> ModuleType:
    """Import the compiled loops, and with them Numba, which takes half a second."""
    from noiseproof._rows import kernels

    return kernels


def _aligned(size: int) -> Array:
    """Allocate an array of float64 that starts at a cache line."""
    numbers = np.empty(size + _LINE)
    return numbers[-(numbers.ctypes.data // 8) % _LINE :][:size]


class CSRDesign(Design):
    """A SciPy CSR matrix or array of float32 or float64. Stored NaN count as zero."""

    is_sparse = True

    @classmethod
    def holds(cls, X: Any) -> bool:
        """Return whether X is stored as this design expects."""
        return sp.issparse(X) and X.format == "csr"

    def __init__(self, X: Any, has_missing: bool = False):
        indptr, indices, data = unsigned(X)
        if has_missing:
            data = np.nan_to_num(data, nan=0.0)
        self._read(X.shape, (indptr, indices, data, indptr.dtype.type(0)))

    def _read(self, shape: tuple[int, int], entries: tuple[Any, ...]) -> None:
        self.shape, self._csr = shape, entries
        self._labels: Any = None  # group of each feature
        self._share(None)

    def _group(self, labels: NDArray[Any], scale: float | Array) -> None:
        """Let all features of a group share their noise."""
        self._labels, self._scale = labels.astype(np.uint32), scale
        self._n_groups = int(labels.max(initial=-1)) + 1

    def _share(self, threads: int | None) -> None:
        """Set the number of threads (None: one per core), and reset the shares."""
        self._workers = Workers(blas=False, threads=threads)
        self._shares: dict[int, list[_Part]] = {}
        self._tables: dict[int, Array] = {}

    @property
    def n_stored(self) -> int:
        return len(self._csr[2])

    def with_threads(self, threads: int) -> Design:
        rows = copy(self)
        rows._share(threads)
        return rows

    def grouped(self, labels: NDArray[Any], scale: float | Array) -> Design:
        rows = copy(self)
        rows._group(labels, scale)
        return rows

    def weighted_squares(self, S: Array) -> Array:
        rows = copy(self)
        rows._labels = None
        return rows.moments(np.ones_like(S), S, 2)[1]

    def entries(self) -> tuple[Any, ...]:
        return self._csr

    def extremes(self) -> tuple[float, float]:
        data = self._csr[2]
        return float(data.min(initial=0.0)), float(data.max(initial=0.0))

    def _parts(self, k: int) -> list[_Part]:
        """Return the shares of a pass over all rows and `k` classes, one per thread."""
        if k not in self._shares:
            self._shares[k] = self._cut(k)
        return self._shares[k]

    def _cut(self, k: int) -> list[_Part]:
        n, nnz = self.shape[0], self.n_stored
        threads = self._workers.at_most(1 + nnz * k // ENTRIES_PER_THREAD)
        if k >= _CLASSES_PER_THREAD * threads:  # no two threads write to the same place
            cuts = np.linspace(0, k, threads + 1).astype(int).tolist()
            return [(0, n, lo, hi) for lo, hi in pairwise(cuts)]
        goals = np.linspace(0, nnz, threads + 1)[1:-1]
        cuts = [0, *np.searchsorted(self._csr[0], goals).tolist(), n]
        return [(lo, hi, 0, k) for lo, hi in pairwise(cuts)]

    def _run(self, loop: str, part: _Part, *arguments: Any) -> None:
        """Run a loop on a share, with four classes at the cost of less than two."""
        lo, hi, start, end = part
        stop = end - ((end - start) % len(_FOUR) == 1)
        run, labels, sums = getattr(_loops(), loop), self._labels, None
        for first, last, width in (start, stop, _FOUR), (stop, end, _ONE):
            if first == last:
                continue
            columns = _COLUMNS[loop]
            if labels is not None:
                columns += loop == "product"
                sums = np.zeros((_SUMS[loop] * self._n_groups, len(width)))
            table = self._table(columns, len(width))
            share = lo, hi, first, last, width, table, labels, sums
            run(*self._csr, *share, *arguments)

    def _table(self, columns: int, lanes: int) -> Array:
        """Return the work table of a loop, in the same memory in every pass."""
        size, thread = self.shape[1] * columns * lanes, get_ident()
        table = self._tables.get(thread)
        if table is None or len(table) < size:
            table = self._tables[thread] = _aligned(size)
        return table[:size].reshape(-1, lanes)

    def _scan(self, loop: str, k: int, *arguments: Any) -> None:
        """Run a loop whose outputs are per row, so that threads cannot collide."""
        parts = self._parts(k)
        if len(parts) == 1:
            self._run(loop, parts[0], *arguments)
        else:
            self._workers.map(lambda part: self._run(loop, part, *arguments), parts)

    def _scatter(
        self, loop: str, k: int, *arguments: Any, widths: tuple[int, ...]
    ) -> list[Array]:
        """Run a loop whose outputs are sums over rows: one copy per share of rows."""
        parts = self._parts(k)
        shared = [np.zeros((k, width)) for width in widths]
        if len(parts) == 1:
            self._run(loop, parts[0], *arguments, *shared)
            return shared
        by_rows = parts[0][3] == k

        def work(part: _Part) -> list[Array]:
            alone = by_rows and part is not parts[0]
            own = [np.zeros((k, width)) for width in widths] if alone else shared
            self._run(loop, part, *arguments, *own)
            return own

        for pieces in self._workers.map(work, parts):
            if pieces is not shared:  # in a fixed order, for reproducible results
                for total, piece in zip(shared, pieces, strict=True):
                    total += piece
        return shared

    def moments(self, W: Array, S: Array, power: int) -> tuple[Array, Array]:
        m, v = np.empty((2, len(W), self.shape[0]))
        self._scan("moments", len(W), W, S, power == 2, m, v)
        return m, v

    def directions(
        self, P: Array, S: Array, T: Array, power: int
    ) -> tuple[Array, Array, Array]:
        a, e, u = np.empty((3, len(P), self.shape[0]))
        self._scan("directions", len(P), P, S, T, power == 2, a, e, u)
        return a, e, u

    def pullback(self, A: Array, B: Array, S: Array, power: int) -> Array:
        d = self.shape[1]
        return self._scatter("pullback", len(A), A, B, S, power == 2, widths=(d,))[0]

    def curvature_diagonal(
        self, h: RowCurvature, S: Array, power: int
    ) -> tuple[Array, Array]:
        d = self.shape[1]
        diagonal, variance = self._scatter(
            "diagonal", len(S), *h, S, power == 2, widths=(d, d)
        )
        return diagonal, variance

    def curvature_product(
        self, P: Array, S: Array, h: RowCurvature, a0: Array, e0: Array, power: int
    ) -> tuple[Array, Array, Array]:
        """Compute the product as every design does, plus a term for groups.

        With groups, the term is Σ_i 2 v_i x_ij Σ_{l in g} scale x_il P_l.
        """
        T = P if self._labels is None else np.ascontiguousarray(self._scale * P)
        constants = np.stack([a0, e0], axis=1)
        out, sums = self._scatter(
            *("product", len(P), P, S, T, *h, constants, power == 2),
            widths=(self.shape[1], 2),
        )
        return out, sums[:, 0], sums[:, 1]

    @cached_property
    def _members(self) -> Array:
        """1 where a feature belongs to a group, (d, groups)."""
        return np.equal.outer(self._labels, np.arange(self._n_groups)).astype(float)

    def variance_slopes(self, block: DenseBlock, s: Array, power: int) -> Array:
        if self._labels is None:
            return super().variance_slopes(block, s, power)
        return block.x * ((block.x * s) @ self._members)[:, self._labels]

    def variance_gram(
        self, block: DenseBlock, weights: Array, scale: float | Array, power: int
    ) -> Array:
        if self._labels is None:
            return super().variance_gram(block, weights, scale, power)
        together = self._labels[:, None] == self._labels
        return scale * ((block.x * weights[:, None]).T @ block.x) * together

    @cached_property
    def _matrix(self) -> Any:
        indptr, indices = (part.view(f"i{part.itemsize}") for part in self._csr[:2])
        return sp.csr_array((self._csr[2], indices, indptr), self.shape)

    def take(self, rows: NDArray[np.intp]) -> Design:
        taken = CSRDesign(self._matrix[rows])
        return (
            taken if self._labels is None else taken.grouped(self._labels, self._scale)
        )

    def dense_rows(self, rows: slice) -> Array:
        return np.asarray(self._matrix[rows].toarray(), dtype=np.float64)

    def scaled_rows(self, rows: NDArray[Any], scale: Array, with_one: bool) -> Any:
        block = self._matrix[rows].astype(np.float64)
        if with_one:
            block = sp.hstack([block, np.ones((len(rows), 1))], format="csr")
        block.data *= np.repeat(scale, np.diff(block.indptr))
        return block

    def entry_blocks(self) -> Iterator[EntryBlock]:
        n, data = self.shape[0], self._csr[2]
        indptr = self._csr[0].astype(np.int64)
        columns = self._matrix.indices  # signed, as NumPy 2.0 needs to count them
        start = 0
        while start < n:
            stop = int(np.searchsorted(indptr, indptr[start] + _BLOCK_ENTRIES, "right"))
            stop = min(n, max(start + 1, stop - 1))
            entries = slice(indptr[start], indptr[stop])
            yield CSRBlock(
                slice(start, stop),
                data[entries].astype(np.float64),
                columns[entries],
                indptr[start : stop + 1] - indptr[start],
            )
            start = stop


class GroupedDense(CSRDesign):
    """A dense matrix in which the features of a group share their noise.

    Compiled loops sum the noise; everything else is left to the dense design.
    """

    is_sparse = False

    def __init__(self, dense: Design, labels: NDArray[Any], scale: float | Array):
        self._dense = dense
        self._read(dense.shape, dense.entries())
        self._group(labels, scale)

    def weighted_squares(self, S: Array) -> Array:
        return self._dense.weighted_squares(S)

    def extremes(self) -> tuple[float, float]:
        return self._dense.extremes()

    def take(self, rows: NDArray[np.intp]) -> Design:
        return self._dense.take(rows).grouped(self._labels, self._scale)

    def dense_rows(self, rows: slice) -> Array:
        return self._dense.dense_rows(rows)

    def scaled_rows(self, rows: NDArray[Any], scale: Array, with_one: bool) -> Any:
        return self._dense.scaled_rows(rows, scale, with_one)

    def entry_blocks(self) -> Iterator[EntryBlock]:
        return self._dense.entry_blocks()


class CSRBlock(EntryBlock):
    """The stored entries of some rows of a CSR matrix."""

    def __init__(self, rows: slice, x: Array, columns: Any, indptr: Any):
        self.rows = rows
        self.x = x
        self.columns = columns
        self._indptr = indptr
        self._counts = np.diff(indptr)
        self._starts = indptr[:-1][self._counts > 0]

    def spread(self, w: Array) -> Array:
        return w[self.columns]

    def repeat(self, c: Array) -> Array:
        return np.repeat(c, self._counts)

    def row_sums(self, entries: Array) -> Array:
        out = np.zeros(len(self._counts))
        if entries.size:
            out[self._counts > 0] = np.add.reduceat(entries, self._starts)
        return out

    def column_sums(self, entries: Array, out: Array) -> None:
        out += np.bincount(self.columns, weights=entries, minlength=len(out))

    def group_totals(self, labels: NDArray[np.intp], entries: Array) -> Array:
        out, sums = np.empty_like(entries), np.zeros(int(labels.max(initial=-1)) + 1)
        rows = self._indptr, self.columns, labels
        _loops().group_totals(*rows, sums, entries, out)
        return out
