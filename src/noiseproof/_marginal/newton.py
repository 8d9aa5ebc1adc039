"""Newton's method with inner conjugate gradients: the default solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from noiseproof._marginal.conjugate_gradient import Step, dot, newton_step
from noiseproof._marginal.objective import Classes, Objective, Solution
from noiseproof._marginal.plan import Plan
from noiseproof._rows import Array
from noiseproof._stop import Stop

# `benchmarks/constants.py` counts passes for other values of these constants. On text,
# none of them saves more than 3 %, and most cost little over a wide range.
# Accuracy of the inner run; a higher accuracy costs more passes than it saves
_ACCURACY = 0.25
_CAREFUL_ACCURACY = 0.5
_SUFFICIENT = 1e-4  # Armijo's constant
_HALVINGS = 40
_BLUR = 1e-15  # relative rounding error of a value
# Multiples of the tolerance. Gains below _DECISIVE must be measured accurately, since
# they may end the search; _TARGET is the gain that the last step should leave
_DECISIVE = 10.0
_TARGET = 0.1
_NEAR = 1e-3  # a step that gains a smaller fraction of the objective may be the last
_SAFE = 2.5  # the gain of the next step is seldom more than twice its estimate
# A second point along the ray may lengthen a step by at most _LONGER, and is tried only
# if it changes the length by a fraction of more than _CHANGE. On newsgroups that saves
# 10 to 20 % of the passes
_LONGER = 4.0
_CHANGE = 0.2


def newton(start: Objective, plan: Plan, stop: Stop) -> Solution:
    """Minimise by truncated Newton with a line search, all classes at the same time.

    A step costs one pass over the data for the gradient, one for the preconditioner,
    one per inner iteration and one for the line search. Classes that are done are
    removed. Far from the minimum, where a Newton step overshoots, a class takes the
    step of the quadratic majoriser instead, if its loss has one, as that never
    overshoots.
    """
    search = _Search(start, plan, stop)
    del start
    for n_iter in range(1, stop.max_iter + 1):
        if search.advance(n_iter):
            break
    return search.solution(n_iter)


class _Search:
    """The state of the classes that have not converged yet."""

    def __init__(self, start: Objective, plan: Plan, stop: Stop):
        # saved for `solution`, without cached values, to free their memory
        self.start = start.at(start.theta)
        self.plan, self.stop = plan, stop
        self.point = start  # current point of the classes
        self.classes = np.arange(len(start.theta))  # their indices
        # which of them take a step of the majoriser next
        self.careful = plan.majorize & ~start.has_weights
        self.fresh = True  # whether `point` was evaluated, not derived along rays
        # the last θ and value of all classes, including those removed
        self.theta, self.value = start.theta.copy(), start.value.copy()
        self.converged = True  # whether all removed classes are at their minimum
        self.stopped = False  # whether the user asked to stop

    def advance(self, n_iter: int) -> bool:
        """Take a step; return whether it was the last."""
        before, step = self.point, self._step()
        ray, slope = before.ray(step.P), dot(before.gradient, step.P)
        self.point, alpha = line_search(before.value, slope, ray)
        if self.plan.look_again and alpha.all():
            self.point, alpha = _lower(ray, slope, before, self.point, alpha)
        self.theta[self.classes] = self.point.theta
        self.value[self.classes] = self.point.value
        reached = self._reached(before, step, alpha)
        unsettled = np.where(self.careful, step.gain > 0.1 * before.value, alpha < 0.3)
        self.careful = self.plan.majorize & unsettled
        stuck = ~reached & (alpha == 0)
        if stuck.any() and not self.fresh:
            # steps along rays accumulate rounding errors: evaluate the point anew
            self.point, self.fresh = self.point.at(self.point.theta), True
            stuck[:] = False
        else:
            self.fresh = False
        gain = step.gain / before.size
        self.stopped = self.stop.tell(n_iter, self.value, gain, self.theta)
        return self._leave(reached, stuck)

    def _step(self) -> Step:
        point, tol = self.point, self.stop.tol
        curvature = point.hessian(majorized=self.careful)
        if self.plan.in_stages:
            curvature.lent = point.lent
        accuracy = np.where(self.careful, _CAREFUL_ACCURACY, _ACCURACY)
        tolerance = np.where(self.careful, 0.0, tol * point.size)
        # with several classes, few are near the end at once, and would delay the others
        target = _TARGET * tolerance if len(tolerance) == 1 else 0.0
        decisive = _DECISIVE * tolerance
        goals = (accuracy, decisive, target, self.plan.is_convex)
        return newton_step(curvature, point.gradient, *goals)

    def _reached(self, before: Objective, step: Step, alpha: Array) -> Classes:
        """Return which classes are at their minimum.

        Their step gained little, or the next one is predicted to.
        """
        tol = self.stop.tol
        reached = ~self.careful & before.is_small(step.gain, tol)
        is_whole = abs(alpha - 1) < 0.5
        settling = ~self.careful & is_whole & (step.gain <= _NEAR * before.size)
        if np.any(settling & ~reached):
            outlook = _SAFE * step.outlook(self.point.gradient)
            reached |= settling & self.point.is_small(outlook, tol)
        return reached

    def _leave(self, reached: Classes, stuck: Classes) -> bool:
        """Remove the classes that are done; return whether the search is over."""
        going = ~reached & ~stuck
        self.converged &= not stuck.any()
        if not going.any():
            self.classes = self.classes[going]
        if self.stopped or not going.any():
            return True
        if not going.all():
            self.point, self.classes = self.point.restrict(going), self.classes[going]
            self.careful = self.careful[going]
        return False

    def solution(self, n_iter: int) -> Solution:
        """Return the final point; classes that were not removed have not converged."""
        point = self.point
        if point.shape != self.theta.shape:
            point = self.start.at(self.theta)
        converged = self.converged and not len(self.classes)
        return Solution(point, n_iter, converged, self.stopped)


def line_search(
    value: Array, slope: Array, reach: Callable[[Array], Objective]
) -> tuple[Objective, Array]:
    """Return the first step of 1, ½, ¼, ... that gains enough, or 0 if none does.

    `reach` returns the objective for one step length per class; `value` and `slope` are
    those at the start.
    """
    blur = _BLUR * np.abs(value)
    alpha = np.ones(len(slope))
    searching = np.ones(len(slope), dtype=bool)
    for _ in range(_HALVINGS):
        there = reach(alpha)
        searching &= ~(there.value <= value + _SUFFICIENT * alpha * slope + blur)
        if not searching.any():
            return there, alpha
        alpha[searching] /= 2
    alpha[searching] = 0.0
    return reach(alpha), alpha


def _lower(
    ray: Callable[[Array], Objective],
    slope: Array,
    here: Objective,
    there: Objective,
    alpha: Array,
) -> tuple[Objective, Array]:
    """Move to the minimum of the parabola through both ends, if that is lower.

    Inexact Newton steps tend to be too short, and halved steps may be, too.
    """
    bend = np.maximum(there.value - here.value - alpha * slope, 1e-300)
    with np.errstate(over="ignore"):
        lowest = np.minimum(-0.5 * slope * alpha**2 / bend, _LONGER * alpha)
    lowest = np.where(abs(lowest - alpha) > _CHANGE * alpha, lowest, alpha)
    if np.array_equal(lowest, alpha):
        return there, alpha
    lower = ray(lowest)
    better = lower.value < there.value
    if better.all():
        return lower, lowest
    alpha = np.where(better, lowest, alpha)
    return ray(alpha), alpha
