"""Iteratively re-weighted least squares: the algorithm of Chen et al. 2014."""

from __future__ import annotations

import numpy as np

from noiseproof._marginal.conjugate_gradient import newton_gain, newton_step
from noiseproof._marginal.factored import newton_steps
from noiseproof._marginal.objective import Objective, Solution
from noiseproof._marginal.plan import Plan
from noiseproof._rows import Array
from noiseproof._stop import Stop

_FEW_FEATURES = 400  # up to here the least-squares problem is solved in closed form
_INNER_ACCURACY = 1e-8  # the paper solves its least-squares problems exactly
_CHECK = 0.25  # the suboptimality is measured when the gain fell by this factor


def irls(start: Objective, plan: Plan, stop: Stop) -> Solution:
    """Minimise the quadratic that touches the objective from above, and repeat.

    The weights of eq. (14) and (22) are those of the majoriser; the least-squares
    problem of eq. (13) and (21) is solved in closed form when there are few features,
    else by conjugate gradients. There is no line search, as each step gains at least
    what the quadratic predicts.
    """
    point = start
    gain_at_check = np.inf
    for n_iter in range(1, stop.max_iter + 1):
        P, gain = _least_squares(point)
        before = point
        point = point.at(point.theta + P)
        if stop.tell(n_iter, point.value, gain / before.size, point.theta):
            return Solution(point, n_iter, False, stopped=True)
        # the quadratic lies above the objective, so it underestimates the gain
        promising = before.is_small(gain, stop.tol).all()
        if promising and gain.sum() <= _CHECK * gain_at_check:
            gain_at_check = gain.sum()
            if point.is_small(newton_gain(point, plan.is_convex), stop.tol).all():
                return Solution(point, n_iter, True)
    return Solution(point, n_iter, False)


irls.needs_majorizer = True  # type: ignore[attr-defined]


def _least_squares(point: Objective) -> tuple[Array, Array]:
    """Return the step to the minimum of the quadratic for each class, and its gain."""
    everybody = np.ones(point.shape[0], dtype=bool)
    if point.shape[1] > _FEW_FEATURES:
        curvature = point.hessian(majorized=everybody)
        step = newton_step(curvature, point.gradient, _INNER_ACCURACY)
        return step.P, step.gain
    expansion = point.expansion(majorized=everybody)
    return newton_steps(expansion.matrix, expansion.gradient)
