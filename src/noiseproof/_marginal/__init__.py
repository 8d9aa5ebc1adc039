"""Average-case training: Chen et al. 2014 and Wager et al. 2013."""

from __future__ import annotations

from noiseproof._marginal.losses import LOSSES, Loss, expectations, make_loss
from noiseproof._marginal.objective import Objective, Problem, Solution
from noiseproof._marginal.online import OnlineState, Patience
from noiseproof._marginal.penalty import NoisingPenalty, penalty
from noiseproof._marginal.plan import Facts, Plan
from noiseproof._marginal.solving import SOLVERS, Solver, check_solver, minimize, solve
from noiseproof._stop import Stop

__all__ = [
    "LOSSES",
    "SOLVERS",
    "Facts",
    "Loss",
    "NoisingPenalty",
    "Objective",
    "OnlineState",
    "Patience",
    "Plan",
    "Problem",
    "Solution",
    "Solver",
    "Stop",
    "check_solver",
    "expectations",
    "make_loss",
    "minimize",
    "penalty",
    "solve",
]
