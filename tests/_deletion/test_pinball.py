"""The robust program of a quantity against the program as it is written."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from highs_program import highs

from noiseproof._deletion import (
    DeletionHinge,
    DeletionPinball,
    interior,
    interior_point,
)
from noiseproof._stop import Stop

SOLVERS = {"interior": interior_point, "highs": highs}


def make(seed=0, n=30, d=6, budget=2.0, values=None, C=0.7, weights=None, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = X @ rng.normal(size=d) + rng.normal(size=n) + 3
    values = np.ones(d) if values is None else np.asarray(values, dtype=float)
    weights = np.ones(n) if weights is None else weights
    return DeletionPinball(sp.csr_array(X), y, weights, values, budget, C, **options)


def as_written(problem):
    """Both families of constraints with all their dual variables, as in eq. (4)."""
    X, y, v = problem.X.toarray(), problem.y, problem.values
    n, d = X.shape
    member = np.eye(d) if problem.labels is None else np.eye(len(v))[problem.labels]
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n)
    constraints = [cp.norm_inf(w) <= problem.C]
    if not problem.fit_intercept:
        constraints.append(b == 0)
    gains = cp.multiply(X, np.ones((n, 1)) @ cp.reshape(w, (1, d), order="C")) @ member
    for slope in (problem.quantile, problem.quantile - 1):
        lam, alpha = cp.Variable(n, nonneg=True), cp.Variable((n, len(v)), nonneg=True)
        rent = cp.reshape(lam, (n, 1), order="C") @ v[None]
        residual = slope * (y - b - X @ w)
        spent = problem.limit * lam + cp.sum(alpha, axis=1)
        constraints += [xi >= residual + spent, alpha >= slope * gains - rent]
    objective = problem.weights @ xi / problem.weights.sum()
    return cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)


SENSORS = np.array([0, 1, 2, 0, 1, 1])
CASES = {
    "equal values": make(),
    "zero-one values": make(1, values=[0, 1, 1, 1, 0, 1]),
    "general values": make(2, values=[0.3, 2, 1.1, 0.7, 0.1, 1], budget=1.3),
    "no budget": make(3, budget=0.0),
    "nothing but little left": make(4, budget=5.0),
    "wide box": make(5, C=50.0),
    "narrow box": make(6, C=0.01),
    "weights": make(7, weights=np.random.default_rng(0).gamma(1.0, size=30)),
    "no intercept": make(8, fit_intercept=False),
    "low quantile": make(9, quantile=0.1),
    "high quantile": make(10, quantile=0.95, C=2.0),
    "groups": make(11, values=np.ones(3), budget=1.0, labels=SENSORS),
    "values of groups": make(12, values=[0.5, 2, 1], budget=1.7, labels=SENSORS),
    "more columns than rows": make(13, n=7, d=40, budget=10.0, C=0.05),
    "more columns than four times the rows": make(14, n=9, d=60, budget=25.0, C=0.1),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", CASES)
def test_equals_the_program_as_written(solver, name):
    problem = CASES[name]
    result = SOLVERS[solver](problem, Stop(1e-8, 200))
    assert result.converged
    assert result.value == pytest.approx(as_written(problem), abs=2e-7)
    assert np.abs(result.w).max() <= problem.C
    assert result.bound <= result.value
    assert result.value == pytest.approx(problem.value(result.w, result.b))


@pytest.mark.parametrize("labels", [None, np.arange(40) // 3])
@pytest.mark.parametrize("equal", [True, False])
def test_larger_programs_agree_with_highs(labels, equal):
    size = 40 if labels is None else labels.max() + 1
    values = np.ones(size) if equal else np.random.default_rng(0).gamma(1.0, size=size)
    problem = make(
        *(15, 250, 40, 0.15 * values.sum(), values, 1.0),
        labels=labels, quantile=0.7,
    )  # fmt: skip
    ours, theirs = (SOLVERS[s](problem, Stop(1e-7, 200)) for s in SOLVERS)
    assert ours.converged
    assert ours.value == pytest.approx(theirs.value, rel=1e-6)
    assert theirs.value >= ours.bound * (1 - 1e-9)


def test_lower_bound_holds_for_any_multipliers():
    rng = np.random.default_rng(0)
    for name in ("general values", "values of groups", "no intercept"):
        problem = CASES[name]
        best, (_, values, _) = as_written(problem), problem.pairs
        for _ in range(30):
            p = rng.normal(0.5, 1, problem.slopes.shape)
            q = rng.normal(0.3, 1, (2, len(values)))
            assert problem.lower_bound(p, q) <= best + 1e-9


def test_many_columns_lead_to_the_same_optimum(monkeypatch):
    monkeypatch.setattr(interior, "_WIDE", 0)
    problem = CASES["more columns than four times the rows"]
    result = interior_point(problem, Stop(1e-7, 200))
    assert result.converged
    assert result.value == pytest.approx(as_written(problem), abs=1e-6)


def test_a_weight_of_two_is_a_row_twice_along_the_whole_path():
    once = CASES["low quantile"]
    weights = np.random.default_rng(0).integers(1, 4, 30).astype(float)
    rows = np.repeat(np.arange(30), weights.astype(int))
    options = {"values": once.values, "budget": 2.0, "C": 0.7, "quantile": 0.1}
    weighted = DeletionPinball(once.X, once.y, weights, **options)
    ones = np.ones(len(rows))
    repeated = DeletionPinball(once.X[rows], once.y[rows], ones, **options)
    for max_iter in (3, 100):
        a = interior_point(weighted, Stop(1e-8, max_iter))
        b = interior_point(repeated, Stop(1e-8, max_iter))
        np.testing.assert_allclose(a.w, b.w, atol=1e-8)


def test_a_path_is_that_of_one_program():
    problem = CASES["equal values"]
    state = interior_point(problem, Stop(1e-9, 4)).state
    whole = interior_point(problem, Stop(1e-9, 200))
    rest = interior_point(problem, Stop(1e-9, 200), state)
    assert rest.n_iter == whole.n_iter - 4
    signs = np.sign(problem.y)
    other = DeletionHinge(problem.X, signs, problem.weights, problem.values, 2.0, 0.7)
    assert not state.leads_to(other)
    for name in ("low quantile", "groups"):
        assert not state.leads_to(CASES[name])


def test_rows_that_can_be_met_exactly():
    """Fewer rows than columns and no budget: the minimum is zero."""
    rng = np.random.default_rng(0)
    for n, C in ((5, 50.0), (8, 1e3)):
        X = sp.csr_array(rng.normal(size=(n, 9)))
        problem = DeletionPinball(X, rng.normal(size=n), np.ones(n), np.ones(9), 0.0, C)
        result = interior_point(problem, Stop(1e-6, 100))
        assert result.converged
        assert result.value <= 1e-9 * problem.unit + 1e-8
