"""Each loss says exact, bound or approximation; Monte Carlo holds it to its word."""

import numpy as np
import pytest
import reference
from numerics import derivative, standard_error
from problems import LOSS_KEYS, accepts_negative, noises

from noiseproof._marginal.losses import LOSSES
from noiseproof._marginal.moment import MomentLoss

D = 4
DRAWS = 100_000
W = np.array([0.9, -0.7, 0.5, -1.1])
B = 0.4

_cache = {}


def _rows(noise):
    """A few rows, and many noisy copies of each: (rows, D) and (draws, rows, D)."""
    if repr(noise) not in _cache:
        X = np.random.default_rng(1).normal(size=(3, D))
        X = X if accepts_negative(noise) else np.abs(X)
        draws = noise.sample(np.tile(X, (DRAWS, 1)), rng=2)
        _cache[repr(noise)] = X, draws.reshape(DRAWS, *X.shape)
    return _cache[repr(noise)]


def _targets(loss):
    return np.array([-1.0, 1.0, 1.0] if loss.task == "classification" else [0, 2.0, 1])


def _closure(loss, noise, X, y, w):
    m = X @ w + B
    if isinstance(loss, MomentLoss):
        return loss.value(y, m, noise.variance(X) @ w**2)
    signs = loss.slope(y)
    K = signs * B + noise.cgf(X, signs[:, None] * w).sum(axis=1)
    return loss.value(K) + loss.linear(y) * m


def _gaps(key, noise):
    """Closure minus expectation for each row, with its standard error."""
    loss = LOSSES[key]()
    X, draws = _rows(noise)
    y = _targets(loss)
    sampled = reference.TEXTBOOK[key[0]](y, draws @ W + B)
    gap = _closure(loss, noise, X, y, W) - sampled.mean(axis=0)
    return gap, standard_error(sampled)


def _small_noise_gaps(key, noise, shrink):
    """The same for weights shrunk so far that the noise hardly matters, over v.

    What is linear and quadratic in the noise has a known mean, so it is taken out of
    the samples: what is left is of the third order.
    """
    loss, textbook = LOSSES[key](), reference.TEXTBOOK[key[0]]
    (X, draws), y = _rows(noise), _targets(loss)
    w = shrink * W
    m, v = X @ w + B, noise.variance(X) @ w**2
    first = derivative(lambda m: textbook(y, m), m, 1e-3)
    second = derivative(
        lambda m: derivative(lambda s: textbook(y, s), m, 1e-3), m, 1e-3
    )
    e = (draws - X) @ w
    sampled = textbook(y, m + e) - first * e - second / 2 * (e**2 - v)
    gap = _closure(loss, noise, X, y, w) - sampled.mean(axis=0)
    return gap / v, standard_error(sampled) / v


def _check_exact(key, noise):
    gap, error = _gaps(key, noise)
    assert np.all(np.abs(gap) <= 4 * error)


def _check_bound(key, noise):
    gap, error = _gaps(key, noise)
    assert np.all(gap >= -4 * error)
    assert gap.max() > 4 * error.max()  # else it should call itself exact
    loss, X = LOSSES[key](), _rows(noise)[0]
    y = _targets(loss)
    tight = _closure(loss, noise.at(0.0), X, y, W)
    np.testing.assert_allclose(tight, reference.TEXTBOOK[key[0]](y, X @ W + B))


def _check_approximation(key, noise):
    gap, error = _small_noise_gaps(key, noise, shrink=0.02)
    assert np.all(np.abs(gap) <= 0.005 + 4 * error)
    assert error.max() < 0.001


_CHECKS = {
    "exact": _check_exact,
    "bound": _check_bound,
    "approximation": _check_approximation,
}


@pytest.mark.parametrize("noise", noises(D))
@pytest.mark.parametrize("key", LOSS_KEYS)
def test_the_published_word(key, noise):
    word = LOSSES[key]().exactness(noise)
    _CHECKS[word](key, noise)
