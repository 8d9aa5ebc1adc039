"""The hinge loss without noise: coordinate descent and face steps on the dual.

    min ½ ‖w‖² + Σ_i c_i max(0, margin - y_i (w·x_i + b))
      = max margin Σ_i α_i - ½ ‖w‖²,   w = Σ_i α_i y_i x_i,

over 0 <= α <= c with Σ_i α_i y_i = 0.

Sweeps of coordinate descent (Hsieh et al. 2008) quickly find out which α are at their
bounds, but converge slowly in the others, which span a face of the box. On this face
the dual is a plain quadratic, which conjugate gradients maximise (Moré and Toraldo
1991). The constraint of the unpenalised intercept is handled by an augmented
Lagrangian, with b as its multiplier. The gap between primal and dual value certifies
the accuracy of the solution.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.moment import MomentObjective
from noiseproof._marginal.objective import Solution
from noiseproof._rows import Array
from noiseproof._stop import Stop

_SWEEPS = 5  # sweeps between two evaluations of the gap, each of which costs about one
_FIRST_SWEEPS = 10
# Iterations on a face: at first, and the maximum, once few of its α hit a bound
_CG_ITER = 15
_MOST_CG_ITER = 200
_SETTLED = 0.05  # fraction of the face's α that counts as few
# Fraction of the residual that iterations on a face leave: at first, and once none of
# its α has hit a bound
_RESIDUAL = 0.05
_FINAL = 1e-3
_PATIENCE = 6  # rounds in which the gap must halve; otherwise another solver is faster


class _Dual:
    """The dual state of one class: α, w = Σ α y x and b = center + pull Σ α y.

    `center` is the multiplier of the constraint Σ α y = 0 and `pull` the weight of its
    squared violation; both are 0 without an intercept.
    """

    def __init__(self, rows: MomentObjective, y: Array):
        n, d = rows.design.shape
        self.y, self.upper = y, rows.weights
        self.margin: float = rows.loss.hinge_margin  # type: ignore[assignment]
        self.fit_intercept, self.norms2 = rows.fit_intercept, rows.design.squared_norms
        self.entries = rows.design.entries()
        self.alpha, self.w, self.b, self.center = np.zeros(n), np.zeros(d), 0.0, 0.0
        self.pull = float(self.norms2.mean()) if rows.fit_intercept else 0.0
        # the slope of a row of zeros does not depend on its α, which moves to a bound
        self.squares = np.maximum(self.norms2 + self.pull, 1e-300)
        self.order, self.lots = np.arange(n), np.random.default_rng(0)
        self.cg_iter, self.is_settled = _CG_ITER, False

    def sweep(self, times: int) -> None:
        """Do coordinate descent over all α, skipping those that stay at a bound."""
        constants = np.array([self.margin, self.pull])
        state = np.array([self.b, len(self.alpha), np.inf, -np.inf])
        for _ in range(times):
            self.lots.shuffle(self.order[: int(state[1])])
            self._run(
                "sweep",
                *(self.y, self.upper, self.squares, constants),
                *(self.order, self.alpha, self.w, state),
            )
        self.b = float(state[0])

    def center_intercept(self) -> None:
        """Set the multiplier to the current intercept."""
        self.center = self.b
        self.b = self.center + self.pull * float(self.alpha @ self.y)

    def settle(self) -> None:
        """Optimise the α between their bounds by conjugate gradients, then project.

        The slopes of these α vanish at the solution. A step changes them by the matrix
        U Uᵀ + pull y yᵀ, where U holds the rows times their labels.
        """
        face = np.flatnonzero((self.alpha > 0) & (self.alpha < self.upper))
        if len(face) == 0:
            return
        y, alpha, upper = self.y[face], self.alpha[face], self.upper[face]
        slope = y * (self.scores(face) + self.b) - self.margin
        step = self._face_step(face, slope)
        for shorter in 0.5 ** np.arange(20):
            new = np.clip(alpha + shorter * step, 0.0, upper)
            change = new - alpha
            dw, db = np.zeros_like(self.w), self.pull * (y @ change)
            self._run("add_rows", face, y * change, dw)
            promise = slope @ change
            if promise + 0.5 * (dw @ dw + db * (y @ change)) <= 1e-4 * promise:
                break
        else:
            return
        self.alpha[face], self.w, self.b = new, self.w + dw, self.b + db
        ended = np.mean((new <= 0) | (new >= upper))
        self.is_settled = shorter == 1.0 and ended == 0
        if shorter == 1.0 and ended < _SETTLED:
            self.cg_iter = min(2 * self.cg_iter, _MOST_CG_ITER)

    def _face_step(self, face: NDArray[np.intp], slope: Array) -> Array:
        """Approximate -(U Uᵀ + pull y yᵀ)⁻¹ slope by conjugate gradients."""
        constants = np.array([self.pull, _FINAL if self.is_settled else _RESIDUAL])
        step, *room = np.zeros((4, len(face)))
        self._run(
            "face_step",
            *(face, self.y[face], 1 / self.squares[face], self.cg_iter, constants),
            *(-slope, step, *room, np.empty_like(self.w)),
        )
        return step

    def scores(self, rows: NDArray[np.intp]) -> Array:
        """Compute x·w for some rows."""
        out = np.empty(len(rows))
        self._run("scores", rows, self.w, out)
        return out

    def _run(self, loop: str, *arguments: Any) -> None:
        from noiseproof._marginal import dual_kernels

        getattr(dual_kernels, loop)(*self.entries, *arguments)

    def theta(self, b: float) -> Array:
        """Join the weights and an intercept into parameters."""
        return np.append(self.w, b) if self.fit_intercept else self.w.copy()

    def values(self) -> tuple[float, float, float]:
        """Return primal value at the best intercept, that intercept, and dual value."""
        y, scores = self.y, self.scores(np.arange(len(self.y)))
        b = best_intercept(scores, y, self.upper, self.margin) * self.fit_intercept
        norm2 = self.w @ self.w
        short = self.margin - y * (scores + b)
        primal = 0.5 * norm2 + self.upper @ np.maximum(short, 0.0)
        dual = self.margin * self.alpha.sum() - 0.5 * norm2
        return float(primal), b, float(dual - self._repair(short, scores))

    def _repair(self, short: Array, scores: Array) -> float:
        """Bound the loss in dual value from making α satisfy Σ α y = 0.

        The α of the label with too much weight are lowered, the cheapest ones first.
        """
        excess = float(self.alpha @ self.y) if self.fit_intercept else 0.0
        rows = np.flatnonzero((self.y * excess > 0) & (self.alpha > 0))
        rows = rows[np.argsort(short[rows])]
        alpha = self.alpha[rows]
        less = np.clip(abs(excess) - (np.cumsum(alpha) - alpha), 0.0, alpha)
        length = less @ np.sqrt(self.norms2[rows])
        change = self.margin * less - less * self.y[rows] * scores[rows]
        return float(change.sum() + 0.5 * length**2)


def best_intercept(scores: Array, y: Array, weights: Array, margin: float) -> float:
    """Find the b that minimises Σ weights max(0, margin - y (score + b))."""
    corners = margin * y - scores
    order = np.argsort(corners, kind="stable")
    slope = np.cumsum(weights[order]) - weights[y > 0].sum()  # right of each corner
    place = int(np.searchsorted(slope, 0.0))
    return float(corners[order[min(place, len(order) - 1)]])


def plain_hinge(objective: MomentObjective, stop: Stop) -> Solution:
    """Minimise for each class as if there were no noise, to a gap of `tol`.

    If the gap of a class falls slowly, stop without convergence, so that another solver
    can take over.
    """
    theta, n_iter = np.zeros(objective.shape), 0
    for k, labels in enumerate(objective.y):
        done = replace(stop, done_iter=stop.done_iter + n_iter)
        theta[k], rounds, converged, stopped = _solve(_Dual(objective, labels), done)
        n_iter += rounds
        if stopped or not converged:
            break
    return Solution(objective.at(theta), n_iter, converged, stopped)


def _solve(state: _Dual, stop: Stop) -> tuple[Array, int, bool, bool]:
    best, highest, gaps, theta = np.inf, -np.inf, [], state.theta(0.0)
    for n_iter in range(1, stop.max_iter + 1):
        state.sweep(_SWEEPS if n_iter > 1 else _FIRST_SWEEPS)
        state.center_intercept()
        primal, b, dual = state.values()
        highest = max(highest, dual)
        if primal <= best:
            best, theta = primal, state.theta(b)
        gaps.append(best - highest)
        converged = gaps[-1] <= stop.tol * best
        share = gaps[-1] / max(best, 1e-300)
        stopped = stop.tell(n_iter, np.array([best]), share)
        # written so that a gap of NaN counts as slow, too
        slow = n_iter > _PATIENCE and not gaps[-1] <= 0.5 * gaps[-1 - _PATIENCE]
        if converged or stopped or slow:
            break
        state.settle()
    return theta, n_iter, converged, stopped
