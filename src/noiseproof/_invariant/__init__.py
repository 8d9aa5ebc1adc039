"""Teo et al. 2008: learning under the worst transformation of every row.

A solver is a function of a risk, a `Stop`, whose `tol` bounds the certified relative
gap, and a source of random numbers. It neither prints nor warns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noiseproof._invariant.bundle import bundle
from noiseproof._invariant.column_generation import column_generation
from noiseproof._invariant.loss import Candidates, list_candidates, make_costs
from noiseproof._invariant.pegasos import pegasos
from noiseproof._invariant.risk import (
    AttackedRisk,
    InvariantResult,
    KernelRisk,
    ListedRisk,
    class_weights,
    merge_equal_rows,
)
from noiseproof._invariant.structured import (
    PROBLEMS,
    LinearChain,
    Multiclass,
    StructuredProblem,
    StructuredRisk,
    TokenDeletion,
)
from noiseproof._stop import Stop

INVARIANT_SOLVERS: dict[str, Callable[[Any, Stop, Any], InvariantResult]] = {
    "column_generation": column_generation,
    "bundle": bundle,
    "pegasos": pegasos,
}

__all__ = [
    "INVARIANT_SOLVERS", "PROBLEMS", "AttackedRisk", "Candidates", "InvariantResult",
    "KernelRisk", "LinearChain", "ListedRisk", "Multiclass", "StructuredProblem",
    "StructuredRisk", "TokenDeletion", "class_weights", "list_candidates",
    "make_costs", "merge_equal_rows",
]  # fmt: skip
