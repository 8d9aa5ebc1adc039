"""Quadratic loss under noise (ridge, MCF-Quadratic)."""

from __future__ import annotations

import numpy as np

from noiseproof._marginal.moment import Curvatures, MomentLoss, Slopes
from noiseproof._marginal.objective import Exactness
from noiseproof._rows import Array
from noiseproof.noise import Noise


class Quadratic(MomentLoss):
    """½ [(m - y)² + v]: exact for every noise.

    For regression this is the Gaussian GLM of Wager et al. 2013, section 2; with
    labels -1 and +1 it is the MCF-Quadratic of Chen et al. 2014.
    """

    task = "regression"
    has_majorizer = True
    label_free_penalty = True

    def exactness(self, noise: Noise) -> Exactness:
        return "exact"

    def value(self, y: Array, m: Array, v: Array) -> Array:
        return 0.5 * ((m - y) ** 2 + v)

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        return Slopes(m - y, np.full_like(m, 0.5))

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        return Curvatures(np.ones_like(m), np.zeros_like(m), np.zeros_like(m))
