"""The regularised risk under the worst transformation, as solvers see it.

Teo et al. 2008, eq. (2) and (5): with weights p of the rows that sum to 1,

    R(f) = Σ_i p_i l_i(f) + α/2 ‖f‖²
    l_i(f) = max over s, y' of Γ(y, y') [f(s(x), y') - f(s(x), y)] + Δ(y, y', s).

Every (s, y') is a *cut*, a bound of l_i from below that is linear in f:

    l_i(f) >= δ + <ψ, f>,  ψ = Γ [φ(s(x), y') - φ(s(x), y)],  δ = Δ(y, y', s).

Any weights β >= 0 of cuts that sum to p_i for each row, the null cut (y' = y, with
ψ = 0 and δ = the row's floor) among them, prove by duality (eq. 6)

    min R >= Σ β δ - α/2 ‖f_β‖²,  f_β = -1/α Σ β ψ,

which is how every solver's gap is certified.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cuts:
    """One cut for each of some rows, where f is a weight vector w.

    Parameters
    ----------
    psi : CSR matrix of shape (m, n_weights)
        ψ of each cut.
    delta : array of shape (m,)
        δ of each cut.
    value : array of shape (m,)
        δ + ψ·w at the w for which these cuts were the worst.
    """

    psi: Any
    delta: Array
    value: Array


class LinearRisk(ABC):
    """R(w) for f(x, y) = w·Φ(x, y); subclasses find the worst cut of each row.

    Parameters
    ----------
    mass : array of shape (n,)
        Weights p of the rows, which sum to 1.
    floor : array of shape (n,)
        What each row costs at least: the δ of its null cut.
    alpha : float
        Strength of the penalty.
    n_weights : int
        Length of w.
    """

    def __init__(self, mass: Array, floor: Array, alpha: float, n_weights: int):
        self.mass = mass
        self.floor = floor
        self.alpha = alpha
        self.n_weights = n_weights

    @abstractmethod
    def worst(self, w: Array, rows: NDArray[np.intp] | None = None) -> Cuts:
        """The worst cut with y' ≠ y of each row (None: all of them)."""

    def value(self, w: Array, cuts: Cuts) -> float:
        """R(w), given the worst cuts of all rows there."""
        losses = np.maximum(cuts.value, self.floor)
        return float(self.mass @ losses) + 0.5 * self.alpha * squared_norm(w)


def squared_norm(w: Array) -> float:
    """‖w‖²; without BLAS, whose threads cost more than they gain here."""
    return float(np.square(w).sum())
