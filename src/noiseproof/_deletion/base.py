"""What solvers of the robust linear program take and give.

A solver is a function of a `DeletionHinge`, a `Stop` and, if it can use one, the state
of an earlier solve. It prints nothing and warns nobody. `Stop.tol` bounds the certified
relative gap (F - lower bound) / F; below `FLOOR` F counts as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._deletion.hinge import DeletionHinge
from noiseproof._stop import Stop

Array = NDArray[np.float64]

FLOOR = 1e-3  # F is 1 or more at w = 0, so this is a small loss already


@dataclass(frozen=True)
class RobustLPResult:
    """Where a solver ended.

    Parameters
    ----------
    w, b : array of shape (d,) and float
        The classifier, inside the box.
    p, q : array of shape (n,) and of shape (nnz,)
        Dual variables of the rows and of their stored entries.
    value, bound : float
        F(w, b), and a lower bound of its minimum.
    n_iter : int
        Iterations taken.
    converged : bool
        Whether the gap asked for was reached.
    state : object
        What a later solve can start from, or None.
    interrupted : bool
        Whether the user stopped the solve from the keyboard.
    """

    w: Array
    b: float
    p: Array
    q: Array
    value: float
    bound: float
    n_iter: int
    converged: bool
    state: Any = None
    interrupted: bool = False


RobustLPSolver = Callable[[DeletionHinge, Stop, Any], RobustLPResult]


def certify(
    problem: DeletionHinge, w: Array, b: float, p: Array, q: Array
) -> tuple[Array, float, float]:
    """The point inside the box, its value, and the lower bound that (p, q) proves."""
    w = np.clip(w, -problem.C, problem.C)
    return w, problem.value(w, b), problem.lower_bound(p, q)


def close_enough(value: float, bound: float, tol: float) -> bool:
    """Whether the certified relative gap is below `tol`."""
    return value - bound <= tol * max(value, FLOOR)
