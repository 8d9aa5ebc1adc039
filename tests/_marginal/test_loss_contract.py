"""What every loss promises about itself, over the registry."""

import numpy as np
import pytest
import reference
from devices import on_torch
from numerics import derivative
from problems import LOSS_KEYS
from scipy.integrate import quad
from scipy.stats import norm

from noiseproof._marginal.cumulant import CumulantLoss
from noiseproof._marginal.losses import LOSSES, make_loss
from noiseproof._marginal.moment import MomentLoss
from noiseproof._rows import host
from noiseproof._rows.arrays import DeviceArray

MEANS = np.array([-30.0, -3.0, -0.4, 0.0, 0.7, 2.0, 25.0])
VARIANCES = np.array([1e-4, 1e-2, 0.3, 1.0, 3.9, 4.1, 60.0, 900.0])
MOMENT_KEYS = [p for p in LOSS_KEYS if issubclass(LOSSES[p.values[0]], MomentLoss)]
CUMULANT_KEYS = [p for p in LOSS_KEYS if issubclass(LOSSES[p.values[0]], CumulantLoss)]

every_loss = pytest.mark.parametrize("key", LOSS_KEYS)
moment_loss = pytest.mark.parametrize("key", MOMENT_KEYS)
cumulant_loss = pytest.mark.parametrize("key", CUMULANT_KEYS)


def _labels(loss):
    return np.array([-1.0, 1.0] if loss.task == "classification" else [0.0, 0.5, 3.0])


def _grid(loss, means=MEANS, variances=VARIANCES):
    """All (y, m, v), flat."""
    grid = np.meshgrid(_labels(loss), means, variances, indexing="ij")
    return [part.ravel() for part in grid]


def _row(loss, y, m, v):
    """Row loss of a score that Gaussian noise corrupts: K(c) = c m + c² v / 2."""
    if isinstance(loss, MomentLoss):
        return loss.value(y, m, v)
    return loss.value(loss.slope(y) * m + v / 2) + loss.linear(y) * m


@moment_loss
def test_slopes_against_differences(key):
    loss = LOSSES[key]()
    y, m, v = _grid(loss)
    slopes = loss.slopes(y, m, v)
    h = 0.01 * np.minimum(1, np.sqrt(v))
    numeric = derivative(lambda m: loss.value(y, m, v), m, h)
    np.testing.assert_allclose(slopes.m, numeric, rtol=1e-6, atol=1e-8)
    numeric = v * derivative(lambda v: loss.value(y, m, v), v, 0.01 * v)
    np.testing.assert_allclose(v * slopes.v, numeric, rtol=1e-6, atol=1e-10)


@moment_loss
def test_curvatures_against_differences(key):
    loss = LOSSES[key]()
    y, m, v = _grid(loss)
    mm, mv, vv = loss.curvatures(y, m, v)
    root = np.sqrt(v)  # the curvatures grow as v falls: compare them in units of v
    h = 0.01 * np.minimum(1, root)
    numeric = derivative(lambda m: loss.slopes(y, m, v).m, m, h)
    np.testing.assert_allclose(root * mm, root * numeric, rtol=1e-6, atol=1e-8)
    numeric = derivative(lambda m: loss.slopes(y, m, v).v, m, h)
    np.testing.assert_allclose(v * mv, v * numeric, rtol=1e-6, atol=1e-8)
    numeric = derivative(lambda v: loss.slopes(y, m, v).m, v, 0.01 * v)
    np.testing.assert_allclose(v * mv, v * numeric, rtol=1e-6, atol=1e-8)
    numeric = derivative(lambda v: loss.slopes(y, m, v).v, v, 0.01 * v)
    np.testing.assert_allclose(v * root * vv, v * root * numeric, rtol=1e-6, atol=1e-8)


@cumulant_loss
def test_derivatives_against_differences(key):
    loss = LOSSES[key]()
    K = np.array([-30.0, -2.0, -0.1, 0.0, 0.6, 3.0, 12.0])
    first, second = loss.derivatives(K)
    numeric = derivative(loss.value, K, 1e-3)
    np.testing.assert_allclose(first, numeric, rtol=1e-8, atol=1e-11)
    numeric = derivative(lambda K: loss.derivatives(K)[0], K, 1e-3)
    np.testing.assert_allclose(second, numeric, rtol=1e-8, atol=1e-11)


@cumulant_loss
def test_cumulants_are_taken_at_plus_or_minus_one(key):
    loss = LOSSES[key]()
    assert set(loss.slope(_labels(loss))) <= {-1.0, 1.0}


@every_loss
def test_no_noise_is_the_textbook_loss(key):
    loss = LOSSES[key]()
    y, m, _ = _grid(loss, variances=[0.0])
    expected = reference.TEXTBOOK[key[0]](y, m)
    np.testing.assert_allclose(loss.plain(y, m), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        _row(loss, y, m, np.zeros_like(m)), expected, rtol=1e-12, atol=1e-14
    )


@every_loss
def test_row_loss_is_the_one_in_the_table(key):
    loss = LOSSES[key]()
    y, m, v = _grid(loss, means=MEANS[1:-1], variances=VARIANCES[1:5])
    expected = reference.ROW[key](y, m, v, lambda c: c * m + v / 2)
    np.testing.assert_allclose(_row(loss, y, m, v), expected, rtol=1e-9)


