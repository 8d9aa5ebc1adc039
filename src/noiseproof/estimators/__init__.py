"""Estimators with scikit-learn's interface. Users import them from `noiseproof`."""

from __future__ import annotations

from noiseproof.estimators.average_over_missing import AverageOverMissing
from noiseproof.estimators.averaging import LINKS as LINKS
from noiseproof.estimators.averaging import NEGLIGIBLE as NEGLIGIBLE
from noiseproof.estimators.averaging import TIE as TIE
from noiseproof.estimators.averaging import TINY as TINY
from noiseproof.estimators.averaging import gaussian_points as gaussian_points
from noiseproof.estimators.averaging import shares as shares
from noiseproof.estimators.conformal_regressor import ConformalRegressor
from noiseproof.estimators.corrupted_copies import CorruptedCopies
from noiseproof.estimators.dropout_exponential import DropoutExponentialClassifier
from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
from noiseproof.estimators.dropout_poisson import DropoutPoissonRegressor
from noiseproof.estimators.dropout_ridge import DropoutRidge
from noiseproof.estimators.dropout_ridge_classifier import DropoutRidgeClassifier
from noiseproof.estimators.dropout_sgd import DropoutSGDClassifier
from noiseproof.estimators.dropout_svc import DropoutSVC
from noiseproof.estimators.intervals import Intervals as Intervals
from noiseproof.estimators.invariant_svc import InvariantSVC
from noiseproof.estimators.partition_ensemble import PartitionEnsemble
from noiseproof.estimators.quantiles import quantile_parameter as quantile_parameter
from noiseproof.estimators.reduced_models import ReducedModels
from noiseproof.estimators.robust_lp import RobustLPClassifier
from noiseproof.estimators.robust_lp_regressor import RobustLPRegressor
from noiseproof.estimators.robust_perceptron import RobustPerceptron
from noiseproof.estimators.structured_svm import StructuredSVM
from noiseproof.estimators.treatments import Indicators as Indicators
from noiseproof.estimators.treatments import Leaving as Leaving
from noiseproof.estimators.treatments import Treatments as Treatments
from noiseproof.estimators.virtual_examples import VirtualExamples
from noiseproof.estimators.virtual_support_vectors import VirtualSupportVectors

ESTIMATORS: dict[str, type] = {
    "dropout-svc": DropoutSVC,
    "dropout-logistic": DropoutLogisticRegression,
    "dropout-ridge-classifier": DropoutRidgeClassifier,
    "dropout-exponential": DropoutExponentialClassifier,
    "dropout-ridge": DropoutRidge,
    "dropout-poisson": DropoutPoissonRegressor,
    "dropout-sgd": DropoutSGDClassifier,
    "corrupted-copies": CorruptedCopies,
    "average-over-missing": AverageOverMissing,
    "reduced-models": ReducedModels,
    "conformal-regressor": ConformalRegressor,
    "robust-lp": RobustLPClassifier,
    "robust-lp-regressor": RobustLPRegressor,
    "robust-perceptron": RobustPerceptron,
    "virtual-examples": VirtualExamples,
    "virtual-support-vectors": VirtualSupportVectors,
    "invariant-svc": InvariantSVC,
    "structured-svm": StructuredSVM,
    "partition-ensemble": PartitionEnsemble,
}

__all__ = [
    "ESTIMATORS",
    "AverageOverMissing",
    "ConformalRegressor",
    "CorruptedCopies",
    "DropoutExponentialClassifier",
    "DropoutLogisticRegression",
    "DropoutPoissonRegressor",
    "DropoutRidge",
    "DropoutRidgeClassifier",
    "DropoutSGDClassifier",
    "DropoutSVC",
    "InvariantSVC",
    "PartitionEnsemble",
    "ReducedModels",
    "RobustLPClassifier",
    "RobustLPRegressor",
    "RobustPerceptron",
    "StructuredSVM",
    "VirtualExamples",
    "VirtualSupportVectors",
]
