"""What solvers take and give.

A solver is a function of a start, the objective at some θ, and a `Stop`; it sees θ,
values, gradients and curvature, never data, noise or loss. It prints nothing and warns
nobody.

One meaning of accuracy for all: `Stop.tol` bounds the relative suboptimality

    (objective - minimum) / objective  ≈  ½ gᵀ H⁻¹ g / objective,

the Newton decrement, which is what a full Newton step would still gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.conjugate_gradient import newton_step
from noiseproof._marginal.objective import Point
from noiseproof._rows import Array
from noiseproof._stop import Stop

# A gain this far below the objective is lost in the rounding of its sum over rows
_ROUNDING = 2e-14
_MEASURE = 0.1


def is_reached(stop: Stop, gain: Array, point: Point) -> NDArray[np.bool_]:
    """Whether a possible `gain` is too small to go on, for each class."""
    size = np.maximum(np.abs(point.value), point.objective.null_value)
    return gain <= np.maximum(stop.tol * point.size, _ROUNDING * size)


def newton_gain(point: Point) -> Array:
    """What a Newton step would gain: the suboptimality of each class, measured."""
    return newton_step(point.hessian(), point.gradient, _MEASURE, np.inf).gain


@dataclass(frozen=True)
class Result:
    """Where a solver ended.

    Parameters
    ----------
    point : Point
        The objective at the last θ.
    n_iter : int
        Steps taken.
    converged : bool
        Whether the accuracy asked for was reached for every class.
    stopped : bool
        Whether the listener asked to stop.
    """

    point: Point
    n_iter: int
    converged: bool
    stopped: bool = False
