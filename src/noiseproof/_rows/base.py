"""The interface of all storages of a data matrix.

Shapes throughout this package: X has shape (n, d); `W`, `P`, `S`, ... have one row per
class, (k, d); `m`, `v`, ... have one row per class, (k, n). `S` is the variance scale
times the weights, so that with q = 2 or 1 (the `power` of the noise's variance law)

    m_i = Σ_j x_ij W_j        v_i = Σ_j x_ij^q S_j W_j

and neither the entrywise power of X nor a matrix of variances is ever stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows.threads import Workers

Array = NDArray[np.float64]

# 1 MiB of float64. With half as much, two threads wait for each other (1.3 s instead of
# 0.86 s for 1,000,000 x 30); with 8 MiB, they wait for memory (0.93 s)
_BLOCK_ENTRIES = 1 << 17
_BLOCKS_PER_THREAD = 2  # with fewer, waking a thread does not pay off


class RowCurvature(NamedTuple):
    """Second derivatives of the row losses in (m, v), and the first in v, weighted."""

    mm: Array
    mv: Array
    vv: Array
    v: Array

    def restrict(self, classes: Any) -> RowCurvature:
        """Select the rows of some classes."""
        return RowCurvature(*(part[classes] for part in self))


class EntryBlock:
    """The entries of some rows, for noises that need each of them (cumulants)."""

    rows: slice
    x: Array
    columns: Any  # index of each entry's feature, or a full slice

    def spread(self, w: Array) -> Array:
        """Return `w[j]`, the value of its feature, for each entry."""
        raise NotImplementedError

    def repeat(self, c: Array) -> Array:
        """Return `c[i]`, the value of its row, for each entry."""
        raise NotImplementedError

    def row_sums(self, entries: Array) -> Array:
        """Sum `entries` over each row."""
        raise NotImplementedError

    def column_sums(self, entries: Array, out: Array) -> None:
        """Add the sums of `entries` over each column to `out`."""
        raise NotImplementedError

    def group_totals(self, labels: NDArray[np.intp], entries: Array) -> Array:
        """Return for each entry the sum over its group of features in its row."""
        raise NotImplementedError


class DenseBlock(EntryBlock):
    """Some rows of a dense matrix."""

    columns = slice(None)

    def __init__(self, rows: slice, x: Array):
        self.rows = rows
        self.x = x

    @cached_property
    def _squares(self) -> Array:
        return self.x * self.x

    def to_the(self, power: int) -> Array:
        """Return the entries to the power 1 or 2."""
        return self._squares if power == 2 else self.x

    def spread(self, w: Array) -> Array:
        return w[None, :]

    def repeat(self, c: Array) -> Array:
        return c[:, None]

    def row_sums(self, entries: Array) -> Array:
        return entries.sum(axis=1)

    def column_sums(self, entries: Array, out: Array) -> None:
        out += entries.sum(axis=0)

    def group_totals(self, labels: NDArray[np.intp], entries: Array) -> Array:
        entries = np.broadcast_to(entries, self.x.shape)
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        return np.add.reduceat(entries[:, order], starts, axis=1)[:, labels]


class Design:
    """Operations on a data matrix; each reads the data once."""

    shape: tuple[int, int]
    # in memory; in remote blocks, to which work is sent; or on a device, in arrays of
    # another library, which SciPy and Numba cannot read
    where: ClassVar[Literal["memory", "blocks", "device"]] = "memory"
    is_sparse: ClassVar[bool] = False

    @property
    def n_stored(self) -> int:
        """Number of stored entries."""
        return self.shape[0] * self.shape[1]

    # features with missing entries, set only if the rows are in remote blocks
    missing: NDArray[np.bool_] | None = None

    def with_threads(self, threads: int) -> Design:
        """Return the same rows, for passes with this number of threads."""
        return self

    def full(self, value: float, k: int | None = None) -> Any:
        """Return an array of one value per row, (n,), or per class and row, (k, n)."""
        n = self.shape[0]
        return np.full((k, n) if k else n, value)

    def grouped(self, labels: NDArray[Any], scale: float | Array) -> Design:
        """Return the rows with noise that all features of a group share.

        With s_g = Σ_{j in g} x_j W_j and noise of scale c_g, the same for all of a
        group, the variance is Σ_g c_g s_g² instead of Σ_j c_j (x_j W_j)².
        """
        raise NotImplementedError

    @classmethod
    def holds(cls, X: Any) -> bool:
        """Return whether X is stored as this design expects."""
        raise NotImplementedError

    def __init__(self, X: Any, has_missing: bool = False):
        """Take X as it is; missing entries (NaN) must count as zero."""
        raise NotImplementedError

    def hold(self, x: Array) -> Array:
        """Move numbers per row or per feature to where the data is."""
        return x

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest entry, with zero among the entries."""
        raise NotImplementedError

    def weighted_squares(self, S: Array) -> Array:
        """Compute Σ_j x_ij² S_j, (k, n), regardless of groups."""
        return self.moments(np.ones_like(S), S, 2)[1]

    @cached_property
    def squared_norms(self) -> Array:
        """Σ_j x_ij² of each row, (n,)."""
        return self.weighted_squares(np.ones((1, self.shape[1])))[0]

    def moments(self, W: Array, S: Array, power: int) -> tuple[Array, Array]:
        """Compute mean m and variance v of the scores."""
        raise NotImplementedError

    def directions(
        self, P: Array, S: Array, T: Array, power: int
    ) -> tuple[Array, Array, Array]:
        """Compute the moments' changes along `P`: Σ x P, 2 Σ x^q S P and Σ x^q T P."""
        raise NotImplementedError

    def pullback(self, A: Array, B: Array, S: Array, power: int) -> Array:
        """Compute a gradient from row slopes: Σ_i A_i x_ij + 2 Σ_i B_i x_ij^q S_j."""
        raise NotImplementedError

    def curvature_diagonal(
        self, h: RowCurvature, S: Array, power: int
    ) -> tuple[Array, Array]:
        """Compute Σ mm x² + 4 mv x x^q S + 4 vv (x^q S)², and 2 Σ v x^q."""
        raise NotImplementedError

    def curvature_product(
        self, P: Array, S: Array, h: RowCurvature, a0: Array, e0: Array, power: int
    ) -> tuple[Array, Array, Array]:
        """Compute the rows' part of a Hessian product in one fused pass.

        With a = Σ x P + a0 and e = 2 Σ x^q S P + e0 per row, A = mm a + mv e and
        B = mv a + vv e: returns Σ_i A_i x_ij + 2 Σ_i B_i x_ij^q S_j, Σ A and Σ B.
        """
        raise NotImplementedError

    def total(self, work: Callable[[DenseBlock], list[Array]]) -> list[Array]:
        """Sum the arrays that `work` returns for each block of rows, given as dense.

        This is one pass, shared by threads. It is meant for few features, where the
        summed arrays are small. `work` must return new arrays, since they are added in
        place.
        """
        n = self.shape[0]
        size = max(16, _BLOCK_ENTRIES // max(1, self.shape[1]))
        workers = Workers(blas=True)
        threads = workers.at_most(1 + n // (_BLOCKS_PER_THREAD * size))
        cuts = np.linspace(0, n, threads + 1).astype(int).tolist()

        def run(part: tuple[int, int]) -> list[Array]:
            sums: list[Array] = []
            for low in range(part[0], part[1], size):
                rows = slice(low, min(part[1], low + size))
                found = work(DenseBlock(rows, self.dense_rows(rows)))
                if sums:
                    for whole, piece in zip(sums, found, strict=True):
                        whole += piece
                else:
                    sums = found
            return sums

        pieces = workers.map(run, list(pairwise(cuts)), light=n <= size)
        return [sum(parts[1:], parts[0]) for parts in zip(*pieces, strict=True)]

    def entries(self) -> tuple[Any, ...]:
        """Return the CSR arrays, unsigned, and 1 if rows share `indices`, else 0."""
        raise NotImplementedError

    def take(self, rows: NDArray[np.intp]) -> Design:
        """Return a design of some of the rows."""
        raise NotImplementedError

    def dense_rows(self, rows: slice) -> Array:
        """Return some rows as a C-ordered float64 array, with missing entries zero."""
        raise NotImplementedError

    def variance_slopes(self, block: DenseBlock, s: Array, power: int) -> Array:
        """Compute ∂v/∂w for each row of a block, given 2 S of one class."""
        return block.to_the(power) * s

    def variance_gram(
        self, block: DenseBlock, weights: Array, scale: float | Array, power: int
    ) -> Array:
        """Compute half the Hessian in w of Σ_i weights_i v_i over a block, (d, d)."""
        return np.diag(scale * (weights @ block.to_the(power)))

    def scaled_rows(self, rows: NDArray[Any], scale: Array, with_one: bool) -> Any:
        """Return some rows times `scale`, after a column of ones if `with_one`."""
        raise NotImplementedError

    def entry_blocks(self) -> Iterator[EntryBlock]:
        """Yield all entries, some rows at a time."""
        raise NotImplementedError
