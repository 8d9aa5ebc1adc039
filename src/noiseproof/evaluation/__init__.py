"""How far a model holds when its features go: curves, certificates, fragility.

For any model with `predict`; exact for linear ones, whoever made them.
"""

from __future__ import annotations

from noiseproof.evaluation.certificates import Certificates, certify
from noiseproof.evaluation.conformal import ConformalSets, conformal_sets
from noiseproof.evaluation.curves import RobustnessCurve, robustness_curve
from noiseproof.evaluation.fragility import Fragility, feature_fragility
from noiseproof.evaluation.linear import LinearView, linear_view
from noiseproof.evaluation.plots import (
    CertificateDisplay,
    FragilityDisplay,
    RobustnessCurveDisplay,
)
from noiseproof.evaluation.scorers import PerturbedScorer, perturbed_scorer

__all__ = [
    "CertificateDisplay",
    "Certificates",
    "ConformalSets",
    "Fragility",
    "FragilityDisplay",
    "LinearView",
    "PerturbedScorer",
    "RobustnessCurve",
    "RobustnessCurveDisplay",
    "certify",
    "conformal_sets",
    "feature_fragility",
    "linear_view",
    "perturbed_scorer",
    "robustness_curve",
]
