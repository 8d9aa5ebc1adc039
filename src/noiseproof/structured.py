"""Structured outputs: what `StructuredSVM` can learn to predict."""

from noiseproof._invariant import (
    PROBLEMS,
    LinearChain,
    Multiclass,
    StructuredProblem,
    TokenDeletion,
)

__all__ = [
    "PROBLEMS",
    "LinearChain",
    "Multiclass",
    "StructuredProblem",
    "TokenDeletion",
]
