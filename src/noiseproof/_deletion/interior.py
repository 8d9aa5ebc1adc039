"""A primal-dual interior-point method made for the robust linear program.

With β_ikg = α_ikg + a_ik z_ig - v_g (λ_ik + π) in place of α_ikg, eq. (4) for the sides
k of `DeletionProgram` is

    min Σ_i s_i ξ_i   subject to   ‖w‖_∞ <= C,   ξ, μ, β >= 0,
    ξ_i + a_ik (b + w·x_i) - N μ_ik - Σ_g β_ikg >= h_ik
    β_ikg - a_ik z_ig + v_g μ_ik               >= -π v_g,

and β_ikg = 0 at the optimum wherever row i has no entries of g, so those need neither
variable nor constraint. The others belong to one row each. Eliminating them row by row
leaves Newton equations in (w, b) alone, with terms from the scores z of single pairs
(i, g) and two rank-one terms per side. So an iteration costs a few passes over the
stored entries and one factorisation of size d + 1, whatever the number of rows.

Slacks and multipliers come in pairs whose products are driven to zero together:

    p_ik   with  s_ik = ξ_i + a_ik (b + w·x_i) - N μ_ik - Σ_g β_ikg - h_ik
    q_ikg  with  t_ikg = β_ikg - a_ik z_ig + v_g (μ_ik + π)
    r_i = 1 - Σ_k p_ik  with  ξ_i,    d_ikg = p_ik - q_ikg  with  β_ikg
    h_ik = N p_ik - Σ_g v_g q_ikg  with  μ_ik
    u±_j  with  C ∓ w_j,  where  u+ - u- = Σ_ik a_ik x_ij d_ikg(j)

A row of weight s_i is treated as s_i equal rows, so that weights are equivalent to
repetition along the whole path, not only at the optimum. Predictor and corrector are
Mehrotra's.
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

from noiseproof._deletion.program import TINY, Array, DeletionProgram
from noiseproof._deletion.solving import RobustLPResult, close_enough
from noiseproof._rows import one_blas_thread
from noiseproof._stop import Stop

Solve = Callable[[Array], Array]

# indices into the arrays of variables: dual r and primal ξ of a row; dual p, h and
# primal s, μ of a side, paired in this order; dual q, d and primal t, β of a pair
R, XI = range(2)
P, H, S, MU = range(4)
Q, Z, T, BETA = range(4)

_STEP_SHARE = 0.995  # fraction of the way to the boundary that a step may take
_SMALLEST = 1e-12  # replaces a budget of 0, in units of the mean value
_STUCK = 1e-10  # steps shorter than this gain nothing but rounding errors
_SMALL = 3000  # columns; for fewer, BLAS threads lose more by waiting than they gain
_WIDE = 1000  # columns; for fewer the more accurate Cholesky is fast enough
_DENSE = 0.3  # share of stored entries above which dense products are faster
_BLOCK = 1 << 22  # entries of a dense block of rows, when a product is done densely
_ROUNDING = 1e-15
_MORE = (0.0, 1e-15, 1e-13, 1e-11, 1e-9)  # relative shifts of the diagonal


def interior_point(
    problem: DeletionProgram, stop: Stop, state: Path | None = None
) -> RobustLPResult:
    """Follow the central path until the certified gap is small enough.

    A `state` of the same problem is continued; that of another problem is ignored.
    """
    w, b = np.zeros(problem.X.shape[1]), problem.constant
    if problem.value(w, b) == 0:
        p, q = np.zeros_like(problem.slopes), _no_pairs(problem)
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
    except KeyboardInterrupt:  # keep the progress; the caller raises it again
        interrupted = True
    done = close_enough(problem, path.value, path.bound, stop.tol)
    best = (path.w, path.b, path.p, path.q, path.value, path.bound)
    return RobustLPResult(*best, max(n_iter, 1), done, path, interrupted)


def _no_pairs(problem: DeletionProgram) -> Array:
    return np.zeros((len(problem.slopes), len(problem.pairs.values)))


def _factor(matrix: Array) -> Any:
    """Compute a Cholesky factor, with shifts if rounding made the matrix singular."""
    diagonal = np.einsum("jj->j", matrix)
    for more in _MORE:
        diagonal += more * diagonal.max(initial=0.0)
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError


class Path:
    """The current point of the method, and the best bounds found so far."""

    def __init__(self, problem: DeletionProgram):
        self.problem = problem
        self.columns = np.unique(problem.X.indices)  # all others keep weight zero
        self.system = NewtonSystem(problem, self.columns)
        self.at = self.system.start()
        self.w, self.b = np.zeros(problem.X.shape[1]), problem.constant
        self.p, self.q = np.zeros_like(problem.slopes), _no_pairs(problem)
        self.value, self.bound = problem.value(self.w, self.b), 0.0
        self._whole = True

    def leads_to(self, problem: DeletionProgram) -> bool:
        """Return whether the path leads to the solution of exactly this problem."""
        if type(problem) is not type(self.problem):
            return False
        names = [field.name for field in fields(problem) if field.name != "X"]
        pairs = [(getattr(self.problem, n), getattr(problem, n)) for n in names]
        pairs += zip(self.problem.csr, problem.csr, strict=True)
        return self._whole and all(np.array_equal(a, b) for a, b in pairs)

    def certify(self, tol: float) -> bool:
        """Certify the current point; return whether the best bounds are close."""
        at, problem = self.at, self.problem
        w = self.system.spread(np.clip(at.w, -problem.C, problem.C))
        p, q = at.side[P], at.pair[Q]
        value, bound = problem.value(w, at.b), problem.lower_bound(p, q)
        if value < self.value:
            self.value, self.w, self.b = value, w, at.b
        if bound >= self.bound:
            self.bound, self.p, self.q = bound, p.copy(), q.copy()
        return close_enough(problem, self.value, self.bound, tol)

    def advance(self) -> bool:
        """Do a predictor and a corrector step; return False if no step is possible."""
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
    row: Array  # (2, n): variables of the rows, R and XI
    side: Array  # (4, K, n): variables of their sides, P ... MU
    pair: Array  # (4, K, m): variables of the pairs, Q ... BETA
    # of a direction: how far primal and dual variables can follow it
    lengths: tuple[float, float] = (1.0, 1.0)

    @property
    def own(self) -> tuple[Array, Array, Array]:
        """The variables that belong to rows."""
        return self.row, self.side, self.pair

    def zeros(self) -> InteriorPoint:
        """Return a direction of zeros."""
        row, side, pair = (np.zeros_like(own) for own in self.own)
        w, u = np.zeros_like(self.w), np.zeros_like(self.u)
        return InteriorPoint(w, 0.0, u, row, side, pair)

    def move(self, step: InteriorPoint, primal: float, dual: float) -> None:
        """Move along a direction, with different lengths in the two spaces."""
        self.w += primal * step.w
        self.b += primal * step.b
        self.u += dual * step.u
        for mine, change in zip(self.own, step.own, strict=True):
            half = len(mine) // 2  # dual variables come first
            mine[:half] += dual * change[:half]
            mine[half:] += primal * change[half:]


class NewtonSystem:
    """Newton's equations for the products of all variables, condensed to (w, b).

    On the columns in use, their matrix is

        M = diag(δ) + Σ_t e_t x_t x_tᵀ + Σ_ik A_ik g_ik g_ikᵀ - Σ_ik E_ik c_ik c_ikᵀ

    bordered by Σ_ik A_ik a'_ik g_ik and Σ_ik A_ik a'_ik². x_t holds the entries of row
    i in pair t, which is a single one without groups; g_ik and c_ik have the sparsity
    pattern of row i.
    """

    def __init__(self, problem: DeletionProgram, columns: NDArray[Any]):
        # Numba is imported here, at the first solve, to keep the import light
        from noiseproof._deletion import kernels

        self.kernels: Any = kernels
        self.problem, self.columns, self.C = problem, columns, problem.C
        # without any budget, the interior would be empty
        self.N = max(problem.limit, _SMALLEST * float(problem.values.mean()))
        indptr, v, _ = problem.pairs
        self.where = indptr, v
        number = np.zeros(problem.X.shape[1], dtype=problem.X.indices.dtype)
        number[columns] = np.arange(len(columns))
        self.indices = number[problem.X.indices]  # indices among the columns in use
        self.of_rows = problem.weights, problem.slopes
        self.counts = np.diff(indptr.astype(np.int64)).astype(np.int64)
        (k, n), m = problem.slopes.shape, len(v)
        self.shape = n, len(columns)
        of_row = 1 + 2 * k * (1 + self.counts)
        self.n_products = float(problem.weights @ of_row) + 2 * len(columns)
        self.inv, self.pull, self.push, self.e, self.kb = np.empty((5, k, m))
        self.block = np.empty((5, k, n))
        self.condensed = self.inv, self.pull, self.push, self.block
        self.work = self.e, self.kb, np.empty(n), np.empty((2, k, n))

    def spread(self, w: Array) -> Array:
        """Return the weights of all columns, given those of the columns in use."""
        every = np.zeros(self.problem.X.shape[1])
        every[self.columns] = w
        return every

    def start(self) -> InteriorPoint:
        """Return a strictly feasible point at w = 0, roughly central."""
        problem, v, b = self.problem, self.where[1], self.problem.constant
        (k, n), d, m = problem.slopes.shape, self.shape[1], len(v)
        p = self._balanced_multipliers()
        share = np.minimum(1, self.N / np.maximum(self._row_sums(v[None]), TINY))
        typical = problem.value(self.spread(np.zeros(d)), b) / problem.factor
        product = typical * p.min() / (1 + self.counts.max(initial=0))
        at = InteriorPoint(
            *(np.zeros(d), b, np.empty((2, d)), np.empty((2, n))),
            *(np.empty((4, k, n)), np.empty((4, k, m))),
        )
        mu, beta, q = product / (0.5 * self.N * p), product / (0.5 * p), 0.5 * share * p
        at.side[P], at.side[MU] = p, mu
        at.pair[Q], at.pair[BETA] = (self._of_pairs(x) for x in (q, beta))
        least = problem.offsets(b) + self.N * mu + self._row_sums(at.pair[BETA])
        at.row[XI] = (least + product / p).max(axis=0)
        at.row[R] = 1.0 - p.sum(axis=0)
        at.side[S] = at.row[XI] - least
        at.side[H] = self.N * p - self._row_sums(v * at.pair[Q])
        at.pair[Z] = self._of_pairs(p - q)
        at.pair[T] = at.pair[BETA] + v * self._of_pairs(mu + problem.price)
        mass = self._of_pairs(problem.weights * problem.slopes)
        kept = self._pulled_back(mass * at.pair[Z])
        at.u[:] = np.maximum([kept, -kept], 0.0) + product / self.C
        return at

    def _row_sums(self, pairs: Array) -> Array:
        rows = np.repeat(np.arange(self.shape[0]), self.counts)
        sums = [np.bincount(rows, own, self.shape[0]) for own in pairs]
        return np.array(sums, dtype=np.float64)

    def _balanced_multipliers(self) -> Array:
        """Return p of at most ½ per row; with an intercept, Σ s a p = 0."""
        weights, slopes = self.of_rows
        p = np.full(slopes.shape, 0.5 / len(slopes))
        if not self.problem.fit_intercept:
            return p
        mass, is_up = weights * np.abs(slopes), slopes > 0
        up, down = float(mass[is_up].sum()), float(mass[~is_up].sum())
        return p * min(up, down) / np.where(is_up, up, down)

    def _pulled_back(self, sides: Array) -> Array:
        """Sum values of pairs (K, m), times their entries, over each column in use."""
        return self.problem.pulled_back(sides.sum(axis=0))[self.columns]

    def _of_pairs(self, sides: Array) -> Array:
        """Repeat values of the sides (K, n) for each of their pairs (K, m)."""
        return np.repeat(sides, self.counts, axis=1)

    def factorise(self, at: InteriorPoint) -> Solve | None:
        """Return a solver of the bordered system, or None if rounding made it singular.

        With few columns, M itself is factorised (Cholesky). With many columns and few
        rows, Woodbury's identity is used, so that only a matrix of size 2 K n is
        factorised; its cancellation limits the relative gap of the program to about
        1e-8.
        """
        weights, slopes = self.of_rows
        (k, n), d = slopes.shape, self.shape[1]
        curve, kept = np.zeros((2, 1, self.pull.shape[1]))
        self.kernels.condense(
            *self.where, *self.of_rows, self.N, *at.own, *self.condensed,
            curve[0], kept[0],
        )  # fmt: skip
        self.off_w = at.u[0] - at.u[1] - self._pulled_back(kept)
        self.off_b = float((slopes * at.side[P]).sum(axis=0) @ weights)
        self.room = self._room(at.w)
        box = (at.u / self.room).sum(axis=0)
        self.by_pull, self.by_push = weights * self.block[:2]
        wide = d > max(2 * k * n, _WIDE) and self.problem.labels is None
        try:
            inner = (self._woodbury if wide else self._cholesky)(box, curve[0])
        except LinAlgError:
            return None
        return self._bordered(inner)

    def _bordered(self, inner: Solve) -> Solve:
        """Extend a solver by the border of b; without an intercept, b is 0."""
        if not self.problem.fit_intercept:
            return lambda right: np.append(inner(right[:-1]), np.float64(0.0))
        border = self.by_pull * self.block[4]
        cross = self._pulled_back(self._of_pairs(border) * self.pull)
        across = inner(cross)
        total = float((border * self.block[4]).sum())
        corner = max(total - float(cross @ across), _ROUNDING * total)

        def solve(right: Array) -> Array:
            own = inner(right[:-1])
            b = (right[-1] - cross @ own) / corner
            return np.append(own - b * across, b)

        return solve

    def _entries(self, pairs: Array) -> Array:
        """Return x_ij times the value of its pair, for each stored entry."""
        place = self.problem.pairs.place
        return self.problem.X.data * (pairs if place is None else pairs[place])

    def _own_curvature(self, box: Array, curve: Array) -> Array:
        """Compute diag(δ) + Σ_t e_t x_t x_tᵀ; without groups, only its diagonal."""
        if self.problem.labels is None:
            return box + self._pulled_back(self._entries(curve)[None])
        where, shape = (self.problem.pairs.place, self.indices), (len(curve), len(box))
        parts = sp.csr_array((self.problem.X.data, where), shape=shape)
        return np.diag(box) + ((parts.T * curve) @ parts).toarray()

    def _terms(self) -> Iterator[tuple[Any, int]]:
        """Yield the rows of g and of c, times the roots of their weights, and signs."""
        parts = self.indices, self.problem.X.indptr
        for pairs, by, sign in (
            (self.pull, self.by_pull, 1),
            (self.push, self.by_push, -1),
        ):
            for scaled in pairs * self._of_pairs(np.sqrt(by)):
                entries = self._entries(scaled)
                yield sp.csr_array((entries, *parts), shape=self.shape), sign

    def _cholesky(self, box: Array, curve: Array) -> Solve:
        n, d = self.shape
        matrix = self._own_curvature(box, curve)
        matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
        if self.problem.X.nnz > _DENSE * d * n:
            rows = max(1, _BLOCK // d)
            for part, sign in self._terms():
                for lo in range(0, n, rows):
                    block = part[lo : lo + rows].toarray()
                    matrix += sign * (block.T @ block)
        else:
            where = self.problem.csr[0], self.indices.view(self.problem.csr[1].dtype)
            for k, weights in enumerate(zip(self.by_pull, self.by_push, strict=True)):
                terms = self._entries(self.pull[k]), self._entries(self.push[k])
                self.kernels.gram(*where, *terms, *weights, matrix)
        factor = _factor(matrix)
        return lambda right: cho_solve(factor, right, check_finite=False)

    def _woodbury(self, box: Array, curve: Array) -> Solve:
        diagonal = self._own_curvature(box, curve)
        terms = list(self._terms())
        rows = sp.vstack([part for part, _ in terms], format="csr")
        sign = np.repeat([float(sign) for _, sign in terms], self.shape[0])
        core = np.asarray((rows.multiply(1 / diagonal) @ rows.T).todense())
        core[np.arange(len(sign)), np.arange(len(sign))] += sign
        factor = lu_factor(core, overwrite_a=True, check_finite=False)

        def once(right: Array) -> Array:
            inner = lu_solve(factor, rows @ (right / diagonal), check_finite=False)
            return (right - rows.T @ inner) / diagonal

        def solve(right: Array) -> Array:
            x = once(right)  # one step of refinement makes up for the cancellation
            return x + once(right - diagonal * x - rows.T @ (sign * (rows @ x)))

        return solve

    def _room(self, w: Array) -> Array:
        """Return C ∓ w, but no less than a rounding error."""
        return np.maximum([self.C - w, self.C + w], _ROUNDING * self.C)

    def direction(
        self,
        at: InteriorPoint,
        solve: Solve,
        target: float,
        before: InteriorPoint | None = None,
    ) -> InteriorPoint:
        """Compute Newton's direction towards products equal to `target`.

        `before` is an earlier direction whose second-order error is to be corrected;
        its arrays are reused.
        """
        d = self.shape[1]
        second = 0.0 if before is None else 1.0
        step = at.zeros() if before is None else before
        pulled, right = np.zeros((1, self.pull.shape[1])), np.zeros(d + 1)
        right[d] = self.off_b + self.kernels.right_hand_side(
            *self.where, *self.of_rows, *at.own, *self.condensed,
            *step.own, target, second, *self.work, pulled[0],
        )  # fmt: skip
        gain = target - self.room * at.u - second * step.u * [-step.w, step.w]
        gain /= self.room
        right[:d] = self._pulled_back(pulled) + gain[1] - gain[0] - self.off_w
        solved = solve(right)
        step.w, step.b = solved[:d], float(solved[d])
        step.u = gain + at.u / self.room * [step.w, -step.w]
        moved = self.problem.scores(self.spread(step.w))
        primal, dual = self.kernels.expand(
            *self.where, self.problem.slopes, self.N, *at.own, *self.condensed,
            *self.work, moved, step.b, *step.own,
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
        """Sum the products of all variables, here or at the end of a direction."""
        primal, dual = (0.0, 0.0) if step is None else step.lengths
        step = at if step is None else step
        box = self._room(at.w + primal * step.w) * (at.u + dual * step.u)
        return float(box.sum()) + self.kernels.products(
            self.where[0], self.problem.weights, *at.own, *step.own, primal, dual
        )
