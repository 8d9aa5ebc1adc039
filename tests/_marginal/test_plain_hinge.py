"""The dual of the plain hinge loss: an exact quadratic program is the witness."""

import numpy as np
import pytest
import reference
import scipy.sparse as sp

from noiseproof import DropoutSVC
from noiseproof._marginal import Problem
from noiseproof._marginal.losses import LOSSES
from noiseproof._marginal.plain_hinge import best_intercept, plain_hinge
from noiseproof._rows import as_design
from noiseproof._stop import Stop
from noiseproof.noise import Dropout


@pytest.fixture
def rows(rng):
    """More features than rows are free, repeated and empty rows, unequal weights."""
    X = rng.normal(size=(60, 25)) * (rng.random((60, 25)) < 0.4)
    X[3] = 0.0
    X[5] = X[4]
    y = np.where(X @ rng.normal(size=25) + rng.normal(size=60) > 0.3, 1.0, -1.0)
    weights = rng.uniform(0.0, 3.0, size=60)
    weights[7] = 0.0
    return X, y, weights


def _solve(X, y, weights, stop, margin=1.0, fit_intercept=True):
    loss = LOSSES["hinge", "variational"](margin)
    parts = as_design(X), y[None], weights, Dropout(0.0), loss, fit_intercept
    return plain_hinge(Problem(*parts).objective(), stop)


def _value(X, y, weights, theta, margin=1.0):
    w, b = theta[: X.shape[1]], theta[X.shape[1] :].sum()
    loss = np.maximum(0, margin - y * (X @ w + b))
    return 0.5 * w @ w + weights @ loss


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sp.csr_array])
def test_value_is_the_optimum(store, scale, rows):
    X, y, weights = rows
    weights = scale * weights
    end = _solve(store(X), y, weights, Stop(1e-7, 1000))
    best = reference.clean_svm(X, y, weights)
    assert end.converged
    assert -1e-8 <= _value(X, y, weights, end.point.theta[0]) / best - 1 <= 1.1e-7


def test_margin_scales_the_solution_and_intercept_may_be_absent(rows):
    """With ℓ times the margin, w and b are ℓ times as large, if C is ℓ times, too."""
    X, y, weights = rows
    one = _solve(X, y, weights, Stop(1e-10, 1000)).point.theta
    two = _solve(X, y, 2 * weights, Stop(1e-10, 1000), margin=2.0).point.theta
    np.testing.assert_allclose(two, 2 * one, atol=1e-4)
    end = _solve(X, y, weights, Stop(1e-9, 1000), fit_intercept=False)
    without = end.point.theta
    assert without.shape == (1, 25)
    value = _value(X, y, weights, without[0])
    assert value >= _value(X, y, weights, one[0])
    nearby = without + 1e-3 * np.random.default_rng(0).normal(size=(200, 25))
    assert min(_value(X, y, weights, w) for w in nearby) >= value * (1 - 1e-9)


def test_the_gap_is_a_bound(rows):
    """Whatever the accuracy asked for, no more is missing."""
    X, y, weights = rows
    best = reference.clean_svm(X, y, weights)
    for tol in (0.3, 0.03, 1e-3, 1e-5):
        end = _solve(X, y, weights, Stop(tol, 1000))
        assert end.converged
        assert _value(X, y, weights, end.point.theta[0]) <= best / (1 - tol) * (
            1 + 1e-9
        )


def test_best_intercept_against_all_corners(rng):
    scores, weights = rng.normal(size=30), rng.uniform(size=30)
    for y in (np.where(rng.random(30) < 0.5, 1.0, -1.0), np.ones(30), -np.ones(30)):

        def loss(b, y=y):
            return weights @ np.maximum(0, 1.5 - y * (scores + b))

        b = best_intercept(scores, y, weights, 1.5)
        corners = 1.5 * y - scores
        assert loss(b) == pytest.approx(min(map(loss, corners)), rel=1e-12)


@pytest.mark.parametrize(
    "noise", [None, pytest.param(0.0, marks=pytest.mark.slow), 1e-3]
)
def test_estimator_with_several_classes(noise, rng):
    X = sp.csr_matrix(rng.poisson(0.3, size=(80, 40)).astype(float))
    y = rng.integers(3, size=80)
    model = DropoutSVC(noise, C=0.5).fit(X, y)
    slow = DropoutSVC(noise, C=0.5, solver="lbfgs", tol=1e-7, max_iter=20_000)
    objective = slow.fit(X, y).objective_
    np.testing.assert_allclose(model.objective_, objective, rtol=2e-6)
    if not noise:
        signs = np.where(y == np.arange(3)[:, None], 1.0, -1.0)
        best = [
            reference.clean_svm(X.toarray(), row, np.full(80, 0.5)) for row in signs
        ]
        np.testing.assert_allclose(model.objective_, best, rtol=1.5e-6)


def test_a_listener_can_stop_it(rows):
    X, y, weights = rows
    heard = []

    def report(step, value, gap):
        heard.append((step, value))
        return step == 2

    stop = Stop(1e-12, 1000, report)
    end = _solve(X, y, weights, stop)
    assert end.stopped
    assert not end.converged
    assert end.n_iter == 2
    assert [step for step, _ in heard] == [1, 2]
    assert heard[1][1] <= heard[0][1]
