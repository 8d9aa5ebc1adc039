"""Solvers of the invariant risk agree with CVXPY, and know how far they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invariant_problems import kernelised, listed, minimum_of, some_costs
from sklearn.metrics.pairwise import linear_kernel

from noiseproof._invariant import INVARIANT_SOLVERS
from noiseproof._invariant.bundle import LeanDual, bundle
from noiseproof._invariant.column_generation import ascend
from noiseproof._invariant.interior import interior
from noiseproof._stop import Stop

TOL = {"column_generation": 1e-6, "bundle": 1e-6, "pegasos": 2e-2}
every_solver = pytest.mark.parametrize("name", INVARIANT_SOLVERS)


def solve(name, risk, tol=None, max_iter=2000):
    stop = Stop(tol or TOL[name], max_iter)
    return INVARIANT_SOLVERS[name](risk, stop, np.random.RandomState(0))


def check(result, optimum, tol):
    assert result.converged
    assert result.bound <= optimum * (1 + 1e-6)
    assert result.value >= optimum * (1 - 1e-6)
    assert result.value - result.bound <= tol * result.value


@every_solver
@pytest.mark.parametrize("given_costs", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_linear_agrees_with_cvxpy(k, given_costs, name, rng):
    risk = listed(rng, k, some_costs(rng, k, 3) if given_costs else None)
    check(solve(name, risk), minimum_of(risk), TOL[name])


@pytest.mark.parametrize("name", ["column_generation", "pegasos"])
@pytest.mark.parametrize("given_costs", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_kernels_agree_with_cvxpy(k, given_costs, name, rng):
    costs = some_costs(rng, k, 3) if given_costs else None
    risk = kernelised(listed(rng, k, costs))
    check(solve(name, risk), minimum_of(risk), TOL[name])


@pytest.mark.parametrize("name", ["column_generation", "pegasos"])
def test_a_linear_kernel_is_linear(name, rng):
    risk = listed(rng)
    one, other = solve(name, risk, 2e-2), solve(name, kernelised(risk, linear_kernel))
    assert one.value == pytest.approx(other.value, rel=3e-2)


@pytest.mark.parametrize("cache_size", [0, 8 * 75 * 20])
def test_what_the_cache_holds_changes_nothing(cache_size, rng):
    risk = listed(rng)
    best = solve("column_generation", kernelised(risk), 1e-6)
    for name in ("column_generation", "pegasos"):
        result = solve(name, kernelised(risk, cache_size=cache_size))
        check(result, best.value, TOL[name])


def test_the_bundle_forgets_only_cuts_without_weight(rng):
    from noiseproof._invariant.kernels import drop_idle

    model = LeanDual(listed(rng))
    for _ in range(6):
        model.find_cuts()
        model.extend(1e-6)
        ascend(model, 1e-4)
    bound, weights, n_cuts = model.bound, model.weights, model.size.sum()
    model.age[:] = 1
    drop_idle(model.size, model.beta, model.delta, model.age, model.cut, model.Q)
    assert (model.beta[:, 1:] > 0).sum() == (model.size - 1).sum() < n_cuts
    np.testing.assert_allclose(model.weights, weights)
    psi = model.psi.toarray()[model.cut]
    both = model.used[:, :, None] & model.used[:, None, :]
    gram = psi @ psi.transpose(0, 2, 1)
    np.testing.assert_allclose(model.Q[both], gram[both], atol=1e-12)
    model.refresh()
    assert model.bound == pytest.approx(bound)


@pytest.mark.parametrize("n_parts", [1, 4, 25])
@pytest.mark.parametrize("k", [2, 3])
def test_parts_change_the_way_but_not_the_answer(k, n_parts, rng):
    risk = listed(rng, k, some_costs(rng, k, 3))
    result = bundle(risk, Stop(1e-6, 2000), n_parts=n_parts)
    check(result, minimum_of(risk), 1e-6)
    assert result.weights.shape == risk.mass.shape


def test_more_parts_take_fewer_rounds(rng):
    risk = listed(rng, alpha=0.005)
    rounds = [bundle(risk, Stop(1e-4, 2000), n_parts=p).n_iter for p in (1, 5, 25)]
    assert rounds[0] > rounds[1] > rounds[2]


@every_solver
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6), steps=st.integers(1, 5), power=st.floats(-3, 0))
def test_the_gap_is_true_wherever_one_stops(name, seed, steps, power):
    """bound <= minimum <= value, also long before convergence."""
    rng = np.random.default_rng(seed)
    risk = listed(rng, costs=some_costs(rng, 3, 3), alpha=10**power)
    best = solve("column_generation", risk, 1e-9)
    result = solve(name, risk, 1e-12, max_iter=steps)
    assert result.bound <= best.value * (1 + 1e-9)
    assert result.value >= best.bound * (1 - 1e-9)


@every_solver
def test_a_listener_hears_and_may_stop(name, rng):
    heard = []

    def listen(step, value, gap):
        heard.append((step, value, gap))
        return step == 2

    risk = listed(rng)
    stop = Stop(1e-12, 100, listen)
    result = INVARIANT_SOLVERS[name](risk, stop, np.random.RandomState(0))
    assert result.stopped
    assert result.n_iter == 2
    assert heard[-1][1] == result.value
    assert heard[-1][2] == pytest.approx(1 - result.bound / result.value)


def test_offsets_do_not_make_it_creep(rng):
    """Nearly parallel cuts: what coordinate ascent alone cannot do in 1e5 sweeps."""
    risk = listed(rng, alpha=0.01)
    risk.candidates.X[:] += 100.0
    result = solve("column_generation", risk, 1e-6, max_iter=50)
    check(result, minimum_of(risk), 1e-6)


def test_interior_satisfies_the_optimality_conditions(rng):
    psi, delta = rng.normal(size=(12, 3)), rng.random(12)
    start, mass, alpha = np.array([0, 3, 7]), np.array([0.2, 0.5, 0.3]), 0.3
    beta = interior(psi, delta, start, mass, alpha, 1e-10)
    heights = delta - psi @ (psi.T @ beta) / alpha
    tops = np.maximum.reduceat(heights, start)
    owner = np.repeat(np.arange(3), [3, 4, 5])
    assert beta.min() >= 0
    np.testing.assert_allclose(np.add.reduceat(beta, start), mass)
    assert beta @ (tops[owner] - heights) < 1e-9
