"""Noise: what may happen to features after training, at random."""

from __future__ import annotations

from noiseproof.noise.base import Cumulants, Noise, VarianceLaw
from noiseproof.noise.dropout import Dropout
from noiseproof.noise.dropout import as_noise as as_noise
from noiseproof.noise.gaussian import Gaussian
from noiseproof.noise.laplace import Laplace
from noiseproof.noise.missing import Missing
from noiseproof.noise.missing_like import MissingLike
from noiseproof.noise.missingness import Missingness as Missingness
from noiseproof.noise.outages import Outages
from noiseproof.noise.poisson import Poisson

NOISES: dict[str, type[Noise]] = {
    "dropout": Dropout,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "poisson": Poisson,
}
# missing values have no mean to train with, so the Dropout estimators refuse these
MISSINGNESS: dict[str, type[Missingness]] = {
    "missing": Missing,
    "like": MissingLike,
    "outages": Outages,
}

__all__ = [
    "MISSINGNESS",
    "NOISES",
    "Cumulants",
    "Dropout",
    "Gaussian",
    "Laplace",
    "Missing",
    "MissingLike",
    "Noise",
    "Outages",
    "Poisson",
    "VarianceLaw",
]
