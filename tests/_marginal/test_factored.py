"""Newton's method for few features: steps, samples of the rows, many features."""

import numpy as np
import pytest
from problems import CONVEX_KEYS, problem

from noiseproof._marginal import SOLVERS, Stop, minimize, solving
from noiseproof._marginal.factored import newton_steps
from noiseproof.noise import Dropout


def test_steps_solve_the_system_whatever_the_scales(rng):
    root = rng.normal(size=(3, 5, 8))
    H, g = root @ root.transpose(0, 2, 1), rng.normal(size=(3, 5))
    scale = 10.0 ** rng.uniform(-6, 6, size=(3, 5))
    H *= scale[:, :, None] * scale[:, None, :]
    P, gain = newton_steps(H, g * scale)
    np.testing.assert_allclose(
        np.einsum("kij,kj->ki", H, P), -g * scale, atol=1e-7 * scale.max()
    )
    np.testing.assert_allclose(gain, -0.5 * np.sum(P * g * scale, axis=1))


def test_steps_descend_where_the_curvature_is_negative(rng):
    H = np.diag([2.0, -1.0, 1e-20])[None]
    g = np.array([[1.0, 1.0, 1e-12]])
    P, gain = newton_steps(H, g)
    assert np.sum(P * g) < 0
    assert gain[0] > 0
    np.testing.assert_allclose(P[0, :2], [-0.5, -1.0])


@pytest.mark.parametrize("key", CONVEX_KEYS)
def test_a_sample_is_a_start_and_the_optimum_the_same(key, rng, monkeypatch):
    objective, *_ = problem(key, Dropout(0.3), rng, n=3300, d=2, k=2)
    assert objective.is_tall
    used = []
    from_sample = solving._from_sample
    monkeypatch.setattr(
        solving, "_from_sample", lambda *a: used.append(a) or from_sample(*a)
    )
    start, stop = np.zeros(objective.shape), Stop(1e-9, 200)
    result = minimize(SOLVERS["newton"], objective, start, stop)
    assert result.converged
    assert used
    monkeypatch.setattr(type(objective), "prefers_matrix", False)
    monkeypatch.setattr(type(objective), "is_tall", False)
    other = minimize(SOLVERS["newton"], objective, start, stop)
    np.testing.assert_allclose(result.point.value, other.point.value, rtol=2e-9)
    assert result.n_iter <= other.n_iter + 2


def test_a_sample_counts_for_all_rows(rng):
    key = ("logistic", "variational")
    objective, *_ = problem(key, Dropout(0.3), rng, n=3200, d=2)
    sample = objective.sample()
    assert len(sample.terms[0].weights) == 200
    np.testing.assert_allclose(sample.value, objective.value, rtol=0.15)
