"""Newton's method for few features: steps, samples of the rows, many features."""

import numpy as np
import pytest
from problems import CONVEX_KEYS, LOSS_KEYS, minimum, plan_for, problem, whole_problem

from noiseproof._marginal import Stop, solving
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


@pytest.mark.parametrize("key", LOSS_KEYS)
def test_matrices_and_conjugate_gradients_find_the_same_minimum(key, rng):
    whole, *_ = whole_problem(key, Dropout(0.3), rng, n=300, d=3, k=2)
    stop = Stop(1e-9, 200)
    ends = [minimum(whole, stop, algorithm=name) for name in ("factored", "newton")]
    assert all(end.converged for end in ends)
    np.testing.assert_allclose(*(end.point.value for end in ends), rtol=2e-9)


@pytest.mark.parametrize("key", CONVEX_KEYS)
def test_a_sample_is_a_start_and_the_optimum_the_same(key, rng, monkeypatch):
    whole, *_ = whole_problem(key, Dropout(0.3), rng, n=3300, d=2, k=2)
    assert plan_for(whole).start == "sample"
    used = []
    from_sample = solving._from_sample
    monkeypatch.setattr(
        solving, "_from_sample", lambda *a: used.append(a) or from_sample(*a)
    )
    stop = Stop(1e-9, 200)
    result = minimum(whole, stop)
    assert result.converged
    assert used
    other = minimum(whole, stop, start="constant", algorithm="newton")
    np.testing.assert_allclose(result.point.value, other.point.value, rtol=2e-9)
    assert result.n_iter <= other.n_iter + 2


def test_a_sample_counts_for_all_rows(rng):
    key = ("logistic", "variational")
    objective, *_ = problem(key, Dropout(0.3), rng, n=3200, d=2)
    rows = np.arange(0, 3200, 16)
    sample = objective.sample(rows)
    assert len(sample.weights) == 200
    np.testing.assert_allclose(sample.value, objective.value, rtol=0.15)
