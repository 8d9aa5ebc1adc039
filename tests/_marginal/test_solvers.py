"""Solvers: the same optimum, an honest word about it, and a true trace."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from problems import (
    CONVEX_KEYS,
    LOSS_KEYS,
    minimum,
    noises,
    plan_for,
    problem,
    targets,
    whole_problem,
)

from noiseproof._marginal import SOLVERS, Problem, Stop, check_solver, minimize
from noiseproof._marginal.conjugate_gradient import dot, newton_step
from noiseproof._marginal.losses import LOSSES
from noiseproof._marginal.newton import _lower, line_search
from noiseproof._rows import as_design
from noiseproof.noise import Dropout, Laplace

D = 4


def needs_majorizer(solver):
    return getattr(SOLVERS[solver], "needs_majorizer", False)


TIGHT = Stop(tol=1e-12, max_iter=3000)
PAIRS = [
    pytest.param(key.values[0], solver, id=f"{key.id}-{solver}")
    for key in CONVEX_KEYS
    for solver in SOLVERS
    if not needs_majorizer(solver) or LOSSES[key.values[0]].has_majorizer
]
DESCENT = [p for p in PAIRS if p.values[1] in ("newton", "irls")]
SEVERAL_STEPS = [p for p in PAIRS if p.values[0][0] != "quadratic"]


def _problem(key, noise, rng, **options):
    return whole_problem(key, noise, rng, n=20, d=D, k=2, **options)[0]


def _solve(solver, whole, stop=TIGHT):
    return minimum(whole, stop, solver)


@pytest.mark.parametrize(
    ("noise", "fit_intercept"),
    [
        *(pytest.param(*p.values, True, id=p.id) for p in noises(D, [True])),
        pytest.param(Dropout(0.4), False, id="no-intercept"),
    ],
)
@pytest.mark.parametrize("key", CONVEX_KEYS)
def test_solvers_agree(key, noise, fit_intercept, rng):
    objective = _problem(key, noise, rng, fit_intercept=fit_intercept)
    has_majorizer = objective.loss.has_majorizer
    able = [s for s in SOLVERS if has_majorizer or not needs_majorizer(s)]
    results = [_solve(solver, objective) for solver in able]
    for solver, result in zip(able, results, strict=True):
        assert result.converged, solver
        np.testing.assert_allclose(
            result.point.theta, results[0].point.theta, atol=1e-5, err_msg=solver
        )
        np.testing.assert_allclose(
            result.point.value,
            objective.objective().at(result.point.theta).value,
            rtol=1e-14,
        )


@pytest.mark.parametrize("noise", noises(D))
@pytest.mark.parametrize("solver", SOLVERS)
def test_quadratic_has_a_closed_form(solver, noise, rng):
    key = ("quadratic", "exact")
    objective, _, (X, y, weights) = whole_problem(key, noise, rng, k=2)
    A = np.column_stack([X, np.ones(len(X))])
    penalty = np.append(1 + weights @ noise.variance(X), 0.0)
    H = A.T @ (weights[:, None] * A) + np.diag(penalty)
    expected = np.linalg.solve(H, A.T @ (weights * y).T).T
    result = _solve(solver, objective)
    np.testing.assert_allclose(result.point.theta, expected, atol=1e-6)


@pytest.mark.parametrize("part", [0.3, 0.9, 1.5])
def test_a_step_of_the_wrong_length_is_put_right(part, rng):
    """On a quadratic the lowest point of the parabola is that of the ray."""
    objective = problem(("quadratic", "exact"), Dropout(0.4), rng, k=2)[0]
    full = newton_step(objective.hessian(), objective.gradient, 1e-12)
    step = full._replace(P=part * full.P)
    ray, slope = objective.ray(step.P), dot(objective.gradient, step.P)
    there, alpha = line_search(objective.value, slope, ray)
    there, alpha = _lower(ray, slope, objective, there, alpha)
    is_near = abs(part - 1) < 0.2
    np.testing.assert_allclose(alpha, 1 if is_near else 1 / part, rtol=1e-9)
    np.testing.assert_allclose(there.theta, alpha[:, None] * step.P, rtol=1e-14)


@pytest.mark.parametrize(("key", "solver"), PAIRS)
def test_tolerance_is_relative_suboptimality(key, solver, rng):
    objective = _problem(key, Dropout(0.4), rng)
    best = _solve("newton", objective).point.value
    for tol in (1e-2, 1e-4, 1e-7):
        result = _solve(solver, objective, Stop(tol, 1000))
        assert result.converged
        assert np.all(result.point.value - best <= 1.5 * tol * np.abs(best))


@pytest.mark.parametrize(("key", "solver"), SEVERAL_STEPS)
def test_too_few_iterations_are_admitted(key, solver, rng):
    result = _solve(solver, _problem(key, Dropout(0.4), rng), Stop(1e-13, 1))
    assert not result.converged
    assert result.n_iter == 1


@pytest.mark.parametrize(("key", "solver"), DESCENT)
def test_objective_never_increases(key, solver, rng):
    """Whatever is reported; a loss with a kink is reported less and less rounded."""
    trace = []
    _, result = _traced(key, solver, rng, trace)
    values = np.array([value for _, value, _ in trace])
    assert len(values) > 1 or key[0] == "quadratic"
    assert np.all(np.diff(values) <= 1e-12 * np.abs(values[:-1]))
    assert values[-1] == pytest.approx(result.point.value.sum(), rel=1e-10)


@pytest.mark.parametrize(("key", "solver"), PAIRS)
def test_steps_are_counted_once(key, solver, rng):
    trace = []
    _, result = _traced(key, solver, rng, trace)
    steps = [step for step, _, _ in trace]
    assert steps == list(range(1, result.n_iter + 1))


@pytest.mark.parametrize(("key", "solver"), SEVERAL_STEPS)
def test_a_listener_can_stop_the_solver(key, solver, rng):
    heard = []

    def report(step, value, suboptimality):
        heard.append(step)
        return len(heard) == 2

    objective = _problem(key, Dropout(0.4), rng)
    result = _solve(solver, objective, Stop(1e-13, 1000, report))
    assert len(heard) == 2
    assert result.n_iter == 2
    assert not result.converged  # it was not known to tol


def _traced(key, solver, rng, trace):
    objective = _problem(key, Dropout(0.4), rng)
    stop = Stop(1e-10, 3000, report=lambda *told: trace.append(told))
    return objective, _solve(solver, objective, stop)


KINKED = [
    pytest.param(*p.values, tol, seed, id=f"{p.id}-{tol:g}-{seed}")
    for p in PAIRS
    for tol, seeds in (
        {1e-3: 3, 1e-6: 3, 1e-9: 3} if p.values[1] == "newton" else {1e-4: 1}
    ).items()
    for seed in range(seeds)
    if LOSSES[p.values[0]]().kink_width
]


@pytest.mark.parametrize(("key", "solver", "tol", "seed"), KINKED)
def test_kinked_losses_without_noise(key, solver, tol, seed):
    """An exact quadratic program, solved by CLARABEL, is the witness."""
    rng = np.random.default_rng(seed)
    objective, _, (X, y, c) = whole_problem(key, Dropout(0.0), rng, n=30, d=D, k=2)
    result = _solve(solver, objective, Stop(tol, 600))
    assert result.converged
    best = [reference.clean_svm(X, row, c) for row in y]
    gap = (result.point.value - best) / best
    assert np.all((gap >= -1e-9) & (gap <= 1.5 * tol))


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize(
    "key", [("logistic", "jensen"), ("exponential", "exact"), ("poisson", "exact")]
)
def test_the_domain_of_laplace_is_not_left(key, solver, rng):
    """Strong pull on the weights, which must stay below 1 / scale."""
    objective, _, _ = whole_problem(key, Laplace(2.0), rng, n=60)
    objective = replace(objective, weights=50 * objective.weights)
    result = _solve(solver, objective, Stop(1e-10, 2000))
    assert result.converged
    assert np.abs(result.point.theta[:, :-1]).max() < 0.5


@pytest.mark.parametrize("key", [p for p in LOSS_KEYS if p not in CONVEX_KEYS])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_losses_that_are_not_convex_end_at_a_stationary_point(key, solver, rng):
    objective = _problem(key, Dropout(0.5), rng)
    result = _solve(solver, objective, Stop(1e-12, 1000))
    assert result.converged
    np.testing.assert_allclose(result.point.gradient, 0.0, atol=1e-4)


@pytest.mark.parametrize("intercept", [5.0, 50.0, -500.0])
@pytest.mark.parametrize("algorithm", ["newton", "factored"])
@pytest.mark.parametrize(
    "key", [p for p in LOSS_KEYS if LOSSES[p.values[0]]().kink_width]
)
def test_a_start_far_from_the_kinks_ends_at_the_same_minimum(
    key, algorithm, intercept, rng
):
    """Where the objective is large and the loss flat, solvers must not stop early."""
    whole, *_ = whole_problem(key, Dropout(0.3), rng, n=60, d=3, k=2)
    best = minimum(whole, Stop(1e-9, 500)).point.value
    start = np.zeros(whole.shape)
    start[:, 0], start[:, -1] = 1e-3, intercept
    plan = plan_for(whole, algorithm=algorithm, start="given")
    end = minimize(whole.objective(), start, plan, Stop(1e-6, 500))
    assert end.converged
    np.testing.assert_allclose(end.point.value, best, rtol=2e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_starting_at_the_solution_is_quick(solver, rng):
    objective = _problem(("logistic", "variational"), Dropout(0.4), rng)
    best = _solve("newton", objective).point.theta
    plan = plan_for(objective, solver)
    result = SOLVERS[solver](objective.objective().at(best), plan, Stop(1e-8, 100))
    assert result.converged
    assert result.n_iter <= 2


def test_unknown_solver_names_the_legal_ones():
    with pytest.raises(
        ValueError, match=r"solver='sgd' is not known; use one of 'newton', 'lbfgs'"
    ):
        check_solver("sgd", has_majorizer=True, loss="Hinge")


def test_irls_needs_a_majorizer():
    with pytest.raises(
        ValueError, match=r"needs a loss with a quadratic majoriser, which Exponential"
    ):
        check_solver("irls", has_majorizer=False, loss="Exponential")


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_converged_on_a_non_convex_loss_means_that_the_gradient_vanished(solver, rng):
    for _ in range(30):
        X = rng.poisson(3 / np.arange(1, 41) ** 0.7, size=(60, 40)).astype(float)
        objective = Problem(
            as_design(X), targets("classification", rng, X), np.full(60, 10.0),
            Dropout(0.5), LOSSES["logistic", "taylor"](), fit_intercept=True,
        )  # fmt: skip
        result = _solve(solver, objective, Stop(tol=1e-6, max_iter=1000))
        assert result.converged
        point = result.point
        scale = 1 + np.abs(point.hessian().diagonal)
        promise = 0.5 * np.sum(point.gradient**2 / scale, axis=1)
        assert np.all(promise <= 1e-5 * point.value)
