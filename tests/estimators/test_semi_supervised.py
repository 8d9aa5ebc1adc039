"""Unlabelled rows against an objective written out independently."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler

from noiseproof import (
    DropoutExponentialClassifier,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutSVC,
)
from noiseproof.noise import Gaussian, Poisson, as_noise

RATE, ALPHA, C = 0.4, 0.3, 2.0


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(40, 5)), rng.normal(size=(70, 5))
    y = (X @ rng.normal(size=5) + rng.normal(size=40) > 0).astype(int)
    return X, y, Z, rng.random(40) + 0.5


def reference(X, Z, weights, loss, penalty, n_parameters):
    """Minimum of eq. (19), by a general optimiser on plain NumPy."""

    def objective(theta):
        w, b = theta[:-1], theta[-1]
        share = weights.sum() / (weights.sum() + ALPHA * len(Z))
        R = weights @ penalty(X, w, b) + ALPHA * penalty(Z, w, b).sum()
        return 0.5 * w @ w + C * (weights @ loss(X @ w + b) + share * R)

    return minimize(objective, np.zeros(n_parameters), options={"gtol": 1e-8})


def variance(X, w):
    return RATE / (1 - RATE) * (X**2 @ w**2)


def variational(X, w, b):
    m = X @ w + b
    s = np.sqrt(m**2 + variance(X, w))
    return np.logaddexp(s / 2, -s / 2) - np.logaddexp(m / 2, -m / 2)


def taylor(X, w, b):
    p = expit(X @ w + b)
    return 0.5 * p * (1 - p) * variance(X, w)


@pytest.mark.parametrize("expectation", ["variational", "taylor"])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_logistic_matches_an_independent_optimiser(data, expectation, solver):
    X, y, Z, weights = data
    penalty = {"variational": variational, "taylor": taylor}[expectation]
    best = reference(
        X, Z, weights, lambda m: np.logaddexp(0, -(2 * y - 1) * m), penalty, 6
    )
    model = DropoutLogisticRegression(
        RATE,
        C=C,
        expectation=expectation,
        unlabeled_weight=ALPHA,
        tol=1e-10,
        solver=solver,
    ).fit(X, y, sample_weight=weights, X_unlabeled=Z)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(model.coef_[0], best.x[:-1], atol=1e-4)


def test_ridge_matches_an_independent_optimiser(data):
    X, _, Z, weights = data
    y = X[:, 0] - 2 * X[:, 1] + 0.3
    best = reference(
        X,
        Z,
        weights,
        lambda m: 0.5 * (m - y) ** 2,
        lambda X, w, b: 0.5 * variance(X, w),
        6,
    )
    model = DropoutRidge(RATE, C=C, unlabeled_weight=ALPHA, tol=1e-12)
    model.fit(X, y, sample_weight=weights, X_unlabeled=Z)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("noise", [RATE, Gaussian(0.3), Poisson(0.5)])
def test_poisson_matches_an_independent_optimiser(data, noise):
    X, _, Z, weights = data
    X, Z = abs(X), abs(Z)
    y = np.random.default_rng(1).poisson(2, len(X))
    law = as_noise(noise)

    def penalty(X, w, b):
        K = law.cgf(X, np.broadcast_to(w, X.shape)).sum(axis=1) + b
        return np.exp(K) - np.exp(X @ w + b)

    best = reference(X, Z, weights, lambda m: np.exp(m) - y * m, penalty, 6)
    model = DropoutPoissonRegressor(noise, C=C, unlabeled_weight=ALPHA, tol=1e-12)
    model.fit(X, y, sample_weight=weights, X_unlabeled=Z)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-6)


def test_no_unlabelled_rows_and_no_weight_mean_supervised(data):
    X, y, Z, _ = data
    plain = DropoutLogisticRegression().fit(X, y)
    empty = DropoutLogisticRegression().fit(X, y, X_unlabeled=Z[:0])
    weightless = DropoutLogisticRegression(unlabeled_weight=0).fit(X, y, X_unlabeled=Z)
    np.testing.assert_array_equal(plain.coef_, empty.coef_)
    np.testing.assert_array_equal(plain.coef_, weightless.coef_)


def test_order_and_container_of_unlabelled_rows_do_not_matter(data):
    X, y, Z, _ = data
    model = DropoutLogisticRegression(tol=1e-10)
    coef = model.fit(X, y, X_unlabeled=Z).coef_.copy()
    for other in (Z[::-1], sp.csr_array(Z), [Z[:20], sp.csr_matrix(Z[20:])]):
        model.fit(X, y, X_unlabeled=other)
        np.testing.assert_allclose(model.coef_, coef, atol=1e-7)
    model.fit(sp.csr_matrix(X), y, X_unlabeled=Z)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-7)


def test_several_classes_are_one_vs_rest(data):
    X, _, Z, _ = data
    y = np.arange(40) % 3
    model = DropoutLogisticRegression(tol=1e-10).fit(X, y, X_unlabeled=Z)
    binary = DropoutLogisticRegression(tol=1e-10).fit(X, y == 1, X_unlabeled=Z)
    np.testing.assert_allclose(model.coef_[1], binary.coef_[0], atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        DropoutSVC(),
        DropoutExponentialClassifier(),
        DropoutLogisticRegression(expectation="jensen"),
    ],
)
def test_label_dependent_penalties_refuse(data, model):
    X, y, Z, _ = data
    with pytest.raises(ValueError, match="depends on the labels"):
        model.fit(X, y, X_unlabeled=Z)


def test_wrong_width_and_irls_refuse(data):
    X, y, Z, _ = data
    with pytest.raises(ValueError, match="3 features"):
        DropoutLogisticRegression().fit(X, y, X_unlabeled=Z[:, :3])
    with pytest.raises(ValueError, match="with X_unlabeled"):
        DropoutLogisticRegression(solver="irls").fit(X, y, X_unlabeled=Z)


def test_routing_through_grid_search_and_pipeline(data):
    X, y, Z, _ = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = DropoutLogisticRegression().set_fit_request(X_unlabeled=True)
        pipe = Pipeline(
            [("scale", MaxAbsScaler()), ("model", model)],
            transform_input=["X_unlabeled"],
        )
        pipe.fit(X, y, X_unlabeled=Z)
        scaler = MaxAbsScaler().fit(X)
        by_hand = DropoutLogisticRegression().fit(
            scaler.transform(X), y, X_unlabeled=scaler.transform(Z)
        )
        np.testing.assert_allclose(pipe["model"].coef_, by_hand.coef_)
        # as many rows as X: a list keeps cross-validation from splitting them
        search = GridSearchCV(model, {"unlabeled_weight": [0.1, 0.4]}, cv=3)
        search.fit(X, y, X_unlabeled=[Z[:40]])
        assert search.best_params_["unlabeled_weight"] in (0.1, 0.4)
