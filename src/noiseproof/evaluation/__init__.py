"""How far a model holds when its features go: curves, certificates, fragility.

For any model with `predict`; exact for linear ones, whoever made them.
"""

from __future__ import annotations

from noiseproof.evaluation.certificates import Certificates, certify
from noiseproof.evaluation.curves import RobustnessCurve, robustness_curve
from noiseproof.evaluation.fragility import Fragility, feature_fragility
from noiseproof.evaluation.linear import LinearView, linear_view

# not for users, but for other rooms
from noiseproof.evaluation.models import (  # noqa: F401
    last_step,
    read_models,
    try_out,
)
from noiseproof.evaluation.perturbations import (  # noqa: F401
    PERTURBATIONS,
    Perturbation,
)
from noiseproof.evaluation.plots import (
    CertificateDisplay,
    FragilityDisplay,
    RobustnessCurveDisplay,
)
from noiseproof.evaluation.progress_bar import progress_bar  # noqa: F401
from noiseproof.evaluation.results import Result  # noqa: F401
from noiseproof.evaluation.scorers import PerturbedScorer, perturbed_scorer

__all__ = [
    "CertificateDisplay",
    "Certificates",
    "Fragility",
    "FragilityDisplay",
    "LinearView",
    "PerturbedScorer",
    "RobustnessCurve",
    "RobustnessCurveDisplay",
    "certify",
    "feature_fragility",
    "linear_view",
    "perturbed_scorer",
    "robustness_curve",
]
