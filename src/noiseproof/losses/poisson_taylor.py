"""Poisson regression with log link under noise, by a quadratic penalty."""

from __future__ import annotations

import numpy as np

from noiseproof.losses.base import Array, Curvatures, Exactness, MomentLoss, Slopes
from noiseproof.noise import Noise


class PoissonTaylor(MomentLoss):
    """e^m (1 + v/2) - y m.

    Wager et al. 2013, eq. (6) with A = exp. Not convex where v > 2.
    """

    task = "regression"
    convex = False
    label_free_penalty = True

    def exactness(self, noise: Noise) -> Exactness:
        return "approximation"

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
