"""Time to reach 1e-6 relative suboptimality on the hinge: newton, lbfgs, irls.

    python benchmarks/solvers.py
    python benchmarks/solvers.py kitchen

Beside our `irls` stands the one of Chen et al. 2014, who solve its least-squares
problems by L-BFGS; ours uses the preconditioned conjugate gradients of `newton`.
Medians of five runs, but one of a run that takes seconds.
"""

from __future__ import annotations

import statistics
import sys
import time
from functools import partial

import numpy as np
import scipy.optimize
from common import TEXT

from noiseproof._marginal import (
    SOLVERS,
    Facts,
    Plan,
    Problem,
    Solution,
    Stop,
    make_loss,
    minimize,
)
from noiseproof._rows import as_design
from noiseproof.noise import Dropout

LIMIT = 30.0  # seconds
REPEATS = 5
SETTINGS = ((0.5, 0.1), (0.5, 1.0), (0.7, 0.1), (0.9, 0.1))
INNER_ACCURACY = 1e-4  # the paper gives none; our irls has 1e-8


def paper_irls(problem, stop) -> Solution:
    """IRLS of a single class with L-BFGS inside, as Chen et al. 2014 describe it."""
    objective = point = problem.objective()
    for n_iter in range(1, stop.max_iter + 1):
        everybody = np.ones(1, dtype=bool)
        curvature, g = point.hessian(majorized=everybody), point.gradient[0]

        def quadratic(p, curvature=curvature, g=g):
            Hp = curvature.product(p[None, :])[0]
            return g @ p + 0.5 * (p @ Hp), g + Hp

        p = scipy.optimize.minimize(
            quadratic,
            np.zeros_like(g),
            jac=True,
            method="L-BFGS-B",
            options={
                "gtol": INNER_ACCURACY * np.abs(g).max(),
                "ftol": 0.0,
                "maxiter": 10_000,
                "maxfun": 10_000,
            },
        ).x
        point = objective.at(point.theta + p)
        if stop.tell(n_iter, point.value, np.zeros(1)):
            break
    return Solution(point, n_iter, False, stopped=True)


def ours(solver, problem, stop) -> Solution:
    """One of our solvers, by the plan that a fit would have."""
    plan = Plan.of(Facts.of(problem, is_warm=False, is_heard=True), solver)
    return minimize(problem.objective(), np.zeros(problem.shape), plan, stop)


CONTESTANTS = {solver: partial(ours, solver) for solver in SOLVERS}
CONTESTANTS["paper's irls"] = paper_irls


def main() -> None:
    print("data     rate     C" + "".join(f"{name:>14}" for name in CONTESTANTS))
    for name in sys.argv[1:] or ("books", "kitchen"):
        X, y, *_ = TEXT[name]()
        labels = np.where(y == 1, 1.0, -1.0)[None, :]
        for rate, C in SETTINGS:
            loss, noise = make_loss("hinge", "variational"), Dropout(rate)
            weights = np.full(len(y), C)
            problem = Problem(as_design(X), labels, weights, noise, loss, True)
            best = ours("newton", problem, Stop(1e-12, 500)).point.value[0]
            took = {
                solver: median_time(solve, problem, best)
                for solver, solve in CONTESTANTS.items()
            }
            shown = "".join(f"{took[solver]:>12.3f} s" for solver in CONTESTANTS)
            ratios = ", ".join(
                f"{solver} {took[solver] / took['newton']:.0f}"
                for solver in CONTESTANTS
                if solver != "newton"
            )
            print(f"{name:<8}{rate:>5}{C:>6}{shown}  over newton: {ratios}", flush=True)


def median_time(solve, problem, best: float) -> float:
    """Seconds until the objective is within 1e-6 of the best, or the limit."""
    times = [time_to(solve, problem, best)]
    if times[0] < 2:
        times += [time_to(solve, problem, best) for _ in range(REPEATS - 1)]
    return statistics.median(times)


def time_to(solve, problem, best: float) -> float:
    """Seconds of one run."""
    begin = time.perf_counter()
    reached = [LIMIT]

    def report(step: int, value: float, gap: float) -> bool:
        now = time.perf_counter() - begin
        if value <= best * (1 + 1e-6):
            reached[0] = now
        return value <= best * (1 + 1e-6) or now > LIMIT

    solve(problem, Stop(1e-12, 10**6, report))
    return reached[0]


if __name__ == "__main__":
    main()
