"""Dekel and Shamir 2008: the robust linear program, the Perceptron, feature values."""

from __future__ import annotations

from noiseproof._deletion.feature_values import mutual_info_values
from noiseproof._deletion.interior import interior_point
from noiseproof._deletion.program import (
    DeletionHinge,
    DeletionPinball,
    DeletionProgram,
    weighted_quantile,
)
from noiseproof._deletion.solving import RobustLPResult, RobustLPSolver, in_chunks

ROBUST_LP_SOLVERS: dict[str, RobustLPSolver] = {"interior": interior_point}

__all__ = [
    "ROBUST_LP_SOLVERS",
    "DeletionHinge",
    "DeletionPinball",
    "DeletionProgram",
    "RobustLPResult",
    "RobustLPSolver",
    "in_chunks",
    "mutual_info_values",
    "weighted_quantile",
]
