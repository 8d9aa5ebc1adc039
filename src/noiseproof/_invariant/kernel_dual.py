"""The dual restricted to working sets, where f is a sum of kernel functions."""

from __future__ import annotations

import numpy as np

from noiseproof._invariant.kernel_risk import KernelRisk, KernelRows
from noiseproof._invariant.working_sets import Array, Blocks, Index

_POINTS = 4  # new points of a row in one round


class KernelDual(Blocks):
    """Cuts as (point, rival class), with coefficients A and scores F of the points.

    Parameters
    ----------
    risk : KernelRisk
        What to minimise.
    """

    slotted = (*Blocks.slotted, "point", "rival", "scale")

    def __init__(self, risk: KernelRisk):
        super().__init__(risk.mass, risk.floor)
        self.risk, self.rows = risk, KernelRows(risk)
        self.point, self.rival = np.zeros((2, *self.beta.shape), dtype=np.intp)
        self.scale = np.zeros(self.beta.shape)
        # the place of each candidate among the points, or -1
        self._place = np.full(risk.candidates.X.shape[0], -1)
        self.A = np.zeros((0, risk.k))
        self.F, self.gram = np.zeros((risk.k, 0)), np.zeros((0, 0))

    @property
    def function(self) -> tuple[Index, Array]:
        """The points as candidates, and their coefficients."""
        return self.rows.points.copy(), self.A.copy()

    @property
    def bound(self) -> float:
        """The dual value, which no R is below."""
        return self.heights - 0.5 * self.risk.alpha * self._norm2

    @property
    def _norm2(self) -> float:
        return float((self.A.T * self.F).sum())

    def look(self) -> float:
        """Find the loss of every cut there is at f; R(f)."""
        scores = self.rows.scores(self.A)
        self.F = np.ascontiguousarray(scores[self.rows.points].T)
        self._losses = self.risk.losses(scores)
        losses = self.risk.mass @ self.risk.tops(self._losses)
        return float(losses + 0.5 * self.risk.alpha * self._norm2)

    def extend(self, margin: float) -> int:
        """Add cuts that are higher than all of their block by more than `margin`.

        A few new points a row at most, the worst ones; and of all points in use every
        rival. Returns the number of cuts.
        """
        from noiseproof._invariant.kernels import kernel_gram

        candidates = self.risk.candidates
        limit = (self.tops(self.values()) + margin)[candidates.owner]
        high = self._losses > limit[:, None]
        fresh = high.any(axis=1) & (self._place < 0)
        self._add_points(candidates.largest(self._losses.max(axis=1), fresh, _POINTS))
        found, rival = np.nonzero(high & (self._place >= 0)[:, None])
        owner, own = candidates.owner[found], self.risk.candidate_own[found]
        delta = self.risk.costs.delta(own, candidates.rank[found])
        slots = self.place(owner, delta[np.arange(len(own)), rival])
        self.point[owner, slots] = self._place[found]
        self.rival[owner, slots] = rival
        self.scale[owner, slots] = self.risk.costs.scale[own, rival]
        kernel_gram(
            self.gram, owner, slots, self.point, self.rival, self.scale,
            self.size, self.Q,
        )  # fmt: skip
        return len(owner)

    def values(self) -> Array:
        """δ + <ψ, f> of all slots."""
        if not self.F.size:
            return self.delta
        own = self.risk.own[:, None]
        margins = self.F[self.rival, self.point] - self.F[own, self.point]
        return self.delta + self.scale * margins

    def solve(self, goal: float) -> bool:
        """Nothing better than sweeps is known here."""
        return False

    def _add_points(self, points: Index) -> None:
        old, m = len(self.A), len(self.A) + len(points)
        self._place[points] = np.arange(old, m)
        self.rows.extend(points)
        if m > len(self.gram):
            room = min(4 * m, len(self._place))  # what stays empty costs nothing
            grown = np.empty((room, room))
            grown[:old, :old] = self.gram[:old, :old]
            self.gram = grown
        for part, rows in self.rows.blocks(old):
            among = np.take(rows, self.rows.points, axis=1)
            self.gram[part, :m], self.gram[:m, part] = among, among.T
        self.A = np.pad(self.A, ((0, m - old), (0, 0)))
        fresh = self.A.T @ self.gram[:m, old:m]
        self.F = np.hstack([self.F, fresh])

    def sweep(self, order: Index, goal: float, max_steps: int) -> tuple[float, int]:
        """One pass over some blocks: the excess found, and how many had none."""
        from noiseproof._invariant.kernels import kernel_sweep

        return kernel_sweep(
            self.gram, len(self.rows.points), order, self.risk.own, self.point,
            self.rival, self.scale, self.size, self.delta, self.Q, self.beta,
            self.risk.alpha, goal, max_steps, self.F, self.A,
        )  # fmt: skip

    def refresh(self) -> None:
        """Compute f from β, without the rounding of many steps."""
        row, slot = np.nonzero(self.beta[:, 1:])
        slot += 1
        point, m = self.point[row, slot], len(self.A)
        amounts = self.beta[row, slot] * self.scale[row, slot] / self.risk.alpha
        self.A = np.zeros_like(self.A)
        np.add.at(self.A, (point, self.rival[row, slot]), -amounts)
        np.add.at(self.A, (point, self.risk.own[row]), amounts)
        self.F = np.ascontiguousarray(self.A.T @ self.gram[:m, :m])
