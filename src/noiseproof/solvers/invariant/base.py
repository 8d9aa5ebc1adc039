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


def relative_gap(value: float, bound: float) -> float:
    """The certified gap, in terms of the value; a zero value is exact or worthless."""
    gap = value - bound
    return gap / abs(value) if value != 0 else (np.inf if gap > 0 else 0.0)
