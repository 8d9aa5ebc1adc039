"""The whole product: every loss with every noise, design and intercept."""

import numpy as np
import pytest
import reference
from numerics import derivative
from problems import CONVEX_KEYS, IN_MEMORY, LOSS_KEYS, as_storage, noises, problem

from noiseproof._marginal import Problem
from noiseproof._marginal.cumulant import CumulantLoss
from noiseproof._marginal.losses import LOSSES
from noiseproof._marginal.moment import MomentLoss
from noiseproof._rows import DESIGNS
from noiseproof.noise import Dropout, Laplace

D = 4
NOISES = [
    *noises(D, per_feature=[True]),
    pytest.param(Dropout(0.3, groups=["a", "b", "a", "b"]), id="dropout-groups"),
    pytest.param(Dropout([0.2, 0.4, 0.2, 0.2], [[0, 2, 3]]), id="dropout-one-alone"),
]
MOMENT_KEYS = [p for p in LOSS_KEYS if issubclass(LOSSES[p.values[0]], MomentLoss)]
CUMULANT_KEYS = [p for p in LOSS_KEYS if issubclass(LOSSES[p.values[0]], CumulantLoss)]
MAJORIZED = [p for p in MOMENT_KEYS if LOSSES[p.values[0]].has_majorizer]
NOT_CONVEX = [p for p in LOSS_KEYS if not LOSSES[p.values[0]].convex]


@pytest.fixture(params=[True, False], ids=["intercept", "no-intercept"])
def fit_intercept(request):
    return request.param


@pytest.fixture(params=NOISES)
def noise(request):
    return request.param


@pytest.fixture(params=LOSS_KEYS)
def key(request):
    return request.param


@pytest.fixture(params=IN_MEMORY)
def design(request):
    return request.param


@pytest.fixture
def cell(key, noise, design, fit_intercept, rng):
    return problem(key, noise, rng, design=design, fit_intercept=fit_intercept)


def _numeric(function, theta, P):
    """Derivative of a function of θ along P."""
    return derivative(lambda t: function(theta + t * P), np.float64(0.0), 1e-3)


def test_value_is_the_naive_one(cell, key, noise, fit_intercept):
    objective, theta, (X, y, weights) = cell
    naive = [
        reference.objective(key, noise, X, y[k], weights, theta[k], fit_intercept)
        for k in range(len(y))
    ]
    np.testing.assert_allclose(objective.at(theta).value, naive, rtol=1e-10)


def test_gradient_against_differences(cell, rng):
    objective, theta, _ = cell
    gradient = objective.at(theta).gradient
    for j in range(theta.shape[1]):
        P = np.zeros_like(theta)
        P[:, j] = 1.0
        numeric = _numeric(lambda t: objective.at(t).value, theta, P)
        np.testing.assert_allclose(gradient[:, j], numeric, rtol=1e-7, atol=1e-7)


def test_hessian_products_and_diagonal(cell, rng):
    objective, theta, _ = cell
    hessian = objective.at(theta).hessian()
    P = rng.normal(size=theta.shape)
    numeric = _numeric(lambda t: objective.at(t).gradient, theta, P)
    np.testing.assert_allclose(hessian.product(P), numeric, rtol=1e-6, atol=1e-6)
    for j in range(theta.shape[1]):
        P = np.zeros_like(theta)
        P[:, j] = 1.0
        np.testing.assert_allclose(
            hessian.diagonal[:, j], hessian.product(P)[:, j], rtol=1e-10, atol=1e-10
        )


def test_ray_is_evaluation_again(cell, rng):
    objective, theta, _ = cell
    P, alpha = 0.2 * rng.normal(size=theta.shape), np.array([1.0, 0.3])
    ray = objective.at(theta).ray(P)
    there = objective.at(theta + alpha[:, None] * P)
    np.testing.assert_allclose(ray(alpha).value, there.value, rtol=1e-12)
    point = ray(alpha)
    np.testing.assert_allclose(point.theta, there.theta)
    np.testing.assert_allclose(point.value, there.value, rtol=1e-12)
    np.testing.assert_allclose(point.gradient, there.gradient, rtol=1e-10, atol=1e-10)


