"""Poisson noise: counts are drawn again from a Poisson distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import Array, exprel
from noiseproof.noise.base import Cumulants, Noise, VarianceLaw


@shared_docs
class Poisson(Noise):
    """Draw counts again: x~ = s Poisson(x / s) for x >= 0.

    The variance is s x, and the cumulant function is x (exp(s t) - 1) / s.

    Parameters
    ----------
    scale : float or array of shape (n_features,), default=1.0
        Size s of one count. The noise vanishes as s -> 0.

    See Also
    --------
    Gaussian : Adds errors whose size does not depend on the value.

    {References: Maaten 2013}

    Examples
    --------
    >>> from noiseproof.noise import Poisson
    >>> Poisson().variance([1.0, 5.0])
    array([1., 5.])
    """

    level_name = "scale"

    def __init__(self, scale: float | ArrayLike = 1.0):
        self.scale = scale

    def variance_law(self) -> VarianceLaw:
        return VarianceLaw(0.0, self.level, power=1)

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        s = self.level
        # the value may be infinite, which makes solvers take smaller steps; at x = 0 it
        # is zero
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.where(x == 0, 0.0, x * np.exp(s * t))
            # (exp(u) - 1) / u with its limit 1, so that s = 0 means no noise
            value = np.where(x == 0, 0.0, x * t * exprel(s * t))
        return Cumulants(value, slope, s * slope)

    def _sample_entries(self, x: Array, rng: np.random.Generator) -> Array:
        s = np.broadcast_to(self.level, x.shape)
        noisy = (s > 0) & ~np.isnan(x)
        out = x.copy()
        out[noisy] = s[noisy] * rng.poisson(x[noisy] / s[noisy])
        return out

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        super().check(n_features, minimum)
        if minimum < 0:
            raise ValueError(
                "Poisson noise needs non-negative features, but X has a minimum of "
                f"{minimum:g}; shift X or use another noise."
            )
