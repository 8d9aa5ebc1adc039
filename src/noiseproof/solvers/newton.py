"""Newton's method with conjugate gradients inside: the default."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noiseproof.design import Array
from noiseproof.objectives import Objective, Point
from noiseproof.solvers.base import Result, Stop
from noiseproof.solvers.conjugate_gradient import Step, dot, newton_step

_ACCURACY = 0.1  # of the inner solve; tighter ones cost more passes than they save
_SUFFICIENT = 1e-4  # Armijo's constant
_HALVINGS = 40


def newton(objective: Objective, theta: Array, stop: Stop) -> Result:
    """Truncated Newton with a backtracking line search, all classes in step.

    A step costs one pass over the data for the gradient, one for the preconditioner,
    one per inner iteration and one for the line search. Classes that are done leave.
    """
    whole = theta.copy()
    classes = np.arange(len(theta))
    point = objective.at(theta)
    start_value = np.abs(point.value)
    converged = True
    for n_iter in range(1, stop.max_iter + 1):
        step = newton_step(point.hessian(), point.gradient, _ACCURACY)
        value = point.value
        point, moved = line_search(point, step)
        whole[classes] = point.theta
        reached = stop.reached(step.gain, value, start_value[classes])
        converged &= bool(np.all(reached | moved))
        going = moved & ~reached
        if stop.tell(n_iter, point.value, step.gain) or not going.any():
            break
        if not going.all():
            point, classes = point.restrict(going), classes[going]
    else:
        converged = False
    if len(classes) < len(whole):
        point = objective.at(whole)
    return Result(point, n_iter, converged)


def line_search(point: Point, step: Step) -> tuple[Point, NDArray[np.bool_]]:
    """First of the steps 1, ½, ¼, ... that gains enough, and whether there is one."""
    slope = dot(point.gradient, step.P)
    ray = point.ray(step.P)
    alpha = np.ones(len(slope))
    searching = np.ones(len(slope), dtype=bool)
    for _ in range(_HALVINGS):
        value = ray.value(alpha)
        searching &= ~(value <= point.value + _SUFFICIENT * alpha * slope)
        if not searching.any():
            break
        alpha[searching] /= 2
    alpha[searching] = 0.0
    return ray.point(alpha), ~searching
