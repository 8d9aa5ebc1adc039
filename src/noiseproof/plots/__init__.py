"""Pictures of what `noiseproof.evaluation` finds; they only read its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noiseproof._lazy import lazily

_HOMES = {
    "CertificateDisplay": "certificate",
    "FragilityDisplay": "fragility",
    "RobustnessCurveDisplay": "curve",
}

__all__ = [
    "CertificateDisplay",
    "FragilityDisplay",
    "RobustnessCurveDisplay",
]

if TYPE_CHECKING:  # what type checkers and editors see
    from noiseproof.plots.certificate import CertificateDisplay
    from noiseproof.plots.curve import RobustnessCurveDisplay
    from noiseproof.plots.fragility import FragilityDisplay

__getattr__ = lazily(__name__, _HOMES)
