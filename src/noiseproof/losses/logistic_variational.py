"""Logistic loss under noise, by the variational bound."""

from __future__ import annotations

import numpy as np

from noiseproof.losses.base import Array, Curvatures, Exactness, MomentLoss, Slopes
from noiseproof.noise import Noise


class LogisticVariational(MomentLoss):
    """log(2 cosh(s/2)) - y m/2, s = √(m² + v).

    Chen et al. 2014, eq. (17) with the Polya-Gamma variables eliminated in closed
    form. log(2 cosh(√u/2)) is concave in u, so Jensen's inequality on u = score²
    makes it an upper bound of the expectation. The first derivative in u is half the
    weight of eq. (22): tanh(s/2) / (4 s).
    """

    has_majorizer = True
    label_free_penalty = True

    def exactness(self, noise: Noise) -> Exactness:
        return "bound"

    def value(self, y: Array, m: Array, v: Array) -> Array:
        s = np.sqrt(m * m + v)
        agreement = y * m
        # s - y m cancels where y m > 0: there it equals v / (s + y m)
        gap = np.where(
            agreement > 0, v / np.where(agreement > 0, s + agreement, 1), s - agreement
        )
        return 0.5 * gap + np.log1p(np.exp(-s))

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        slope = _slope(np.sqrt(m * m + v))
        return Slopes(2 * m * slope - 0.5 * y, slope)

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        s = np.sqrt(m * m + v)
        slope, bend = _slope(s), _bend(s)
        return Curvatures(2 * slope + 4 * m * m * bend, 2 * m * bend, bend)


def _slope(s: Array) -> Array:
    """First derivative in u = s² of log(2 cosh(s/2)); 1/8 at s = 0."""
    safe = np.maximum(s, 1e-8)
    return np.tanh(0.5 * safe) / (4 * safe)


def _bend(s: Array) -> Array:
    """Second derivative in u = s² of log(2 cosh(s/2)); by its series near 0."""
    safe = np.maximum(s, 0.02)
    t = np.tanh(0.5 * safe)
    bend = (0.5 * safe * (1 - t * t) - t) / (8 * safe**3)
    return np.where(s < 0.02, -1 / 96 + s * s / 480, bend)
