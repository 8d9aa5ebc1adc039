"""What solvers take and give.

A solver is a function of a start, the objective at some θ, and a `Stop`; it sees θ,
values, gradients and curvature, never data, noise or loss. It prints nothing and warns
nobody.

One meaning of accuracy for all: `Stop.tol` bounds the relative suboptimality

    (objective - minimum) / objective  ≈  ½ gᵀ H⁻¹ g / objective,

the Newton decrement, which is what a full Newton step would still gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noiseproof.design import Array
from noiseproof.objectives import Point
from noiseproof.solvers.conjugate_gradient import newton_step

# A gain this far below the objective is lost in the rounding of its sum over rows
_ROUNDING = 2e-14
_MEASURE = 0.1


@dataclass(frozen=True)
class Stop:
    """When to stop.

    Parameters
    ----------
    tol : float
        Relative suboptimality to reach.
    max_iter : int
        Steps allowed.
    report : callable, optional
        Called after each step with its number, the summed objective and the largest
        relative suboptimality; a true answer stops the solver there.
    done_iter : int
        Steps that earlier stages have taken.
    """

    tol: float
    max_iter: int
    report: Callable[[int, float, float], bool | None] | None = None
    done_iter: int = 0

    def looser(self, tol: float) -> Stop:
        """The same with another accuracy."""
        return replace(self, tol=tol)

    def fewer(self, n_iter: int) -> Stop:
        """What is left after some steps."""
        left = self.max_iter - n_iter
        return replace(self, max_iter=left, done_iter=self.done_iter + n_iter)

    def reached(self, gain: Array, point: Point) -> NDArray[np.bool_]:
        """Whether a possible `gain` is too small to go on, for each class."""
        size = np.maximum(np.abs(point.value), point.objective.null_value)
        return gain <= np.maximum(self.tol * point.size, _ROUNDING * size)

    def tell(self, step: int, value: Array, relative_gain: Array) -> bool:
        """Report a step; whether the user asks to stop."""
        if self.report is None:
            return False
        gain = float(np.max(relative_gain))
        return bool(self.report(self.done_iter + step, float(value.sum()), gain))


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
