"""Newton's method for few features, which factorises the Hessian.

One pass over the data gives the value, gradient and Hessian of all classes at a new θ,
since all of them are sums over rows. So a step costs one pass, or one round trip if the
rows are distributed, however badly conditioned the problem is.
"""

from __future__ import annotations

import numpy as np

from noiseproof._marginal.newton import line_search
from noiseproof._marginal.objective import Classes, Expansion, Objective, Solution
from noiseproof._marginal.plan import Plan
from noiseproof._rows import Array
from noiseproof._stop import Stop

_BLUR = 1e-15  # relative rounding error of a value
# A majoriser step that gains more than this fraction of the objective is followed by
# another one, because a Newton step would overshoot there
_FAR = 0.1
# If the predicted gain is below _NEAR times the objective, the next step reuses the
# matrix, since the gradient alone costs only 0.3 of a pass. The matrix is recomputed if
# a step leaves more than _FAST of the gain. A gain predicted with an old matrix is
# multiplied by _SAFE, as it is seldom more than a factor of 2 too small
_NEAR = 1e-2
_FAST = 0.1
_SAFE = 2.5
_FLAT = 1e-12  # fraction of the largest eigenvalue below which a direction is flat


def factored_newton(start: Objective, plan: Plan, stop: Stop) -> Solution:
    """Minimise by Newton's method with a line search, all classes at the same time.

    Far from the minimum, where a Newton step overshoots, a class takes the step of the
    quadratic majoriser instead, if its loss has one, as that never overshoots. Near the
    minimum, matrices are reused. A class is done when its Newton decrement is small.
    """
    walk = _Walk(start, plan, stop.tol)
    for n_iter in range(1, stop.max_iter + 1):
        if walk.going.any():
            walk.advance()
        point, ended = walk.point, not walk.going.any()
        if ended:
            point = walk.last_step()
        gain = walk.gain / point.size
        stopped = stop.tell(n_iter, point.value, gain, point.theta)
        if stopped or ended:
            break
    return Solution(point, n_iter, bool(walk.at_minimum.all()), stopped)


class _Walk:
    """The current point of all classes, and the next step `P` of each.

    `gain` is the predicted gain of that step.
    """

    def __init__(self, start: Objective, plan: Plan, tol: float):
        self.plan, self.tol = plan, tol
        self.is_old = False  # whether the matrices come from an earlier point
        # classes whose matrix is that of the majoriser
        self.careful = plan.majorize & ~start.has_weights
        # classes that gain nothing although the gradient predicts a gain
        self.stuck = np.zeros(len(start.theta), dtype=bool)
        self._arrive(start, start.expansion(self.careful))

    def _arrive(self, point: Objective, expansion: Expansion) -> None:
        self.point, self.expansion = point, expansion
        matrix = expansion.matrix
        if self.plan.in_stages:
            matrix = matrix.copy()
            matrix[:, -1, -1] += point.lent
        self.P, self.gain = newton_steps(matrix, expansion.gradient)

    @property
    def at_minimum(self) -> Classes:
        """Classes whose Newton step is too small to be worth taking."""
        left = _SAFE * self.gain if self.is_old else self.gain
        return ~self.careful & self.point.is_small(left, self.tol)

    @property
    def going(self) -> Classes:
        """Classes that are not done."""
        return ~self.at_minimum & ~self.stuck

    def advance(self) -> None:
        """Take a step with the old matrices if these suffice, else with new ones."""
        going, gain = self.going, self.gain
        near = bool(np.all(~self.careful & (gain <= _NEAR * self.point.size)))
        tired = self._search(reuse=near)
        if near and np.any(self.going & (tired | (self.gain > _FAST * gain))):
            self.is_old = False
            found = self.point.restrict(going).expansion(self.careful[going])
            self._arrive(self.point, self.expansion.with_classes(going, found))
        elif not near:
            self.stuck |= tired

    def last_step(self) -> Objective:
        """Return the point after one more step, which hardly changes the objective.

        The step is already known, and makes the weights about as accurate as the
        objective.
        """
        there = self.point.at(self.point.theta + self.P)
        there.expansion(None)
        limit = self.point.value + _BLUR * np.abs(self.point.value)
        better = there.value <= limit
        if better.all():
            return there
        theta = np.where(better[:, None], there.theta, self.point.theta)
        return self.point.at(theta)

    def _search(self, reuse: bool) -> Classes:
        """Move the classes that are not done; return which of them gain nothing."""
        going, point, expansion = self.going, self.point, self.expansion
        self.careful &= self.gain > _FAR * np.abs(point.value)
        part, P, careful = point.restrict(going), self.P[going], self.careful[going]

        def reach(alpha: Array) -> Objective:
            careful[alpha < 1] = self.plan.majorize  # the step was too long
            there = part.at(part.theta + alpha[:, None] * P)
            there.expansion(None if reuse else careful)
            return there

        there, alpha = line_search(point.value[going], -2 * self.gain[going], reach)
        old = expansion.matrix[going]
        matrix = old if reuse else there.expansion(careful).matrix
        found = Expansion(there.value, there.smoothing_gap, there.gradient, matrix)
        theta, tired = point.theta.copy(), going.copy()
        theta[going], tired[going] = there.theta, alpha == 0
        self.careful[going], self.is_old = careful, reuse
        expansion = expansion.with_classes(going, found)
        self._arrive(point.known_at(theta, expansion), expansion)
        return tired


def newton_steps(matrix: Array, gradient: Array) -> tuple[Array, Array]:
    """Return -H⁻¹ g and ½ gᵀ H⁻¹ g for each class, with |H| if H is not positive."""
    diagonal = np.abs(np.diagonal(matrix, axis1=1, axis2=2))
    floor = 1e-30 * np.maximum(diagonal.mean(axis=1, keepdims=True), 1e-270)
    scale = 1 / np.sqrt(np.maximum(diagonal, floor))
    H, g = matrix * scale[:, :, None] * scale[:, None, :], gradient * scale
    try:
        np.linalg.cholesky(H)  # raises an error if H is not positive definite
        step = np.linalg.solve(H, g[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(H)
        size = np.maximum(np.abs(values), _FLAT * np.abs(values).max(axis=1)[:, None])
        step = np.einsum("kij,kj,klj,kl->ki", vectors, 1 / size, vectors, g)
    return -scale * step, 0.5 * np.einsum("kd,kd->k", step, g)
