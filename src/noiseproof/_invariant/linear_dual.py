"""The dual restricted to working sets, where f is a weight vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from noiseproof._invariant.interior import interior
from noiseproof._invariant.risk import LinearRisk, squared_norm
from noiseproof._invariant.working_sets import Array, Blocks, Index
from noiseproof._rows import unsigned

_NEWTON_COST = 1e9  # products in one step of Newton's method that are little work


class LinearDual(Blocks):
    """Cuts as sparse rows ψ, with w = -Σ β ψ / α kept up to date.

    Parameters
    ----------
    risk : LinearRisk
        What to minimise.
    """

    slotted = (*Blocks.slotted, "cut")

    def __init__(self, risk: LinearRisk):
        super().__init__(risk.mass, risk.floor)
        self.risk = risk
        self.cut = np.zeros(self.beta.shape, dtype=np.intp)
        self.psi = sp.csr_array((1, risk.n_weights))  # the null cut
        self.w = np.zeros(risk.n_weights)

    @property
    def function(self) -> Array:
        """The weights w."""
        return self.w.copy()

    @property
    def bound(self) -> float:
        """The dual value, which no R is below."""
        return self.heights - 0.5 * self.risk.alpha * squared_norm(self.w)

    def look(self) -> float:
        """Find the worst cut of every row at w; R(w)."""
        self._found = self.risk.worst(self.w)
        return self.risk.value(self.w, self._found)

    def extend(self, margin: float) -> int:
        """Add cuts found that are higher than all of their block by more than `margin`.

        Returns their number.
        """
        from noiseproof._invariant.kernels import linear_gram

        cuts = self._found
        owner = np.flatnonzero(cuts.value > self.tops(self.values()) + margin)
        slots = self.place(owner, cuts.delta[owner])
        self.cut[owner, slots] = self.psi.shape[0] + np.arange(len(owner))
        self.psi = sp.vstack([self.psi, cuts.psi[owner]], format="csr")
        self._forget_unused()
        scratch = np.zeros(self.risk.n_weights)
        linear_gram(*self._csr, owner, slots, self.cut, self.size, self.Q, scratch)
        return len(owner)

    def values(self) -> Array:
        """δ + ψ·w of all slots."""
        return np.asarray(self.psi @ self.w)[self.cut] + self.delta

    def solve(self, goal: float) -> bool:
        """Close the gap of all slots by Newton's method, if the problem is small."""
        used = self.used
        if used.sum() * self.risk.n_weights**2 > _NEWTON_COST:
            return False
        start = np.cumsum(self.size) - self.size
        psi, delta = self.psi[self.cut[used]].toarray(), self.delta[used]
        self.beta[used] = interior(
            psi, delta, start, self.risk.mass, self.risk.alpha, goal
        )
        return True

    def _forget_unused(self) -> None:
        """Drop rows that no slot refers to, once they are half of all."""
        kept = np.zeros(self.psi.shape[0], dtype=bool)
        kept[self.cut] = True
        if 2 * np.count_nonzero(kept) < len(kept):
            self.psi = self.psi[np.flatnonzero(kept)]
            self.cut = (np.cumsum(kept) - 1)[self.cut]

    @property
    def _csr(self) -> tuple[Any, Any, Any]:
        return unsigned(self.psi)

    def sweep(self, order: Index, goal: float, max_steps: int) -> tuple[float, int]:
        """One pass over some blocks: the excess found, and how many had none."""
        from noiseproof._invariant.kernels import linear_sweep

        return linear_sweep(
            *self._csr, order, self.cut, self.size, self.delta, self.Q, self.beta,
            self.risk.alpha, goal, max_steps, self.w,
        )  # fmt: skip

    def refresh(self) -> None:
        """Compute w from β, without the rounding of many steps."""
        weights = np.bincount(
            self.cut.ravel(), self.beta.ravel(), minlength=self.psi.shape[0]
        )
        self.w = -np.asarray(self.psi.T @ weights) / self.risk.alpha
