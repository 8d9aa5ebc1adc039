"""Conditionals: what a missing cell may have been, given those that are there."""

from __future__ import annotations

from noiseproof.conditionals.base import Conditional, Draws
from noiseproof.conditionals.cells import Cells as Cells
from noiseproof.conditionals.cells import has_words as has_words
from noiseproof.conditionals.cells import holes as holes
from noiseproof.conditionals.donors import Donors
from noiseproof.conditionals.joint_gaussian import JointGaussian
from noiseproof.conditionals.regression import FactorRegression as FactorRegression
from noiseproof.conditionals.regression import FullRegression as FullRegression

CONDITIONALS: dict[str, type[Conditional]] = {
    "donors": Donors,
    "joint-gaussian": JointGaussian,
}

__all__ = [
    "CONDITIONALS",
    "Conditional",
    "Donors",
    "Draws",
    "JointGaussian",
]
