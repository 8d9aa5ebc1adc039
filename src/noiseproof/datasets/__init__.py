"""Data: generators, and loaders of the papers' data from a folder of the user's."""

from __future__ import annotations

from noiseproof.datasets.imdb import load_imdb
from noiseproof.datasets.leaky_labels import make_leaky_labels
from noiseproof.datasets.mnist import load_mnist
from noiseproof.datasets.rare_features import make_rare_features
from noiseproof.datasets.spambase import load_spambase
from noiseproof.datasets.text import load_texts

__all__ = [
    "load_imdb",
    "load_mnist",
    "load_spambase",
    "load_texts",
    "make_leaky_labels",
    "make_rare_features",
]
