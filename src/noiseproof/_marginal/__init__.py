"""Average-case training: Chen et al. 2014 and Wager et al. 2013."""

from __future__ import annotations

from noiseproof._marginal.irls import irls
from noiseproof._marginal.lbfgs import lbfgs
from noiseproof._marginal.newton import newton
from noiseproof._marginal.penalty import NoisingPenalty, penalty
from noiseproof._marginal.smoothing import Solver, minimize
from noiseproof._marginal.solving import Result
from noiseproof._stop import Stop

SOLVERS: dict[str, Solver] = {"newton": newton, "lbfgs": lbfgs, "irls": irls}


def check_solver(name: str, has_majorizer: bool, loss: str) -> Solver:
    """The solver of that name, if it can serve a loss; else one sentence why not."""
    able = [s for s in SOLVERS if has_majorizer or s != "irls"]
    legal = ", ".join(repr(s) for s in able)
    if name not in SOLVERS:
        raise ValueError(f"solver={name!r} is not known; use one of {legal}.")
    if name not in able:
        raise ValueError(
            f"solver='irls' needs a loss with a quadratic majoriser, which {loss} "
            f"does not have; use one of {legal}."
        )
    return SOLVERS[name]


__all__ = [
    "SOLVERS",
    "NoisingPenalty",
    "penalty",
    "Result",
    "Solver",
    "Stop",
    "check_solver",
    "minimize",
]
