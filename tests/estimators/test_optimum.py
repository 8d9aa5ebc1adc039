"""Every estimator against CLARABEL, or BFGS on a naive objective."""

import numpy as np
import pytest
import reference
from problems import (
    CONVEX_KEYS,
    accepts_negative,
    dataset,
    kind,
    loss_key,
    marginal_models,
    noises,
)
from sklearn.base import clone

from noiseproof import DropoutLogisticRegression, DropoutSVC
from noiseproof.noise import Gaussian, Laplace

D = 4
_CONVEX = [key.values[0] for key in CONVEX_KEYS]
_MODELS = [p for p in marginal_models() if loss_key(p.values[0]) in _CONVEX]
CLASSIFIERS = [p for p in _MODELS if kind(p.values[0]) == "classifier"]
REGRESSORS = [p for p in _MODELS if kind(p.values[0]) == "regressor"]
CASES = [(2, True), (2, False), (3, True)]


def _problem(model, noise, rng, classes=2):
    X, y = dataset(model, rng, n=36, d=D, classes=classes)
    return X - 0.5 * accepts_negative(noise), y, rng.uniform(0.3, 2.0, size=len(y))


def _minima(model, noise, X, Y, weights):
    """The smallest objective for each row of labels in Y."""
    key, c = loss_key(model), model.C * weights
    args = (c, model.fit_intercept)
    return np.array([reference.minimum(key, noise, X, y, *args) for y in Y])


def _one_vs_rest(y):
    labels = np.unique(y)
    return [
        np.where(y == label, 1.0, -1.0) for label in labels[-1 * (len(labels) < 3) :]
    ]


def _check(model, X, y, weights, best):
    for tol, allowed in ((1e-6, 1e-6), (1e-10, 2e-9)):
        fitted = clone(model).set_params(tol=tol).fit(X, y, sample_weight=weights)
        gap = (np.atleast_1d(fitted.objective_) - best) / np.abs(best)
        assert gap.max() <= allowed
        assert gap.min() >= -2e-9  # the accuracy of the reference


@pytest.mark.parametrize(("classes", "fit_intercept"), CASES)
@pytest.mark.parametrize("noise", noises(D, per_feature=[True]))
@pytest.mark.parametrize("model", CLASSIFIERS)
def test_classifier_reaches_the_minimum(model, noise, classes, fit_intercept, rng):
    model = clone(model).set_params(noise=noise, C=0.7, fit_intercept=fit_intercept)
    X, y, weights = _problem(model, noise, rng, classes)
    best = _minima(model, noise, X, _one_vs_rest(y), weights)
    assert len(best) == (1 if classes == 2 else classes)
    _check(model, X, y, weights, best)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("noise", noises(D, per_feature=[True]))
@pytest.mark.parametrize("model", REGRESSORS)
def test_regressor_reaches_the_minimum(model, noise, fit_intercept, rng):
    model = clone(model).set_params(noise=noise, C=0.7, fit_intercept=fit_intercept)
    X, y, weights = _problem(model, noise, rng)
    _check(model, X, y, weights, _minima(model, noise, X, [y], weights))


@pytest.mark.parametrize("C", [1e-3, 30.0, 1e3])
@pytest.mark.parametrize("noise", noises(D, per_feature=[False]))
@pytest.mark.parametrize("cls", [DropoutSVC, DropoutLogisticRegression])
def test_weak_and_strong_penalties_on_labels_without_signal(cls, noise, C, rng):
    """Here the best weights may be zero, where even a noisy hinge has its kink."""
    model = cls(noise, C=C)
    X, y, weights = _problem(model, noise, rng)
    y = rng.permutation(y)
    _check(model, X, y, weights, _minima(model, noise, X, _one_vs_rest(y), weights))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [4e-3, 0.5, 100.0])
@pytest.mark.parametrize(
    "noise", [None, 0.05, 0.9, Gaussian(1.0), Laplace(0.1)], ids=str
)
def test_hinges_are_ordered(noise, C, seed):
    """Clean <= Gaussian closure (Jensen) <= variational bound (of any law)."""
    rng = np.random.default_rng(seed)
    X, y = dataset(DropoutSVC(), rng, n=30, d=3)
    clean = reference.clean_svm(X, 2.0 * y - 1, np.full(len(y), C))
    gaussian = DropoutSVC(noise, C=C, expectation="gaussian").fit(X, y)
    variational = DropoutSVC(noise, C=C).fit(X, y)
    slack = 1.000002  # both objectives are known to 1e-6 only
    assert clean <= gaussian.objective_ * slack
    assert gaussian.objective_ <= variational.objective_ * slack
    if noise is None:
        assert variational.objective_ <= clean * slack


@pytest.mark.parametrize("noise", noises(D))
@pytest.mark.parametrize("model", marginal_models())
def test_objective_is_the_one_documented(model, noise, rng):
    """objective_ is the naive objective at coef_ and intercept_, also if not convex."""
    model = clone(model).set_params(noise=noise, C=0.7)
    X, y, weights = _problem(model, noise, rng, classes=3)
    model.fit(X, y, sample_weight=weights)
    Y = [y] if kind(model) == "regressor" else _one_vs_rest(y)
    theta = np.column_stack([np.atleast_2d(model.coef_), np.ravel(model.intercept_)])
    naive = [
        reference.objective(
            loss_key(model), noise, X, target, 0.7 * weights, row, fit_intercept=True
        )
        for target, row in zip(Y, theta, strict=True)
    ]
    np.testing.assert_allclose(np.atleast_1d(model.objective_), naive, rtol=1e-10)


@pytest.mark.parametrize("expectation", ["variational", "gaussian"])
def test_margin_only_rescales(expectation, rng):
    """max(0, l - y s) = l max(0, 1 - y s / l), and the penalty grows with l²."""
    X, y = dataset(DropoutSVC(), rng)
    options = {"noise": 0.3, "expectation": expectation, "tol": 1e-12}
    wide = DropoutSVC(C=2.0, margin=4.0, **options).fit(X, y)
    unit = DropoutSVC(C=0.5, margin=1.0, **options).fit(X, y)
    np.testing.assert_allclose(wide.objective_, 16 * unit.objective_, rtol=1e-10)
    np.testing.assert_allclose(wide.coef_, 4 * unit.coef_, atol=1e-4)
