"""Without noise the models are scikit-learn's; with Gaussian noise, its ridge."""

import numpy as np
import pytest
import reference
from problems import dataset
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from noiseproof import (
    DropoutExponentialClassifier,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutRidgeClassifier,
    DropoutSVC,
)
from noiseproof._marginal.losses import expectations
from noiseproof.noise import NOISES, Gaussian

C = 0.8
TIGHT = {"C": C, "tol": 1e-13}
NO_NOISE = [None, 0, *(law().at(0.0) for law in NOISES.values())]

no_noise = pytest.mark.parametrize("noise", NO_NOISE, ids=str)
with_intercept = pytest.mark.parametrize("fit_intercept", [True, False])


@pytest.fixture
def weights(rng):
    return rng.uniform(0.2, 2.0, size=40)


def _same(model, witness, atol=1e-6):
    np.testing.assert_allclose(
        np.ravel(model.coef_), np.ravel(witness.coef_), atol=atol
    )
    np.testing.assert_allclose(model.intercept_, witness.intercept_, atol=atol)


@with_intercept
@pytest.mark.parametrize("expectation", expectations("logistic"))
@no_noise
def test_logistic_regression(noise, expectation, fit_intercept, rng, weights):
    model = DropoutLogisticRegression(
        noise, expectation=expectation, fit_intercept=fit_intercept, **TIGHT
    )
    X, y = dataset(model, rng)
    model.fit(X, y, sample_weight=weights)
    witness = LogisticRegression(
        C=C, fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12
    ).fit(X, y, sample_weight=weights)
    _same(model, witness)
    np.testing.assert_allclose(
        model.predict_proba(X), witness.predict_proba(X), atol=1e-6
    )


@with_intercept
@no_noise
def test_ridge(noise, fit_intercept, rng, weights):
    model = DropoutRidge(noise, fit_intercept=fit_intercept, **TIGHT)
    X, y = dataset(model, rng)
    model.fit(X, y, sample_weight=weights)
    witness = Ridge(alpha=1 / C, fit_intercept=fit_intercept, solver="cholesky")
    witness.fit(X, y, sample_weight=weights)
    _same(model, witness)
    assert model.score(X, y) == pytest.approx(witness.score(X, y))


@with_intercept
@pytest.mark.parametrize("expectation", expectations("poisson"))
@no_noise
def test_poisson_regressor(noise, expectation, fit_intercept, rng, weights):
    """Its objective is the mean over the weights, ours the sum: alpha = 1 / (C Σ s)."""
    model = DropoutPoissonRegressor(
        noise, expectation=expectation, fit_intercept=fit_intercept, **TIGHT
    )
    X, y = dataset(model, rng)
    model.fit(X, y, sample_weight=weights)
    witness = PoissonRegressor(
        alpha=1 / (C * weights.sum()),
        fit_intercept=fit_intercept,
        solver="newton-cholesky",
        tol=1e-10,
    ).fit(X, y, sample_weight=weights)
    _same(model, witness)
    np.testing.assert_allclose(model.predict(X), witness.predict(X), rtol=1e-6)


@pytest.mark.parametrize("tol", [1e-6, 1e-9])
@pytest.mark.parametrize("expectation", expectations("hinge"))
@pytest.mark.parametrize("noise", [None, 0.0, Gaussian(0.0)], ids=str)
def test_svm(noise, expectation, tol, rng, weights):
    model = DropoutSVC(noise, C=C, expectation=expectation, tol=tol)
    X, y = dataset(model, rng)
    model.fit(X, y, sample_weight=weights)
    best = reference.clean_svm(X, 2.0 * y - 1, C * weights)
    gap = (model.objective_ - best) / best
    assert -1e-9 <= gap <= 1.5 * tol


@no_noise
def test_exponential_loss(noise, rng, weights):
    """At the minimum the gradient of the textbook objective vanishes."""
    model = DropoutExponentialClassifier(noise, **TIGHT)
    X, y = dataset(model, rng)
    model.fit(X, y, sample_weight=weights)
    pull = C * weights * np.exp((1 - 2 * y) * model.decision_function(X)) * (1 - 2 * y)
    np.testing.assert_allclose(model.coef_[0] + pull @ X, 0.0, atol=1e-5)
    assert pull.sum() == pytest.approx(0.0, abs=1e-5)


@no_noise
def test_ridge_classifier_is_ridge_on_signs(noise, rng, weights):
    model = DropoutRidgeClassifier(noise, **TIGHT)
    X, y = dataset(model, rng)
    model.fit(X, y, sample_weight=weights)
    _same(model, Ridge(alpha=1 / C).fit(X, 2.0 * y - 1, sample_weight=weights))


@pytest.mark.parametrize("scale", [0.7, [0.2, 0.9, 0.0, 1.5, 0.4]])
def test_gaussian_noise_shifts_the_alpha_of_ridge(scale, rng, weights):
    """E (w·x~ - y)² = (w·x - y)² + Σ s_d² w_d²: exactly a ridge penalty."""
    model = DropoutRidge(Gaussian(scale), **TIGHT)
    X, y = dataset(model, rng)
    model.fit(X, y, sample_weight=weights)
    alpha = 1 / C + weights.sum() * np.broadcast_to(scale, 5) ** 2
    # a penalty of its own for each feature is a scaling of the features
    witness = Ridge(alpha=1.0).fit(X / np.sqrt(alpha), y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, witness.coef_ / np.sqrt(alpha), atol=1e-6)
    np.testing.assert_allclose(model.intercept_, witness.intercept_, atol=1e-6)


def test_dropout_ridge_equals_ridge_on_all_corrupted_rows(rng):
    """Dropout on d features has 2^d outcomes: fit on all of them, weighted."""
    q, d = 0.3, 4
    model = DropoutRidge(q, **TIGHT)
    X, y = dataset(model, rng, n=20, d=d)
    masks = np.array(np.meshgrid(*[[0, 1]] * d)).reshape(d, -1).T
    probability = np.prod(np.where(masks, 1 - q, q), axis=1)
    rows = (X[:, None, :] * masks / (1 - q)).reshape(-1, d)
    witness = Ridge(alpha=1 / C).fit(
        rows, np.repeat(y, len(masks)), sample_weight=np.tile(probability, len(X))
    )
    _same(model.fit(X, y), witness)


def test_probabilities_are_logistic_scores(rng):
    model = DropoutLogisticRegression()
    X, y = dataset(model, rng)
    model.fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], expit(model.decision_function(X))
    )
