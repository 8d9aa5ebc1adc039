"""Every way to the robust linear program against the program as the paper writes it."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from highs_program import highs

from noiseproof._deletion import ROBUST_LP_SOLVERS, DeletionHinge, interior
from noiseproof._stop import Stop

SOLVERS = {**ROBUST_LP_SOLVERS, "highs": highs}  # a witness


def solve_robust_lp(problem, solver, stop, state=None):
    return SOLVERS[solver](problem, stop, state)


def make(seed=0, n=30, d=6, budget=2.0, values=None, C=0.7, weights=None, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    values = np.ones(d) if values is None else np.asarray(values, dtype=float)
    weights = np.ones(n) if weights is None else weights
    return DeletionHinge(
        sp.csr_array(X), y, weights, values, budget, C, margin=0.8, **options
    )


def equation_4(problem):
    """The optimal value of eq. (4), word by word."""
    X, y, v = problem.X.toarray(), problem.y, problem.values
    n, d = X.shape
    P, gamma = v.sum() - problem.budget, problem.margin
    w, b = cp.Variable(d), cp.Variable()
    xi, lam = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    alpha = cp.Variable((n, d), nonneg=True)
    constraints = [cp.norm_inf(w) <= problem.C]
    if not problem.fit_intercept:
        constraints.append(b == 0)
    for i in range(n):
        constraints += [
            P * lam[i] - cp.sum(alpha[i]) + y[i] * b >= -xi[i],
            y[i] * cp.multiply(w, X[i]) - gamma * v / P >= lam[i] * v - alpha[i],
        ]
    total = problem.weights.sum()
    objective = problem.weights @ xi / (total * gamma)
    return cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)


def equation_3(problem):
    """The optimal value of eq. (3): a constraint for each row and each deletion set."""
    X, y, v = problem.X.toarray(), problem.y, problem.values
    n, d = X.shape
    P, gamma = v.sum() - problem.budget, problem.margin
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    constraints = [cp.norm_inf(w) <= problem.C]
    for mask in itertools.product([0.0, 1.0], repeat=d):
        kept = 1 - np.array(mask)
        if v @ (1 - kept) <= problem.budget:
            scores = cp.multiply(y, (X * kept) @ w + b)
            constraints.append(scores >= gamma * (v @ kept) / P - xi)
    objective = cp.sum(xi) / (n * gamma)
    return cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)


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
    "more columns than rows": make(9, n=7, d=40, budget=10.0, C=0.05),
    "more columns than twice the rows": make(10, n=12, d=60, budget=25.0, C=0.1),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", CASES)
def test_equals_equation_4_as_written(solver, name):
    problem = CASES[name]
    result = solve_robust_lp(problem, solver, Stop(1e-8, 200))
    assert result.converged
    assert result.value == pytest.approx(equation_4(problem), abs=2e-7)
    assert np.abs(result.w).max() <= problem.C
    assert result.bound <= result.value
    assert result.value == pytest.approx(problem.value(result.w, result.b))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["equal values", "zero-one values", "no budget"])
def test_equals_equation_3_by_enumeration_for_zero_one_values(solver, name):
    problem = CASES[name]
    result = solve_robust_lp(problem, solver, Stop(1e-9, 200))
    assert result.value == pytest.approx(equation_3(problem), abs=1e-7)


def test_a_broken_budget_is_rounded_down_where_values_are_zero_one():
    problem = make(11, budget=2.6)
    result = solve_robust_lp(problem, "interior", Stop(1e-9, 200))
    assert result.value == pytest.approx(equation_3(problem), abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_equation_3_from_above_by_at_most_C_over_margin(seed):
    values = np.random.default_rng(seed).gamma(1.0, size=6)
    problem = make(seed, values=values, budget=0.4 * values.sum())
    scale = np.sqrt(problem.X.multiply(problem.X).sum(axis=1).max())
    rows = sp.csr_array(problem.X / scale)  # theorem 1 needs rows of norm 1 at most
    problem = DeletionHinge(
        rows, problem.y, problem.weights, values, problem.budget, problem.C, margin=0.8
    )
    value = solve_robust_lp(problem, "interior", Stop(1e-8, 200)).value
    exact = equation_3(problem)
    assert exact - 1e-7 <= value <= exact + problem.C / problem.margin


def test_lower_bound_holds_for_any_multipliers():
    problem = CASES["general values"]
    best = equation_4(problem)
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.normal(0.5, 1, (1, len(problem.y)))
        q = rng.normal(0.3, 1, (1, problem.X.nnz))
        assert problem.lower_bound(p, q) <= best + 1e-9


def test_a_weight_of_two_is_a_row_twice_along_the_whole_path():
    once = CASES["equal values"]
    weights = np.random.default_rng(0).integers(1, 4, 30).astype(float)
    rows = np.repeat(np.arange(30), weights.astype(int))
    options = (once.values, once.budget, once.C)
    weighted = DeletionHinge(once.X, once.y, weights, *options)
    repeated = DeletionHinge(once.X[rows], once.y[rows], np.ones(len(rows)), *options)
    for max_iter in (3, 100):
        stop = Stop(1e-8, max_iter)
        a = solve_robust_lp(weighted, "interior", stop)
        b = solve_robust_lp(repeated, "interior", stop)
        np.testing.assert_allclose(a.w, b.w, atol=1e-8)


def test_continues_where_it_stopped():
    problem = CASES["general values"]
    first = solve_robust_lp(problem, "interior", Stop(1e-9, 4))
    assert not first.converged
    whole = solve_robust_lp(problem, "interior", Stop(1e-9, 200))
    rest = solve_robust_lp(problem, "interior", Stop(1e-9, 200), first.state)
    assert rest.converged
    assert rest.n_iter == whole.n_iter - 4
    other = solve_robust_lp(CASES["wide box"], "interior", Stop(1e-6, 200), rest.state)
    assert other.value == pytest.approx(equation_4(CASES["wide box"]), abs=1e-5)


def test_many_columns_lead_to_the_same_optimum(monkeypatch):
    monkeypatch.setattr(interior, "_WIDE", 0)
    problem = CASES["more columns than twice the rows"]
    result = solve_robust_lp(problem, "interior", Stop(1e-7, 200))
    assert result.converged
    assert result.value == pytest.approx(equation_4(problem), abs=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_of_one_class(fit_intercept):
    X, ones = CASES["equal values"].X, np.ones(30)
    problem = DeletionHinge(
        X, ones, ones, np.ones(6), 2.0, 0.7, fit_intercept, margin=0.8
    )
    result = solve_robust_lp(problem, "interior", Stop(1e-8, 100))
    assert result.converged
    assert result.value == pytest.approx(equation_4(problem), abs=1e-7)
    assert result.value == pytest.approx(problem.value(result.w, result.b))
