"""Pegasos: Teo et al. 2008, algorithm 2, on small batches.

Step t moves f towards the worst cuts of a batch of rows,

    f ← (1 - 1/t) f - 1/(α t) · mean of ψ,

and projects it onto the ball ‖f‖ <= √(2 R[0] / α). The result is the average of all f_t
with weights t, in which the first ones hardly count. After every pass over the rows,
f_t itself is a feasible combination of cuts in the dual (6), which certifies a lower
bound at no cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noiseproof._invariant.loss import Index
from noiseproof._invariant.risk import (
    Cuts,
    InvariantResult,
    KernelRisk,
    KernelRows,
    LinearRisk,
    squared_norm,
)
from noiseproof._rows import Array
from noiseproof._stop import Stop

_BATCH = 4


def pegasos(
    risk: LinearRisk | KernelRisk, stop: Stop, rng: Any = None
) -> InvariantResult:
    """Minimise R; an iteration is a pass over the rows, in an order drawn by `rng`."""
    descent = Descent(risk, np.random.RandomState(0) if rng is None else rng)
    result, mean = InvariantResult(), descent.iterate
    for _ in range(stop.max_iter):
        descent.run()
        if result.advance(mean.value_of_mean(), descent.bound, mean, stop):
            break
    result.weights, result.n_cuts = descent.moved, descent.n_cuts
    return result


class Descent:
    """The steps, and the dual value that belongs to them."""

    def __init__(self, risk: LinearRisk | KernelRisk, rng: Any):
        self.risk, self.rng = risk, rng
        self.iterate: LinearIterate | KernelIterate = (
            LinearIterate(risk) if isinstance(risk, LinearRisk) else KernelIterate(risk)
        )
        self.radius2 = 2 * self.iterate.value_of_mean() / risk.alpha
        n = len(risk.mass)
        self.n_batches = -(-n // _BATCH)
        self.moved, self.n_cuts, self.t = np.zeros(n), 0, 0
        # Σ β δ of the steps so far, and what it would be for null cuts only
        self.height = self.null = 0.0

    @property
    def bound(self) -> float:
        """The dual value, a lower bound of R."""
        return self.height - 0.5 * self.risk.alpha * self.iterate.norm2()

    def run(self) -> None:
        """Do one pass over all rows."""
        order = self.rng.permutation(len(self.risk.mass))
        for rows in np.array_split(order, self.n_batches):
            self._step(rows)
        self.iterate.refresh()

    def _step(self, rows: Index) -> None:
        self.t += 1
        share = 1.0 / self.t
        value, delta = self.iterate.find(rows)
        floor, mass = self.risk.floor[rows], self.n_batches * self.risk.mass[rows]
        active = value > floor
        self.moved[rows[active]] += mass[active]
        self.n_cuts += int(active.sum())
        heights = float(mass @ np.where(active, delta, floor))
        self.height += share * (heights - self.height)
        self.null += share * (float(mass @ floor) - self.null)
        self.iterate.move(1.0 - share, -share / self.risk.alpha * mass * active)
        norm2 = self.iterate.norm2()
        if norm2 > self.radius2:
            back = np.sqrt(self.radius2 / norm2)
            self.iterate.move(back, np.zeros(len(rows)))
            self.height = back * self.height + (1 - back) * self.null
        self.iterate.average(2.0 / (self.t + 1))


class LinearIterate:
    """f as a weight vector w, and the weighted mean of all iterates."""

    def __init__(self, risk: LinearRisk):
        self.risk = risk
        self.w, self.mean = np.zeros((2, risk.n_weights))
        self._cuts: Cuts

    @property
    def function(self) -> Array:
        return self.mean.copy()

    def find(self, rows: Index) -> tuple[Array, Array]:
        """Return values and δ of the worst cuts of some rows."""
        self._cuts = self.risk.worst(self.w, rows)
        return self._cuts.value, self._cuts.delta

    def move(self, shrink: float, amounts: Array) -> None:
        """Replace w by shrink w + Σ amounts ψ, over the cuts found last."""
        self.w *= shrink
        if amounts.any():
            self.w += np.asarray(self._cuts.psi.T @ amounts)

    def norm2(self) -> float:
        return squared_norm(self.w)

    def average(self, share: float) -> None:
        self.mean += share * (self.w - self.mean)

    def value_of_mean(self) -> float:
        return self.risk.value(self.mean, self.risk.worst(self.mean))

    def refresh(self) -> None:
        """Do nothing, since w has no derived quantities."""


class KernelIterate:
    """f as coefficients A of points, their mean, and scores F of all candidates."""

    def __init__(self, risk: KernelRisk):
        self.risk, self.rows = risk, KernelRows(risk)
        self.A, self.mean = np.zeros((2, 0, risk.k))
        self.F = np.zeros((len(self.rows.place), risk.k))

    @property
    def function(self) -> tuple[Index, Array]:
        return self.rows.points.copy(), self.mean.copy()

    def find(self, rows: Index) -> tuple[Array, Array]:
        """Return values and δ of the worst cuts of some rows."""
        items, runs = self.risk.candidates.part(rows)
        own, costs = self.risk.own[rows], self.risk.costs
        worst, rival, value, delta = costs.worst(self.F[items], own, runs)
        self._found = items[worst], rival, own
        return value, delta

    def move(self, shrink: float, amounts: Array) -> None:
        """Replace f by shrink f + Σ amounts ψ, over the cuts found last."""
        self.A *= shrink
        self.F *= shrink
        used = np.flatnonzero(amounts)
        if not len(used):
            return
        points, rival, own = (part[used] for part in self._found)
        fresh = points[self.rows.place[points] < 0]
        self.rows.extend(fresh)
        more = ((0, len(fresh)), (0, 0))
        self.A, self.mean = np.pad(self.A, more), np.pad(self.mean, more)
        change, here = np.zeros((len(used), self.risk.k)), np.arange(len(used))
        scaled = amounts[used] * self.risk.costs.scale[own, rival]
        change[here, rival], change[here, own] = scaled, -scaled
        places = self.rows.place[points]
        self.A[places] += change
        self.F += self.rows.take(places).T @ change

    def norm2(self) -> float:
        return float((self.A * self.F[self.rows.points]).sum())

    def average(self, share: float) -> None:
        self.mean += share * (self.A - self.mean)

    def value_of_mean(self) -> float:
        scores = self.rows.scores(self.mean)
        norm2 = float((self.mean * scores[self.rows.points]).sum())
        return self.risk.value(self.risk.losses(scores), norm2)

    def refresh(self) -> None:
        """Recompute F from A, which removes accumulated rounding errors."""
        self.F = self.rows.scores(self.A)
