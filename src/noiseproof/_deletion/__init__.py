"""The ways to solve the robust linear program, by name."""

from __future__ import annotations

from noiseproof._deletion.base import RobustLPResult, RobustLPSolver
from noiseproof._deletion.chunks import in_chunks
from noiseproof._deletion.feature_values import mutual_info_values
from noiseproof._deletion.highs import highs
from noiseproof._deletion.interior import interior

ROBUST_LP_SOLVERS: dict[str, RobustLPSolver] = {"interior": interior, "highs": highs}

__all__ = [
    "ROBUST_LP_SOLVERS",
    "RobustLPResult",
    "RobustLPSolver",
    "in_chunks",
    "mutual_info_values",
]
