"""CSR matrices: compiled passes over the stored entries, shared by threads."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from itertools import pairwise
from threading import get_ident
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._rows.base import Array, Design, EntryBlock, RowCurvature
from noiseproof._rows.machine_code import Loops
from noiseproof._rows.matrices import unsigned
from noiseproof._rows.threads import Workers

# Waking a thread costs what some 10⁵ entries do, so less work is not shared
_ENTRIES_PER_THREAD = 400_000
# With fewer of them threads share rows: classes go in fours and may not come out even
_CLASSES_PER_THREAD = 16
_BLOCK_ENTRIES = 1 << 17
_LINE = 8  # numbers in a cache line
# Two groups of classes at a time leave less of the work to one thread. It is done where
# what a solver keeps of one is small: some 32 MiB, or no more numbers than X has
_GROUPS = 2
_ROOM = 1 << 22

# How many classes a loop works on at once, as it is told: see `lanes`
_FOUR, _ONE = (0.0,) * 4, (0.0,)

# For GroupedDesign, and for blocks of entries, which sum by group as well
GROUPED_LOOPS = Loops("noiseproof._rows.grouped_kernels")

_Part = tuple[int, int, int, int]  # rows lo to hi of classes k_lo to k_hi


def _aligned(size: int) -> Array:
    """Room for numbers that starts at a cache line."""
    numbers = np.empty(size + _LINE)
    return numbers[-(numbers.ctypes.data // 8) % _LINE :][:size]


class CSRDesign(Design):
    """A SciPy CSR matrix or array of float32 or float64. Stored NaN count as zero."""

    _loops = Loops("noiseproof._rows.kernels")
    # Numbers per feature and class in the table of a loop
    _COLUMNS: ClassVar = {
        "moments": 2,
        "directions": 3,
        "pullback": 2,
        "diagonal": 3,
        "product": 3,
    }

    @classmethod
    def holds(cls, X: Any) -> bool:
        """Whether X is stored as this design expects."""
        return sp.issparse(X) and X.format == "csr"

    def __init__(self, X: Any, has_missing: bool = False):
        self.shape = X.shape
        self._indptr, self._indices, self._data = unsigned(X)
        if has_missing:
            self._data = np.nan_to_num(self._data, nan=0.0)
        self._workers = Workers(blas=False)
        self._shares: dict[int, list[_Part]] = {}
        self._tables: dict[int, Array] = {}

    @property
    def n_stored(self) -> int:
        return len(self._data)

    def needs_cores(self, k: int) -> bool:
        return len(self._parts(min(k, self.classes_at_once))) > 1

    @property
    def groups_at_once(self) -> int:
        fits = self.state_size <= max(_ROOM, self.n_stored)
        return min(_GROUPS, self._workers.count) if fits else 1

    def shared(self, n: int) -> Design:
        if n == 1:
            return self
        rows = copy(self)
        rows.sharing, rows._shares, rows._tables = n, {}, {}
        rows._workers = Workers(blas=False, sharing=n)
        return rows

    def grouped(self, labels: NDArray[np.intp], scale: float | Array) -> Design:
        from noiseproof._rows.grouped import GroupedDesign

        return GroupedDesign(self, self.entries(), labels, scale)

    def entries(self) -> tuple[Any, Any, Any]:
        return self._csr

    def minimum(self) -> float:
        return float(self._data.min(initial=0.0))

    @property
    def _csr(self) -> tuple[Any, Any, Any]:
        return self._indptr, self._indices, self._data

    def _parts(self, k: int) -> list[_Part]:
        """Shares of a pass over all rows and `k` classes, one per thread."""
        if k not in self._shares:
            self._shares[k] = self._cut(k)
        return self._shares[k]

    def _cut(self, k: int) -> list[_Part]:
        n, nnz = self.shape[0], len(self._data)
        threads = self._workers.at_most(1 + nnz * k // _ENTRIES_PER_THREAD)
        if k >= _CLASSES_PER_THREAD * threads:  # no two write to the same place
            cuts = np.linspace(0, k, threads + 1).astype(int).tolist()
            return [(0, n, lo, hi) for lo, hi in pairwise(cuts)]
        goals = np.linspace(0, nnz, threads + 1)[1:-1]
        cuts = [0, *np.searchsorted(self._indptr, goals).tolist(), n]
        return [(lo, hi, 0, k) for lo, hi in pairwise(cuts)]

    def _run(self, loop: str, part: _Part, *arguments: Any) -> None:
        """Run a loop on a share: four classes at a time, which cost less than two."""
        lo, hi, start, end = part
        stop = end - ((end - start) % len(_FOUR) == 1)
        for first, last, width in (start, stop, _FOUR), (stop, end, _ONE):
            if first < last:
                share = lo, hi, first, last, width, *self._room(loop, len(width))
                self._loops.run(loop, *self._csr, *share, *arguments)

    def _room(self, loop: str, lanes: int) -> tuple[Any, ...]:
        """The table that a loop fills and works on: the same memory in every pass."""
        size, thread = self.shape[1] * self._COLUMNS[loop] * lanes, get_ident()
        table = self._tables.get(thread)
        if table is None or len(table) < size:
            table = self._tables[thread] = _aligned(size)
        return (table[:size].reshape(-1, lanes),)

    def _scan(self, loop: str, k: int, *arguments: Any) -> None:
        """Run a loop whose outputs are per row, so that threads cannot collide."""
        self._workers.map(
            lambda part: self._run(loop, part, *arguments), self._parts(k)
        )

    def _scatter(
        self, loop: str, k: int, *arguments: Any, shapes: list[Any]
    ) -> list[Array]:
        """Run a loop whose outputs are sums over rows: one copy per share of rows."""
        parts = self._parts(k)
        shared = [np.zeros(shape) for shape in shapes]
        by_rows = parts[0][3] == k

        def work(part: _Part) -> list[Array]:
            alone = by_rows and part is not parts[0]
            own = [np.zeros(shape) for shape in shapes] if alone else shared
            self._run(loop, part, *arguments, *own)
            return own

        for pieces in self._workers.map(work, parts):
            if pieces is not shared:  # in order, so that results can be repeated
                for total, piece in zip(shared, pieces, strict=True):
                    total += piece
        return shared

    def _rows(self, k: int) -> Array:
        return np.empty((k, self.shape[0]))

    def moments(self, W: Array, S: Array, power: int) -> tuple[Array, Array]:
        k = len(W)
        m, v = self._rows(k), self._rows(k)
        self._scan("moments", k, W, S, power == 2, m, v)
        return m, v

    def directions(
        self, P: Array, S: Array, T: Array, power: int
    ) -> tuple[Array, Array, Array]:
        k = len(P)
        a, e, u = self._rows(k), self._rows(k), self._rows(k)
        self._scan("directions", k, P, S, T, power == 2, a, e, u)
        return a, e, u

    def pullback(self, A: Array, B: Array, S: Array, power: int) -> Array:
        (out,) = self._scatter(
            "pullback", len(A), A, B, S, power == 2, shapes=[S.shape]
        )
        return out

    def curvature_diagonal(
        self, h: RowCurvature, S: Array, power: int
    ) -> tuple[Array, Array]:
        diagonal, variance = self._scatter(
            "diagonal", len(S), *h, S, power == 2, shapes=[S.shape, S.shape]
        )
        return diagonal, variance

    def curvature_product(
        self, P: Array, S: Array, h: RowCurvature, a0: Array, e0: Array, power: int
    ) -> tuple[Array, Array, Array]:
        out, sums = self._scatter(
            "product",
            len(P),
            *(P, S, h.mm, h.mv, h.vv, np.stack([a0, e0], axis=1), power == 2),
            shapes=[S.shape, (len(P), 2)],
        )
        return out, sums[:, 0], sums[:, 1]

    def _matrix(self) -> Any:
        signed = [part.view(f"i{part.itemsize}") for part in self._csr[:2]]
        return sp.csr_array((self._data, signed[1], signed[0]), self.shape)

    def take(self, rows: NDArray[np.intp]) -> Design:
        return CSRDesign(self._matrix()[rows])

    def dense_rows(self, rows: slice) -> Array:
        return np.asarray(self._matrix()[rows].toarray(), dtype=np.float64)

    def scaled_rows(self, rows: NDArray[Any], scale: Array, with_one: bool) -> Any:
        block = self._matrix()[rows].astype(np.float64)
        if with_one:
            block = sp.hstack([block, np.ones((len(rows), 1))], format="csr")
        block.data *= np.repeat(scale, np.diff(block.indptr))
        return block

    def entry_blocks(self) -> Iterator[EntryBlock]:
        n = self.shape[0]
        indptr = self._indptr.astype(np.int64)
        columns = self._matrix().indices  # signed: NumPy 1 and 2.0 count no others
        start = 0
        while start < n:
            stop = int(np.searchsorted(indptr, indptr[start] + _BLOCK_ENTRIES, "right"))
            stop = min(n, max(start + 1, stop - 1))
            entries = slice(indptr[start], indptr[stop])
            yield CSRBlock(
                slice(start, stop),
                self._data[entries].astype(np.float64),
                columns[entries],
                indptr[start : stop + 1] - indptr[start],
            )
            start = stop


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
        GROUPED_LOOPS.run("totals", *rows, sums, False, entries, out)
        return out
