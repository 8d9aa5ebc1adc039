"""Structured outputs: what `StructuredSVM` can learn to predict."""

from __future__ import annotations

from noiseproof._invariant.structured.base import StructuredProblem
from noiseproof._invariant.structured.linear_chain import LinearChain
from noiseproof._invariant.structured.multiclass import Multiclass
from noiseproof._invariant.structured.token_deletion import TokenDeletion

PROBLEMS: dict[str, type[StructuredProblem]] = {
    "multiclass": Multiclass,
    "linear-chain": LinearChain,
}

__all__ = [
    "PROBLEMS",
    "LinearChain",
    "Multiclass",
    "StructuredProblem",
    "TokenDeletion",
]
