"""How far a model holds when its features go: curves, certificates, fragility.

For any model with `predict`; exact for linear ones, whoever made them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noiseproof._lazy import lazily

_HOMES = {
    "CertificateDisplay": ".plots.certificate",
    "Certificates": "certificate_result",
    "Fragility": "fragility_result",
    "FragilityDisplay": ".plots.fragility",
    "LinearView": "linear",
    "PerturbedScorer": "scorers",
    "RobustnessCurve": "curve_result",
    "RobustnessCurveDisplay": ".plots.curve",
    "certify": "certificates",
    "feature_fragility": "fragility",
    "linear_view": "linear",
    "perturbed_scorer": "scorers",
    "robustness_curve": "curves",
}

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

if TYPE_CHECKING:  # what type checkers and editors see; displays live beside, in plots
    from noiseproof.evaluation.certificate_result import Certificates
    from noiseproof.evaluation.certificates import certify
    from noiseproof.evaluation.curve_result import RobustnessCurve
    from noiseproof.evaluation.curves import robustness_curve
    from noiseproof.evaluation.fragility import feature_fragility
    from noiseproof.evaluation.fragility_result import Fragility
    from noiseproof.evaluation.linear import LinearView, linear_view
    from noiseproof.evaluation.scorers import PerturbedScorer, perturbed_scorer

__getattr__ = lazily(__name__, _HOMES)
