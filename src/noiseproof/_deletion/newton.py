"""The Newton equations of the interior-point method, condensed to (w, b)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._deletion.base import Array
from noiseproof._deletion.factor import RowTerms, Solve, factorise
from noiseproof._deletion.hinge import DeletionHinge
from noiseproof._deletion.point import BETA, MU, XI, P, Point, Q, Z

_TINY = 1e-300


def _kernels() -> Any:
    """Numba is imported at the first solve, to keep the import light."""
    from noiseproof._deletion import interior_kernels as kernels

    return kernels


class NewtonSystem:
    """Newton's equations for all products of pairs, on the columns in use."""

    def __init__(self, problem: DeletionHinge, columns: NDArray[Any], budget: float):
        indptr, indices, data = problem.csr
        place = np.zeros(problem.X.shape[1], dtype=indices.dtype)
        place[columns] = np.arange(len(columns))
        self.problem, self.N, self.C = problem, budget, problem.C
        self.counts = np.diff(problem.X.indptr)
        self.indptr, self.indices = indptr, place[indices]
        self.a = np.repeat(problem.y, self.counts) * data
        self.v = problem.values[columns]
        n, nnz, d = len(problem.y), len(data), len(columns)
        self.shape = n, d
        self.n_products = float(problem.weights @ (3 + 2 * self.counts)) + 2 * d
        self.inv, self.pull, self.push = np.empty((3, nnz))
        self.e, self.kb = np.empty((2, nnz))
        self.block, self.k_row = np.empty((2, 3, n))

    @property
    def _where(self) -> tuple[Any, Any, Array]:
        return self.indptr, self.indices, self.a

    @property
    def _condensed(self) -> tuple[Array, Array, Array, Array]:
        return self.inv, self.pull, self.push, self.block

    def _row_sums(self, entries: Array) -> Array:
        rows = np.repeat(np.arange(self.shape[0]), self.counts)
        return np.bincount(rows, entries, self.shape[0]).astype(np.float64)

    def start(self) -> Point:
        """A strictly feasible point at w = 0, b = 0, roughly central."""
        problem, counts, (n, d) = self.problem, self.counts, self.shape
        p = self._balanced_multipliers()
        share = np.minimum(
            1, self.N / np.maximum(self._row_sums(self.v[self.indices]), _TINY)
        )
        product = problem.base * p.min() / (1 + counts.max(initial=0))
        row, entry = np.empty((6, n)), np.empty((4, len(self.a)))
        row[P] = p
        row[MU] = product / (0.5 * self.N * p)
        entry[Q] = np.repeat(0.5 * share * p, counts)
        entry[BETA] = np.repeat(product / (0.5 * p), counts)
        row[XI] = problem.base + self.N * row[MU] + product / p
        row[XI] += self._row_sums(entry[BETA])
        at = Point(np.zeros(d), 0.0, np.empty((2, d)), row, entry)
        _kernels().slacks(
            *self._where, problem.y, self.v, at.w, at.b, self.N,
            problem.price, problem.base, row, entry,
        )  # fmt: skip
        mass = np.repeat(problem.weights, counts) * self.a * entry[Z]
        kept = np.bincount(self.indices.astype(np.intp), mass, d)
        at.u[:] = np.maximum([kept, -kept], 0.0) + product / self.C
        return at

    def _balanced_multipliers(self) -> Array:
        """P of at most ½ with Σ s y p = 0, if there is an intercept to demand it."""
        y, weights = self.problem.y, self.problem.weights
        if not self.problem.fit_intercept:
            return np.full(len(y), 0.5)
        mass = np.bincount(y > 0, weights, 2)
        return (0.5 * mass.min() / mass)[(y > 0).astype(int)]

    def factorise(self, at: Point) -> Solve | None:
        """Condense and factorise; None if rounding has made the matrix singular."""
        weights, y = self.problem.weights, self.problem.y
        diagonal, kept = np.zeros((2, self.shape[1]))
        _kernels().condense(
            *self._where, weights, self.v, self.N, at.row, at.entry,
            *self._condensed, diagonal, kept,
        )  # fmt: skip
        self.off_w = at.u[0] - at.u[1] - kept
        self.off_b = float(weights @ (y * at.row[P]))
        self.room = self._room(at.w)
        diagonal += (at.u / self.room).sum(axis=0)
        terms = RowTerms(
            *(self.indptr, self.indices, self.pull, self.push),
            *(weights * self.block[0], weights * self.block[1], self.shape[1]),
        )
        return factorise(diagonal, terms, y if self.problem.fit_intercept else None)

    def _room(self, w: Array) -> Array:
        return np.array([self.C - w, self.C + w])

    def direction(
        self, at: Point, solve: Solve, target: float, before: Point | None = None
    ) -> Point:
        """Newton's direction towards products equal to `target`.

        `before` is an earlier direction whose second-order error is to be corrected;
        its arrays are used again.
        """
        d = self.shape[1]
        second = 0.0 if before is None else 1.0
        step = at.zeros() if before is None else before
        y, weights = self.problem.y, self.problem.weights
        right = np.zeros(d + 1)
        work = (self.e, self.kb, self.k_row)
        _kernels().right_hand_side(
            *self._where, weights, y, self.v, at.row, at.entry, *self._condensed,
            step.row, step.entry, target, second, *work, right,
        )  # fmt: skip
        gain = target - self.room * at.u - second * step.u * [-step.w, step.w]
        gain /= self.room
        right[:d] += gain[1] - gain[0] - self.off_w
        right[d] += self.off_b
        solved = solve(right)
        step.w, step.b = solved[:d], float(solved[d])
        step.u = gain + at.u / self.room * [step.w, -step.w]
        step.lengths = _kernels().expand(
            *self._where, y, self.v, self.N, at.row, at.entry, *self._condensed,
            *work, step.w, step.b, step.row, step.entry,
        )  # fmt: skip
        step.lengths = self._within_box(at, step)
        return step

    def _within_box(self, at: Point, step: Point) -> tuple[float, float]:
        primal, dual = step.lengths
        with np.errstate(divide="ignore", invalid="ignore"):
            rooms = np.where(step.w > 0, self.room[0], self.room[1]) / np.abs(step.w)
            falls = np.where(step.u < 0, -at.u / step.u, np.inf)
        return (
            min(primal, float(rooms.min(initial=np.inf))),
            min(dual, float(falls.min(initial=np.inf))),
        )

    def products(self, at: Point, step: Point | None = None) -> float:
        """Sum of the products of all pairs, here or at the end of a direction."""
        primal, dual = (0.0, 0.0) if step is None else step.lengths
        step = at if step is None else step
        box = self._room(at.w + primal * step.w) * (at.u + dual * step.u)
        return float(box.sum()) + _kernels().products(
            self.indptr, self.problem.weights, at.row, at.entry, step.row, step.entry,
            primal, dual,
        )  # fmt: skip
