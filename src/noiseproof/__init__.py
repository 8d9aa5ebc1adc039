"""Models that keep working when features go missing, get noisy or are attacked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noiseproof._lazy import lazily

__version__ = "0.1.0"

_HOMES = {
    "CorruptedCopies": "estimators.corrupted_copies",
    "DropoutExponentialClassifier": "estimators.dropout_exponential",
    "DropoutLogisticRegression": "estimators.dropout_logistic",
    "DropoutPoissonRegressor": "estimators.dropout_poisson",
    "DropoutRidge": "estimators.dropout_ridge",
    "DropoutRidgeClassifier": "estimators.dropout_ridge_classifier",
    "DropoutSGDClassifier": "estimators.dropout_sgd",
    "DropoutSVC": "estimators.dropout_svc",
    "InvariantSVC": "estimators.invariant_svc",
    "NoisingPenalty": "penalties",
    "RobustLPClassifier": "estimators.robust_lp",
    "RobustPerceptron": "estimators.robust_perceptron",
    "StructuredSVM": "estimators.structured_svm",
    "VirtualExamples": "estimators.virtual_examples",
    "VirtualSupportVectors": "estimators.virtual_support_vectors",
    "as_sklearn": "export",
    "attacks": "attacks",
    "bounds": "bounds",
    "datasets": "datasets",
    "evaluation": "evaluation",
    "io": "io",
    "load": "io",
    "mutual_info_values": "feature_values",
    "noise": "noise",
    "penalty": "penalties",
    "report": "report",
    "save": "io",
    "tables": "tables",
}

__all__ = [
    "CorruptedCopies",
    "DropoutExponentialClassifier",
    "DropoutLogisticRegression",
    "DropoutPoissonRegressor",
    "DropoutRidge",
    "DropoutRidgeClassifier",
    "DropoutSGDClassifier",
    "DropoutSVC",
    "InvariantSVC",
    "NoisingPenalty",
    "RobustLPClassifier",
    "RobustPerceptron",
    "StructuredSVM",
    "VirtualExamples",
    "VirtualSupportVectors",
    "__version__",
    "as_sklearn",
    "attacks",
    "bounds",
    "datasets",
    "evaluation",
    "io",
    "load",
    "mutual_info_values",
    "noise",
    "penalty",
    "report",
    "save",
    "tables",
]

if TYPE_CHECKING:  # what type checkers and editors see
    from noiseproof import (
        attacks,
        bounds,
        datasets,
        evaluation,
        io,
        noise,
        report,
        tables,
    )
    from noiseproof.estimators.corrupted_copies import CorruptedCopies
    from noiseproof.estimators.dropout_exponential import DropoutExponentialClassifier
    from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
    from noiseproof.estimators.dropout_poisson import DropoutPoissonRegressor
    from noiseproof.estimators.dropout_ridge import DropoutRidge
    from noiseproof.estimators.dropout_ridge_classifier import DropoutRidgeClassifier
    from noiseproof.estimators.dropout_sgd import DropoutSGDClassifier
    from noiseproof.estimators.dropout_svc import DropoutSVC
    from noiseproof.estimators.invariant_svc import InvariantSVC
    from noiseproof.estimators.robust_lp import RobustLPClassifier
    from noiseproof.estimators.robust_perceptron import RobustPerceptron
    from noiseproof.estimators.structured_svm import StructuredSVM
    from noiseproof.estimators.virtual_examples import VirtualExamples
    from noiseproof.estimators.virtual_support_vectors import VirtualSupportVectors
    from noiseproof.export import as_sklearn
    from noiseproof.feature_values import mutual_info_values
    from noiseproof.io import load, save
    from noiseproof.penalties import NoisingPenalty, penalty

__getattr__ = lazily(__name__, _HOMES)
