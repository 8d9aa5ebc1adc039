"""Time to reach 1e-6 relative suboptimality on the hinge: newton, lbfgs, irls.

python benchmarks/solvers.py
"""

from __future__ import annotations

import sys
import time

import numpy as np
from common import TEXT

from noiseproof.design import as_design
from noiseproof.losses import make_loss
from noiseproof.noise import Dropout
from noiseproof.objectives import marginal_objective
from noiseproof.solvers import SOLVERS, Stop, minimize

LIMIT = 30.0  # seconds


def main() -> None:
    for name in sys.argv[1:] or ("books", "kitchen"):
        X, y, *_ = TEXT[name]()
        labels = np.where(y == 1, 1.0, -1.0)[None, :]
        for rate, C in ((0.5, 0.1), (0.5, 1.0), (0.9, 0.1)):
            loss, noise = make_loss("hinge", "variational"), Dropout(rate)
            weights = np.full(len(y), C)
            objective = marginal_objective(
                as_design(X), labels, weights, noise, loss, True
            )
            start = np.zeros(objective.shape)
            newton = SOLVERS["newton"]
            best = minimize(newton, objective, start, Stop(1e-12, 500)).point.value[0]
            took = {
                solver: time_to(solver, objective, start, best) for solver in SOLVERS
            }
            shown = "  ".join(f"{s} {t:8.3f} s" for s, t in took.items())
            ratio = took["irls"] / took["newton"]
            print(
                f"{name} rate={rate} C={C}: {shown}  irls/newton {ratio:.0f}",
                flush=True,
            )


def time_to(solver: str, objective, start, best: float) -> float:
    """Seconds until the objective is within 1e-6 of the best, or the limit."""
    begin = time.perf_counter()
    reached = [LIMIT]

    def report(step: int, value: float, gap: float) -> bool:
        now = time.perf_counter() - begin
        if value <= best * (1 + 1e-6):
            reached[0] = now
        return value <= best * (1 + 1e-6) or now > LIMIT

    minimize(SOLVERS[solver], objective, start, Stop(1e-12, 10**6, report))
    return reached[0]


if __name__ == "__main__":
    main()
