"""From a raw table to a fitted model: train one, or choose the best of several."""

from __future__ import annotations

from noiseproof.training.parts import TableParts
from noiseproof.training.portfolios import portfolio
from noiseproof.training.recommendation import Recommendation, recommend
from noiseproof.training.targets import task_of
from noiseproof.training.trainer import TUNABLE as TUNABLE
from noiseproof.training.trainer import Training, train

__all__ = [
    "Recommendation",
    "TableParts",
    "Training",
    "portfolio",
    "recommend",
    "task_of",
    "train",
]
