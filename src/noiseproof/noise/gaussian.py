"""Gaussian noise: measurement errors of a known size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import Array
from noiseproof.noise.base import Cumulants, Noise, VarianceLaw


@shared_docs
class Gaussian(Noise):
    """Add Gaussian errors: x~ = x + s e, where e is standard normal.

    The variance is s², and the cumulant function is t x + s² t² / 2.

    Parameters
    ----------
    scale : float or array of shape (n_features,), default=1.0
        Standard deviation s.

    See Also
    --------
    Laplace : Adds errors with heavier tails.
    Dropout : Sets features to zero at random.

    {References: Maaten 2013}

    Examples
    --------
    >>> from noiseproof.noise import Gaussian
    >>> Gaussian(2.0).variance([1.0, 5.0])
    array([4., 4.])
    """

    level_name = "scale"
    is_additive = True
    is_gaussian = True

    def __init__(self, scale: float | ArrayLike = 1.0):
        self.scale = scale

    def variance_law(self) -> VarianceLaw:
        return VarianceLaw(self.level**2, 0.0, power=2)

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        variance = self.level**2
        value = t * x + variance * t**2 / 2
        return Cumulants(value, x + variance * t, variance + np.zeros_like(value))

    def _sample_entries(self, x: Array, rng: np.random.Generator) -> Array:
        return x + self.level * rng.standard_normal(x.shape)
