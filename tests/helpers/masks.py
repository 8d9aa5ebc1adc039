"""Values that are missing at random, by another column, or by what they are."""

import numpy as np
from scipy.special import expit


def _mcar(Z, rate):
    return np.full(Z.shape, rate)


def _mar(Z, rate):
    """More often where the last column, which stays, is large."""
    chances = np.repeat(_rising(Z[:, -1:], rate), Z.shape[1], axis=1)
    chances[:, -1] = 0.0
    return chances


def _mnar(Z, rate):
    """More often where the value itself is large."""
    return _rising(Z, rate)


def _rising(Z, rate):
    return expit(np.log(rate / (1 - rate)) + Z)


MECHANISMS = {"mcar": _mcar, "mar": _mar, "mnar": _mnar}


def masked(X, mechanism, rng, rate=0.3):
    """X with missing values."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    gone = rng.random(X.shape) < MECHANISMS[mechanism](Z, rate)
    return np.where(gone, np.nan, X)
