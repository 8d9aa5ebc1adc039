"""What solvers of the invariant risk take and give.

A solver is a function of a risk, a `Stop` and a source of random numbers. It prints
nothing and warns nobody. `Stop.tol` bounds the certified relative gap
(R - lower bound) / R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._stop import Stop

Array = NDArray[np.float64]


@dataclass(frozen=True)
class InvariantResult:
    """Where a solver ended.

    Parameters
    ----------
    function : array, or pair of arrays
        Weights w; or the candidates that are points of a kernel function, and its
        coefficients (points, classes).
    value, bound : float
        R there, and a lower bound of its minimum.
    weights : array of shape (n,)
        Dual weight of each row outside its null cut: zero if the row does not matter.
    n_iter, n_cuts : int
        Iterations taken, and cuts made.
    converged : bool
        Whether the gap asked for was reached.
    stopped : bool
        Whether the listener asked to stop.
    """

    function: Any
    value: float
    bound: float
    weights: Array
    n_iter: int
    n_cuts: int
    converged: bool
    stopped: bool = False


class Search:
    """The best function that a solver has found so far, and the best lower bound."""

    def __init__(self, stop: Stop):
        self.stop = stop
        self.function: Any = None
        self.value, self.bound = np.inf, -np.inf
        self.n_iter = 0
        self.converged = self.stopped = False

    def is_over(self, value: float, bound: float, place: Any) -> bool:
        """Count an iteration that led to `place.function`; whether to stop there."""
        if value < self.value:
            self.value, self.function = value, place.function
        self.bound = max(self.bound, bound)
        self.n_iter += 1
        gap = relative_gap(self.value, self.bound)
        self.converged = gap <= self.stop.tol
        told = np.array([self.value]), np.array([gap])
        self.stopped = self.stop.tell(self.n_iter, *told)
        return self.converged or self.stopped

    def result(self, weights: Array, n_cuts: int) -> InvariantResult:
        """Where the search has ended."""
        return InvariantResult(
            self.function, self.value, self.bound, weights, self.n_iter, n_cuts,
            self.converged, self.stopped,
        )  # fmt: skip


def relative_gap(value: float, bound: float) -> float:
    """The certified gap, in terms of the value; a zero value is exact or worthless."""
    gap = value - bound
    return gap / abs(value) if value != 0 else (np.inf if gap > 0 else 0.0)
