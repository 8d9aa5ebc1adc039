"""Dropout: a feature is lost, or scaled up to make up for the losses."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from noiseproof._rows import Array
from noiseproof.noise.base import Cumulants, Noise, VarianceLaw


class Dropout(Noise):
    """Each feature is 0 with probability q, else x / (1 - q).

    Variance q / (1 - q) x² (Chen et al. 2014, "Experiments"; the same without the
    stray 1/2 of Wager et al. 2013 eq. 9); cumulant function
    log(q + (1 - q) exp(t x / (1 - q))).

    Parameters
    ----------
    rate : float or array of shape (n_features,), default=0.5
        Probability q of losing the feature, in [0, 1).

    Examples
    --------
    >>> from noiseproof.noise import Dropout
    >>> Dropout(0.5).variance([1.0, 2.0])
    array([1., 4.])
    """

    level_name = "rate"
    _levels = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

    def __init__(self, rate: float | ArrayLike = 0.5):
        self.rate = rate

    def variance_law(self) -> VarianceLaw:
        q = self.level
        return VarianceLaw(0.0, q / (1 - q), power=2)

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        q = self.level
        with np.errstate(divide="ignore"):  # log 0 = -inf is right at q = 0
            log_q = np.log(q)
        log_kept = np.log1p(-q) + t * x / (1 - q)
        kept = expit(log_kept - log_q)  # probability of "kept" under the tilted law
        jump = x / (1 - q)
        value = np.logaddexp(log_q, log_kept)
        return Cumulants(value, jump * kept, jump**2 * kept * (1 - kept))

    def _sample_entries(self, x: Array, rng: np.random.Generator) -> Array:
        q = self.level
        kept = rng.random(x.shape) >= q
        return np.where(kept | np.isnan(x), x / (1 - q), 0.0)

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        super().check(n_features, minimum)
        if np.any(np.asarray(self.level) >= 1):
            raise ValueError(
                f"Dropout.rate must be in [0, 1); got {self.rate!r}: a feature that is "
                "always lost should be removed from X."
            )


def as_noise(noise: Any) -> Noise:
    """Noise object from a number (dropout rate), a noise object or None (no noise)."""
    if noise is None:
        return Dropout(0.0)
    if isinstance(noise, Real) and not isinstance(noise, bool):
        return Dropout(float(noise))
    if isinstance(noise, Noise):
        return noise
    raise TypeError(
        "noise must be a number (a dropout rate), None or a noise object such as "
        f"noiseproof.noise.Gaussian(0.1); got {noise!r}."
    )
