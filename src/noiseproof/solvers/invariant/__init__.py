"""The ways to minimise the invariant risk, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noiseproof.solvers.base import Stop
from noiseproof.solvers.invariant.base import InvariantResult
from noiseproof.solvers.invariant.bundle import bundle
from noiseproof.solvers.invariant.column_generation import column_generation
from noiseproof.solvers.invariant.pegasos import pegasos

InvariantSolver = Callable[[Any, Stop, Any], InvariantResult]

INVARIANT_SOLVERS: dict[str, InvariantSolver] = {
    "column_generation": column_generation,
    "bundle": bundle,
    "pegasos": pegasos,
}

__all__ = ["INVARIANT_SOLVERS", "InvariantResult", "InvariantSolver"]
