"""Laplace noise: measurement errors with heavier tails than the Gaussian's."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import Array
from noiseproof.noise.base import Cumulants, Noise, VarianceLaw


@shared_docs
class Laplace(Noise):
    """Add Laplace errors: x~ = x + s e, where e has the density exp(-abs(e)) / 2.

    The variance is 2 s², and the cumulant function is t x - log(1 - s² t²), which is
    finite for abs(s t) < 1.

    Parameters
    ----------
    scale : float or array of shape (n_features,), default=1.0
        Mean absolute deviation s.

    See Also
    --------
    Gaussian : Adds errors with lighter tails.

    {References: Maaten 2013}

    Examples
    --------
    >>> from noiseproof.noise import Laplace
    >>> Laplace(1.0).variance([1.0, 5.0])
    array([2., 2.])
    """

    level_name = "scale"
    is_additive = True

    def __init__(self, scale: float | ArrayLike = 1.0):
        self.scale = scale

    def variance_law(self) -> VarianceLaw:
        return VarianceLaw(2 * self.level**2, 0.0, power=2)

    def max_slope(self) -> float | Array:
        with np.errstate(divide="ignore"):
            slope = np.divide(1.0, self.level)
        return float(slope) if np.ndim(slope) == 0 else slope

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        s2 = self.level**2
        room = 1 - s2 * t**2
        inside = room > 0
        room = np.where(inside, room, 1.0)
        value = np.where(inside, t * x - np.log(room), np.inf)
        curvature = 2 * s2 * (1 + s2 * t**2) / room**2
        return Cumulants(value, x + 2 * s2 * t / room, curvature)

    def _sample_entries(self, x: Array, rng: np.random.Generator) -> Array:
        return x + self.level * rng.laplace(size=x.shape)
