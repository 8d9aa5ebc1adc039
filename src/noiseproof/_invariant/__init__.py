"""The ways to minimise the invariant risk, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noiseproof._invariant.base import InvariantResult
from noiseproof._invariant.bundle import bundle
from noiseproof._invariant.column_generation import column_generation
from noiseproof._invariant.pegasos import pegasos
from noiseproof._stop import Stop

InvariantSolver = Callable[[Any, Stop, Any], InvariantResult]

INVARIANT_SOLVERS: dict[str, InvariantSolver] = {
    "column_generation": column_generation,
    "bundle": bundle,
    "pegasos": pegasos,
}

__all__ = ["INVARIANT_SOLVERS", "InvariantResult", "InvariantSolver"]
