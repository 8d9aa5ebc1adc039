"""Conditionals: the distribution of missing values, given the observed ones."""

from __future__ import annotations

from noiseproof.conditionals.base import Conditional, Draws
from noiseproof.conditionals.cells import Cells as Cells
from noiseproof.conditionals.cells import has_words as has_words
from noiseproof.conditionals.cells import holes as holes
from noiseproof.conditionals.cells import warn_of_many_words as warn_of_many_words
from noiseproof.conditionals.donors import Donors
from noiseproof.conditionals.joint_gaussian import JointGaussian
from noiseproof.conditionals.ordering import hashed as hashed
from noiseproof.conditionals.ordering import order_by_values as order_by_values
from noiseproof.conditionals.regression import FactorRegression as FactorRegression
from noiseproof.conditionals.regression import FullRegression as FullRegression
from noiseproof.conditionals.rounding import first_best as first_best
from noiseproof.conditionals.rounding import steps_of as steps_of

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
