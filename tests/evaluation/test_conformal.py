"""Conformal sets cover as promised for every pattern of missing cells."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline

import noiseproof
from noiseproof.evaluation import conformal_sets
from noiseproof.evaluation.conformal import _shares
from noiseproof.tables import TableEncoder

REPEATS = 1000
COVERAGE = 0.8


class Line(BaseEstimator):
    """The sum of the cells that are there, as a regressor."""

    def predict(self, X):
        return np.nansum(X, axis=1)


class Pair(BaseEstimator):
    """Two targets at once."""

    def predict(self, X):
        return np.nan_to_num(np.asarray(X)[:, :2])


class Softmax(BaseEstimator):
    """Three classes, by the cells that are there."""

    classes_ = np.array([10, 20, 30])
    weights = np.array([[2.0, -1.0, 0.0], [0.5, 1.0, -2.0], [0.0, 0.5, 0.5]])

    def predict_proba(self, X):
        scores = np.exp(np.nan_to_num(np.asarray(X, dtype=float)) @ self.weights)
        return scores / scores.sum(axis=1, keepdims=True)


def quantities(rng, n):
    X = rng.normal(size=(n, 3))
    return X, X.sum(axis=1) + 0.2 * rng.normal(size=n)


def kinds(rng, n):
    X = rng.normal(size=(n, 3))
    chance = Softmax().predict_proba(1.5 * X).cumsum(axis=1)
    return X, Softmax.classes_[(rng.random((n, 1)) > chance).sum(axis=1)]


def covers(sets, X, y):
    """Whether each answer is in its set."""
    found = sets.predict(X)
    if sets.classes_ is None:
        return (found[:, 0] <= y) & (y <= found[:, 1])
    return found[np.arange(len(y)), np.searchsorted(sets.classes_, y)]


PATTERNS = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]], dtype=bool)


@pytest.mark.parametrize(
    ("model", "draw", "options"),
    [
        pytest.param(Line(), quantities, {}, id="regressor"),
        pytest.param(Softmax(), kinds, {}, id="lac"),
        pytest.param(Softmax(), kinds, {"conformity_score": "aps"}, id="aps"),
        pytest.param(Line(), quantities, {"groups": [[0, 1]]}, id="groups"),
    ],
)
def test_coverage_of_each_pattern(model, draw, options, rng):
    """1,000 calibrations, one new row of each pattern for each: a binomial count.

    Scores without ties are covered with a probability of at most 1 / (n + 1) above
    the promise, n being the number of calibration rows that can be used.
    """
    hits, least = np.zeros(len(PATTERNS), dtype=int), np.inf
    for seed in range(REPEATS):
        X, y = draw(rng, 40 + len(PATTERNS))
        X[:40][rng.random((40, 3)) < 0.2] = np.nan
        X[40:][PATTERNS] = np.nan
        sets = conformal_sets(
            *(model, X[:40], y[:40]),
            **{"coverage": COVERAGE, "random_state": seed, **options},
        )
        hits += covers(sets, X[40:], y[40:])
        least = min(least, np.sum(~np.isnan(X[:40]).any(axis=1)))
    assert np.all(hits >= binom.ppf(1e-5, REPEATS, COVERAGE))
    assert least >= 8
    untied = hits[:-1]  # where nothing is known all rows may have one score
    assert np.all(untied <= binom.ppf(1 - 1e-5, REPEATS, COVERAGE + 1 / (1 + least)))


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_coverage_of_rows_one_at_a_time(score, rng):
    """A service asks for one row at a time; a row gets the set it gets in a batch."""
    X, y = kinds(rng, 4000)
    X[rng.random(X.shape) < 0.2] = np.nan
    sets = conformal_sets(
        Softmax(), X[:2000], y[:2000], coverage=COVERAGE, conformity_score=score
    )
    together = sets.predict(X[2000:])
    alone = np.vstack([sets.predict(X[i : i + 1]) for i in range(2000, 4000)])
    np.testing.assert_array_equal(alone, together)
    hits = alone[np.arange(2000), np.searchsorted(sets.classes_, y[2000:])]
    assert abs(hits.mean() - COVERAGE) < 0.04


@pytest.mark.parametrize(
    "store",
    [
        lambda X: X.astype(np.float32),
        lambda X: pd.DataFrame(X),
        lambda X: pd.DataFrame(X).astype({0: object}),
        lambda X: pl.DataFrame(X),
    ],
    ids=["float32", "pandas", "objects", "polars"],
)
def test_random_shares_depend_on_what_rows_hold(store, rng):
    X, y = kinds(rng, 300)
    X = np.round(8 * X) / 8
    X[rng.random(X.shape) < 0.2] = np.nan
    X[0] = -0.0
    options = {"conformity_score": "aps", "random_state": 0}
    found = conformal_sets(Softmax(), store(X), y, **options).predict(store(X))
    expected = conformal_sets(Softmax(), X, y, **options).predict(X)
    np.testing.assert_array_equal(found, expected)
    other = conformal_sets(Softmax(), X, y, conformity_score="aps", random_state=1)
    assert np.any(other.predict(X) != expected)


def by_name(X, y):
    """A frame whose columns have other sizes, and a model that finds them by name."""
    frame = pd.DataFrame(X * [1.0, 5.0, 0.2], columns=["a", "b", "c"])

    class Named(Softmax):
        def predict_proba(self, X):
            return super().predict_proba(X[["a", "b", "c"]].to_numpy() / [1, 5, 0.2])

    return frame, y, Named()


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("order", [["c", "a", "b"], ["b", "c", "a"]])
def test_columns_in_any_order(score, order, rng):
    """Of new rows, or of the calibration: what is missing is found by name."""
    X, y, model = by_name(*kinds(rng, 3000))
    X = X.mask(rng.random(X.shape) < [0.5, 0.1, 0.1])
    known, new = slice(0, 1500), slice(1500, None)
    options = {"coverage": COVERAGE, "conformity_score": score, "random_state": 0}
    sets = conformal_sets(model, X[known], y[known], **options)
    expected = sets.predict(X[new])
    np.testing.assert_array_equal(sets.predict(X[new][order]), expected)
    moved = conformal_sets(model, X[known][order], y[known], **options)
    np.testing.assert_array_equal(moved.predict(X[new]), expected)
    hits = expected[np.arange(1500), np.searchsorted(sets.classes_, y[new])]
    assert abs(hits.mean() - COVERAGE) < 0.03
    with pytest.raises(ValueError, match="X has no column 'b', which the calibration"):
        sets.predict(X[["a", "c"]])
    with pytest.raises(ValueError, match="X has 4 features, but the calibration rows"):
        sets.predict(X.assign(d=0.0))


def test_calibration_rows_are_put_in_the_order_of_the_model(rng):
    """Groups by number are those of the rows as they were given."""
    X, y = quantities(rng, 300)
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(SimpleImputer(), Ridge()).fit(X[:100], y[:100])
    rows = X[100:200].mask(rng.random((100, 3)) < 0.2)
    order = ["c", "a", "b"]
    sets = conformal_sets(model, rows, y[100:200], groups=[[0, 2]])
    moved = conformal_sets(model, rows[order], y[100:200], groups=[[1, 0]])
    np.testing.assert_array_equal(moved.predict(X[200:][order]), sets.predict(X[200:]))
    assert moved.thresholds_ == sets.thresholds_


@pytest.mark.parametrize("score", ["lac", "aps", "absolute"])
def test_sets_are_saved(score, rng, tmp_path):
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    X["word"] = np.where(X["a"] > 0, "x", "y")
    y = X["a"] + X["b"] + rng.normal(size=400)
    last = Ridge()
    if score != "absolute":
        y, last = np.digitize(y, [-1, 1]), LogisticRegression()
    model = make_pipeline(TableEncoder(), SimpleImputer(), last)
    model.fit(X[:100], y[:100])
    X = X.mask(rng.random(X.shape) < 0.2)
    sets = conformal_sets(model, X[100:300], y[100:300], conformity_score=score)
    expected = sets.predict(X[300:])
    noiseproof.save(sets, tmp_path / "sets.npf")
    back = noiseproof.load(tmp_path / "sets.npf")
    assert back.thresholds_ == {}
    np.testing.assert_array_equal(back.predict(X[300:]), expected)
    assert back.thresholds_ == sets.thresholds_
    assert repr(back) == repr(sets)


def test_random_shares_of_words():
    words = pd.DataFrame({"word": ["a", "b", None, "a", 3]})
    shares = _shares(words, 0)
    assert len(set(shares)) == 4
    assert shares[0] == shares[3] == _shares(words[3:4], 0)


def test_without_patterns_the_promise_would_not_hold(rng):
    """Plain split conformal prediction: right on average, wrong for what is missing."""
    plainly, by_pattern = [], []
    for _ in range(200):
        X, y = quantities(rng, 400)
        X[rng.random(X.shape) < 0.1] = np.nan
        calibration, rest = slice(0, 200), slice(200, 400)
        plain = np.quantile(np.abs(y - Line().predict(X))[calibration], COVERAGE)
        inside = np.abs(y - Line().predict(X))[rest] <= plain
        holes = np.isnan(X[rest]).sum(axis=1) >= 2
        sets = conformal_sets(Line(), X[calibration], y[calibration], coverage=COVERAGE)
        found = covers(sets, X[rest], y[rest])
        plainly += inside[holes].tolist()
        by_pattern += found[holes].tolist()
    assert np.mean(plainly) < 0.5
    assert np.mean(by_pattern) > COVERAGE - 0.03


def test_thresholds_by_hand():
    X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, np.nan], [np.nan, 40.0], [5.0, 50.0]])
    y = np.array([11.5, 22.25, 4.0, 40.0, 58.0])
    sets = conformal_sets(Line(), X, y, coverage=0.5)
    np.testing.assert_array_equal(sets.predict([[1.0, 1.0]]), [[1.5, 2.5]])
    # complete rows only: 0.5, 0.25, 3, of which the second
    assert sets.thresholds_[()] == 0.5
    # without the second cell: 10.5, 20.25, 1, 53, of which the third
    sets.predict([[1.0, np.nan]])
    assert sets.thresholds_[(1,)] == 20.25
    # without any: all rows, of which the third
    np.testing.assert_array_equal(sets.predict([[np.nan, np.nan]]), [[-22.25, 22.25]])
    assert set(sets.thresholds_) == {(), (1,), (0, 1)}


def test_whole_groups_go():
    X = np.array([[1.0, 10.0, 0.0]] * 9)
    y = np.arange(9.0)
    sets = conformal_sets(Line(), X, y, groups={"both": [0, 1]})
    np.testing.assert_array_equal(
        sets.predict([[1.0, np.nan, 2.0]]), sets.predict([[np.nan, np.nan, 2.0]])
    )
    assert set(sets.thresholds_) == {(0, 1)}


def test_containers_agree_and_pipelines_impute(rng):
    X, y = quantities(rng, 200)
    model = make_pipeline(SimpleImputer(), Ridge()).fit(X[:100], y[:100])
    Z = X[150:].copy()
    Z[rng.random(Z.shape) < 0.3] = np.nan
    expected = conformal_sets(model, X[100:150], y[100:150]).predict(Z)
    for frame in (pd.DataFrame, pl.DataFrame):
        rows, new = frame(X[100:150]), frame(Z)
        model = make_pipeline(SimpleImputer(), Ridge()).fit(frame(X[:100]), y[:100])
        sets = conformal_sets(model, rows, y[100:150])
        np.testing.assert_allclose(sets.predict(new), expected)
        again = pickle.loads(pickle.dumps(sets))
        np.testing.assert_array_equal(again.predict(new), sets.predict(new))
    assert "coverage 0.9, 50 calibration rows" in repr(sets)
    mixed = pd.DataFrame({"a": X[:100, 0], "b": np.arange(100) % 7})
    boosted = HistGradientBoostingRegressor(max_iter=5).fit(mixed, y[:100])
    mixed["b"] = mixed["b"].astype(float)
    mixed.loc[3, "b"] = np.nan
    found = conformal_sets(boosted, mixed, y[:100]).predict(mixed[:10])
    assert np.all(found[:, 0] < found[:, 1])


def test_text_labels_and_classes_in_any_order(rng):
    X, y = kinds(rng, 60)
    names = np.array(["c", "a", "b"])

    class Named(Softmax):
        classes_ = names

    numbers = conformal_sets(Softmax(), X, y).predict(X)
    texts = conformal_sets(Named(), X, names[np.searchsorted(Softmax.classes_, y)])
    np.testing.assert_array_equal(texts.predict(X), numbers)


def test_too_few_rows_for_a_pattern_take_more_cells_away():
    """As few as it takes: the rows that miss the second cell are enough."""
    X = np.array([[1.0, np.nan, 3.0]] * 20 + [[1.0, 2.0, 3.0]] + [[np.nan] * 3] * 20)
    sets = conformal_sets(Line(), X, np.r_[np.full(21, 4.5), np.zeros(20)])
    np.testing.assert_array_equal(sets.predict([[1.0, 2.0, 3.0]]), [[3.5, 4.5]])
    assert sets.thresholds_ == {(1,): 0.5}
    sets.predict([[np.nan, 2.0, 3.0]])
    assert set(sets.thresholds_) == {(1,), (0, 1)}


@pytest.mark.parametrize("rate", [0.15, 0.4])
def test_coverage_of_patterns_that_are_rarely_calibrated(rate, rng):
    """Of ten columns, so that hardly a calibration row suits any pattern as it is."""
    hits, widths = 0, []
    for _ in range(REPEATS):
        X = rng.normal(size=(31, 10))
        y = X.sum(axis=1)
        X[rng.random(X.shape) < rate] = np.nan
        sets = conformal_sets(Line(), X[:30], y[:30], coverage=COVERAGE)
        hits += int(covers(sets, X[30:], y[30:])[0])
        widths.append(sets.thresholds_.popitem()[1])
    assert np.isfinite(widths).all()
    assert binom.ppf(1e-5, REPEATS, COVERAGE) <= hits
    least = COVERAGE / (1 - COVERAGE)
    assert hits <= binom.ppf(1 - 1e-5, REPEATS, COVERAGE + 1 / (1 + least))


GOOD = np.zeros((20, 3))


@pytest.mark.parametrize(
    ("model", "X", "y", "options", "kind", "sentence"),
    [
        (Line(), GOOD, GOOD[:, 0], {"coverage": 1.0}, ValueError, r"within \(0, 1\)"),
        (Line(), GOOD, GOOD[:, 0], {"coverage": 0.99}, ValueError, "least 99 calibra"),
        (Line(), GOOD[0], GOOD[:, 0], {}, ValueError, "X must have two dimensions"),
        (Line(), GOOD, GOOD, {}, ValueError, "each of the 20 rows; got the"),
        (Line(), GOOD, np.full(20, np.inf), {}, ValueError, "must consist of finite"),
        (Line(), sp.csr_array(GOOD), GOOD[:, 0], {}, TypeError, "need dense rows"),
        (
            *(Line(), GOOD, GOOD[:, 0], {"groups": {"a": [7]}}),
            *(ValueError, "contains 7, which is not a feature of X"),
        ),
        (
            *(Line(), GOOD, GOOD[:, 0], {"conformity_score": "lac"}),
            *(ValueError, "must be 'absolute' for a regressor; got 'lac'"),
        ),
        (
            *(Softmax(), GOOD, np.full(20, 10), {"conformity_score": "raps"}),
            *(ValueError, "must be 'lac' or 'aps' for a classifier; got 'raps'"),
        ),
        (Softmax(), GOOD, GOOD[:, 0], {}, ValueError, "model's classes, .10"),
        (RidgeClassifier(), GOOD, GOOD[:, 0], {}, TypeError, "have predict_proba and"),
        (LogisticRegression(), GOOD, GOOD[:, 0], {}, TypeError, "must be fitted, and"),
        (object(), GOOD, GOOD[:, 0], {}, TypeError, "object has no method predict"),
        (Ridge(), GOOD, GOOD[:, 0], {}, NotFittedError, "not fitted"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(model, X, y, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        conformal_sets(model, X, y, **options)


def test_models_that_refuse_nan_and_other_shapes_are_refused(rng):
    X, y = quantities(rng, 50)
    with pytest.raises(
        ValueError, match=r"Ridge refuses missing values \(NaN\): put an"
    ):
        conformal_sets(Ridge().fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"one number per row.* the shape \(1, 2\)"):
        conformal_sets(Pair(), X, y)
    with pytest.raises(ValueError, match="X has 2 features, but the calibration rows"):
        conformal_sets(Line(), X, y).predict(X[:, :2])
