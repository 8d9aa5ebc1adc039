"""Noise: what may happen to a feature, on average, after training."""

from __future__ import annotations

from numbers import Real
from typing import Any

from noiseproof.noise.base import Cumulants, Noise, VarianceLaw
from noiseproof.noise.dropout import Dropout
from noiseproof.noise.gaussian import Gaussian
from noiseproof.noise.laplace import Laplace
from noiseproof.noise.missing import Missing
from noiseproof.noise.poisson import Poisson

NOISES: dict[str, type[Noise]] = {
    "dropout": Dropout,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "poisson": Poisson,
}


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


__all__ = [
    "NOISES",
    "Cumulants",
    "Dropout",
    "Gaussian",
    "Laplace",
    "Missing",
    "Noise",
    "Poisson",
    "VarianceLaw",
    "as_noise",
]
