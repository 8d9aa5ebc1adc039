"""Hinge loss under noise, by the variational bound."""

from __future__ import annotations

import numpy as np

from noiseproof.losses.base import Array, Curvatures, Exactness, MomentLoss, Slopes
from noiseproof.noise import Noise

_TINY = 1e-100  # keeps 1 / r³ finite where both z and v vanish


class HingeVariational(MomentLoss):
    """½ [z + r], r = √(z² + v), z = margin - y m.

    Chen et al. 2014, eq. (7) with the auxiliary variables eliminated in closed form:
    E max(0, ζ) = ½ E[ζ + |ζ|] <= ½ [E ζ + √(E ζ²)]. An upper bound, tight at v = 0.

    Parameters
    ----------
    margin : float
        The paper's ℓ, the score a row needs to cost nothing.
    """

    has_majorizer = True

    def __init__(self, margin: float = 1.0):
        self.margin = margin

    def exactness(self, noise: Noise) -> Exactness:
        return "bound"

    @property
    def kink_width(self) -> float:
        return 0.1 * self.margin

    def value(self, y: Array, m: Array, v: Array) -> Array:
        z = self.margin - y * m
        r = np.sqrt(z * z + v)
        # z + r cancels where z < 0: there it equals v / (r - z)
        return 0.5 * np.where(z > 0, z + r, v / np.maximum(r - z, _TINY))

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        z = self.margin - y * m
        inverse = 1 / np.maximum(np.sqrt(z * z + v), _TINY)
        return Slopes(-0.5 * y * (1 + z * inverse), 0.25 * inverse)

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        z = self.margin - y * m
        cubed = np.maximum(np.sqrt(z * z + v), _TINY) ** -3
        return Curvatures(0.5 * v * cubed, 0.25 * y * z * cubed, -0.125 * cubed)
