"""Generators of artificial data, and loaders of the papers' data."""

from __future__ import annotations

from noiseproof.datasets.generators import make_leaky_labels, make_rare_features
from noiseproof.datasets.loaders import PAIRS as PAIRS
from noiseproof.datasets.loaders import Imdb as Imdb
from noiseproof.datasets.loaders import Texts as Texts
from noiseproof.datasets.loaders import data_file as data_file
from noiseproof.datasets.loaders import load_imdb, load_mnist, load_spambase, load_texts

__all__ = [
    "load_imdb",
    "load_mnist",
    "load_spambase",
    "load_texts",
    "make_leaky_labels",
    "make_rare_features",
]
