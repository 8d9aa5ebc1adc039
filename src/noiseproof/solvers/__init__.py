"""Solvers: they see θ, and nothing of data, noise or loss."""

from __future__ import annotations

from noiseproof.solvers.base import Result, Stop
from noiseproof.solvers.irls import irls
from noiseproof.solvers.lbfgs import lbfgs
from noiseproof.solvers.newton import newton
from noiseproof.solvers.smoothing import Solver, minimize

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


__all__ = ["SOLVERS", "Result", "Solver", "Stop", "check_solver", "minimize"]
