"""Pegasos: Teo et al. 2008, algorithm 2, on small batches.

Step t moves f towards the worst cuts of a batch of rows,

    f ← (1 - 1/t) f - 1/(α t) · mean of ψ,

and back into the ball ‖f‖ <= √(2 R[0] / α). Answered is the average of all f_t with
weights t, which forgets the first ones. After every pass over the rows f_t itself is a
combination of cuts that the dual (6) allows, and certifies a lower bound for free.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._invariant.base import InvariantResult, Search
from noiseproof._invariant.candidates import Segments
from noiseproof._invariant.kernel_risk import KernelRisk, KernelRows
from noiseproof._invariant.risk import Array, Cuts, LinearRisk, squared_norm
from noiseproof._stop import Stop

Rows = NDArray[np.intp]

_BATCH = 4


def pegasos(
    risk: LinearRisk | KernelRisk, stop: Stop, rng: Any = None
) -> InvariantResult:
    """Minimise R by stochastic steps.

    Parameters
    ----------
    risk : LinearRisk or KernelRisk
        What to minimise.
    stop : Stop
        When to stop; an iteration is a pass over the rows.
    rng : RandomState
        For the order of the rows.
    """
    walk = _Walk(risk, np.random.RandomState(0) if rng is None else rng)
    search = Search(stop)
    for _ in range(stop.max_iter):
        walk.run()
        if search.is_over(walk.path.value_of_mean(), walk.bound, walk.path):
            break
    return search.result(walk.moved, walk.n_cuts)


class _Walk:
    """The steps, and what the dual knows about them."""

    def __init__(self, risk: LinearRisk | KernelRisk, rng: Any):
        self.risk, self.rng = risk, rng
        self.path = (
            LinearPath(risk) if isinstance(risk, LinearRisk) else KernelPath(risk)
        )
        self.radius2 = 2 * self.path.value_of_mean() / risk.alpha
        n = len(risk.mass)
        self.n_batches = -(-n // _BATCH)
        self.moved, self.n_cuts, self.t = np.zeros(n), 0, 0
        # Σ β δ of the steps so far, and what it would be for null cuts only
        self.height = self.null = 0.0

    @property
    def bound(self) -> float:
        return self.height - 0.5 * self.risk.alpha * self.path.norm2()

    def run(self) -> None:
        """One pass; every row once."""
        order = self.rng.permutation(len(self.risk.mass))
        for rows in np.array_split(order, self.n_batches):
            self._step(rows)
        self.path.refresh()

    def _step(self, rows: Rows) -> None:
        self.t += 1
        share = 1.0 / self.t
        value, delta = self.path.find(rows)
        floor, mass = self.risk.floor[rows], self.n_batches * self.risk.mass[rows]
        active = value > floor
        self.moved[rows[active]] += mass[active]
        self.n_cuts += int(active.sum())
        heights = float(mass @ np.where(active, delta, floor))
        self.height += share * (heights - self.height)
        self.null += share * (float(mass @ floor) - self.null)
        self.path.move(1.0 - share, -share / self.risk.alpha * mass * active)
        norm2 = self.path.norm2()
        if norm2 > self.radius2:
            back = np.sqrt(self.radius2 / norm2)
            self.path.move(back, np.zeros(len(rows)))
            self.height = back * self.height + (1 - back) * self.null
        self.path.average(2.0 / (self.t + 1))


class LinearPath:
    """f as a weight vector w, and the mean of those on the way."""

    def __init__(self, risk: LinearRisk):
        self.risk = risk
        self.w, self.mean = np.zeros((2, risk.n_weights))
        self._cuts: Cuts

    @property
    def function(self) -> Array:
        """The mean weights."""
        return self.mean.copy()

    def find(self, rows: Rows) -> tuple[Array, Array]:
        """Values and δ of the worst cuts of some rows."""
        self._cuts = self.risk.worst(self.w, rows)
        return self._cuts.value, self._cuts.delta

    def move(self, shrink: float, amounts: Array) -> None:
        """Make w into shrink w + Σ amounts ψ, over the cuts found last."""
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
        """Nothing is kept besides w."""


class KernelPath:
    """f as coefficients A of points, with its scores F of all candidates."""

    def __init__(self, risk: KernelRisk):
        self.risk, self.rows = risk, KernelRows(risk)
        self.A, self.mean = np.zeros((2, 0, risk.k))
        self._place = np.full(risk.candidates.X.shape[0], -1)
        self.F = np.zeros((len(self._place), risk.k))

    @property
    def function(self) -> tuple[Rows, Array]:
        """The points as candidates, and their mean coefficients."""
        return self.rows.points.copy(), self.mean.copy()

    def find(self, rows: Rows) -> tuple[Array, Array]:
        """Values and δ of the worst cuts of some rows."""
        listed, costs = self.risk.candidates, self.risk.costs
        ids = listed.of(rows)
        mine, own = Segments(listed.counts[rows]), self.risk.own[rows]
        losses = costs.losses(self.F[ids], own[mine.owner], mine.rank)
        worst = mine.argmax(losses.max(axis=1))
        rival, here = losses[worst].argmax(axis=1), np.arange(len(rows))
        self._found = ids[worst], rival, own, costs.scale[own, rival]
        delta = costs.delta(own, mine.rank[worst])[here, rival]
        return losses[worst, rival], delta

    def move(self, shrink: float, amounts: Array) -> None:
        """Make f into shrink f + Σ amounts ψ, over the cuts found last."""
        self.A *= shrink
        self.F *= shrink
        used = np.flatnonzero(amounts)
        if not len(used):
            return
        points, rival, own, scale = (part[used] for part in self._found)
        self._add_points(points[self._place[points] < 0])
        change, here = np.zeros((len(used), self.risk.k)), np.arange(len(used))
        change[here, rival] = amounts[used] * scale
        change[here, own] = -amounts[used] * scale
        places = self._place[points]
        self.A[places] += change
        self.F += self.rows.take(places).T @ change

    def _add_points(self, points: Rows) -> None:
        self._place[points] = len(self.A) + np.arange(len(points))
        self.rows.extend(points)
        more = ((0, len(points)), (0, 0))
        self.A, self.mean = np.pad(self.A, more), np.pad(self.mean, more)

    def norm2(self) -> float:
        return float((self.A * self.F[self.rows.points]).sum())

    def average(self, share: float) -> None:
        self.mean += share * (self.A - self.mean)

    def value_of_mean(self) -> float:
        scores = self.rows.scores(self.mean)
        norm2 = float((self.mean * scores[self.rows.points]).sum())
        losses = self.risk.tops(self.risk.losses(scores))
        return float(self.risk.mass @ losses + 0.5 * self.risk.alpha * norm2)

    def refresh(self) -> None:
        """F from A, without the rounding of many steps."""
        self.F = self.rows.scores(self.A)
