"""Logistic loss under noise, by a quadratic penalty."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from noiseproof.losses.base import Array, Curvatures, Exactness, MomentLoss, Slopes
from noiseproof.noise import Noise


class LogisticTaylor(MomentLoss):
    """log(1 + e^{-y m}) + ½ p (1 - p) v, p = 1 / (1 + e^{-m}).

    Wager et al. 2013, eq. (6): the second-order expansion of the noising penalty.
    Not convex: the penalty falls again where predictions are confident.
    """

    convex = False
    label_free_penalty = True

    def exactness(self, noise: Noise) -> Exactness:
        return "approximation"

    def value(self, y: Array, m: Array, v: Array) -> Array:
        p = expit(m)
        return np.logaddexp(0, -y * m) + 0.5 * p * (1 - p) * v

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        p = expit(m)
        q = p * (1 - p)
        return Slopes(-y * expit(-y * m) + 0.5 * q * (1 - 2 * p) * v, 0.5 * q)

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        p = expit(m)
        q = p * (1 - p)
        return Curvatures(
            q + 0.5 * q * (1 - 6 * q) * v, 0.5 * q * (1 - 2 * p), np.zeros_like(q)
        )
