"""A loss with the weight of its noise changed."""

from __future__ import annotations

import numpy as np

from noiseproof._marginal.losses.base import (
    Array,
    Curvatures,
    Exactness,
    MomentLoss,
    Slopes,
)
from noiseproof.noise import Noise


class Mixture(MomentLoss):
    """plain * loss(y, m, 0) + noisy * loss(y, m, v).

    With plain = 1 - ρ and noisy = ρ the noising penalty R = loss(v) - loss(0) counts ρ
    times; with -1 and 1 it is R itself, which unlabelled rows contribute. Both are what
    Wager et al. 2013, eq. (19), needs.

    Parameters
    ----------
    loss : MomentLoss
        The loss; for unlabelled rows one whose penalty does not depend on labels.
    plain, noisy : float
        Weights of the loss without and with noise.
    """

    convex = False

    def __init__(self, loss: MomentLoss, plain: float, noisy: float):
        self.loss = loss
        self.plain_weight = plain
        self.noisy_weight = noisy

    def exactness(self, noise: Noise) -> Exactness:
        return self.loss.exactness(noise)

    def value(self, y: Array, m: Array, v: Array) -> Array:
        zero = np.zeros_like(v)
        plain, noisy = self.loss.value(y, m, zero), self.loss.value(y, m, v)
        return self.plain_weight * plain + self.noisy_weight * noisy

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        plain = self.loss.slopes(y, m, np.zeros_like(v))
        noisy = self.loss.slopes(y, m, v)
        return Slopes(
            self.plain_weight * plain.m + self.noisy_weight * noisy.m,
            self.noisy_weight * noisy.v,
        )

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        plain = self.loss.curvatures(y, m, np.zeros_like(v))
        noisy = self.loss.curvatures(y, m, v)
        return Curvatures(
            self.plain_weight * plain.mm + self.noisy_weight * noisy.mm,
            self.noisy_weight * noisy.mv,
            self.noisy_weight * noisy.vv,
        )
