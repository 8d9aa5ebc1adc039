"""The ways to solve the robust linear program, by name."""

from __future__ import annotations

from noiseproof.solvers.robust_lp.base import RobustLPResult, RobustLPSolver
from noiseproof.solvers.robust_lp.chunks import in_chunks
from noiseproof.solvers.robust_lp.highs import highs
from noiseproof.solvers.robust_lp.interior import interior

ROBUST_LP_SOLVERS: dict[str, RobustLPSolver] = {"interior": interior, "highs": highs}

__all__ = ["ROBUST_LP_SOLVERS", "RobustLPResult", "RobustLPSolver", "in_chunks"]
