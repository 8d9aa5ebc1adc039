"""Features of any size: the minimum is found, or a warning says that it was not.

The witness minimises the same function of u = s w, the weights of features of size 1,
by Newton's method with dense matrices: for it the scale s is a change of the penalty,
½ Σ (u / s)², and no more. It takes row derivatives from the losses, whose own tests
compare them with differences, and nothing else.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from problems import kind, loss_key
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from noiseproof import (
    DropoutExponentialClassifier,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutRidgeClassifier,
    DropoutSVC,
)
from noiseproof._marginal.losses import LOSSES
from noiseproof.noise import Dropout

MODELS = {
    "svc": DropoutSVC(),
    "svc-gaussian": DropoutSVC(expectation="gaussian"),
    "logistic": DropoutLogisticRegression(),
    "logistic-jensen": DropoutLogisticRegression(expectation="jensen"),
    "logistic-gaussian": DropoutLogisticRegression(expectation="gaussian"),
    "ridge-classifier": DropoutRidgeClassifier(),
    "exponential": DropoutExponentialClassifier(),
    "ridge": DropoutRidge(),
    "poisson": DropoutPoissonRegressor(),
}
SMOOTHINGS = (1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


class Witness:
    """The objective in u, with gradient and Hessian as dense arrays."""

    def __init__(self, key, X, y, rates, scales, C):
        self.loss, self.X, self.y, self.C = LOSSES[key](), X, y, C
        self.q, self.penalty = rates, np.append(scales**-2.0, 0.0)
        self.V = rates / (1 - rates) * X**2
        self.A = np.column_stack([X, np.ones(len(X))])

    def __call__(self, theta, epsilon=0.0):
        """Value, gradient and Hessian."""
        by_moments = hasattr(self.loss, "slopes")
        rows = self._moments(theta, epsilon) if by_moments else self._cumulants(theta)
        value, gradient, H = (self.C * part for part in rows)
        value += 0.5 * self.penalty @ theta**2
        return value, gradient + self.penalty * theta, H + np.diag(self.penalty)

    def _moments(self, theta, epsilon):
        u = theta[:-1]
        row = self.y, self.A @ theta, self.V @ u**2 + epsilon**2
        slopes, h = self.loss.slopes(*row), self.loss.curvatures(*row)
        Z = np.column_stack([2 * self.V * u, np.zeros(len(self.X))])
        mixed = self.A.T @ (h.mv[:, None] * Z)
        H = self.A.T @ (h.mm[:, None] * self.A) + mixed + mixed.T
        H += Z.T @ (h.vv[:, None] * Z)
        H[np.diag_indices(len(u))] += 2 * slopes.v @ self.V
        gradient = slopes.m @ self.A + slopes.v @ Z
        return self.loss.value(*row).sum(), gradient, H

    def _cumulants(self, theta):
        sigma = self.loss.slope(self.y)
        jump = self.X / (1 - self.q)
        with np.errstate(divide="ignore"):
            log_q = np.log(self.q)
        log_kept = np.log1p(-self.q) + sigma[:, None] * theta[:-1] * jump
        kept = expit(log_kept - log_q)
        K = sigma * theta[-1] + np.logaddexp(log_q, log_kept).sum(axis=1)
        first, second = self.loss.derivatives(K)
        G = sigma[:, None] * np.column_stack([jump * kept, np.ones(len(K))])
        H = G.T @ (second[:, None] * G)
        H[np.diag_indices(len(theta) - 1)] += first @ (jump**2 * kept * (1 - kept))
        linear = self.loss.linear(self.y)
        value = self.loss.value(K).sum() + linear @ (self.A @ theta)
        return value, first @ G + linear @ self.A, H

    def minimum(self):
        theta = np.zeros(self.A.shape[1])
        for epsilon in SMOOTHINGS if self.loss.kink_width else (0.0,):
            theta = self._newton(theta, epsilon)
        return self(theta)[0]

    def _newton(self, theta, epsilon):
        for _ in range(50):
            value, gradient, H = self(theta, epsilon)
            size = 1 / np.sqrt(np.abs(np.diag(H)) + 1e-12)
            matrix = size[:, None] * H * size + 1e-13 * np.eye(len(H))
            step = -size * np.linalg.solve(matrix, size * gradient)
            if -0.5 * gradient @ step <= 1e-10 * abs(value):
                break
            alpha = 1.0
            while not self(theta + alpha * step, epsilon)[0] < value:
                alpha /= 2
                if alpha < 1e-6:
                    return theta
            theta = theta + alpha * step
        return theta


def _problem(rng, model, d, part, scale, some_rates_zero):
    """Rows of features of size 1, targets, the scales and the rates."""
    n = 120 if d < 100 else 300
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    score = X @ rng.normal(size=d) / np.sqrt(d)
    if kind(model) == "regressor":
        y = rng.poisson(np.exp(np.clip(score, -2, 1.5))).astype(float)
    else:
        y = np.where(score + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    count = {"one": 1, "some": max(2, d // 3), "all": d}[part]
    scales, rates = np.ones(d), np.full(d, 0.3)
    scales[rng.permutation(d)[:count]] = scale
    if some_rates_zero:
        rates[rng.permutation(d)[: d // 2]] = 0.0
    return X, y, scales, rates


def _check(model, seed, d, part, scale, store=np.asarray, some_rates_zero=False):
    rng = np.random.default_rng(seed)
    X, y, scales, rates = _problem(rng, model, d, part, scale, some_rates_zero)
    model.set_params(noise=Dropout(rates))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(store(X * scales), y)
    assert {w.category for w in caught} <= {ConvergenceWarning}
    witness = Witness(loss_key(model), X, y, rates, scales, model.C)
    theta = np.append(model.coef_.ravel() * scales, model.intercept_)
    assert witness(theta)[0] == pytest.approx(model.objective_, rel=1e-8)
    best = witness.minimum()
    if not caught:
        assert model.objective_ <= best + 2 * model.tol * abs(best) + 1e-10
    return bool(caught)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("part", ["one", "some", "all"])
def test_minimum_or_warning(name, part):
    for seed, (d, scale) in enumerate([(2, 1e12), (5, 1e-12), (40, 1e9), (40, 1e-6)]):
        _check(MODELS[name], seed, d, part, scale)


@pytest.mark.parametrize("name", MODELS)
def test_many_features(name):
    _check(MODELS[name], 7, 100, "some", 1e7, store=sp.csr_array)


@pytest.mark.parametrize("name", MODELS)
def test_some_features_without_noise(name):
    for seed, scale in enumerate([1e8, 1e12]):
        _check(MODELS[name], seed, 40, "some", scale, some_rates_zero=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("exponent", range(-12, 13, 3))
def test_every_scale(name, exponent):
    warned = [
        _check(MODELS[name], seed, d, part, 10.0**exponent, store, zero)
        for seed, d in enumerate([2, 7, 33, 100, 400])
        for part in ("one", "some", "all")
        for store in (np.asarray, sp.csr_array)
        for zero in (False, True)
    ]
    assert np.mean(warned) < 0.2  # a warning is no excuse for not trying


def test_a_few_large_features_of_many_are_used():
    """Once a null model, reported as converged: 692.5 where 378.1 can be reached."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 40))
    y = X @ rng.normal(size=40) + rng.normal(size=1000) > 0
    scales = np.where(np.arange(40) < 3, 1e9, 1.0)
    model = DropoutLogisticRegression(0.1).fit(X * scales, y)
    assert model.objective_ < 420
    assert model.score(X * scales, y) > 0.85
