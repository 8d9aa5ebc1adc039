"""The hinge loss of a linear model whose features an adversary deletes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import unsigned, with_values
from noiseproof.attacks import effective_budget

Array = NDArray[np.float64]

TINY = 1e-300  # instead of zero, to divide by


@dataclass(frozen=True)
class DeletionHinge:
    """Dekel and Shamir's worst-case hinge loss, eq. (3)/(4), row by row.

    With V the total value of the features, N the budget, P = V - N and s_i the weight
    of row i, minimise over the box ‖w‖_∞ <= C and over b

        F(w, b) = Σ_i s_i [φ_i(w, b)]_+ / (γ Σ_i s_i)
        φ_i = γ V/P - y_i (b + w·x_i) + max_d Σ_j d_ij (y_i w_j x_ij - γ v_j/P)

    where the adversary's d has 0 <= d_ij <= 1 and Σ_j v_j d_ij <= N (eq. 12 in terms
    of what is deleted). This is eq. (4), and eq. (3) where v is 0/1: then N is rounded
    down inside the maximum, since whole features are all that can be deleted. Entries
    that are zero gain the adversary nothing, so only stored ones are ever looked at.

    Any p_i in [0, 1] with Σ_i s_i y_i p_i = 0 and any q_ij in [0, p_i] with
    Σ_j v_j q_ij <= N p_i give a lower bound of the minimum,

        [Σ_i s_i (γ V/P p_i - γ/P Σ_j v_j q_ij)
            - C Σ_j |Σ_i s_i y_i x_ij (p_i - q_ij)|] / (γ Σ_i s_i),

    which is how every solver's gap is certified.
    """

    X: Any  # CSR matrix of shape (n, d) without missing values
    y: Array  # ±1
    weights: Array  # s, positive
    values: Array  # v
    budget: float  # N
    margin: float  # γ
    C: float
    fit_intercept: bool = True  # else b is 0, and Σ_i s_i y_i p_i need not vanish

    @cached_property
    def limit(self) -> float:
        """N as the adversary can use it."""
        return effective_budget(self.budget, self.values)

    @cached_property
    def price(self) -> float:
        """γ/P: the margin that a unit of value must bring."""
        return self.margin / (float(self.values.sum()) - self.budget)

    @cached_property
    def base(self) -> float:
        """γ V/P: the margin asked of an intact row."""
        return self.price * float(self.values.sum())

    @cached_property
    def scale(self) -> float:
        """1 / (γ Σ s): what turns the weighted sum of hinges into F."""
        return 1.0 / (self.margin * float(self.weights.sum()))

    @cached_property
    def csr(self) -> tuple[Any, Any, Any]:
        """Row pointers, columns and entries, as compiled loops want them."""
        return unsigned(self.X)

    def take(self, rows: Any) -> Self:
        """The problem of some of the rows."""
        return replace(self, X=self.X[rows], y=self.y[rows], weights=self.weights[rows])

    def entries_of(self, rows: Any) -> NDArray[Any]:
        """Places of the stored entries of some rows among those of all."""
        return with_values(self.X, np.arange(self.X.nnz))[rows].data

    def excess(self, w: Array, b: float) -> Array:
        """φ_i, the row losses before the hinge."""
        from noiseproof._deletion.kernels import excess

        phi = np.empty(len(self.y))
        bounds = (self.values, self.limit, self.price, self.base)
        excess(*self.csr, self.y, w, b, *bounds, phi)
        return phi

    def value(self, w: Array, b: float) -> float:
        """F(w, b)."""
        hinge = np.maximum(self.excess(w, b), 0.0)
        return self.scale * float(self.weights @ hinge)

    def lower_bound(self, p: Array, q: Array) -> float:
        """The dual value at (p, q), once made feasible: no F is below it."""
        from noiseproof._deletion.kernels import dual_sums

        p = self._balanced(np.clip(p, 0.0, 1.0))
        sums = np.zeros(self.X.shape[1])
        spent = dual_sums(
            *self.csr, self.y, self.weights, p, q, self.values, self.limit, sums
        )
        earned = self.base * float(self.weights @ p) - self.price * spent
        # a loss is never negative, so neither is the minimum
        return max(0.0, self.scale * (earned - self.C * float(np.abs(sums).sum())))

    def _balanced(self, p: Array) -> Array:
        """Shrink the heavier class until Σ s y p = 0, which a free b demands."""
        if not self.fit_intercept:
            return p
        mass = self.weights * p
        up, down = (float(mass[self.y == sign].sum()) for sign in (1, -1))
        least = min(up, down)
        shrink = least / max(up, TINY), least / max(down, TINY)
        return p * np.where(self.y > 0, *shrink)
