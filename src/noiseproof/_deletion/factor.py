"""Factorisations of a diagonal plus two rank-one terms a row, with a border for b.

    M = diag(δ) + Σ_i A_i g_i g_iᵀ - Σ_i E_i c_i c_iᵀ

bordered by Σ_i A_i y_i g_i and Σ_i A_i. Few columns: Cholesky of M itself. Many columns
and few rows: Woodbury's identity, so that only a matrix of size 2 n is factorised; its
cancellations limit the relative gap of the program to about 1e-8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lu_factor, lu_solve

from noiseproof._deletion.base import Array

Solve = Callable[[Array], Array]

_BLOCK = 1 << 22  # entries of a dense block of rows, when a product is done densely
_ROUNDING = 1e-15
_WIDE = 1000  # columns; for fewer the more accurate Cholesky is fast enough
_DENSE = 0.3  # share of stored entries from which dense products are faster


@dataclass(frozen=True)
class RowTerms:
    """The rank-one terms: entries of g and c on a shared pattern, and their weights."""

    indptr: Any
    indices: Any
    pull: Array
    push: Array
    by_pull: Array
    by_push: Array
    n_columns: int

    def matrix(self, entries: Array, by: Array) -> Any:
        """Rows of g or c, each times the root of its weight, as CSR."""
        scaled = entries * np.repeat(np.sqrt(by), np.diff(self.indptr.astype(np.intp)))
        shape = (len(by), self.n_columns)
        signed = [
            part.view(f"i{part.itemsize}") for part in (self.indices, self.indptr)
        ]
        return sp.csr_array((scaled, *signed), shape=shape)

    @property
    def signed(self) -> tuple[tuple[Any, int], tuple[Any, int]]:
        """Both matrices with the sign of their terms."""
        g = self.matrix(self.pull, self.by_pull)
        return (g, 1), (self.matrix(self.push, self.by_push), -1)


def factorise(diagonal: Array, terms: RowTerms, y: Array | None) -> Solve | None:
    """A solver of the bordered system, or None if rounding has made it singular.

    Without `y` there is no border: the last unknown is zero.
    """
    d, n = len(diagonal), len(terms.by_pull)
    wide = d > max(2 * n, _WIDE)
    try:
        inner = (_woodbury if wide else _cholesky)(diagonal, terms)
    except LinAlgError:
        return None
    if y is None:
        return lambda right: np.append(inner(right[:-1]), np.float64(0.0))
    counts = np.diff(terms.indptr.astype(np.intp))
    pulled = np.repeat(terms.by_pull * y, counts) * terms.pull
    columns = terms.indices.astype(np.intp)
    cross: Array = np.bincount(columns, pulled, d).astype(np.float64)
    across = inner(cross)
    total = float(terms.by_pull.sum())
    corner = max(total - float(cross @ across), _ROUNDING * total)

    def solve(right: Array) -> Array:
        own = inner(right[:-1])
        b = (right[-1] - cross @ own) / corner
        return np.append(own - b * across, b)

    return solve


def _cholesky(diagonal: Array, terms: RowTerms) -> Solve:
    d = len(diagonal)
    matrix = np.diag(diagonal)
    if len(terms.pull) > _DENSE * d * len(terms.by_pull):
        rows = max(1, _BLOCK // d)
        for part, sign in terms.signed:
            for lo in range(0, part.shape[0], rows):
                block = part[lo : lo + rows].toarray()
                matrix += sign * (block.T @ block)
    else:
        from noiseproof._deletion.interior_kernels import gram

        gram(
            *(terms.indptr, terms.indices, terms.pull, terms.push),
            *(terms.by_pull, terms.by_push, matrix),
        )
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return lambda right: cho_solve(factor, right, check_finite=False)


def _woodbury(diagonal: Array, terms: RowTerms) -> Solve:
    rows = sp.vstack([part for part, _ in terms.signed], format="csr")
    sign = np.repeat([1.0, -1.0], len(terms.by_pull))
    core = np.asarray((rows.multiply(1 / diagonal) @ rows.T).todense())
    core[np.arange(len(sign)), np.arange(len(sign))] += sign
    factor = lu_factor(core, overwrite_a=True, check_finite=False)

    def once(right: Array) -> Array:
        inner = lu_solve(factor, rows @ (right / diagonal), check_finite=False)
        return (right - rows.T @ inner) / diagonal

    def solve(right: Array) -> Array:
        x = once(right)  # the identity cancels: one step of refinement pays it back
        return x + once(right - diagonal * x - rows.T @ (sign * (rows @ x)))

    return solve
