"""A primal-dual interior-point method made for the robust linear program.

The program (see `highs`) has variables for every stored entry, but each of
them belongs to one row. Eliminating row by row leaves Newton equations in (w, b) alone:
a diagonal and two rank-one terms a row. So an iteration costs a few passes over the
stored entries and one factorisation of size d + 1, whatever the number of rows.

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

from contextlib import nullcontext

import numpy as np

from noiseproof._deletion.base import RobustLPResult, certify, close_enough
from noiseproof._deletion.hinge import DeletionHinge
from noiseproof._deletion.newton import NewtonSystem
from noiseproof._deletion.point import P, Q
from noiseproof._rows import one_blas_thread
from noiseproof._stop import Stop

_SHORTEN = 0.995  # of the way to the boundary
_SMALLEST = 1e-9  # budget that stands for none, in units of the mean value
_SMALL = 3000  # columns
_STUCK = 1e-10  # a step this short gains nothing: rounding is all that is left


def interior(
    problem: DeletionHinge, stop: Stop, state: Path | None = None
) -> RobustLPResult:
    """Follow the central path until the certified gap is small enough.

    A `state` of the same problem is continued, that of another one is ignored.
    """
    if problem.fit_intercept and np.ptp(problem.y) == 0:
        return _one_sided(problem)
    path = state if state is not None and state.belongs_to(problem) else Path(problem)
    n_iter = 0
    interrupted = False
    # factorisations this small lose more by waiting for each other than they share
    limit = one_blas_thread() if len(path.columns) < _SMALL else nullcontext()
    try:
        with limit:
            while not (path.look(stop.tol) or n_iter >= stop.max_iter):
                if not path.advance():
                    break
                n_iter += 1
                gap = path.value - path.bound
                if stop.tell(n_iter, np.array([path.value]), np.array([gap])):
                    break
    except KeyboardInterrupt:  # keep what is reached; whoever called raises it again
        interrupted = True
    return path.result(max(n_iter, 1), stop.tol, interrupted)


class Path:
    """Where the method stands, and the best bounds it has met on the way."""

    def __init__(self, problem: DeletionHinge):
        self.problem = problem
        self.columns = np.unique(problem.X.indices)  # the others keep weight zero
        self.system = NewtonSystem(problem, self.columns, _smallest_budget(problem))
        self.at = self.system.start()
        self.w, self.b = np.zeros(problem.X.shape[1]), 0.0
        self.p, self.q = np.zeros(len(problem.y)), np.zeros(problem.X.nnz)
        self.value, self.bound = problem.value(self.w, self.b), 0.0
        self._whole = True

    def belongs_to(self, problem: DeletionHinge) -> bool:
        """Whether the path leads to the solution of that very problem."""
        mine = self.problem
        numbers = ("budget", "margin", "C", "fit_intercept")
        arrays = ("y", "weights", "values")
        return (
            self._whole
            and all(getattr(mine, n) == getattr(problem, n) for n in numbers)
            and all(
                np.array_equal(getattr(mine, n), getattr(problem, n)) for n in arrays
            )
            and all(
                np.array_equal(a, b) for a, b in zip(mine.csr, problem.csr, strict=True)
            )
        )

    def look(self, tol: float) -> bool:
        """Certify the present point; whether the best bounds are close enough."""
        at, problem = self.at, self.problem
        w = np.zeros(problem.X.shape[1])
        w[self.columns] = at.w
        p, q = at.row[P], at.entry[Q]
        w, value, bound = certify(problem, w, at.b, p, q)
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
        primal, dual = (min(1.0, _SHORTEN * length) for length in step.lengths)
        if max(primal, dual) < _STUCK or not np.isfinite(step.w).all():
            return False
        self._whole = False
        at.move(step, primal, dual)
        self._whole = True
        return True

    def result(self, n_iter: int, tol: float, interrupted: bool) -> RobustLPResult:
        """The best classifier met, and the best lower bound."""
        done = close_enough(self.value, self.bound, tol)
        best = (self.w, self.b, self.p, self.q, self.value, self.bound)
        return RobustLPResult(*best, n_iter, done, self, interrupted)


def _smallest_budget(problem: DeletionHinge) -> float:
    """N, or so little that it counts as none: an interior needs some."""
    return max(problem.limit, _SMALLEST * float(problem.values.mean()))


def _one_sided(problem: DeletionHinge) -> RobustLPResult:
    """One class only, which has no balanced multipliers: b = ± γ V/P costs nothing."""
    w, b = np.zeros(problem.X.shape[1]), float(problem.y[0]) * problem.base
    p, q = np.zeros(len(problem.y)), np.zeros(problem.X.nnz)
    return RobustLPResult(w, b, p, q, 0.0, 0.0, n_iter=1, converged=True)