def test_the_start_is_a_constant_that_is_evaluated_right(cell, key, fit_intercept):
    objective = cell[0]
    start = objective.at_constant()
    assert not start.has_weights.any()
    again = objective.at(start.theta)
    np.testing.assert_allclose(start.value, again.value, rtol=1e-13)
    np.testing.assert_allclose(start.gradient, again.gradient, atol=1e-12)
    assert np.array_equal(start.null_value, objective.null_value)
    known = objective.label_sums is not None
    assert start.theta.any() == (fit_intercept and known)
    if (
        start.theta.any() and not objective.loss.kink_width
    ):  # the best constant there is
        np.testing.assert_allclose(start.gradient[:, -1], 0, atol=1e-10)


@pytest.mark.parametrize("noise", noises(D, per_feature=[False]))
def test_one_level_is_that_level_for_each_feature(key, noise, design, rng):
    objective, theta, parts = problem(key, noise, rng, design=design)
    X, y, weights = parts
    same = Problem(
        DESIGNS[design](as_storage(design, X)),
        *(y, weights, noise.at(np.full(D, noise.level)), LOSSES[key](), True),
    ).objective()
    P = rng.normal(size=theta.shape)
    one, other = objective.at(theta), same.at(theta)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-13)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        one.hessian().product(P), other.hessian().product(P), rtol=1e-10, atol=1e-11
    )


@pytest.mark.parametrize("classes", [[1], [False, True]], ids=["index", "mask"])
def test_classes_can_be_taken_apart(cell, classes, rng):
    objective, theta, _ = cell
    P = rng.normal(size=theta.shape)
    whole = objective.at(theta)
    alone = objective.restrict(classes).at(theta[classes])
    part = whole.restrict(classes)
    assert part.shape == (1, theta.shape[1])
    for got in (alone, part):
        np.testing.assert_allclose(got.value, whole.value[1:])
        np.testing.assert_allclose(got.gradient, whole.gradient[1:])
        np.testing.assert_allclose(
            got.hessian().product(P[1:]), whole.hessian().product(P)[1:], atol=1e-12
        )
    curvature = whole.hessian().restrict(classes)
    np.testing.assert_allclose(
        curvature.product(P[1:]), whole.hessian().product(P)[1:], atol=1e-12
    )
    np.testing.assert_allclose(curvature.diagonal, whole.hessian().diagonal[1:])


@pytest.mark.parametrize("key", MOMENT_KEYS)
def test_smoothing_is_more_variance(key, noise, rng):
    """It adds ε² to the variance of every score, and says what that costs."""
    objective, theta, (X, y, weights) = problem(key, noise, rng)
    epsilon = 0.3
    smooth = objective.smoothed(epsilon).at(theta)
    naive = [
        reference.objective(key, noise, X, y[k], weights, theta[k], True, epsilon**2)
        for k in range(len(y))
    ]
    np.testing.assert_allclose(smooth.value, naive, rtol=1e-10)
    plain = objective.at(theta)
    np.testing.assert_allclose(
        smooth.smoothing_gap, smooth.value - plain.value, atol=1e-12
    )
    again = plain.smoothed(epsilon)
    np.testing.assert_allclose(again.value, smooth.value, rtol=1e-14)
    np.testing.assert_allclose(again.gradient, smooth.gradient, rtol=1e-14)
    np.testing.assert_allclose(again.smoothed(0.0).value, plain.value, rtol=1e-14)


@pytest.mark.parametrize("key", CUMULANT_KEYS)
def test_losses_without_kinks_need_no_smoothing(key, rng):
    objective, theta, _ = problem(key, Laplace(0.3), rng)
    assert objective.loss.kink_width == 0
    smooth = objective.smoothed(0.3).at(theta)
    np.testing.assert_array_equal(smooth.value, objective.at(theta).value)
    np.testing.assert_array_equal(smooth.smoothing_gap, 0.0)


