"""Averaged quantile models give quantiles of the target, not means of quantiles."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noiseproof
from noiseproof import AverageOverMissing, DropoutRidge
from noiseproof.conditionals import Donors
from noiseproof.estimators.quantiles import (
    contains_quantiles,
    mixture_quantiles,
    quantile_parameter,
)

name = pytest.mark.parametrize
LINEAR = QuantileRegressor(alpha=0.0)
HIGH = QuantileRegressor(quantile=0.9, alpha=0.0)
BOOSTED = HistGradientBoostingRegressor(loss="quantile", quantile=0.9, max_iter=10)


SEARCH = GridSearchCV(HIGH, {"alpha": [0.0, 0.01]}, cv=2)


class Theirs(RegressorMixin, BaseEstimator):
    """Parameters such as those of boosting libraries."""

    def __init__(self, objective="quantile", alpha=0.9, quantile_alpha=None):
        self.objective = objective
        self.alpha = alpha
        self.quantile_alpha = quantile_alpha


@name(
    ("model", "found"),
    [
        (LINEAR, ("quantile", 0.5)),
        (BOOSTED, ("quantile", 0.9)),
        (GradientBoostingRegressor(loss="quantile", alpha=0.2), ("alpha", 0.2)),
        (make_pipeline(StandardScaler(), BOOSTED), ("<last>__quantile", 0.9)),
        (TransformedTargetRegressor(LINEAR), ("regressor__quantile", 0.5)),
        (SEARCH, ("estimator__quantile", 0.9)),
        (BaggingRegressor(HIGH), ("estimator__quantile", 0.9)),
        (
            make_pipeline(BaggingRegressor(make_pipeline(BOOSTED))),
            ("baggingregressor__estimator__<last>__quantile", 0.9),
        ),
        (StackingRegressor([("a", Ridge())], HIGH), ("final_estimator__quantile", 0.9)),
        (GridSearchCV(HIGH, {"quantile": [0.5, 0.9]}), None),
        (GridSearchCV(HIGH, [{"alpha": [0.0]}, {"quantile": [0.5]}]), None),
        (VotingRegressor([("estimator", HIGH), ("b", HIGH)]), None),
        (make_pipeline(FrozenEstimator(HIGH)), None),
        (Theirs(), ("alpha", 0.9)),
        (Theirs("reg:quantileerror", quantile_alpha=0.3), ("quantile_alpha", 0.3)),
        (Theirs("reg:quantileerror", quantile_alpha=[0.1, 0.9]), None),
        (Theirs("regression"), None),
        (HistGradientBoostingRegressor(), None),
        (GradientBoostingRegressor(), None),
        (DummyRegressor(), None),
        (Ridge(), None),
        (make_pipeline(StandardScaler(), Ridge()), None),
        (DropoutRidge(), None),
        (object(), None),
    ],
)
def test_which_models_are_quantile_models(model, found):
    if found is not None:
        found = found[0].replace("<last>", "histgradientboostingregressor"), found[1]
    assert quantile_parameter(model) == found


def test_quantiles_of_gaussian_mixtures(rng):
    """Between and beyond the levels, against the root of the known distribution."""
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    mean, std = 3 * rng.normal(size=30), rng.uniform(0.1, 3.0, size=30)
    starts = np.array([0, 1, 8, 20])
    weights = rng.random(30)
    weights /= np.repeat(np.add.reduceat(weights, starts), [1, 7, 12, 10])
    knots = mean[:, None] + std[:, None] * ndtri(levels)
    for wanted in (0.01, 0.3, 0.5, 0.9, 0.99):
        found = mixture_quantiles(knots, levels, weights, starts, wanted)
        for i, part in enumerate(np.split(np.arange(30), starts[1:])):

            def off(y, part=part, wanted=wanted):
                return weights[part] @ ndtr((y - mean[part]) / std[part]) - wanted

            assert found[i] == pytest.approx(brentq(off, -50, 50), abs=1e-9)


def test_steps_and_crossing_quantiles_are_put_right():
    """A target that takes one value only; models of different levels that cross."""
    levels = np.array([0.05, 0.5, 0.95])
    found = mixture_quantiles(np.full((1, 3), 2.5), levels, np.ones(1), [0], 0.3)
    assert found == pytest.approx([2.5])
    crossed = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    found = mixture_quantiles(crossed, levels, np.ones(2), [0, 1], 0.7)
    assert found[0] == found[1]


class Known(RegressorMixin, BaseEstimator):
    """The true quantiles of y = x₀ + 3 x₁ + (½ + |x₁|) ε."""

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return X[:, 0] + 3 * X[:, 1] + (0.5 + np.abs(X[:, 1])) * ndtri(self.quantile)


def rows(rng, n, at=None):
    """Two columns that correlate, and the target."""
    first = rng.normal(size=n) if at is None else np.full(n, at)
    X = np.column_stack([first, 0.5 * first + 0.75**0.5 * rng.normal(size=n)])
    return X, Known().predict(X) + (0.5 + np.abs(X[:, 1])) * rng.normal(size=n)


@name("level", [0.1, 0.5, 0.9])
def test_quantiles_are_those_of_the_target_given_what_is_observed(level, rng):
    """Against a Monte Carlo sample of the target where one column is missing."""
    X, y = rows(rng, 20_000)
    model = AverageOverMissing(
        Known(level), "joint-gaussian", n_draws=2000, n_calibration=0
    ).fit(X, y)
    assert model.levels_ == tuple(sorted({level, 0.05, 0.25, 0.5, 0.75, 0.95}))
    for at in (-1.5, 0.0, 1.0):
        true = np.quantile(rows(rng, 200_000, at)[1], level)
        found = model.predict([[at, np.nan]])[0]
        assert abs(found - true) < 0.1
        drawn, weights, _ = model.conditional_.draws([[at, np.nan]], 2000)
        mean = weights @ model.estimator_.predict(drawn)
        if level != 0.5:
            assert abs(mean - true) > 1.5


@name(
    "model",
    [
        HIGH,
        BOOSTED,
        make_pipeline(StandardScaler(), HIGH),
        SEARCH,
        BaggingRegressor(HIGH, n_estimators=3, random_state=0),
    ],
    ids=["linear", "boosting", "pipeline", "search", "bag"],
)
def test_the_share_of_targets_below_a_quantile(model, rng):
    X, y = rows(rng, 900)
    fitted = AverageOverMissing(model, "donors", random_state=0, n_calibration=0)
    fitted.fit(X[:400], y[:400])
    new = X[400:].copy()
    np.testing.assert_array_equal(
        fitted.predict(new), fitted.estimator_.predict(new)
    )  # complete rows, bit for bit
    new[:, 1] = np.nan
    assert abs(np.mean(y[400:] <= fitted.predict(new)) - 0.9) < 0.05
    alone = np.concatenate([fitted.predict(new[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, fitted.predict(new)[:20], rtol=1e-9)


def test_intervals_of_quantile_models_are_two_quantiles(rng, tmp_path):
    """Conformalised: as wide as it takes where the target varies more."""
    X, y = rows(rng, 1200)
    model = AverageOverMissing(LINEAR, "donors", random_state=0).fit(X[:600], y[:600])
    new = X[600:].copy()
    new[::2, 1] = np.nan
    low, high = model.predict_interval(new, coverage=0.8).T
    inside = (low <= y[600:]) & (y[600:] <= high)
    for part in (slice(0, None, 2), slice(1, None, 2)):
        assert abs(inside[part].mean() - 0.8) < 0.07
    assert np.std((high - low)[1::2]) > 0.1
    noiseproof.save(model, tmp_path / "model.npf")
    back = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(back.predict(new), model.predict(new))
    np.testing.assert_array_equal(
        back.predict_interval(new, coverage=0.8), np.column_stack([low, high])
    )


class LikeCatBoost(RegressorMixin, BaseEstimator):
    """The level is part of a text."""

    def __init__(self, loss_function="Quantile:alpha=0.9"):
        self.loss_function = loss_function

    def fit(self, X, y):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


@name(
    "model",
    [
        VotingRegressor([("low", HIGH), ("high", BOOSTED)]),
        StackingRegressor([("a", Ridge())], LikeCatBoost()),
        GridSearchCV(HIGH, {"quantile": [0.5, 0.9]}, cv=2),
        make_pipeline(StandardScaler(), LikeCatBoost()),
        MultiOutputRegressor(HIGH),
    ],
    ids=lambda model: type(model).__name__,
)
def test_quantile_models_whose_level_cannot_be_set_warn(model, rng):
    X, y = rows(rng, 60)
    if isinstance(model, MultiOutputRegressor):
        y = np.column_stack([y, y])
    assert contains_quantiles(model)
    said = f"{type(model).__name__} contains quantile models, but no single parameter"
    with pytest.warns(UserWarning, match=said):
        fitted = AverageOverMissing(model, Donors(), n_calibration=0).fit(X, y)
    assert fitted.levels_ == ()


@name(
    "model",
    [
        Ridge(),
        VotingRegressor([("a", Ridge()), ("b", LikeCatBoost("RMSE"))]),
        StackingRegressor([("inside", HIGH)], Ridge()),
        GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}),
        FrozenEstimator(Ridge()),
        HistGradientBoostingRegressor(),
        DropoutRidge(),
        None,
    ],
)
def test_other_models_contain_no_quantiles(model):
    assert not contains_quantiles(model)


def test_a_frozen_quantile_model_warns(rng):
    X, y = rows(rng, 100)
    frozen = FrozenEstimator(make_pipeline(StandardScaler(), LINEAR).fit(X, y))
    with pytest.warns(UserWarning, match="the mean of the quantiles over the draws"):
        model = AverageOverMissing(frozen, Donors()).fit(X)
    assert model.levels_ == ()
