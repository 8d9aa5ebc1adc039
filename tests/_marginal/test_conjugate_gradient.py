"""The inner solve: right for several classes that finish at different times."""

import numpy as np
import pytest
from problems import problem

from noiseproof._marginal.conjugate_gradient import newton_step
from noiseproof.noise import Dropout


def _dense_hessian(hessian, shape):
    columns = []
    for j in range(shape[1]):
        P = np.zeros(shape)
        P[:, j] = 1.0
        columns.append(hessian.product(P))
    return np.stack(columns, axis=2)


@pytest.mark.parametrize("k", [1, 6])
def test_tight_step_solves_the_newton_system(k, rng):
    objective, theta, _ = problem(("logistic", "variational"), Dropout(0.4), rng, k=k)
    theta *= 10.0 ** -np.arange(k)[:, None]  # classes of different difficulty
    point = objective.at(theta)
    H = _dense_hessian(point.hessian(), theta.shape)
    expected = np.linalg.solve(H, -point.gradient[:, :, None])[:, :, 0]
    step = newton_step(point.hessian(), point.gradient, 1e-12)
    np.testing.assert_allclose(step.P, expected, rtol=1e-8)
    decrement = -0.5 * np.sum(point.gradient * expected, axis=1)
    np.testing.assert_allclose(step.gain, decrement, rtol=1e-8)


def test_classes_do_not_disturb_each_other(rng):
    objective, theta, _ = problem(("logistic", "variational"), Dropout(0.4), rng, k=6)
    point = objective.at(theta)
    together = newton_step(point.hessian(), point.gradient, 0.1)
    for k in range(6):
        alone = point.restrict([k])
        step = newton_step(alone.hessian(), alone.gradient, 0.1)
        np.testing.assert_allclose(step.P[0], together.P[k], rtol=1e-10)


def test_negative_curvature_still_gives_a_descent_direction(rng):
    objective, _, _ = problem(("logistic", "taylor"), Dropout(0.9), rng, k=20)
    theta = 3 * rng.normal(size=objective.shape)
    point = objective.at(theta)
    step = newton_step(point.hessian(), point.gradient, 0.1, is_convex=False)
    H = _dense_hessian(point.hessian(), theta.shape)
    assert np.linalg.eigvalsh(H).min() < 0
    assert np.all(np.sum(step.P * point.gradient, axis=1) < 0)
    assert np.all(step.gain > 0)  # else a solver would think that it has arrived


def test_zero_gradient_is_no_step(rng):
    objective, theta, _ = problem(("logistic", "variational"), Dropout(0.4), rng)
    step = newton_step(objective.at(theta).hessian(), np.zeros_like(theta), 0.1)
    np.testing.assert_array_equal(step.P, 0.0)
    np.testing.assert_array_equal(step.gain, 0.0)
