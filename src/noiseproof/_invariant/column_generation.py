"""Column generation: Teo et al. 2008, algorithm 1, with all rows in one round.

Each round finds the worst cut of every row at f, adds those that are violated to the
rows' working sets, and maximises the dual (6) over the working sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noiseproof._invariant.duals import KernelDual, LinearDual, WorkingSets
from noiseproof._invariant.risk import InvariantResult, KernelRisk, LinearRisk
from noiseproof._stop import Stop

# fractions of the requested accuracy
_VIOLATION = 0.1  # a cut is added if it is higher than the others by this much
_ENOUGH = 0.7  # the restricted dual need not be solved more accurately than this
_GAP_SHARE = 0.1  # otherwise it is solved to this fraction of the current gap
_MAX_SWEEPS = 400
_SLOW = 200  # after this many sweeps, another method is tried if there is one
_STEPS = 2  # steps within a block before the next block


def column_generation(
    risk: LinearRisk | KernelRisk, stop: Stop, rng: Any = None
) -> InvariantResult:
    """Minimise R; an iteration is a round, and `rng` is not used."""
    dual = LinearDual(risk) if isinstance(risk, LinearRisk) else KernelDual(risk)
    return generate(dual, stop)


def generate(dual: WorkingSets, stop: Stop) -> InvariantResult:
    """Alternate between finding cuts and raising the dual over those found so far."""
    result = InvariantResult()
    for _ in range(stop.max_iter):
        if result.advance(dual.find_cuts(), dual.bound, dual, stop):
            break
        wanted = stop.tol * abs(result.value)
        result.n_cuts += dual.extend(_VIOLATION * wanted)
        ascend(dual, max(_GAP_SHARE * (result.value - result.bound), _ENOUGH * wanted))
    result.weights = dual.weights
    return result


def ascend(dual: WorkingSets, goal: float) -> None:
    """Raise the restricted dual until its own gap is below `goal`.

    Blocks without excess are skipped in further sweeps until all others are done.
    """
    rng = np.random.default_rng(0)
    n = len(dual.size)
    order, active = np.arange(n), n
    for n_sweeps in range(1, _MAX_SWEEPS + 1):
        rng.shuffle(order[:active])
        found, idle = dual.sweep(order[:active], 0.5 * goal / n, _STEPS)
        if found > goal:
            active = max(active - idle, 1)
        elif active < n:
            active = n
        elif dual.sweep(order, np.inf, 0)[0] <= goal:  # only measures the excess
            break
        if n_sweeps % _SLOW == 0 and dual.solve(0.5 * goal):
            break
    dual.refresh()