@pytest.mark.parametrize("key", MAJORIZED)
def test_majorizer_lies_above(key, noise, design, fit_intercept, rng):
    """Chen et al.'s quadratic: its minimum bounds the objective there from above."""
    objective, theta, _ = problem(
        key, noise, rng, design=design, fit_intercept=fit_intercept
    )
    point = objective.at(theta)
    majorizer = point.hessian(np.ones(len(theta), dtype=bool))
    for scale in (1e-3, 0.1, 1.0, 10.0):
        P = scale * rng.normal(size=theta.shape)
        quadratic = np.sum(P * (point.gradient + 0.5 * majorizer.product(P)), axis=1)
        above = point.value + quadratic
        assert np.all(objective.at(theta + P).value <= above * (1 + 1e-12) + 1e-12)


def _check_expansion(objective, theta, majorized):
    """One pass gives what the others give one by one."""
    point = objective.at(theta)
    value, gap, gradient, matrix = objective.at(theta).expansion(majorized)
    close = {"rtol": 1e-10, "atol": 1e-11}
    np.testing.assert_allclose(value, point.value, rtol=1e-12)
    np.testing.assert_allclose(gap, point.smoothing_gap, **close)
    np.testing.assert_allclose(gradient, point.gradient, **close)
    curvature = point.hessian(majorized)
    for j in range(theta.shape[1]):
        P = np.zeros_like(theta)
        P[:, j] = 1.0
        np.testing.assert_allclose(matrix[:, :, j], curvature.product(P), **close)
    restricted = objective.restrict([1]).at(theta[1:]).expansion(majorized[1:])
    np.testing.assert_allclose(restricted.matrix, matrix[1:], **close)


def test_expansion(cell):
    objective, theta, _ = cell
    _check_expansion(objective, theta, np.zeros(len(theta), dtype=bool))


@pytest.mark.parametrize("key", MAJORIZED)
def test_expansion_with_majorizer_and_smoothing(key, noise, design, fit_intercept, rng):
    objective, theta, _ = problem(
        key, noise, rng, design=design, fit_intercept=fit_intercept
    )
    for majorized in ([True, True], [True, False]):
        _check_expansion(objective.smoothed(0.3), theta, np.array(majorized))


@pytest.mark.parametrize("key", CUMULANT_KEYS)
def test_no_majorizer_for_cumulants(key, rng):
    objective, theta, _ = problem(key, Laplace(0.3), rng)
    assert not objective.loss.has_majorizer
    with pytest.raises(TypeError, match="no quadratic majoriser"):
        objective.at(theta).hessian(np.array([False, True]))
    with pytest.raises(TypeError, match="no quadratic majoriser"):
        objective.at(theta).expansion(np.array([False, True]))


@pytest.mark.parametrize("key", CONVEX_KEYS)
def test_convex_losses_are_convex_along_segments(key, noise, rng):
    objective, _, _ = problem(key, noise, rng, k=40)
    one, other = rng.uniform(-1.9, 1.9, size=(2, *objective.shape))
    ends = [objective.at(theta).value for theta in (one, other)]
    middle = objective.at((one + other) / 2).value
    assert np.all(middle <= np.mean(ends, axis=0) * (1 + 1e-12))


@pytest.mark.parametrize("key", NOT_CONVEX)
def test_the_others_are_not(key, rng):
    """The flag is no excuse: somewhere the curvature is truly negative."""
    objective, _, _ = problem(key, Laplace(2.0), rng, k=40)
    theta = rng.normal(size=objective.shape, scale=2.0)
    hessian = objective.at(theta).hessian()
    columns = []
    for j in range(theta.shape[1]):
        P = np.zeros_like(theta)
        P[:, j] = 1.0
        columns.append(hessian.product(P))
    assert np.linalg.eigvalsh(np.stack(columns, axis=2)).min() < -1e-3


@pytest.mark.parametrize("key", CUMULANT_KEYS)
def test_outside_the_domain_the_objective_is_infinite(key, design, rng):
    objective, theta, _ = problem(
        key, Laplace([0.5, 0.1, 0.5, 0.5]), rng, design=design
    )
    np.testing.assert_allclose(objective.bound, [2.0, 10.0, 2.0, 2.0])
    theta[0, 2] = 2.5
    theta[1, 1] = 2.5
    value = objective.at(theta).value
    assert value[0] == np.inf
    assert np.isfinite(value[1])
