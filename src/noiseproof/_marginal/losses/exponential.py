"""Exponential loss under noise (MCF-Exponential)."""

from __future__ import annotations

import numpy as np

from noiseproof._marginal.cumulant import CumulantLoss
from noiseproof._marginal.objective import Exactness
from noiseproof._rows import Array
from noiseproof.noise import Noise


class Exponential(CumulantLoss):
    """E exp(-y score) = exp K(-y): exact for every noise.

    van der Maaten et al. 2013; a baseline in Chen et al. 2014.
    """

    def exactness(self, noise: Noise) -> Exactness:
        return "exact"

    def constant(self, mean: Array) -> Array:
        return np.arctanh(mean)  # half the log of the odds

    def slope(self, y: Array) -> Array:
        return -y

    def value(self, K: Array) -> Array:
        with np.errstate(over="ignore"):  # an infinite loss makes the solver step back
            return np.exp(K)

    def derivatives(self, K: Array) -> tuple[Array, Array]:
        e = self.value(K)
        return e, e