@every_loss
def test_value_falls_to_plain_as_noise_vanishes(key):
    """Tight at v = 0: no loss jumps there."""
    loss = LOSSES[key]()
    y, m, v = _grid(loss, means=MEANS[1:-1], variances=[1e-12])
    np.testing.assert_allclose(_row(loss, y, m, v), loss.plain(y, m), atol=1e-6)


@moment_loss
def test_extremes_are_finite(key):
    loss = LOSSES[key]()
    y, m, v = _grid(
        loss, [-500.0, -1e-9, 0.0, 1.0, 500.0], [0.0, 1e-300, 1e-20, 1.0, 1e6]
    )
    parts = [loss.value(y, m, v), *loss.slopes(y, m, v), *loss.curvatures(y, m, v)]
    assert all(np.isfinite(part).all() for part in parts)


@every_loss
def test_huge_scores_are_never_nan(key):
    loss = LOSSES[key]()
    y, m, v = _grid(loss, [-1e8, 1e8], [0.0, 1.0, 1e12])
    with np.errstate(over="ignore"):  # of this test's own K
        assert not np.isnan(_row(loss, y, m, v)).any()


@every_loss
def test_more_noise_costs_more(key):
    """True of every convex loss, by Jensen's inequality; of the penalties too."""
    loss = LOSSES[key]()
    y, m, v = _grid(loss)
    values = _row(loss, y, m, v).reshape(-1, len(VARIANCES))
    rounding = 1e-12 + 1e-13 * np.abs(values[:, 1:])  # quadrature is good to 1e-12
    assert np.all(np.diff(values, axis=1) >= -rounding)
    assert np.all(values[:, -1] > loss.plain(y, m).reshape(values.shape)[:, -1])


@every_loss
def test_label_free_penalty_says_whether_the_penalty_needs_labels(key):
    loss = LOSSES[key]()
    y, m, v = _grid(loss, means=MEANS[1:-1], variances=[0.3, 4.1])
    penalty = (_row(loss, y, m, v) - loss.plain(y, m)).reshape(len(_labels(loss)), -1)
    differs = np.abs(penalty - penalty[0]).max() > 1e-9
    assert loss.label_free_penalty == (not differs)


@moment_loss
def test_majorizer_touches_and_dominates(key):
    loss = LOSSES[key]()
    rng = np.random.default_rng(0)
    y = rng.choice(_labels(loss), 2000)
    m, m_new = rng.normal(scale=3, size=(2, 2000))
    v, v_new = rng.gamma(0.5, scale=4, size=(2, 2000)) + 1e-6
    slopes = loss.slopes(y, m, v)
    model = (
        loss.value(y, m, v)
        + slopes.m * (m_new - m)
        + slopes.v * (v_new - v)
        + slopes.v * (m_new - m) ** 2
    )
    room = model - loss.value(y, m_new, v_new)
    # it touches with value and slope by construction; is it above?
    assert bool(np.all(room >= -1e-10)) == loss.has_majorizer


@moment_loss
def test_kink_width_marks_the_losses_that_bend_without_bound(key):
    loss = LOSSES[key]()
    y, m, v = _grid(loss, means=np.linspace(-2, 2, 401), variances=[1e-10])
    sharp = np.abs(loss.curvatures(y, m, v).mm).max() > 1e3
    assert bool(loss.kink_width) == sharp


@moment_loss
def test_moments_on_a_device(key):
    """NumPy's functions, answered by another library, give the same."""
    loss = LOSSES[key]()
    row = _grid(loss)
    there = [DeviceArray(on_torch(part)) for part in row]
    for law in (loss.value, loss.slopes, loss.curvatures):
        for one, other in zip(law(*there), law(*row), strict=True):
            np.testing.assert_allclose(host(one), other, rtol=1e-12, atol=1e-14)


@cumulant_loss
def test_cumulants_on_a_device(key):
    loss = LOSSES[key]()
    K = np.array([-800.0, -30.0, -2.0, -0.1, 0.0, 0.6, 3.0, 12.0])
    there = DeviceArray(on_torch(K))
    for one, other in zip(
        (loss.value(there), *loss.derivatives(there)),
        (loss.value(K), *loss.derivatives(K)),
        strict=True,
    ):
        np.testing.assert_allclose(host(one), other, rtol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("v", [1e-3, 0.1, 1.0, 3.99, 4.01, 25.0, 400.0])
def test_gaussian_closure_against_adaptive_quadrature(loss, v):
    closure = make_loss(loss, "gaussian")
    textbook = reference.TEXTBOOK[loss]
    sigma = np.sqrt(v)
    for y in (-1.0, 1.0):
        for m in (-6.0, -0.3, 0.0, 1.0, 4.5):
            bends = np.array([(1 / y - m) / sigma, -m / sigma])
            expected, _ = quad(
                lambda t, y=y, m=m: textbook(y, m + sigma * t) * norm.pdf(t),
                *(-12, 12),
                points=np.clip(bends, -11, 11),
                epsabs=1e-13,
                epsrel=1e-13,
                limit=400,
            )
            value = closure.value(np.array([y]), np.array([m]), np.array([v]))[0]
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("expectation", ["variational", "gaussian"])
def test_hinge_margin(expectation):
    loss = make_loss("hinge", expectation, margin=3.0)
    scores = np.array([-1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(
        loss.plain(np.ones(4), scores), [4.0, 1.0, 0.0, 0.0], atol=1e-14
    )


def test_unknown_expectation_names_the_legal_ones():
    with pytest.raises(
        ValueError, match=r"expectation='exact' is not known.*'variational', 'gaussian'"
    ):
        make_loss("hinge", "exact")
