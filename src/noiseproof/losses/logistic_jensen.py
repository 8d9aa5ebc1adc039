"""Logistic loss under noise, by Jensen's inequality (MCF-Logistic)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from noiseproof.losses.base import Array, CumulantLoss, Exactness
from noiseproof.noise import Noise


class LogisticJensen(CumulantLoss):
    """log(1 + exp K(-y)), K(c) = log E exp(c * noisy score).

    The bound of van der Maaten et al. 2013 that Chen et al. 2014 call MCF-Logistic:
    E log(1 + e^{-y score}) <= log(1 + E e^{-y score}).
    """

    def exactness(self, noise: Noise) -> Exactness:
        return "bound"

    def slope(self, y: Array) -> Array:
        return -y

    def value(self, K: Array) -> Array:
        return np.logaddexp(0, K)

    def derivatives(self, K: Array) -> tuple[Array, Array]:
        p = expit(K)
        return p, p * (1 - p)
