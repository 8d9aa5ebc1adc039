"""Rows with holes, where training rows have holes as well."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine, make_friedman1
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import noiseproof
from noiseproof import AverageOverMissing
from noiseproof.conditionals import Donors, JointGaussian
from noiseproof.estimators import Indicators, Leaving
from noiseproof.estimators.treatments import (
    OWN,
    Training,
    Treatments,
    _distances,
    _patterns,
    completed,
    completed_fits,
    mean_of,
)
from noiseproof.noise import Missing

name = pytest.mark.parametrize
TREES = HistGradientBoostingClassifier(max_iter=30, random_state=0)


@pytest.fixture
def telling(rng):
    """Rows of which a whole panel is missing, mostly in one class; and more like them.

    The panel says nothing but by its absence; the other columns are noisy.
    """

    def made(n):
        y = rng.integers(3, size=n)
        X = rng.normal(size=(n, 8)) + 0.8 * y[:, None]
        gone = rng.random(n) < np.array([0.02, 0.3, 0.98])[y]
        X[gone, 3:] = np.nan
        return X, y

    return *made(400), *made(400)


@name(
    "model",
    [
        TREES,
        RandomForestClassifier(30, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), SVC()),
    ],
)
def test_holes_that_mean_something_are_not_filled_away(model, telling):
    X, y, Q, target = telling
    rival = make_pipeline(SimpleImputer(add_indicator=True), model).fit(X, y)
    averaged = AverageOverMissing(model, random_state=0).fit(X, y)
    assert averaged.treatments_.seen != {"averaged": 1.0}
    assert averaged.score(Q, target) > rival.score(Q, target) - 0.02
    # filled rows alone do not tell classes 1 and 2 apart
    only = averaged.treatments_.members["averaged"]
    assert averaged.score(Q, target) > only.score(Q, target) + 0.03


def test_a_model_of_rows_with_holes_is_not_asked_about_filled_rows_only(telling):
    X, y, Q, target = telling
    served = TREES.fit(X, y)
    wrapped = AverageOverMissing(FrozenEstimator(served)).fit(X)
    assert wrapped.treatment_.startswith(OWN)
    np.testing.assert_allclose(wrapped.predict_proba(Q), served.predict_proba(Q))
    judged = AverageOverMissing(FrozenEstimator(served)).fit(Q, target)
    assert judged.score(X, y) > 0.9 * served.score(X, y)


@pytest.mark.whole
def test_better_on_the_whole_than_what_one_would_do_without():
    """By the mean log-loss over two tables and three mechanisms."""
    gains = {"own": [], "mean": [], "indicators": []}
    for load, mechanism in product(
        (load_wine, load_breast_cancer), ("mcar", "mar", "mnar")
    ):
        X, y = load(return_X_y=True)
        rng = np.random.default_rng(0)
        X = Missing(0.3, mechanism=mechanism).sample(X, rng)
        X, Q, y, target = train_test_split(X, y, stratify=y, random_state=0)

        def loss(model, X=X, y=y, Q=Q, target=target):
            return log_loss(target, model.fit(X, y).predict_proba(Q))

        ours = loss(AverageOverMissing(TREES, random_state=0))
        gains["own"].append(loss(TREES) - ours)
        for rival, indicate in (("mean", False), ("indicators", True)):
            filled = make_pipeline(SimpleImputer(add_indicator=indicate), TREES)
            gains[rival].append(loss(filled) - ours)
    for rival, gained in gains.items():
        assert np.mean(gained) > 0, rival


def test_trees_are_fitted_several_times_and_others_on_weighted_copies(rng):
    X, y = load_wine(return_X_y=True)
    holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    training = Training(holed, y, None, rng.random((len(X), 5)))
    done = completed(Donors().fit(holed), holed, training.chances)
    tables = [done.copy(k) for k in range(done.n_copies)]
    assert len(tables) == 5
    trees = completed_fits(TREES, training, done)
    assert len(trees) == 3
    for model, table in zip(trees, tables[:3], strict=True):
        again = TREES.fit(table, y)
        np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    expected = np.mean([model.predict_proba(X) for model in trees], axis=0)
    found = mean_of(trees, tables[0], y).predict_proba(X)
    np.testing.assert_allclose(found, expected)
    # a copy of weight 1/5 of each row, whether it has holes or not, is the same
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    assert len(completed_fits(linear, training, done)) == 1
    (found,) = completed_fits(Ridge(), training, done)
    again = Ridge().fit(np.concatenate(tables), np.tile(y, 5), np.full(5 * len(y), 0.2))
    np.testing.assert_allclose(found.coef_, again.coef_, rtol=1e-8)


def test_the_trees_of_a_forest_are_divided_among_its_fits(rng):
    X, y = load_wine(return_X_y=True)
    holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    training = Training(holed, y, None, rng.random((len(X), 5)))
    done = completed(Donors().fit(holed), holed, training.chances)
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(10, random_state=7))
    parts = [model[-1] for model in completed_fits(forest, training, done)]
    assert [len(part.estimators_) for part in parts] == [4, 4, 4]
    assert [part.random_state for part in parts] == [7, 8, 9]
    assert forest[-1].get_params()["n_estimators"] == 10  # the user's own is untouched


def test_weighted_answers_of_seen_and_new_holes(telling):
    X, y, Q, _ = telling
    model = AverageOverMissing(TREES, random_state=0).fit(X, y)
    treated = model.treatments_
    new = np.where(np.arange(8) == 0, np.nan, Q)
    for rows, weights in ((Q, treated.seen), (new, treated.new)):
        rows = rows[np.isnan(rows).any(axis=1)]
        expected = sum(
            w * treated.members[key].predict_proba(rows) for key, w in weights.items()
        )
        found = model.predict_proba(rows)
        np.testing.assert_allclose(found, expected)
        odds = np.log(np.maximum(found, 1e-300))
        np.testing.assert_allclose(model.decision_function(rows), odds, rtol=1e-6)
        np.testing.assert_array_equal(model.predict(rows), found.argmax(axis=1))
    assert str(treated) == model.treatment_
    whole = Q[~np.isnan(Q).any(axis=1)]
    own = TREES.fit(X, y).predict_proba(whole)
    np.testing.assert_array_equal(model.predict_proba(whole), own)
    alone = [model.predict_proba(row[None])[0] for row in Q[:20]]
    np.testing.assert_allclose(alone, model.predict_proba(Q[:20]), rtol=1e-12)


def test_how_near_a_pattern_is(rng):
    missing = rng.random((60, 7)) < 0.3
    other = rng.random((20, 7)) < 0.5
    apart = (other[:, None] != missing[None]).sum(axis=2)
    np.testing.assert_array_equal(_distances(other, missing), apart)
    holed = missing[missing.any(axis=1)]
    apart = (holed[:, None] != holed[None]).sum(axis=2) + 99 * np.eye(len(holed))
    patterns, reach = _patterns(missing)
    assert reach == np.quantile(apart.min(axis=1), 0.95)
    assert {*map(tuple, patterns)} == {*map(tuple, holed)}
    assert _patterns(holed[:1])[1] == 7  # nothing to compare it with


@name("law", [Donors(), JointGaussian()])
def test_some_holes_are_left(law, rng):
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    leaving = Leaving(law, np.array([1])).fit(X)
    Q = np.where(rng.random((30, 4)) < 0.4, np.nan, X[:30])
    filled, weights, origin = leaving.draws(Q)
    np.testing.assert_allclose(np.bincount(origin, weights), 1.0)
    np.testing.assert_array_equal(np.isnan(filled), np.isnan(Q[origin]) * [0, 1, 0, 0])
    others = np.isnan(Q[:, [0, 2, 3]]).any(axis=1)
    assert (np.bincount(origin)[~others] == 1).all()
    for row in np.flatnonzero(others):
        theirs = leaving.conditional_.draws(Q[[row]])
        mine = filled[origin == row][:, [0, 2, 3]]
        np.testing.assert_allclose(mine, theirs.rows[:, [0, 2, 3]])


def test_indicators_of_arrays_and_frames():
    X = np.array([[1.0, np.nan], [np.nan, 2.0]], dtype=np.float32)
    indicators = Indicators(np.array([1]))
    found = indicators.fit_transform(X)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[:, 2], [1, 0])
    frame = pd.DataFrame({"a": ["x", None], "b": [np.nan, 2.0]}, index=[7, 3])
    wide = indicators.transform(frame)
    assert wide["b is missing"].to_dict() == {7: 1.0, 3: 0.0}
    assert [*indicators.transform(pd.DataFrame(X)).columns] == [0, 1, 2]
    wide = indicators.transform(pl.DataFrame({"a": ["x", None], "b": [None, 2.0]}))
    assert wide["b is missing"].to_list() == [1.0, 0.0]


def test_names_of_indicators_are_new():
    X = pd.DataFrame([[1.0, np.nan]])
    for columns in ([1, 2], ["a", "a is missing"], ["a is missing", "a"]):
        wide = Indicators(np.array([1])).transform(X.set_axis(columns, axis=1))
        assert wide.columns.is_unique
        np.testing.assert_array_equal(wide.iloc[:, 2], [1.0])


@name("index", [np.arange(300) // 3, np.arange(300) * 0])
def test_labels_of_rows_may_be_equal(index, telling):
    """Draws of a row have its label, so equal labels are common inside, too."""
    X, y, Q, _ = telling
    only = ({"averaged with indicators": 1.0},) * 2 + ("averaged",)
    models = [
        AverageOverMissing(LogisticRegression(), Donors(), random_state=0, treatment=w)
        for w in (only, "auto")
    ]
    for model in models:
        wanted = clone(model).fit(X[:300], y[:300]).predict_proba(Q[:300])
        rows = pd.DataFrame(X[:300], index=index)
        new = pd.DataFrame(Q[:300], index=index)
        found = model.fit(rows, y[:300]).predict_proba(new)
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_pipeline_is_treated_as_its_trees(telling, frozen):
    """Its own tag does not say that it accepts NaN; averages alone would be far off."""
    X, y, Q, target = telling
    pipeline = make_pipeline(StandardScaler(), TREES).fit(X, y)
    base = FrozenEstimator(pipeline) if frozen else pipeline
    model = AverageOverMissing(base, random_state=0).fit(X, None if frozen else y)
    assert "own NaN" in model.treatments_.members
    holed = np.isnan(Q).any(axis=1)
    own, ours = pipeline.score(Q[holed], target[holed]), model.score(Q, target)
    assert model.score(Q[holed], target[holed]) > own - 0.03
    assert ours > pipeline.score(Q, target) - 0.03


def test_a_frozen_model_may_know_classes_that_no_target_has(telling):
    X, y, Q, _ = telling
    frozen = FrozenEstimator(TREES.fit(X, y))
    for last in (0, 2):  # the first class that is known, or the last one
        some = y != last
        for targets in (y[some], None):
            model = AverageOverMissing(frozen, random_state=0).fit(X[some], targets)
            assert model.predict_proba(Q).shape == (len(Q), 3)


def test_classifiers_of_several_targets_are_refused(telling):
    X, y, *_ = telling
    model = AverageOverMissing(RandomForestClassifier(2))
    with pytest.raises(ValueError, match=r"one target only; y has 2\. For several"):
        model.fit(X, np.column_stack([y, y]))
    several = MultiOutputClassifier(model).fit(X, np.column_stack([y, y]))
    assert several.predict(X[:5]).shape == (5, 2)


def test_rows_are_completed_as_often_as_the_weights_say(rng):
    law = Donors(n_donors=4).fit(rng.normal(size=(50, 2)))
    Q = np.array([[0.3, np.nan], [0.1, 0.2], [np.nan, np.nan]])
    done = completed(law, Q, rng.random((3, 20_000)))
    tables = [done.copy(k) for k in range(20_000)]
    np.testing.assert_array_equal([table[1] for table in tables[:9]], [Q[1]] * 9)
    rows, weights, origin = law.draws(Q, 20)
    for row in (0, 2):
        values = np.array([table[row] for table in tables])
        for draw, weight in zip(rows[origin == row], weights[origin == row], strict=1):
            share = (values == draw).all(axis=1).mean()
            assert share == pytest.approx(weight, abs=0.015)


def test_regressors_and_their_standard_deviations(rng):
    X, y = make_friedman1(400, random_state=0)
    holed = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    for base in (HistGradientBoostingRegressor(max_iter=30), Ridge()):
        model = AverageOverMissing(base, random_state=0).fit(holed[:300], y[:300])
        mean, std = model.predict(holed[300:], return_std=True)
        np.testing.assert_array_equal(mean, model.predict(holed[300:]))
        gaps = np.isnan(holed[300:]).any(axis=1)
        assert (std[~gaps] == 0).all()
        assert (std[gaps] > 0).mean() > 0.9
        covered = model.predict_interval(holed[300:], 0.8)
        inside = (covered[:, 0] <= y[300:]) & (y[300:] <= covered[:, 1])
        assert inside.mean() > 0.7
    model = AverageOverMissing(ExtraTreesRegressor(5), random_state=0)
    both = model.fit(holed, np.column_stack([y, -y])).predict(holed)
    assert both.shape == (400, 2)
    assert model.predict(holed, return_std=True)[1].shape == (400, 2)


def test_words_files_and_their_description(telling, tmp_path):
    X, y, Q, _ = telling
    tables = []
    for rows in (X, Q):
        frame = pd.DataFrame(rows[:, :4], columns=list("abcd"))
        words = np.where(frame["d"] > 1, "high", "low")
        frame["d"] = pd.Categorical(np.where(frame["d"].isna(), None, words))
        tables.append(frame)
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((words, ["d"]), remainder="passthrough")
    model = AverageOverMissing(make_pipeline(columns, TREES), random_state=0)
    model.fit(tables[0], y)
    assert model.treatments_.seen != {"averaged": 1.0}
    assert isinstance(model.treatments_, Treatments)
    found = model.predict_proba(tables[1])
    noiseproof.save(model, tmp_path / "model.npf")
    again = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(again.predict_proba(tables[1]), found)
    assert again.treatment_ == model.treatment_


def test_parameters_that_fix_the_columns_leave_the_indicators_out(telling):
    X, y, Q, _ = telling
    y = np.minimum(y, 1)
    strict = HistGradientBoostingClassifier(max_iter=5, monotonic_cst=[0] * 8)
    treated = AverageOverMissing(strict, random_state=0).fit(X, y).treatments_
    assert treated.members.keys() <= {"own NaN", "averaged"}
    assert treated.answer("predict", Q).shape == (400,)
