"""Models that keep working when features go missing, get noisy or are attacked."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from noiseproof import noise
from noiseproof.estimators import (
    CorruptedCopies,
    DropoutExponentialClassifier,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutRidgeClassifier,
    DropoutSGDClassifier,
    DropoutSVC,
    RobustLPClassifier,
    RobustPerceptron,
)
from noiseproof.feature_values import mutual_info_values
from noiseproof.penalties import NoisingPenalty, penalty

__version__ = "0.1.0"

_LAZY = ("attacks", "bounds", "datasets")  # imported when first used

__all__ = [
    "CorruptedCopies",
    "DropoutExponentialClassifier",
    "DropoutLogisticRegression",
    "DropoutPoissonRegressor",
    "DropoutRidge",
    "DropoutRidgeClassifier",
    "DropoutSGDClassifier",
    "DropoutSVC",
    "NoisingPenalty",
    "RobustLPClassifier",
    "RobustPerceptron",
    "__version__",
    "attacks",
    "bounds",
    "datasets",
    "mutual_info_values",
    "noise",
    "penalty",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"noiseproof.{name}")
    raise AttributeError(f"module 'noiseproof' has no attribute {name!r}")
