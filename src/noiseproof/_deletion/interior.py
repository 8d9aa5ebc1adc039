"""A primal-dual interior-point method made for the robust linear program.

With β_ij = α_ij + y_i w_j x_ij - v_j (λ_i + γ/P) in place of α_ij, eq. (4) is

    min Σ_i s_i ξ_i   subject to   ‖w‖_∞ <= C,   ξ, μ, β >= 0,
    ξ_i + y_i (b + w·x_i) - N μ_i - Σ_j β_ij >= γ V/P
    β_ij - y_i w_j x_ij + v_j μ_i            >= -γ v_j/P,

and β_ij = 0 at the optimum wherever x_ij = 0, so those need neither variable nor
constraint. The others belong to one row each. Eliminating row by row leaves Newton
equations in (w, b) alone: a diagonal and two rank-one terms a row. So an iteration
costs a few passes over the stored entries and one factorisation of size d + 1, whatever
the number of rows.

Slacks and multipliers come in pairs whose products are driven to zero together:

    p_i   with  s_i = ξ_i + y_i (b + w·x_i) - N μ_i - Σ_j β_ij - γ V/P
    q_ij  with  t_ij = β_ij - y_i w_j x_ij + v_j (μ_i + γ/P)
    r_i = 1 - p_i  with  ξ_i,    z_ij = p_i - q_ij  with  β_ij
    h_i = N p_i - Σ_j v_j q_ij  with  μ_i
    u±_j  with  C ∓ w_j,  where  u+ - u- = Σ_i y_i x_ij z_ij

A row of weight s_i is treated as s_i equal rows, so weights equal repetition along the
whole path and not only in the optimal value. Predictor and corrector are Mehrotra's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lu_factor, lu_solve

from noiseproof._deletion.hinge import TINY, Array, DeletionHinge
from noiseproof._deletion.solving import RobustLPResult, close_enough
from noiseproof._rows import one_blas_thread
from noiseproof._stop import Stop

Solve = Callable[[Array], Array]

# places in the stacks of variables: dual p, r, h and primal s, ξ, μ of a row, paired in
# this order; dual q, z and primal t, β of an entry
P, R, H, S, XI, MU = range(6)
Q, Z, T, BETA = range(4)

_STEP_SHARE = 0.995  # share of the way to the boundary that a step may go
_SMALLEST = 1e-9  # budget that stands for none, in units of the mean value
_STUCK = 1e-10  # a step this short gains nothing: rounding is all that is left
_SMALL = 3000  # columns; such factorisations lose more by waiting than threads bring
_WIDE = 1000  # columns; for fewer the more accurate Cholesky is fast enough
_DENSE = 0.3  # share of stored entries from which dense products are faster
_BLOCK = 1 << 22  # entries of a dense block of rows, when a product is done densely
_ROUNDING = 1e-15


def interior_point(
    problem: DeletionHinge, stop: Stop, state: Path | None = None
) -> RobustLPResult:
    """Follow the central path until the certified gap is small enough.

    A `state` of the same problem is continued, that of another one is ignored.
    """
    if problem.fit_intercept and np.ptp(problem.y) == 0:
        # no balanced multipliers, but b = ± γ V/P costs nothing
        w, b = np.zeros(problem.X.shape[1]), float(problem.y[0]) * problem.base
        p, q = np.zeros(len(problem.y)), np.zeros(problem.X.nnz)
        return RobustLPResult(w, b, p, q, 0.0, 0.0, n_iter=1, converged=True)
    path = state if state is not None and state.leads_to(problem) else Path(problem)
    n_iter = 0
    interrupted = False
    limit = one_blas_thread() if len(path.columns) < _SMALL else nullcontext()
    try:
        with limit:
            while not (path.certify(stop.tol) or n_iter >= stop.max_iter):
                if not path.advance():
                    break
                n_iter += 1
                gap = path.value - path.bound
                if stop.tell(n_iter, np.array([path.value]), np.array([gap])):
                    break
    except KeyboardInterrupt:  # keep what is reached; whoever called raises it again
        interrupted = True
    done = close_enough(path.value, path.bound, stop.tol)
    best = (path.w, path.b, path.p, path.q, path.value, path.bound)
    return RobustLPResult(*best, max(n_iter, 1), done, path, interrupted)


class Path:
    """Where the method stands, and the best bounds it has met on the way."""

    def __init__(self, problem: DeletionHinge):
        self.problem = problem
        self.columns = np.unique(problem.X.indices)  # the others keep weight zero
        self.system = NewtonSystem(problem, self.columns)
        self.at = self.system.start()
        self.w, self.b = np.zeros(problem.X.shape[1]), 0.0
        self.p, self.q = np.zeros(len(problem.y)), np.zeros(problem.X.nnz)
        self.value, self.bound = problem.value(self.w, self.b), 0.0
        self._whole = True

    def leads_to(self, problem: DeletionHinge) -> bool:
        """Whether the path leads to the solution of that very problem."""
        names = [field.name for field in fields(problem) if field.name != "X"]
        pairs = [(getattr(self.problem, n), getattr(problem, n)) for n in names]
        pairs += zip(self.problem.csr, problem.csr, strict=True)
        return self._whole and all(np.array_equal(a, b) for a, b in pairs)

    def certify(self, tol: float) -> bool:
        """Certify the present point; whether the best bounds are close enough."""
        at, problem = self.at, self.problem
        w = np.zeros(problem.X.shape[1])
        w[self.columns] = np.clip(at.w, -problem.C, problem.C)
        p, q = at.row[P], at.entry[Q]
        value, bound = problem.value(w, at.b), problem.lower_bound(p, q)
        if value < self.value:
            self.value, self.w, self.b = value, w, at.b
        if bound >= self.bound:
            self.bound, self.p, self.q = bound, p.copy(), q.copy()
        return close_enough(self.value, self.bound, tol)

    def advance(self) -> bool:
        """One predictor and one corrector step; False if there is no way on."""
        at, system = self.at, self.system
        solve = system.factorise(at)
        if solve is None:
            return False
        mean = system.products(at) / system.n_products
        predictor = system.direction(at, solve, 0.0)
        reached = system.products(at, predictor) / system.n_products
        target = mean * (reached / mean) ** 3
        step = system.direction(at, solve, target, predictor)
        primal, dual = (min(1.0, _STEP_SHARE * length) for length in step.lengths)
        if max(primal, dual) < _STUCK or not np.isfinite(step.w).all():
            return False
        self._whole = False
        at.move(step, primal, dual)
        self._whole = True
        return True


@dataclass
class InteriorPoint:
    """A point, or a direction, in the space of all primal and dual variables."""

    w: Array
    b: float
    u: Array  # (2, d): multipliers u+ and u- of the box
    row: Array  # (6, n): variables of the rows, see P ... MU
    entry: Array  # (4, nnz): variables of the stored entries, see Q ... BETA
    # of a direction: how far primal and dual variables can follow it
    lengths: tuple[float, float] = (1.0, 1.0)

    def zeros(self) -> InteriorPoint:
        """No direction at all."""
        u, row, entry = (np.zeros_like(a) for a in (self.u, self.row, self.entry))
        return InteriorPoint(np.zeros_like(self.w), 0.0, u, row, entry)

    def move(self, step: InteriorPoint, primal: float, dual: float) -> None:
        """Go along a direction, by different lengths in the two spaces."""
        self.w += primal * step.w
        self.b += primal * step.b
        self.u += dual * step.u
        self.row[:S] += dual * step.row[:S]
        self.row[S:] += primal * step.row[S:]
        self.entry[:T] += dual * step.entry[:T]
        self.entry[T:] += primal * step.entry[T:]


class NewtonSystem:
    """Newton's equations for all products of pairs, condensed to (w, b).

    On the columns in use, their matrix is

        M = diag(δ) + Σ_i A_i g_i g_iᵀ - Σ_i E_i c_i c_iᵀ

    bordered by Σ_i A_i y_i g_i and Σ_i A_i; g and c share the pattern of X.
    """

    def __init__(self, problem: DeletionHinge, columns: NDArray[Any]):
        # Numba is imported here, at the first solve, to keep the import light
        from noiseproof._deletion import kernels

        self.kernels: Any = kernels
        indptr, indices, data = problem.csr
        place = np.zeros(problem.X.shape[1], dtype=indices.dtype)
        place[columns] = np.arange(len(columns))
        self.problem, self.C = problem, problem.C
        # an interior needs some budget
        self.N = max(problem.limit, _SMALLEST * float(problem.values.mean()))
        self.counts = np.diff(problem.X.indptr)
        self.v = problem.values[columns]
        a = np.repeat(problem.y, self.counts) * data
        self.where = indptr, place[indices], a
        n, nnz, d = len(problem.y), len(data), len(columns)
        self.shape = n, d
        self.n_products = float(problem.weights @ (3 + 2 * self.counts)) + 2 * d
        self.inv, self.pull, self.push, self.e, self.kb = np.empty((5, nnz))
        self.block, self.k_row = np.empty((2, 3, n))
        self.condensed = self.inv, self.pull, self.push, self.block
        self.work = self.e, self.kb, self.k_row

    def start(self) -> InteriorPoint:
        """A strictly feasible point at w = 0, b = 0, roughly central."""
        problem, counts, (n, d) = self.problem, self.counts, self.shape
        _, indices, a = self.where
        p = self._balanced_multipliers()
        worth = self._row_sums(self.v[indices])
        share = np.minimum(1, self.N / np.maximum(worth, TINY))
        product = problem.base * p.min() / (1 + counts.max(initial=0))
        row, entry = np.empty((6, n)), np.empty((4, len(a)))
        row[P] = p
        row[MU] = product / (0.5 * self.N * p)
        entry[Q] = np.repeat(0.5 * share * p, counts)
        entry[BETA] = np.repeat(product / (0.5 * p), counts)
        row[XI] = problem.base + self.N * row[MU] + product / p
        row[XI] += self._row_sums(entry[BETA])
        at = InteriorPoint(np.zeros(d), 0.0, np.empty((2, d)), row, entry)
        self.kernels.slacks(
            *self.where, problem.y, self.v, at.w, at.b, self.N,
            problem.price, problem.base, row, entry,
        )  # fmt: skip
        mass = np.repeat(problem.weights, counts) * a * entry[Z]
        kept = np.bincount(indices.astype(np.intp), mass, d)
        at.u[:] = np.maximum([kept, -kept], 0.0) + product / self.C
        return at

    def _row_sums(self, entries: Array) -> Array:
        rows = np.repeat(np.arange(self.shape[0]), self.counts)
        return np.bincount(rows, entries, self.shape[0]).astype(np.float64)

    def _balanced_multipliers(self) -> Array:
        """P of at most ½ with Σ s y p = 0, if there is an intercept to demand it."""
        y, weights = self.problem.y, self.problem.weights
        if not self.problem.fit_intercept:
            return np.full(len(y), 0.5)
        mass = np.bincount(y > 0, weights, 2)
        return (0.5 * mass.min() / mass)[(y > 0).astype(int)]

    def factorise(self, at: InteriorPoint) -> Solve | None:
        """A solver of the bordered system, or None if rounding has made it singular.

        Few columns: Cholesky of M itself. Many columns and few rows: Woodbury's
        identity, so that only a matrix of size 2 n is factorised; its cancellations
        limit the relative gap of the program to about 1e-8.
        """
        weights, y, (n, d) = self.problem.weights, self.problem.y, self.shape
        diagonal, kept = np.zeros((2, d))
        self.kernels.condense(
            *self.where, weights, self.v, self.N, at.row, at.entry,
            *self.condensed, diagonal, kept,
        )  # fmt: skip
        self.off_w = at.u[0] - at.u[1] - kept
        self.off_b = float(weights @ (y * at.row[P]))
        self.room = self._room(at.w)
        diagonal += (at.u / self.room).sum(axis=0)
        self.by_pull, self.by_push = weights * self.block[:2]
        wide = d > max(2 * n, _WIDE)
        try:
            inner = (self._woodbury if wide else self._cholesky)(diagonal)
        except LinAlgError:
            return None
        return self._bordered(inner)

    def _bordered(self, inner: Solve) -> Solve:
        """Solve with the border of b; without an intercept the last unknown is 0."""
        if not self.problem.fit_intercept:
            return lambda right: np.append(inner(right[:-1]), np.float64(0.0))
        pulled = np.repeat(self.by_pull * self.problem.y, self.counts) * self.pull
        columns = self.where[1].astype(np.intp)
        cross: Array = np.bincount(columns, pulled, self.shape[1]).astype(np.float64)
        across = inner(cross)
        total = float(self.by_pull.sum())
        corner = max(total - float(cross @ across), _ROUNDING * total)

        def solve(right: Array) -> Array:
            own = inner(right[:-1])
            b = (right[-1] - cross @ own) / corner
            return np.append(own - b * across, b)

        return solve

    def _terms(self) -> Iterator[tuple[Any, int]]:
        """Rows of g and of c, each times the root of its weight, and their signs."""
        parts = [part.view(f"i{part.itemsize}") for part in self.where[1::-1]]
        for entries, by, sign in (
            (self.pull, self.by_pull, 1),
            (self.push, self.by_push, -1),
        ):
            scaled = entries * np.repeat(np.sqrt(by), self.counts)
            yield sp.csr_array((scaled, *parts), shape=self.shape), sign

    def _cholesky(self, diagonal: Array) -> Solve:
        n, d = self.shape
        matrix = np.diag(diagonal)
        if len(self.pull) > _DENSE * d * n:
            rows = max(1, _BLOCK // d)
            for part, sign in self._terms():
                for lo in range(0, n, rows):
                    block = part[lo : lo + rows].toarray()
                    matrix += sign * (block.T @ block)
        else:
            where = self.where[:2]
            weights = self.by_pull, self.by_push
            self.kernels.gram(*where, self.pull, self.push, *weights, matrix)
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return lambda right: cho_solve(factor, right, check_finite=False)

    def _woodbury(self, diagonal: Array) -> Solve:
        rows = sp.vstack([part for part, _ in self._terms()], format="csr")
        sign = np.repeat([1.0, -1.0], self.shape[0])
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

    def _room(self, w: Array) -> Array:
        return np.array([self.C - w, self.C + w])

    def direction(
        self,
        at: InteriorPoint,
        solve: Solve,
        target: float,
        before: InteriorPoint | None = None,
    ) -> InteriorPoint:
        """Newton's direction towards products equal to `target`.

        `before` is an earlier direction whose second-order error is to be corrected;
        its arrays are used again.
        """
        d = self.shape[1]
        second = 0.0 if before is None else 1.0
        step = at.zeros() if before is None else before
        y, weights = self.problem.y, self.problem.weights
        right = np.zeros(d + 1)
        self.kernels.right_hand_side(
            *self.where, weights, y, self.v, at.row, at.entry, *self.condensed,
            step.row, step.entry, target, second, *self.work, right,
        )  # fmt: skip
        gain = target - self.room * at.u - second * step.u * [-step.w, step.w]
        gain /= self.room
        right[:d] += gain[1] - gain[0] - self.off_w
        right[d] += self.off_b
        solved = solve(right)
        step.w, step.b = solved[:d], float(solved[d])
        step.u = gain + at.u / self.room * [step.w, -step.w]
        primal, dual = self.kernels.expand(
            *self.where, y, self.v, self.N, at.row, at.entry, *self.condensed,
            *self.work, step.w, step.b, step.row, step.entry,
        )  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            rooms = np.where(step.w > 0, self.room[0], self.room[1]) / np.abs(step.w)
            falls = np.where(step.u < 0, -at.u / step.u, np.inf)
        step.lengths = (
            min(primal, float(rooms.min(initial=np.inf))),
            min(dual, float(falls.min(initial=np.inf))),
        )
        return step

    def products(self, at: InteriorPoint, step: InteriorPoint | None = None) -> float:
        """Sum of the products of all pairs, here or at the end of a direction."""
        primal, dual = (0.0, 0.0) if step is None else step.lengths
        step = at if step is None else step
        box = self._room(at.w + primal * step.w) * (at.u + dual * step.u)
        return float(box.sum()) + self.kernels.products(
            self.where[0], self.problem.weights, at.row, at.entry,
            step.row, step.entry, primal, dual,
        )  # fmt: skip
