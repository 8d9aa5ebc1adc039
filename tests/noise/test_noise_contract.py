"""What every noise promises, over the registry."""

import numpy as np
import pytest
import scipy.sparse as sp
from numerics import derivative, standard_error
from problems import accepts_negative, features, noises
from sklearn.base import clone

from noiseproof.noise import NOISES, Dropout, Gaussian, Poisson, as_noise

D = 4
DRAWS = 200_000
DENSE = [np.float32, np.float64]
SPARSE = [sp.csr_matrix, sp.csr_array]
SPARSE_NOISES = [p for p in noises(D) if not p.values[0].is_additive]
ADDITIVE_NOISES = [p for p in noises(D) if p.values[0].is_additive]

every_noise = pytest.mark.parametrize("noise", noises(D))


def _values(noise):
    x = np.array([0.5, 0.0, 2.0, -1.5])
    return x if accepts_negative(noise) else np.abs(x)


def _draws(noise):
    return noise.sample(np.tile(_values(noise), (DRAWS, 1)), rng=0)


@every_noise
def test_sample_mean_is_the_clean_value(noise):
    draws = _draws(noise)
    error = np.abs(draws.mean(axis=0) - _values(noise))
    assert np.all(error <= 4 * standard_error(draws) + 1e-12)


@every_noise
def test_sample_variance_is_the_variance(noise):
    draws = _draws(noise)
    squares = (draws - _values(noise)) ** 2
    error = np.abs(squares.mean(axis=0) - noise.variance(_values(noise)))
    assert np.all(error <= 4 * standard_error(squares) + 1e-12)
    assert noise.variance(_values(noise)).max() > 0.05


@pytest.mark.parametrize("t", [-0.7, 0.4])
@every_noise
def test_cgf_is_the_log_of_the_mean_exponential(noise, t):
    exponentials = np.exp(t * _draws(noise))
    error = np.abs(exponentials.mean(axis=0) - np.exp(noise.cgf(_values(noise), t)))
    assert np.all(error <= 4 * standard_error(exponentials) + 1e-12)


@every_noise
def test_cgf_vanishes_at_zero(noise):
    np.testing.assert_allclose(noise.cgf(_values(noise), 0.0), 0.0, atol=1e-15)


@every_noise
def test_cumulants_are_the_cgf_and_its_derivatives(noise):
    x, t = _values(noise), np.array([[-1.2], [-0.3], [0.0], [0.8]])
    value, slope, curvature = noise.cumulants(x, t + 0 * x)
    np.testing.assert_allclose(value, noise.cgf(x, t), rtol=1e-13)
    numeric = derivative(lambda u: noise.cumulants(x, u).value, t + 0 * x, 1e-3)
    np.testing.assert_allclose(slope, numeric, rtol=1e-8, atol=1e-10)
    numeric = derivative(lambda u: noise.cumulants(x, u).slope, t + 0 * x, 1e-3)
    np.testing.assert_allclose(curvature, numeric, rtol=1e-8, atol=1e-10)


@every_noise
def test_cumulants_at_zero_are_mean_and_variance(noise):
    x = _values(noise)
    _, slope, curvature = noise.cumulants(x, np.zeros_like(x))
    np.testing.assert_allclose(slope, x, rtol=1e-13)
    np.testing.assert_allclose(curvature, noise.variance(x), rtol=1e-13)


@every_noise
def test_far_slopes_are_infinite_or_finite_but_never_nan(noise):
    x = _values(noise)
    for t in (-1e4, 1e4):
        assert not np.isnan(noise.cumulants(x, np.full(D, t)).value).any()


@every_noise
def test_level_zero_is_no_noise(noise, rng):
    none = noise.at(0.0)
    X = features(noise, rng, 5, D)
    np.testing.assert_allclose(none.sample(X, 0), X)
    np.testing.assert_allclose(none.variance(X), 0.0)
    np.testing.assert_allclose(none.cgf(X, 0.7), 0.7 * X, atol=1e-15)


@pytest.mark.parametrize("dtype", DENSE)
@every_noise
def test_sample_keeps_dense_container(noise, dtype, rng):
    X = features(noise, rng, 6, D).astype(dtype)
    X.flags.writeable = False
    before = X.copy()
    noisy = noise.sample(X, 0)
    assert type(noisy) is np.ndarray
    assert noisy.dtype == dtype
    assert noisy.shape == X.shape
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("dtype", DENSE)
@pytest.mark.parametrize("container", SPARSE)
@pytest.mark.parametrize("noise", SPARSE_NOISES)
def test_sample_keeps_sparse_container_and_its_zeros(noise, container, dtype, rng):
    X = container(features(noise, rng, 60, D, density=0.4), dtype=dtype)
    before = X.toarray()
    noisy = noise.sample(X, 0)
    assert type(noisy) is container
    assert noisy.dtype == dtype
    assert not noisy.toarray()[before == 0].any()
    assert np.any(noisy.toarray() != before)
    np.testing.assert_array_equal(X.toarray(), before)


@pytest.mark.parametrize("noise", SPARSE_NOISES)
def test_sparse_entries_get_the_noise_of_their_feature(noise):
    x = np.abs(_values(noise))
    draws = noise.sample(sp.csr_array(np.tile(x, (50_000, 1))), rng=1).toarray()
    squares = (draws - x) ** 2
    error = np.abs(squares.mean(axis=0) - noise.variance(x))
    assert np.all(error <= 4 * standard_error(squares) + 1e-12)


