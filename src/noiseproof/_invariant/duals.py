"""The dual (6) restricted to working sets of cuts, a block of slots for each row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._invariant.interior import interior
from noiseproof._invariant.loss import Index
from noiseproof._invariant.risk import KernelRisk, KernelRows, LinearRisk, squared_norm
from noiseproof._rows import Array, unsigned

_FIRST_SLOTS = 8  # slots per block at first; doubled when a block is full
_PATIENCE = 1  # rounds that a cut may stay without weight
_NEWTON_COST = 1e9  # most multiplications per Newton step for which it is used
_POINTS = 4  # maximum number of new points per row and round


class WorkingSets(ABC):
    """Weights β, heights δ and Gram matrices Q of the cuts in the working sets.

    Slot 0 of every block is the null cut, which holds all weight at first. A new cut
    takes the slot of the cut that has been without weight for longest, or a free slot.
    All blocks grow when the slots of one block are used up.
    """

    slotted: tuple[str, ...] = ("beta", "delta", "age")  # arrays of shape (n, slots)

    def __init__(self, risk: Any):
        # Numba is imported here, at the first solve, to keep the import light
        from noiseproof._invariant import kernels

        self.kernels: Any = kernels
        self.risk = risk
        n = len(risk.mass)
        self.size = np.ones(n, dtype=np.intp)
        self.beta, self.delta = np.zeros((2, n, _FIRST_SLOTS))
        self.beta[:, 0], self.delta[:, 0] = risk.mass, risk.floor
        self.age = np.zeros((n, _FIRST_SLOTS), dtype=np.intp)
        self.Q = np.zeros((n, _FIRST_SLOTS, _FIRST_SLOTS))

    @property
    @abstractmethod
    def function(self) -> Any:
        """A copy of f, in the form of `InvariantResult`."""

    @abstractmethod
    def norm2(self) -> float:
        """‖f‖²."""

    @abstractmethod
    def find_cuts(self) -> float:
        """Find the worst cuts at f; return R(f)."""

    @abstractmethod
    def extend(self, margin: float) -> int:
        """Add the found cuts that exceed all in their block by more than `margin`.

        Returns their number.
        """

    @abstractmethod
    def sweep(self, order: Index, goal: float, max_steps: int) -> tuple[float, int]:
        """Do one pass over some blocks; return the excess, and how many had none."""

    @abstractmethod
    def refresh(self) -> None:
        """Recompute f from β, which removes accumulated rounding errors."""

    def solve(self, goal: float) -> bool:
        """Solve the restricted dual without sweeps; return False if not possible."""
        return False

    @property
    def bound(self) -> float:
        """The dual value, a lower bound of R."""
        heights = float((self.beta * self.delta).sum())
        return heights - 0.5 * self.risk.alpha * self.norm2()

    @property
    def weights(self) -> Array:
        """Weight of each block outside its null cut."""
        return self.beta[:, 1:].sum(axis=1)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which slots hold a cut."""
        return np.arange(self.beta.shape[1]) < self.size[:, None]

    def tops(self, values: Array) -> Array:
        """Return the highest value of each block, given the values of all slots."""
        return np.where(self.used, values, -np.inf).max(axis=1)

    def place(self, owner: Index, delta: Array) -> Index:
        """Assign slots to new cuts of the rows `owner`, and store their δ."""
        self.age += 1
        self.age[self.beta > 0] = 0
        slots = np.empty(len(owner), dtype=np.intp)
        while not self.kernels.place(
            owner, self.size, self.beta, self.age, _PATIENCE, slots
        ):
            self._grow()
        self.beta[owner, slots], self.age[owner, slots] = 0.0, 0
        self.delta[owner, slots] = delta
        return slots

    def _grow(self) -> None:
        """Double the number of slots."""
        more = (0, self.beta.shape[1])
        for name in self.slotted:
            setattr(self, name, np.pad(getattr(self, name), ((0, 0), more)))
        self.Q = np.pad(self.Q, ((0, 0), more, more))


class LinearDual(WorkingSets):
    """Cuts as sparse rows ψ, with w = -Σ β ψ / α kept up to date."""

    slotted = (*WorkingSets.slotted, "cut")

    def __init__(self, risk: LinearRisk):
        super().__init__(risk)
        self.cut = np.zeros(self.beta.shape, dtype=np.intp)
        self.psi = sp.csr_array((1, risk.n_weights))  # the null cut
        self.w = np.zeros(risk.n_weights)

    @property
    def function(self) -> Array:
        return self.w.copy()

    def norm2(self) -> float:
        return squared_norm(self.w)

    def find_cuts(self) -> float:
        self._found = self.risk.worst(self.w)
        return self.risk.value(self.w, self._found)

    def extend(self, margin: float) -> int:
        cuts = self._found
        values = np.asarray(self.psi @ self.w)[self.cut] + self.delta
        owner = np.flatnonzero(cuts.value > self.tops(values) + margin)
        slots = self.place(owner, cuts.delta[owner])
        self.cut[owner, slots] = self.psi.shape[0] + np.arange(len(owner))
        self.psi = sp.vstack([self.psi, cuts.psi[owner]], format="csr")
        self._forget_unused()
        csr, scratch = unsigned(self.psi), np.zeros(self.risk.n_weights)
        self.kernels.linear_gram(
            *csr, owner, slots, self.cut, self.size, self.Q, scratch
        )
        return len(owner)

    def _forget_unused(self) -> None:
        """Drop rows of ψ that no slot refers to, once they are more than half."""
        kept = np.zeros(self.psi.shape[0], dtype=bool)
        kept[self.cut] = True
        if 2 * np.count_nonzero(kept) < len(kept):
            self.psi = self.psi[np.flatnonzero(kept)]
            self.cut = (np.cumsum(kept) - 1)[self.cut]

    def solve(self, goal: float) -> bool:
        """Solve by Newton's method if the problem is small."""
        used, risk = self.used, self.risk
        if used.sum() * risk.n_weights**2 > _NEWTON_COST:
            return False
        start = np.cumsum(self.size) - self.size
        psi, delta = self.psi[self.cut[used]].toarray(), self.delta[used]
        self.beta[used] = interior(psi, delta, start, risk.mass, risk.alpha, goal)
        return True

    def sweep(self, order: Index, goal: float, max_steps: int) -> tuple[float, int]:
        return self.kernels.linear_sweep(
            *unsigned(self.psi), order, self.cut, self.size, self.delta, self.Q,
            self.beta, self.risk.alpha, goal, max_steps, self.w,
        )  # fmt: skip

    def refresh(self) -> None:
        weights = np.bincount(
            self.cut.ravel(), self.beta.ravel(), minlength=self.psi.shape[0]
        )
        self.w = -np.asarray(self.psi.T @ weights) / self.risk.alpha


