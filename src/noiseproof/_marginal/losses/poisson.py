"""Poisson regression with log link under noise."""

from __future__ import annotations

import numpy as np

from noiseproof._marginal.cumulant import CumulantLoss
from noiseproof._marginal.moment import Curvatures, MomentLoss, Slopes
from noiseproof._marginal.objective import Exactness
from noiseproof._rows import Array
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


class PoissonTaylor(MomentLoss):
    """e^m (1 + v/2) - y m.

    Wager et al. 2013, eq. (6) with A = exp. Not convex where v > 2.
    """

    task = "regression"
    convex = False
    label_free_penalty = True

    def exactness(self, noise: Noise) -> Exactness:
        return "approximation"

    def constant(self, mean: Array) -> Array:
        return np.log(np.maximum(mean, 1e-3))

    def value(self, y: Array, m: Array, v: Array) -> Array:
        return _exp(m) * (1 + 0.5 * v) - y * m

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        mean = _exp(m)
        return Slopes(mean * (1 + 0.5 * v) - y, 0.5 * mean)

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        mean = _exp(m)
        return Curvatures(mean * (1 + 0.5 * v), 0.5 * mean, np.zeros_like(mean))


def _exp(m: Array) -> Array:
    with np.errstate(over="ignore"):  # an infinite loss makes the solver step back
        return np.exp(m)
