"""Newton's method with conjugate gradients inside: the default."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.conjugate_gradient import Step, dot, newton_step
from noiseproof._marginal.objective import Point
from noiseproof._marginal.solving import Result, is_reached
from noiseproof._rows import Array
from noiseproof._stop import Stop

# Accuracy of the inner solve; tighter ones cost more passes than they save
_ACCURACY = 0.25
_CAREFUL_ACCURACY = 0.5
_EXACT = 1e-6  # where it costs nothing
_FEW_FEATURES = 32
_THOROUGH = 1e-3
_SUFFICIENT = 1e-4  # Armijo's constant
_HALVINGS = 40
_BLUR = 1e-15  # rounding of a value
# In parts of the accuracy asked for: gains so small that they must be measured well,
# since they end the search, and what the last step should leave
_DECISIVE = 10.0
_TARGET = 0.1
_NEAR = 1e-3  # a step that gains a smaller part of the objective may be the last
_SAFE = 2.5  # an outlook is seldom more than twice too rosy
_LONGEST_STEP = 1000.0  # of the intercept, in widths of the kink


def newton(start: Point, stop: Stop) -> Result:
    """Truncated Newton with a backtracking line search, all classes in step.

    A step costs one pass over the data for the gradient, one for the preconditioner,
    one per inner iteration and one for the line search. Classes that are done leave.
    Far from the minimum, where a Newton step overshoots, a class takes the step of the
    quadratic majoriser instead, if its loss has one: that never overshoots.
    """
    objective, point = start.objective, start
    few = _has_few_features(start)
    if few:  # steps cost little there: be thorough
        stop = stop.looser(max(_THOROUGH * stop.tol, min(stop.tol, 1e-12)))
    whole, values = start.theta.copy(), start.value.copy()
    classes = np.arange(len(whole))
    careful = np.logical_and(objective.has_majorizer, ~whole.any(axis=1))
    converged, stopped, fresh = True, False, True
    for n_iter in range(1, stop.max_iter + 1):
        before = point
        step = _inexact_step(point, careful, stop)
        point, alpha = line_search(point, step)
        whole[classes], values[classes] = point.theta, point.value
        reached = ~careful & is_reached(stop, step.gain, before)
        settling = ~careful & (alpha == 1) & (step.gain <= _NEAR * before.size)
        if not few and np.any(settling & ~reached):
            reached |= settling & is_reached(
                stop, _SAFE * step.outlook(point.gradient), point
            )
        unsettled = np.where(careful, step.gain > 0.1 * before.value, alpha < 0.3)
        careful = np.logical_and(objective.has_majorizer, unsettled)
        if not fresh and np.any(~reached & (alpha == 0)):
            # steps along rays have piled up rounding errors: look again
            point = point.objective.at(point.theta)
            alpha, fresh = np.ones_like(alpha), True
        else:
            fresh = False
        going = ~reached & (alpha > 0)
        converged &= bool(np.all(reached | going))
        stopped = stop.tell(n_iter, values, step.gain / before.size)
        if stopped or not going.any():
            break
        if not going.all():
            point, classes = point.restrict(going), classes[going]
            careful = careful[going]
    else:
        converged = False
    if len(classes) < len(whole):
        point = objective.at(whole)
    return Result(point, n_iter, converged and not (stopped and going.any()), stopped)


def _inexact_step(point: Point, careful: NDArray[np.bool_], stop: Stop) -> Step:
    curvature = point.hessian(majorized=careful)
    width = point.objective.kink_width
    if width and point.objective.fit_intercept:
        # where a kinked loss is flat nothing holds the unpenalised intercept back; this
        # bounds its step, and vanishes with the gradient
        pull = np.abs(point.gradient[:, -1])
        curvature = curvature.lend(pull / (_LONGEST_STEP * width))
    settled = _EXACT if _has_few_features(point) else _ACCURACY
    accuracy = np.where(careful, _CAREFUL_ACCURACY, settled)
    tolerance = np.where(careful, 0.0, stop.tol * point.size)
    # of several classes, few are near the end at once, and the others would wait
    target = _TARGET * tolerance if len(tolerance) == 1 else 0.0
    decisive = _DECISIVE * tolerance
    return newton_step(curvature, point.gradient, accuracy, decisive, target)


def _has_few_features(point: Point) -> bool:
    return point.theta.shape[1] <= _FEW_FEATURES


def line_search(point: Point, step: Step) -> tuple[Point, Array]:
    """First of the steps 1, ½, ¼, ... that gains enough, or 0 if none does."""
    slope = dot(point.gradient, step.P)
    blur = _BLUR * np.abs(point.value)
    ray = point.ray(step.P)
    alpha = np.ones(len(slope))
    searching = np.ones(len(slope), dtype=bool)
    for _ in range(_HALVINGS):
        there = ray.point(alpha)
        enough = point.value + _SUFFICIENT * alpha * slope + blur
        searching &= ~(there.value <= enough)
        if not searching.any():
            return there, alpha
        alpha[searching] /= 2
    alpha[searching] = 0.0
    return ray.point(alpha), alpha