class KernelDual(WorkingSets):
    """Cuts as (point, rival class), with coefficients A and scores F of the points."""

    slotted = (*WorkingSets.slotted, "point", "rival", "scale")

    def __init__(self, risk: KernelRisk):
        super().__init__(risk)
        self.rows = KernelRows(risk)
        self.point, self.rival = np.zeros((2, *self.beta.shape), dtype=np.intp)
        self.scale = np.zeros(self.beta.shape)
        self.A = np.zeros((0, risk.k))
        self.F, self.gram = np.zeros((risk.k, 0)), np.zeros((0, 0))

    @property
    def function(self) -> tuple[Index, Array]:
        return self.rows.points.copy(), self.A.copy()

    def norm2(self) -> float:
        return float((self.A.T * self.F).sum())

    def find_cuts(self) -> float:
        scores = self.rows.scores(self.A)
        self.F = np.ascontiguousarray(scores[self.rows.points].T)
        self._losses = self.risk.losses(scores)
        return self.risk.value(self._losses, self.norm2())

    def extend(self, margin: float) -> int:
        """Add cuts at a few new points per row, the worst, and at points in use."""
        candidates, costs = self.risk.candidates, self.risk.costs
        limit = (self.tops(self._values()) + margin)[candidates.owner]
        high = self._losses > limit[:, None]
        fresh = high.any(axis=1) & (self.rows.place < 0)
        self._add_points(candidates.largest(self._losses.max(axis=1), fresh, _POINTS))
        found, rival = np.nonzero(high & (self.rows.place >= 0)[:, None])
        owner, own = candidates.owner[found], self.risk.candidate_own[found]
        delta = costs.delta(own, candidates.rank[found])
        slots = self.place(owner, delta[np.arange(len(own)), rival])
        self.point[owner, slots] = self.rows.place[found]
        self.rival[owner, slots] = rival
        self.scale[owner, slots] = costs.scale[own, rival]
        self.kernels.kernel_gram(
            self.gram, owner, slots, self.point, self.rival, self.scale,
            self.size, self.Q,
        )  # fmt: skip
        return len(owner)

    def _values(self) -> Array:
        """Compute δ + <ψ, f> of all slots."""
        if not self.F.size:
            return self.delta
        own = self.risk.own[:, None]
        margins = self.F[self.rival, self.point] - self.F[own, self.point]
        return self.delta + self.scale * margins

    def _add_points(self, points: Index) -> None:
        old, m = len(self.A), len(self.A) + len(points)
        self.rows.extend(points)
        if m > len(self.gram):
            room = min(4 * m, len(self.rows.place))  # unused memory costs nothing
            grown = np.empty((room, room))
            grown[:old, :old] = self.gram[:old, :old]
            self.gram = grown
        for part, rows in self.rows.blocks(old):
            among = np.take(rows, self.rows.points, axis=1)
            self.gram[part, :m], self.gram[:m, part] = among, among.T
        self.A = np.pad(self.A, ((0, m - old), (0, 0)))
        self.F = np.hstack([self.F, self.A.T @ self.gram[:m, old:m]])

    def sweep(self, order: Index, goal: float, max_steps: int) -> tuple[float, int]:
        return self.kernels.kernel_sweep(
            self.gram, len(self.rows.points), order, self.risk.own, self.point,
            self.rival, self.scale, self.size, self.delta, self.Q, self.beta,
            self.risk.alpha, goal, max_steps, self.F, self.A,
        )  # fmt: skip

    def refresh(self) -> None:
        row, slot = np.nonzero(self.beta[:, 1:])
        slot += 1
        point, m = self.point[row, slot], len(self.A)
        amounts = self.beta[row, slot] * self.scale[row, slot] / self.risk.alpha
        self.A = np.zeros_like(self.A)
        np.add.at(self.A, (point, self.rival[row, slot]), -amounts)
        np.add.at(self.A, (point, self.risk.own[row]), amounts)
        self.F = np.ascontiguousarray(self.A.T @ self.gram[:m, :m])
