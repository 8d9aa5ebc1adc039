"""Solve a problem according to a plan, smoothing kinks less and less.

A solver is a function of the objective at some θ, where it starts, the plan and a
`Stop`. It uses θ, values, gradients and curvature, never data, noise or loss. It
neither prints nor warns. A solver that needs losses with a quadratic majoriser has
`needs_majorizer = True`.

Accuracy means the same for all solvers: `Stop.tol` bounds the relative suboptimality

    (objective - minimum) / objective  ≈  ½ gᵀ H⁻¹ g / objective,

the Newton decrement, which is what a full Newton step would still gain.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from threading import Event

import numpy as np

from noiseproof._marginal.factored import factored_newton
from noiseproof._marginal.irls import irls
from noiseproof._marginal.lbfgs import lbfgs
from noiseproof._marginal.newton import newton
from noiseproof._marginal.objective import Objective, Problem, Solution
from noiseproof._marginal.plain_hinge import plain_hinge
from noiseproof._marginal.plan import SAMPLE, Plan
from noiseproof._rows import Array, host, one_blas_thread, side_by_side
from noiseproof._stop import Stop

Solver = Callable[[Objective, Plan, Stop], Solution]

SOLVERS: dict[str, Solver] = {"newton": newton, "lbfgs": lbfgs, "irls": irls}

_SHRINK = 0.1
_SMALLEST = 1e-12  # smallest ε, as a fraction of the first one
_ROUGH = 0.05  # accuracy of the first stage
_SLACK = 0.2  # accuracy of a later stage, as a fraction of the gap
_ROUGH_SAMPLE = 1e-4  # accuracy on a sample, which itself is no more accurate
_WARM_STEPS = 10
_SHARE = 0.5  # fraction of the tolerance that smoothing may use up


def solve(
    problem: Problem, plan: Plan, theta: Array, values: Array, stop: Stop
) -> tuple[int, bool]:
    """Minimise for all classes, group by group, starting from θ, which is overwritten.

    The objective of each class is written to `values`. Returns the number of steps, and
    whether every group reached the requested accuracy or was stopped by the listener.
    If a cluster fails, θ holds the last step.
    """
    size, pair = plan.group_size, plan.side_by_side
    groups = [slice(low, low + size) for low in range(0, len(theta), size)]
    even = len(groups) - len(groups) % pair  # a leftover group uses all threads

    def solve_group(classes: slice, failed: Event | None = None) -> tuple[int, bool]:
        """Solve some classes; `failed` is set when a parallel group fails."""
        told, threads = stop, None
        if failed is not None:
            told = replace(stop, report=lambda *step: failed.is_set())
            threads = plan.threads
        elif plan.keeps_steps:
            told = replace(stop, keep=partial(theta[classes].__setitem__, ...))
        first = problem.design.hold(theta[classes].copy())
        end = minimize(problem.objective(classes, threads), first, plan, told)
        theta[classes], values[classes] = host(end.point.theta), end.point.value
        return end.n_iter, end.converged or end.stopped

    with one_blas_thread() if plan.limit_blas else nullcontext():
        ends = side_by_side(solve_group, groups[:even], pair) if pair > 1 else []
        for classes in groups[len(ends) :]:
            ends.append(solve_group(classes))
    return max(n_iter for n_iter, _ in ends), all(known for _, known in ends)


def minimize(objective: Objective, theta: Array, plan: Plan, stop: Stop) -> Solution:
    """Minimise according to the plan; a kinked loss is smoothed less and less.

    Smoothing adds noise of standard deviation ε to every score. This raises the
    objective by a gap, which is the cost of smoothing and is known at any point without
    a pass over the data. ε shrinks until the gap is below the requested accuracy. If
    the noise of the features smooths the loss enough already, this happens at once.
    """
    solver = (
        factored_newton if plan.algorithm == "factored" else SOLVERS[plan.algorithm]
    )
    if plan.start == "given":
        point = objective.at(theta)
        if not np.isfinite(point.value).all():  # outside the domain
            point = objective
    else:
        point = objective.at_constant()
        if plan.start == "sample":
            point = _from_sample(point, plan, stop)
    if not plan.in_stages:
        return solver(point, plan, stop)
    n_iter = 0
    if plan.dual == "start":
        rough = Stop(max(stop.tol, _ROUGH), stop.max_iter)
        point = plain_hinge(point, rough).point  # type: ignore[arg-type]
    elif plan.dual == "solve":
        found = plain_hinge(point, stop)  # type: ignore[arg-type]
        if found.converged or found.stopped or found.n_iter >= stop.max_iter:
            return found
        point, n_iter = found.point, found.n_iter
    return _through_stages(solver, point, plan, stop, n_iter)


def _through_stages(
    solver: Solver, objective: Objective, plan: Plan, stop: Stop, n_iter: int
) -> Solution:
    width = objective.loss.kink_width
    goal, smallest = _SHARE * stop.tol, _SMALLEST * width
    if objective.has_weights.any():
        result = _from_solution(solver, objective, plan, stop.fewer(n_iter))
        n_iter += result.n_iter
        if result.converged or result.stopped or n_iter >= stop.max_iter:
            return result
        objective = objective.at(result.point.theta)
    smoothing, tol = width, max(stop.tol, _ROUGH)
    while True:
        left = replace(stop.fewer(n_iter), tol=tol)
        result = solver(objective.smoothed(smoothing), plan, left)
        n_iter += result.n_iter
        point = result.point
        gap = relative_gap(point)
        final = tol <= stop.tol and (gap <= goal or smoothing <= smallest)
        if final or result.stopped or n_iter >= stop.max_iter:
            converged = final and result.converged
            return Solution(point.smoothed(0.0), n_iter, converged, result.stopped)
        smoothing, gap = _next_stage(point, plan, smoothing, gap, goal)
        smoothing = max(smoothing, smallest)
        done = gap <= goal or smoothing == smallest
        tol = stop.tol if done else max(stop.tol, _SLACK * gap)
        # evaluate anew, since rounding errors of steps along rays matter at tiny ε
        objective = point.at(point.theta)


def _from_sample(objective: Objective, plan: Plan, stop: Stop) -> Objective:
    """Return the objective where a sample of the rows has its minimum.

    If that is no better than the zero model, return the start. The sample has one
    random row from every 16 consecutive rows.
    """
    n, every = len(objective.weights), round(1 / SAMPLE)
    starts = np.arange(0, n - every + 1, every)
    rows = starts + np.random.default_rng(0).integers(every, size=len(starts))
    sample = objective.sample(rows)
    rough = Stop(max(stop.tol, _ROUGH_SAMPLE), stop.max_iter)
    again = replace(plan, start="given")
    there = objective.at(minimize(sample, sample.theta, again, rough).point.theta)
    if plan.algorithm == "factored":  # one pass computes all that the solver needs
        there.expansion(np.zeros(len(there.theta), dtype=bool))
    return there if np.all(there.value < objective.null_value) else objective


def _from_solution(
    solver: Solver, point: Objective, plan: Plan, stop: Stop
) -> Solution:
    """Take a few steps at the last stage, in case a warm start is a solution already.

    From a bad start the objective may fall so far that smoothing, which was negligible
    at the start, matters at the end. Then another stage follows.
    """
    smoothing, goal, n_iter = point.loss.kink_width, _SHARE * stop.tol, 0
    while relative_gap(point.smoothed(smoothing)) > goal:
        smoothing *= _SHRINK
    while True:
        left = stop.fewer(n_iter)
        few = replace(left, max_iter=min(_WARM_STEPS, left.max_iter))
        result = solver(point.smoothed(smoothing), plan, few)
        n_iter += result.n_iter
        matters = relative_gap(result.point) > goal
        going = result.converged and matters and n_iter < stop.max_iter
        if result.stopped or not going:
            known = result.converged and not matters
            return Solution(result.point.smoothed(0.0), n_iter, known, result.stopped)
        smoothing *= _SHRINK
        point = result.point.at(result.point.theta)


def _next_stage(
    point: Objective, plan: Plan, smoothing: float, gap: float, goal: float
) -> tuple[float, float]:
    """Choose the next ε; return it with the gap to expect there."""
    if gap <= goal:
        return smoothing, gap
    shrunk = smoothing * _SHRINK
    shrunk_gap = relative_gap(point.smoothed(shrunk))
    # A gap proportional to ε² means that the problem is smooth on this scale, and a gap
    # proportional to ε that rows lie on the kink. In the first case ε hardly changes
    # the solution any more, so the final ε can be used at once. Without noise it always
    # does, since more rows will reach the kink.
    smooth = plan.is_noisy and 0.5 < shrunk_gap / gap / _SHRINK**2 < 2
    if smooth and shrunk_gap > goal:
        shrunk *= 0.5 * np.sqrt(goal / shrunk_gap)
        shrunk_gap = goal
    return float(shrunk), shrunk_gap


def relative_gap(point: Objective) -> float:
    """Return the largest share of a class's objective that is due to smoothing."""
    return float(np.max(point.smoothing_gap / point.size))


def check_solver(name: str, has_majorizer: bool, loss: str) -> None:
    """Raise an error if a solver is unknown or does not support a loss."""
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
