"""The noising penalty against Monte Carlo and the identities of Wager et al. 2013."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

import noiseproof
from noiseproof.noise import Dropout, Gaussian, Laplace, Poisson

NOISES = [Dropout(0.3), Gaussian(0.4), Laplace(0.2), Poisson(0.5)]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    return abs(rng.normal(size=(30, 4))), 0.5 * rng.normal(size=4)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("loss", ["linear", "poisson"])
def test_exact_penalties_equal_monte_carlo(problem, noise, loss):
    X, coef = problem
    found = noiseproof.penalty(loss, "exact", noise, X, coef, 0.1)
    mean, error = found.monte_carlo(4000, random_state=0)
    assert abs(found.value - mean) < 4 * error


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_variational_penalty_is_an_upper_bound(problem, noise):
    X, coef = problem
    found = noiseproof.penalty("logistic", "variational", noise, X, coef)
    mean, error = found.monte_carlo(4000, random_state=0)
    assert found.value > mean - 4 * error


def test_gaussian_noise_is_exact_for_the_gaussian_expectation(problem):
    X, coef = problem
    found = noiseproof.penalty("logistic", "gaussian", Gaussian(0.8), X, coef)
    mean, error = found.monte_carlo(4000, random_state=0)
    assert abs(found.value - mean) < 4 * error


def test_quadratic_penalty_is_equation_12(problem):
    X, coef = problem
    found = noiseproof.penalty("logistic", "gaussian", 0.3, X, coef, 0.2)
    p = expit(X @ coef + 0.2)
    expected = 0.5 * 0.3 / 0.7 * np.sum((p * (1 - p))[:, None] * X**2 * coef**2)
    assert found.quadratic == pytest.approx(expected)


def test_linear_penalty_under_additive_noise_is_ridge(problem):
    X, coef = problem
    found = noiseproof.penalty("linear", "exact", Gaussian(0.4), X, coef)
    assert found.value == pytest.approx(0.5 * 0.4**2 * len(X) * coef @ coef)
    assert found.quadratic == pytest.approx(found.value)


def test_quadratic_approximation_becomes_exact_for_small_noise(problem):
    X, coef = problem
    gaps = []
    for scale in (0.4, 0.04):
        r = noiseproof.penalty("logistic", "gaussian", Gaussian(scale), X, coef)
        gaps.append(abs(r.quadratic / r.value - 1))
    assert gaps[1] < 0.02 * gaps[0]


def test_sparse_equals_dense(problem):
    X, coef = problem
    X = X * (X > 0.5)
    for noise in (Dropout(0.3), Gaussian(0.4)):
        dense = noiseproof.penalty("poisson", "exact", noise, X, coef)
        sparse = noiseproof.penalty("poisson", "exact", noise, sp.csr_array(X), coef)
        assert sparse.value == pytest.approx(dense.value)


def test_bad_input(problem):
    X, coef = problem
    with pytest.raises(ValueError, match="is no GLM"):
        noiseproof.penalty("hinge", "variational", 0.5, X, coef)
    with pytest.raises(ValueError, match="depends on the labels"):
        noiseproof.penalty("logistic", "jensen", 0.5, X, coef)
    with pytest.raises(ValueError, match="use one of"):
        noiseproof.penalty("logistic", "magic", 0.5, X, coef)