@pytest.mark.parametrize("noise", SPARSE_NOISES)
def test_other_sparse_formats_come_back_as_csr(noise, rng):
    X = sp.csr_array(features(noise, rng, 20, D))
    noisy = noise.sample(X.tocsc(), 0)
    assert type(noisy) is sp.csr_array
    np.testing.assert_array_equal(noisy.toarray(), noise.sample(X, 0).toarray())


@pytest.mark.parametrize("noise", ADDITIVE_NOISES)
def test_additive_noise_refuses_sparse(noise):
    with pytest.raises(TypeError, match="would replace every zero of a sparse matrix"):
        noise.sample(sp.csr_array(np.eye(D)), 0)


@every_noise
def test_missing_stays_missing(noise, rng):
    X = features(noise, rng, 8, D)
    X[2, 1] = X[5, 3] = np.nan
    np.testing.assert_array_equal(np.isnan(noise.sample(X, 0)), np.isnan(X))


@pytest.mark.parametrize("noise", SPARSE_NOISES)
def test_missing_stays_missing_in_sparse(noise, rng):
    X = features(noise, rng, 8, D)
    X[2, 1] = np.nan
    noisy = noise.sample(sp.csr_array(X), 0).toarray()
    np.testing.assert_array_equal(np.isnan(noisy), np.isnan(X))


@every_noise
def test_seed_decides_the_sample(noise, rng):
    X = features(noise, rng, 20, D)
    np.testing.assert_array_equal(noise.sample(X, 3), noise.sample(X, 3))
    assert np.any(noise.sample(X, 3) != noise.sample(X, 4))


def test_integers_become_floats():
    noisy = Dropout(0.25).sample(np.full((50, 1), 3), 0)
    assert set(np.unique(noisy)) == {0.0, 4.0}


@every_noise
def test_at_changes_the_level_of_a_copy(noise):
    before = np.copy(noise.level)
    other = noise.at(0.2)
    assert type(other) is type(noise)
    assert other.level == 0.2
    np.testing.assert_array_equal(noise.level, before)


@every_noise
def test_clone_and_parameters(noise):
    copy = clone(noise)
    np.testing.assert_array_equal(copy.level, noise.level)
    assert set(noise.get_params()) - {"groups"} == {noise.level_name}


@every_noise
def test_take_is_the_noise_of_some_features(noise):
    x = np.abs(_values(noise))
    columns = np.array([3, 0, 3])
    np.testing.assert_allclose(
        noise.take(columns).variance(x[columns]), noise.variance(x)[columns]
    )


@pytest.mark.parametrize("law", NOISES.values(), ids=list(NOISES))
@pytest.mark.parametrize("level", [-0.1, np.nan, np.inf, [0.1, -0.1, 0.1, 0.1]])
def test_bad_levels(law, level):
    noise = law().at(level)
    for act in (noise.check, lambda: noise.variance(np.ones(D))):
        with pytest.raises(ValueError, match="must be finite and not negative; got"):
            act()


@pytest.mark.parametrize("law", NOISES.values(), ids=list(NOISES))
@pytest.mark.parametrize("level", [[0.1, 0.2], [[0.1] * D]])
def test_levels_of_wrong_shape(law, level):
    noise = law().at(level)
    message = "a number, or have one value for each feature; got"
    with pytest.raises(ValueError, match=message):
        noise.variance(np.ones(D))
    with pytest.raises(ValueError, match=message):
        noise.sample(np.ones((3, D)), 0)


@pytest.mark.parametrize("rate", [1, 1.0, 1.5, [0.1, 1.0]])
def test_dropout_rate_outside(rate):
    with pytest.raises(ValueError, match=r"Dropout.rate must be in \[0, 1\); got"):
        Dropout(rate).check()


def test_poisson_refuses_negative_features():
    X = np.array([[1.0, -2.0]])
    message = "needs non-negative features, but X has a minimum of -2"
    for act in (Poisson().variance, Poisson().sample):
        with pytest.raises(ValueError, match=message):
            act(X)
    with pytest.raises(ValueError, match=message):
        Poisson().cgf(X, 0.1)
    with pytest.raises(ValueError, match=message):
        Poisson().sample(sp.csr_array(X))


@pytest.mark.parametrize(("scale", "t"), [(1.0, 1.0), (2.0, -0.5), ([0.1, 2.0], 0.5)])
def test_laplace_cgf_outside_its_domain(scale, t):
    with pytest.raises(ValueError, match="finite only if abs"):
        NOISES["laplace"](scale).cgf(np.zeros(2), t)


def test_a_number_is_a_dropout_rate():
    assert as_noise(0.3).rate == 0.3
    assert as_noise(np.float32(0.5)).rate == 0.5
    assert as_noise(None).rate == 0.0
    noise = Gaussian(2.0)
    assert as_noise(noise) is noise


@pytest.mark.parametrize("value", [True, "dropout", [0.1, 0.2], Gaussian])
def test_what_is_no_noise(value):
    with pytest.raises(TypeError, match="noise must be a number"):
        as_noise(value)
