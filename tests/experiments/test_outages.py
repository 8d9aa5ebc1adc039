"""Outages of sensors: what they do to lagged rows, and how methods are judged."""

import itertools

import numpy as np
import pytest
from experiments.data import load
from experiments.forecasters import (
    METHODS,
    RIDGE,
    ROBUST,
    AdaptiveRidge,
    AdaptiveRobust,
    Past,
    Rows,
    Trained,
    mixture,
    robust,
)
from experiments.outages import EXPERIMENT, recovered, window
from experiments.series import Series, last_values
from scipy.optimize import linprog
from sklearn.linear_model import LinearRegression


@pytest.fixture
def series(rng):
    lags = ((1, 3), (2,), (1,))
    calendar = np.arange(40.0)[:, None]
    return Series(rng.random((40, 3)), ("a", "b", "b"), calendar, lags)


def test_a_lost_reading_is_missing_in_all_rows_that_look_back(series):
    readings = series.with_outages(0.4, 3, np.random.default_rng(0))
    lost = np.isnan(readings)
    np.testing.assert_array_equal(lost[:, 1], lost[:, 2])  # one sensor
    rows, places = series.rows(readings), [(0, 1), (0, 3), (1, 2), (2, 1)]
    assert series.groups == ["calendar 0", "a", "a", "b", "b"]
    for step in range(3, 40):
        expected = [step, *(readings[step - lag, column] for column, lag in places)]
        np.testing.assert_array_equal(rows[step], expected)


def test_rows_know_nothing_of_their_own_step(series):
    later = series.readings.copy()
    later[20:] = -1.0
    np.testing.assert_array_equal(series.rows(later)[3:21], series.rows()[3:21])


def test_steps_that_were_not_recorded_are_no_rows(series):
    series.readings[10, 1] = np.nan
    assert set(range(3, 40)) - set(series.complete()) == {12}
    series.readings[20, 0] = np.nan
    assert set(range(3, 40)) - set(series.complete()) == {12, 20, 21, 23}


def test_last_values_are_those_before(rng):
    readings = np.where(rng.random((60, 3)) < 0.6, np.nan, rng.random((60, 3)))
    filled = last_values(readings)
    for step, column in itertools.product(range(60), range(3)):
        before = readings[: step + 1, column]
        known = before[~np.isnan(before)]
        expected = known[-1] if len(known) else np.nan
        np.testing.assert_array_equal(filled[step, column], expected)


def test_test_rows_follow_the_training_rows():
    series, sizes = load("bike", made=True), EXPERIMENT.sizes["tiny"]
    ends = []
    for repetition in range(sizes.repetitions):
        train, test = window(series, repetition, sizes)
        steps = [*train, *test]
        assert (len(train), len(test)) == (sizes.n_train, sizes.n_test)
        assert steps == sorted(set(steps))
        ends.append(test[-1])
    assert ends[0] < ends[-1] == series.complete()[-1]


def test_a_mixture_is_the_best_of_all(rng):
    forecasts = rng.standard_normal((200, 2))
    for share in (-0.5, 0.3, 2.0):
        wanted = share * forecasts[:, 0] + (1 - share) * forecasts[:, 1]
        weights = mixture(forecasts, wanted)
        assert weights.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(weights[0], np.clip(share, 0, 1), atol=1e-3)


def test_adaptive_weights_are_a_regression_for_each_pattern(rng):
    """With one feature that may be missing, there are two patterns."""
    X = rng.multivariate_normal([1.0, 2.0], [[1.0, 0.8], [0.8, 1.0]], 4000)
    y = X @ [2.0, 1.0] + 3.0
    copy = np.where(np.arange(4000)[:, None] % 2 * [1, 0], np.nan, X)
    model = AdaptiveRidge(1e-3).fit(Past(X, y, copy[None]))
    np.testing.assert_allclose(model.predict(X), y, atol=0.01)
    alone = LinearRegression().fit(X[1::2, 1:], y[1::2])
    np.testing.assert_allclose(
        model.predict(copy[1::2]), alone.predict(X[1::2, 1:]), atol=0.01
    )


def test_adaptive_weights_for_the_worst_case_solve_a_linear_program(rng):
    """min Σ t with t ≥ |error| of each copy of a row, by HiGHS."""
    X, n = rng.standard_normal((80, 3)), 80
    y = X @ [2.0, 1.0, -1.0] + rng.standard_t(2, n)
    lost = np.array([np.zeros((n, 3)), *(rng.random((4, n, 3)) < 0.4)]).astype(bool)
    copies = np.where(lost, np.nan, X)
    model = AdaptiveRobust(1e-4).fit(Past(X, y, copies[1:]))
    designs = model._design(copies.reshape(-1, 3)).astype(float)
    rows, tops = np.tile(y, 5) - y.mean(), np.tile(-np.eye(n), (5, 1))
    program = linprog(
        np.append(np.zeros(designs.shape[1]), np.ones(n) / n),
        A_ub=np.block([[designs, tops], [-designs, tops]]),
        b_ub=np.append(rows, -rows),
        bounds=(None, None),
    )

    def worst(own):
        errors = np.abs(own.predict(copies.reshape(-1, 3)) - np.tile(y, 5))
        return errors.reshape(5, n).max(axis=0).mean()

    smoothing = 0.02 * np.log(5) * y.std()
    assert program.fun <= worst(model) * (1 + 1e-6) <= program.fun + smoothing
    least_squares = AdaptiveRidge(1e-4).fit(Past(X, y, copies[1:]))
    assert worst(least_squares) > program.fun + smoothing


def test_the_robust_program_may_guard_against_nothing(series, rng):
    """It does where no reading is ever missing."""
    X = series.rows()[3:]
    y = X @ [0.0, 3.0, 1.0, 1.0, 0.0] + 0.1 * rng.standard_normal(len(X))
    trained = Trained(Past(X, y, X[None]), series, EXPERIMENT.sizes["tiny"])
    chosen = METHODS[RIDGE, ROBUST](trained)(Rows(X, X))
    np.testing.assert_array_equal(chosen, robust(0.0, trained)(Rows(X, X)))
    assert np.abs(chosen - robust(1.0, trained)(Rows(X, X))).max() > 0.1


def test_what_is_recovered_is_a_ratio_of_sums():
    errors = {"mean fill": (1.0, 5.0, 9.0), "blend": (2.0, 2.0, 4.0)}
    rows = [
        {"method": method, "length": length, "repetition": r, "mae": (r + 1) * error}
        for method, each in errors.items()
        for length, error in zip((0, 1, 6), each, strict=True)
        for r in range(3)
    ]
    # (5 + 9 - 2 - 4) / (5 + 9 - 2 * 1), the same in all repetitions
    np.testing.assert_allclose(recovered(rows, "blend", "mean fill"), [8 / 12] * 3)
    np.testing.assert_allclose(
        recovered(rows, "blend", "mean fill", length=6), [5 / 8] * 3
    )
    for row in rows:
        if row["method"] == "blend" and not row["length"]:
            row["mae"] = 0.0  # better than the base model: then it is measured by that
    np.testing.assert_allclose(recovered(rows, "blend", "mean fill"), [8 / 14] * 3)
