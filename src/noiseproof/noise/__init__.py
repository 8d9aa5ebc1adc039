"""Noise: what may happen to a feature, on average, after training."""

from __future__ import annotations

from noiseproof.noise.base import Cumulants, Noise, VarianceLaw
from noiseproof.noise.dropout import Dropout
from noiseproof.noise.dropout import as_noise as as_noise
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
]
