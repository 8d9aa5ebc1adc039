"""The Gaussian law, against direct computations."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import toeplitz

from noiseproof.conditionals import JointGaussian
from noiseproof.conditionals.regression import (
    FactorRegression,
    FullRegression,
    _noise,
    _shrunk,
)

D = 6


@pytest.fixture
def law(rng):
    """A law, the covariance that it has learnt, and its mean."""
    X = rng.normal(size=(300, D)) @ rng.normal(size=(D, D)) + rng.normal(size=D)
    return JointGaussian(shrinkage=0.0).fit(X), np.cov(X.T, bias=True), X.mean(axis=0)


def _by_hand(covariance, mean, row):
    """Mean and covariance of the missing cells."""
    gone = np.isnan(row)
    gain = np.linalg.solve(covariance[~gone][:, ~gone], covariance[~gone][:, gone]).T
    expected = mean[gone] + gain @ (row - mean)[~gone]
    return gone, expected, covariance[gone][:, gone] - gain @ covariance[~gone][:, gone]


PATTERNS = [np.array(pattern) for pattern in product([False, True], repeat=D)]


def test_every_pattern_of_six_features(law, rng):
    model, covariance, mean = law
    coef, intercept = rng.normal(size=(3, D)), rng.normal(size=3)
    X = mean + rng.normal(size=(len(PATTERNS), D))
    Q = np.where(PATTERNS, np.nan, X)
    filled = model.mean(Q)
    scores, left = model.scores(Q, coef, intercept)
    for i, row in enumerate(Q):
        gone, expected, rest = _by_hand(covariance, mean, row)
        np.testing.assert_allclose(filled[i, gone], expected, atol=1e-8)
        by_hand = coef @ filled[i] + intercept
        np.testing.assert_allclose(scores[i], by_hand, atol=1e-8)
        by_hand = coef[:, gone] @ rest @ coef[:, gone].T
        np.testing.assert_allclose(left[i], by_hand, atol=1e-8)


def test_draws_have_the_covariance_that_is_left(law):
    model, covariance, mean = law
    row = np.where(np.arange(D) % 2, np.nan, mean + 0.5)
    gone, expected, rest = _by_hand(covariance, mean, row)
    rows = model.draws(row[None], 20_000).rows[:, gone]
    np.testing.assert_allclose(rows.mean(axis=0), expected, atol=1e-8)
    np.testing.assert_allclose(np.cov(rows.T, bias=True), rest, atol=0.05 * rest.max())


def test_an_odd_number_of_draws_has_the_same_spread(law):
    model, _, mean = law
    row = np.where(np.arange(D) % 2, np.nan, mean + 0.5)[None]
    even, odd = model.draws(row, 2000).rows, model.draws(row, 2001).rows
    np.testing.assert_allclose(odd.std(axis=0), even.std(axis=0), rtol=1e-3)


def test_factors_are_the_same_law_as_their_covariance(rng):
    factors, rest = rng.normal(size=(9, 3)), rng.uniform(0.1, 1.0, size=9)
    few = FactorRegression(factors, rest)
    full = FullRegression(factors @ factors.T + np.diag(rest))
    observed = rng.random((40, 9)) < 0.5
    observed[0], observed[1] = True, False
    rows = rng.normal(size=(40, 4, 9))
    np.testing.assert_allclose(
        few.expected(observed, rows), full.expected(observed, rows), atol=1e-8
    )
    np.testing.assert_allclose(few.times(rows), full.times(rows), atol=1e-8)
    assert few.effective_share() == pytest.approx(full.effective_share())
    sample = few.sample(100_000, rng, np.arange(len(rest)))
    np.testing.assert_allclose(np.cov(sample.T), full.covariance, atol=0.1)


@pytest.mark.parametrize("d", [300, 4000])
def test_factors_are_found_in_many_features(d, rng):
    loadings = rng.normal(size=(3, d))
    X = rng.normal(size=(400, 3)) @ loadings + 0.5 * rng.normal(size=(400, d))
    truth = rng.normal(size=(20, 3)) @ loadings
    Q = np.where(rng.random(truth.shape) < 0.5, np.nan, truth)
    model = JointGaussian().fit(X)
    assert isinstance(model.regression_, FactorRegression)
    assert model.regression_.factors.shape[1] <= 64
    error = (model.mean(Q) - truth)[np.isnan(Q)]
    assert np.sqrt(np.mean(error**2)) < 0.15 * X.std()
    assert JointGaussian(rank=3).fit(X).regression_.factors.shape == (d, 3)


def test_shrinkage_grows_with_noise(rng):
    def off_diagonal(n):
        X = rng.normal(size=(n, 20))
        S = JointGaussian().fit(X).regression_.covariance
        return np.abs(S - np.diag(np.diag(S))).mean()

    assert off_diagonal(30) < 0.05  # sample correlations are about 0.14
    X = rng.normal(size=(5000, 2)) @ [[1.0, 0.9], [0.0, 0.4]]
    S = JointGaussian().fit(X).regression_.covariance
    assert S[0, 1] == pytest.approx(np.corrcoef(X.T)[0, 1], abs=0.01)
    assert JointGaussian(shrinkage=1.0).fit(X).regression_.covariance[0, 1] == 0


def test_words_are_refused():
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(ValueError, match="Column b of X holds text, which JointG"):
        JointGaussian().fit(frame)


def test_correlated_features_repeat_each_other():
    alone = FullRegression(np.eye(8)).effective_share()
    assert alone == pytest.approx(1.0)
    together = FullRegression(toeplitz(0.9 ** np.arange(8))).effective_share()
    assert 1 / 8 < together < 0.5


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.99])
def test_noise_of_correlations_by_monte_carlo(rho):
    """Also where features are heavy-tailed, and in units other than their own."""
    rng = np.random.default_rng(0)
    n, found, told = 400, [], []
    for _ in range(400):
        x, e = rng.laplace(size=(2, n))
        Z = np.column_stack([x, rho * x + (1 - rho**2) ** 0.5 * e])
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0) * [1.0, 3.0]
        covariance = Z.T @ Z / n
        found.append(covariance[0, 1])
        told.append(_noise(Z, np.full((2, 2), float(n)), covariance)[0, 1])
    assert np.mean(told) == pytest.approx(np.var(found), rel=0.2)


def test_features_that_repeat_each_other_are_hardly_shrunk(rng):
    x = rng.normal(size=(200, 1))
    Z = x + 0.05 * rng.normal(size=(200, 3))
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    assert _shrunk(Z, np.ones(Z.shape, dtype=bool), "auto")[1] < 1e-4
    noise = rng.normal(size=(200, 3))
    assert _shrunk(noise, np.ones(noise.shape, dtype=bool), "auto")[1] > 0.3


def test_draws_do_not_depend_on_the_rotation_of_factors(rng):
    """Eigenvectors come with any sign, and with any rotation if values are equal."""
    F, rest = rng.normal(size=(6, 2)), rng.uniform(0.1, 1.0, size=6)
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    one, other = (
        FactorRegression(factors, rest).sample(
            200_000, np.random.default_rng(1), np.arange(6)
        )
        for factors in (F, F @ turn)
    )
    np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(np.cov(one.T), F @ F.T + np.diag(rest), atol=0.05)
