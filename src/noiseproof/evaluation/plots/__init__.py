"""Pictures of what `noiseproof.evaluation` finds; they only read its results."""

from __future__ import annotations

from noiseproof.evaluation.plots.acquisition import AcquisitionDisplay
from noiseproof.evaluation.plots.certificate import CertificateDisplay
from noiseproof.evaluation.plots.cost import MissingCostDisplay
from noiseproof.evaluation.plots.curve import RobustnessCurveDisplay
from noiseproof.evaluation.plots.fragility import FragilityDisplay
from noiseproof.evaluation.plots.style import line_style as line_style
from noiseproof.evaluation.plots.style import tidy as tidy

__all__ = [
    "AcquisitionDisplay",
    "CertificateDisplay",
    "FragilityDisplay",
    "MissingCostDisplay",
    "RobustnessCurveDisplay",
]
