"""Poisson regression with log link under noise, exactly."""

from __future__ import annotations

import numpy as np

from noiseproof.losses.base import Array, CumulantLoss, Exactness
from noiseproof.noise import Noise


class PoissonExact(CumulantLoss):
    """exp K(1) - y m: exact for every noise.

    The Poisson GLM of Wager et al. 2013, eq. (4), with A(score) = exp(score), whose
    expectation is the exponential of the cumulant.
    """

    task = "regression"
    label_free_penalty = True

    def exactness(self, noise: Noise) -> Exactness:
        return "exact"

    def slope(self, y: Array) -> Array:
        return np.ones_like(y)

    def linear(self, y: Array) -> Array:
        return -y

    def value(self, K: Array) -> Array:
        with np.errstate(over="ignore"):  # an infinite loss makes the solver step back
            return np.exp(K)

    def derivatives(self, K: Array) -> tuple[Array, Array]:
        e = self.value(K)
        return e, e
