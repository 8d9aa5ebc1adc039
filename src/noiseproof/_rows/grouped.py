"""A design whose features have noise in common with those of their group."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows.base import Array, DenseBlock, Design, EntryBlock, RowCurvature
from noiseproof._rows.csr import GROUPED_LOOPS, CSRDesign
from noiseproof._rows.threads import Workers

_TWO_SUMS = ("directions", "product")  # loops that sum weights and a step by group


class GroupedDesign(CSRDesign):
    """The verbs of a design with variances summed by group, for power 2 only.

    With s_g = Σ_{j in g} x_j W_j and noise of scale c_g, the same for all of a group,
    the variance is Σ_g c_g s_g², where a plain design has Σ_j c_j (x_j W_j)². Nothing
    is stored: compiled loops sum within the groups of a row whenever they read it.

    Parameters
    ----------
    plain : Design
        The same rows without groups.
    arrays : tuple of three arrays
        The entries as CSR, unsigned; `indices` of one row only if dense.
    labels : array of shape (n_features,)
        Group of each feature.
    scale : float or array of shape (n_features,)
        Variance scale, the same for all of a group.
    """

    _loops = GROUPED_LOOPS
    _COLUMNS: ClassVar = {**CSRDesign._COLUMNS, "product": 4}

    def __init__(
        self,
        plain: Design,
        arrays: tuple[Any, Any, Any],
        labels: NDArray[np.intp],
        scale: float | Array,
    ):
        self._plain, self.shape, self.labels = plain, plain.shape, labels
        self._indptr, self._indices, self._data = arrays
        self._scale = scale
        self._workers = Workers(blas=False, sharing=plain.sharing)
        self._shares, self._tables = {}, {}
        dense = len(self._indices) != len(self._data)
        narrow = labels.astype(np.uint32)
        self._groups = (narrow, int(labels.max(initial=-1)) + 1, dense)

    def _room(self, loop: str, lanes: int) -> tuple[Any, ...]:
        labels, n_groups, dense = self._groups
        sums = np.zeros((n_groups * (2 if loop in _TWO_SUMS else 1), lanes))
        return *super()._room(loop, lanes), labels, sums, dense

    @property
    def plain(self) -> Design:
        return self._plain

    def moments(self, W: Array, S: Array, power: int) -> tuple[Array, Array]:
        k = len(W)
        m, v = self._rows(k), self._rows(k)
        self._scan("moments", k, W, S, m, v)
        return m, v

    def directions(
        self, P: Array, S: Array, T: Array, power: int
    ) -> tuple[Array, Array, Array]:
        k = len(P)
        a, e, u = self._rows(k), self._rows(k), self._rows(k)
        self._scan("directions", k, P, S, T, a, e, u)
        return a, e, u

    def pullback(self, A: Array, B: Array, S: Array, power: int) -> Array:
        (out,) = self._scatter("pullback", len(A), A, B, S, shapes=[S.shape])
        return out

    def curvature_diagonal(
        self, h: RowCurvature, S: Array, power: int
    ) -> tuple[Array, Array]:
        diagonal, variance = self._scatter(
            "diagonal",
            *(len(S), *h, S),
            shapes=[S.shape, S.shape],
        )
        return diagonal, variance

    def curvature_product(
        self, P: Array, S: Array, h: RowCurvature, a0: Array, e0: Array, power: int
    ) -> tuple[Array, Array, Array]:
        """As everywhere, and Σ_i 2 v_i x_ij Σ_{l in g} scale x_il P_l besides."""
        T = np.ascontiguousarray(self._scale * P)
        out, sums = self._scatter(
            "product",
            *(len(P), P, S, T, *h, np.stack([a0, e0], axis=1)),
            shapes=[S.shape, (len(P), 2)],
        )
        return out, sums[:, 0], sums[:, 1]

    @cached_property
    def _members(self) -> Array:
        """1 where a feature belongs to a group, (d, groups)."""
        return np.equal.outer(self.labels, np.arange(self._groups[1])).astype(float)

    def variance_slopes(self, block: DenseBlock, s: Array, power: int) -> Array:
        return block.x * ((block.x * s) @ self._members)[:, self.labels]

    def variance_gram(
        self, block: DenseBlock, weights: Array, scale: float | Array, power: int
    ) -> Array:
        together = self.labels[:, None] == self.labels
        return scale * ((block.x * weights[:, None]).T @ block.x) * together

    @cached_property
    def squared_norms(self) -> Array:
        return self.plain.squared_norms

    def minimum(self) -> float:
        return self.plain.minimum()

    def take(self, rows: NDArray[np.intp]) -> Design:
        return self.plain.take(rows).grouped(self.labels, self._scale)

    def dense_rows(self, rows: slice) -> Array:
        return self.plain.dense_rows(rows)

    def scaled_rows(self, rows: NDArray[Any], scale: Array, with_one: bool) -> Any:
        return self.plain.scaled_rows(rows, scale, with_one)

    def entry_blocks(self) -> Iterator[EntryBlock]:
        return self.plain.entry_blocks()
