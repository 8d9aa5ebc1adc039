"""What solvers take and give, which there are, and what they do about kinks.

A solver is a function of a start, the objective at some θ, and a `Stop`; it sees θ,
values, gradients and curvature, never data, noise or loss. It prints nothing and warns
nobody. One that needs losses with a quadratic majoriser has `needs_majorizer = True`.

One meaning of accuracy for all: `Stop.tol` bounds the relative suboptimality

    (objective - minimum) / objective  ≈  ½ gᵀ H⁻¹ g / objective,

the Newton decrement, which is what a full Newton step would still gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from noiseproof._marginal.irls import irls
from noiseproof._marginal.lbfgs import lbfgs
from noiseproof._marginal.newton import newton
from noiseproof._marginal.objective import Objective, Solution
from noiseproof._rows import Array, host
from noiseproof._stop import Stop

Solver = Callable[[Objective, Stop], Solution]

SOLVERS: dict[str, Solver] = {"newton": newton, "lbfgs": lbfgs, "irls": irls}

_SHRINK = 0.1
_SMALLEST = 1e-12  # of the first ε
_ROUGH = 0.05  # accuracy of the first stage
_SLACK = 0.2  # part of the gap to which a later stage is solved
_ROUGH_SAMPLE = 1e-4  # accuracy on a sample, whose own minimum is not more accurate
_WARM_STEPS = 10
_SHARE = 0.5  # part of the accuracy asked for that smoothing may use up


def minimize(
    solver: Solver, objective: Objective, theta: Array, stop: Stop
) -> Solution:
    """Minimise with `solver`, through a sequence of smoothed objectives if kinked.

    Smoothing adds noise of standard deviation ε to every score. It raises the
    objective by a gap, known at any point without a pass over the data, that tells
    what the smoothing costs. ε shrinks until the gap is below the accuracy asked for:
    at once, where the features' own noise has rounded the loss off already.
    """
    if not theta.any():
        objective = objective.at_constant()
        if objective.is_tall and solver is newton:
            objective = _from_sample(objective, stop)
    elif not np.array_equal(host(theta), host(objective.theta)):
        there = objective.at(theta)
        if np.isfinite(there.value).all():  # else outside the domain: start at zero
            objective = there
    if not objective.kink_width:
        return solver(objective, stop)
    if solver is not newton:
        return _through_stages(solver, objective, stop, 0)
    first = _from_dual(objective, stop)
    if first.converged or first.stopped or first.n_iter >= stop.max_iter:
        return first
    return _through_stages(solver, first.point, stop, first.n_iter)


def _from_dual(objective: Objective, stop: Stop) -> Solution:
    """The solution of a plain hinge loss, or a start where there is little noise."""
    here = Solution(objective, 0, False)
    is_start = objective.is_noisy
    if len(objective.terms) > 1 or (is_start and objective.has_weights.any()):
        return here
    goal = Stop(max(stop.tol, _ROUGH), stop.max_iter) if is_start else stop
    found = objective.terms[0].solve_dual(goal)
    if found is None:
        return here
    theta, n_iter, converged, stopped = found
    if is_start:
        return Solution(objective.at(theta), 0, False)
    return Solution(objective.at(theta), n_iter, converged, stopped)


def _through_stages(
    solver: Solver, objective: Objective, stop: Stop, n_iter: int
) -> Solution:
    goal, smallest = _SHARE * stop.tol, _SMALLEST * objective.kink_width
    if objective.has_weights.any():
        result = _from_solution(solver, objective, stop.fewer(n_iter))
        n_iter += result.n_iter
        if result.converged or result.stopped or n_iter >= stop.max_iter:
            return result
        objective = objective.at(result.point.theta)
    smoothing, tol = objective.kink_width, max(stop.tol, _ROUGH)
    while True:
        left = stop.fewer(n_iter).looser(tol)
        result = solver(objective.smoothed(smoothing), left)
        n_iter += result.n_iter
        point = result.point
        gap = relative_gap(point)
        final = tol <= stop.tol and (gap <= goal or smoothing <= smallest)
        if final or result.stopped or n_iter >= stop.max_iter:
            converged = final and result.converged
            return Solution(point.smoothed(0.0), n_iter, converged, result.stopped)
        smoothing, gap = _next_stage(point, smoothing, gap, goal)
        smoothing = max(smoothing, smallest)
        done = gap <= goal or smoothing == smallest
        tol = stop.tol if done else max(stop.tol, _SLACK * gap)
        # evaluated anew: rounding errors of steps along rays count at tiny ε
        objective = point.at(point.theta)


def _from_sample(objective: Objective, stop: Stop) -> Objective:
    """Where a sample of the rows has its minimum, or the start if that is no worse."""
    sample = objective.sample()
    rough = Stop(max(stop.tol, _ROUGH_SAMPLE), stop.max_iter)
    there = objective.at(minimize(newton, sample, sample.theta, rough).point.theta)
    # the solver will see a smoothed objective only where there is a kink
    if objective.prefers_matrix and not objective.kink_width:
        there.expansion(np.zeros(len(there.theta), dtype=bool))
    return there if np.all(there.value < objective.null_value) else objective


def _from_solution(solver: Solver, point: Objective, stop: Stop) -> Solution:
    """A few steps at the last stage, in case a warm start is a solution already."""
    smoothing = point.kink_width
    while relative_gap(point.smoothed(smoothing)) > _SHARE * stop.tol:
        smoothing *= _SHRINK
    few = replace(stop, max_iter=min(_WARM_STEPS, stop.max_iter))
    result = solver(point.smoothed(smoothing), few)
    return replace(result, point=result.point.smoothed(0.0))


def _next_stage(
    point: Objective, smoothing: float, gap: float, goal: float
) -> tuple[float, float]:
    """The next ε and the gap to expect there."""
    if gap <= goal:
        return smoothing, gap
    shrunk = smoothing * _SHRINK
    shrunk_gap = relative_gap(point.smoothed(shrunk))
    # A gap that falls with ε² belongs to a smooth problem, one that falls with ε to
    # rows on the kink. In the first case ε no longer shapes the problem: go all the
    # way. Without noise it always will, since rows are still to come to the kink.
    noisy = point.is_noisy
    smooth = noisy and 0.5 < shrunk_gap / gap / _SHRINK**2 < 2
    if smooth and shrunk_gap > goal:
        shrunk *= 0.5 * np.sqrt(goal / shrunk_gap)
        shrunk_gap = goal
    return float(shrunk), shrunk_gap


def relative_gap(point: Objective) -> float:
    """Largest share of a class's objective that is due to smoothing."""
    return float(np.max(point.smoothing_gap / point.size))


def check_solver(name: str, has_majorizer: bool, loss: str) -> Solver:
    """The solver of that name, if it can serve a loss; else one sentence why not."""
    able = [
        known
        for known, solver in SOLVERS.items()
        if has_majorizer or not getattr(solver, "needs_majorizer", False)
    ]
    legal = ", ".join(repr(known) for known in able)
    if name not in SOLVERS:
        raise ValueError(f"solver={name!r} is not known; use one of {legal}.")
    if name not in able:
        raise ValueError(
            f"solver={name!r} needs a loss with a quadratic majoriser, which {loss} "
            f"does not have; use one of {legal}."
        )
    return SOLVERS[name]
