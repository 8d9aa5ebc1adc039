"""The public names: `__init__.py` finds them here, and imports each when it is used."""

from . import (
    attacks,
    bounds,
    datasets,
    evaluation,
    io,
    noise,
    report,
    structured,
    tables,
)
from ._deletion import mutual_info_values
from ._marginal import NoisingPenalty, penalty
from ._version import __version__
from .estimators import (
    CorruptedCopies,
    DropoutExponentialClassifier,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutRidgeClassifier,
    DropoutSGDClassifier,
    DropoutSVC,
    InvariantSVC,
    PartitionEnsemble,
    RobustLPClassifier,
    RobustPerceptron,
    StructuredSVM,
    VirtualExamples,
    VirtualSupportVectors,
)
from .io import as_sklearn, load, save

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
    "PartitionEnsemble",
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
    "structured",
    "tables",
]
