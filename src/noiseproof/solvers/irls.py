"""Iteratively re-weighted least squares: the algorithm of Chen et al. 2014."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from noiseproof.design import Array
from noiseproof.objectives import Objective, Point
from noiseproof.solvers.base import Result, Stop, newton_gain
from noiseproof.solvers.conjugate_gradient import Step, dot, newton_step

_FEW_FEATURES = 400  # up to here the least-squares problem is solved in closed form
_INNER_ACCURACY = 1e-4
_CHECK = 0.25  # the suboptimality is measured when the step's gain fell so far


def irls(objective: Objective, theta: Array, stop: Stop) -> Result:
    """Minimise the quadratic that touches the objective from above, and repeat.

    The weights of eq. (14) and (22) are those of `Point.majorizer`; the least-squares
    problem of eq. (13) and (21) is solved in closed form when there are few features,
    else by conjugate gradients. No line search: each step gains at least what the
    quadratic promises.
    """
    point = objective.at(theta)
    gain_at_check = np.inf
    for n_iter in range(1, stop.max_iter + 1):
        step = _least_squares(point)
        before = point
        point = objective.at(point.theta + step.P)
        if stop.tell(n_iter, point.value, step.gain / before.size):
            return Result(point, n_iter, False, stopped=True)
        # the quadratic lies above, so it promises less than there is to gain
        promising = stop.reached(step.gain, before).all()
        if promising and step.gain.sum() <= _CHECK * gain_at_check:
            gain_at_check = step.gain.sum()
            gain = newton_gain(point)
            if stop.reached(gain, point).all():
                return Result(point, n_iter, True)
    return Result(point, n_iter, False)


def _least_squares(point: Point) -> Step:
    if point.objective.shape[1] > _FEW_FEATURES:
        return newton_step(point.majorizer(), point.gradient, _INNER_ACCURACY)
    P = np.stack(
        [
            -cho_solve(cho_factor(point.majorizer_matrix(k)), g)
            for k, g in enumerate(point.gradient)
        ]
    )
    return Step(P, -0.5 * dot(P, point.gradient))
