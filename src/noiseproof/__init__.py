"""Models that keep working when features go missing, get noisy or are attacked."""

from __future__ import annotations

from noiseproof import noise
from noiseproof.estimators import (
    CorruptedCopies,
    DropoutExponentialClassifier,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutRidgeClassifier,
    DropoutSVC,
)

__version__ = "0.1.0"

__all__ = [
    "CorruptedCopies",
    "DropoutExponentialClassifier",
    "DropoutLogisticRegression",
    "DropoutPoissonRegressor",
    "DropoutRidge",
    "DropoutRidgeClassifier",
    "DropoutSVC",
    "__version__",
    "noise",
]
