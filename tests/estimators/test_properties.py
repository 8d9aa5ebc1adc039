"""What must hold on any data, searched by Hypothesis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import CONVEX_KEYS, dataset, loss_key, marginal_models, noises, problem
from sklearn.base import clone

from noiseproof._marginal import Problem
from noiseproof._marginal.losses import LOSSES
from noiseproof._rows import as_design
from noiseproof.noise import NOISES

D = 4
TOL = 1e-12
CONVEX = [p for p in marginal_models() if LOSSES[loss_key(p.values[0])].convex]

few = settings(max_examples=3, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
convex_model = pytest.mark.parametrize("model", CONVEX)


def _case(model, seed, **parameters):
    rng = np.random.default_rng(seed)
    X, y = dataset(model, rng, n=30, d=D)
    return clone(model).set_params(tol=TOL, **parameters), X, y, rng


def _same(model, other, factor=1.0, rtol=1e-9):
    assert other.objective_ == pytest.approx(factor * model.objective_, rel=rtol)


@convex_model
@few
@given(seed=seeds)
def test_order_of_rows_does_not_matter(model, seed):
    model, X, y, rng = _case(model, seed, noise=0.3)
    order = rng.permutation(len(y))
    one, other = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    _same(one, other)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)


@convex_model
@few
@given(seed=seeds)
def test_permuted_features_permute_the_answer(model, seed):
    rates = np.linspace(0.1, 0.6, D)
    model, X, y, rng = _case(model, seed)
    order = rng.permutation(D)
    law = NOISES["dropout"]
    one = clone(model).set_params(noise=law(rates)).fit(X, y)
    other = clone(model).set_params(noise=law(rates[order])).fit(X[:, order], y)
    _same(one, other)
    np.testing.assert_allclose(
        np.ravel(one.coef_)[order], np.ravel(other.coef_), atol=1e-4
    )


@convex_model
@few
@given(seed=seeds)
def test_repeated_rows_are_weights(model, seed):
    model, X, y, rng = _case(model, seed, noise=0.3)
    counts = np.maximum(rng.integers(0, 4, size=len(y)), np.arange(len(y)) < 15)
    one = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    _same(one, clone(model).fit(X, y, sample_weight=counts))


@pytest.mark.parametrize("law", NOISES.values(), ids=list(NOISES))
@convex_model
@settings(few, max_examples=2)
@given(seed=seeds, factor=st.floats(0.2, 5.0))
def test_units_of_the_features_do_not_matter(model, law, seed, factor):
    """Scores stay if X and the noise grow by s and the weights shrink by s.

    The penalty then shrinks by s², and so must C. Dropout has no unit of its own.
    """
    model, X, y, _ = _case(model, seed)
    noise = law().at(0.3)
    scaled = noise if noise.level_name == "rate" else noise.at(0.3 * factor)
    one = clone(model).set_params(noise=noise, C=1.5).fit(X, y)
    other = clone(model).set_params(noise=scaled, C=1.5 / factor**2).fit(factor * X, y)
    _same(one, other, factor=factor**-2)
    np.testing.assert_allclose(other.coef_ * factor, one.coef_, atol=1e-4)


@convex_model
@few
@given(seed=seeds, shift=st.floats(-0.5, 3.0))
def test_c_and_weights_are_one(model, seed, shift):
    model, X, y, _ = _case(model, seed, noise=0.3)
    C = np.exp(shift)
    one = clone(model).set_params(C=C).fit(X, y)
    _same(one, clone(model).fit(X, y, sample_weight=np.full(len(y), C)))


@pytest.mark.parametrize("noise", noises(D))
@pytest.mark.parametrize("key", CONVEX_KEYS)
@settings(few, max_examples=3)
@given(seed=seeds)
def test_noise_never_pays(key, noise, seed):
    """Clean objective <= noisy one at the same θ (Jensen's inequality)."""
    rng = np.random.default_rng(seed)
    noisy, theta, (X, y, weights) = problem(key, noise, rng)
    loss = LOSSES[key]()
    clean = Problem(as_design(X), y, weights, noise.at(0.0), loss, True).objective()
    assert np.all(clean.at(theta).value <= noisy.at(theta).value * (1 + 1e-12))


@convex_model
@few
@given(seed=seeds)
def test_more_noise_costs_more(model, seed):
    model, X, y, _ = _case(model, seed)
    costs = [
        clone(model).set_params(noise=rate).fit(X, y).objective_
        for rate in (0.0, 0.3, 0.6)
    ]
    assert np.all(np.diff(costs) > 0)


@pytest.mark.parametrize("model", marginal_models("classifier"))
@few
@given(seed=seeds)
def test_swapped_labels_flip_the_scores(model, seed):
    model, X, y, _ = _case(model, seed, noise=0.3)
    one, other = clone(model).fit(X, y), clone(model).fit(X, 1 - y)
    _same(one, other)
    np.testing.assert_allclose(one.coef_, -other.coef_, atol=1e-4)
