"""A model for each pattern of missing columns."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas as pd
import pytest
from same import assert_same
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import noiseproof
from noiseproof import ReducedModels


@pytest.fixture
def sensors(rng):
    """Rows, and others of which two sensors have failed, together or alone."""
    X, y = load_iris(return_X_y=True)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    Q = X[75:].copy()
    Q[:20, 3] = np.nan
    Q[20:30, 2:] = np.nan
    return X[:75], y[:75], Q, y[75:]


def test_each_pattern_has_a_model_of_the_columns_that_stay(sensors):
    X, y, Q, _ = sensors
    base = LogisticRegression(max_iter=1000)
    model = ReducedModels(base).fit(X, y)
    p = model.predict_proba(Q)
    assert set(model.models_) == {"1110", "1100"}
    by_hand = base.fit(X[:, :3], y).predict_proba(Q[:20, :3])
    np.testing.assert_array_equal(p[:20], by_hand)
    by_hand = base.fit(X[:, :2], y).predict_proba(Q[20:30, :2])
    np.testing.assert_array_equal(p[20:30], by_hand)
    by_hand = base.fit(X, y).predict_proba(Q[30:])
    np.testing.assert_array_equal(p[30:], by_hand)
    assert model.score(Q, sensors[3]) > 0.85
    assert (model.predict(Q) == model.classes_[p.argmax(axis=1)]).all()


def test_models_are_fitted_once_and_told(sensors, capsys):
    X, y, Q, _ = sensors
    model = ReducedModels(KNeighborsClassifier(), verbose=True).fit(X, y)
    model.predict(Q)
    first = dict(model.models_)
    model.predict(Q)
    assert all(model.models_[key] is first[key] for key in first)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "[ReducedModels] model 1 (at most 64): 3 of 4 columns, for 20 rows",
        "[ReducedModels] model 2 (at most 64): 2 of 4 columns, for 10 rows",
    ]


def test_beyond_the_last_pattern_rows_are_averaged(sensors):
    X, y, Q, target = sensors
    model = ReducedModels(LogisticRegression(max_iter=1000), max_patterns=1).fit(X, y)
    model.predict(Q)
    assert set(model.models_) == {"1110"}  # the most frequent
    averaged = model.others_.predict_proba(Q[20:30])
    np.testing.assert_array_equal(model.predict_proba(Q)[20:30], averaged)
    none = ReducedModels(LogisticRegression(max_iter=1000), max_patterns=0).fit(X, y)
    assert none.score(Q, target) > 0.8
    assert none.models_ == {}


def test_rows_without_a_model_of_their_pattern_are_answered_in_one_call(sensors):
    X, y, Q, _ = sensors
    model = ReducedModels(LogisticRegression(max_iter=1000), max_patterns=1).fit(X, y)
    Q[30:35, 0], Q[35:45, 1] = np.nan, np.nan
    model.predict(Q)  # now there is a model for the most frequent pattern
    calls = []

    class Counted:
        def predict_proba(self, rows, of=model.others_):
            calls.append(len(rows))
            return of.predict_proba(rows)

    one_by_one = np.concatenate([model.predict_proba(Q[[i]]) for i in range(len(Q))])
    model.others_ = Counted()
    np.testing.assert_allclose(model.predict_proba(Q), one_by_one, rtol=1e-12)
    assert calls == [25]  # patterns of 10, 5 and 10 rows


def test_nothing_observed_is_the_share_of_each_class(sensors):
    X, y, _, _ = sensors
    model = ReducedModels(LogisticRegression(max_iter=1000)).fit(X, y)
    p = model.predict_proba(np.full((2, 4), np.nan))
    np.testing.assert_allclose(p, [np.bincount(y) / len(y)] * 2)
    scores = model.decision_function(np.full((1, 4), np.nan))
    np.testing.assert_allclose(np.exp(scores), p[:1])


def test_regression(rng):
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    y = X @ rng.normal(size=4)
    Q = X.copy()
    Q[:, 1] = np.nan
    Q[0] = np.nan
    model = ReducedModels(LinearRegression()).fit(X, y)
    kept = [0, 2, 3]
    by_hand = LinearRegression().fit(X[:, kept], y).predict(X[1:, kept])
    np.testing.assert_allclose(model.predict(Q)[1:], by_hand)
    assert model.predict(Q)[0] == pytest.approx(y.mean())


def test_training_rows_with_holes_serve_where_they_are_whole(sensors, rng):
    X, y, Q, _ = sensors
    holed = X.copy()
    holed[:30, 3] = np.nan
    base = LogisticRegression(max_iter=1000)
    model = ReducedModels(base).fit(holed, y)
    np.testing.assert_array_equal(
        model.predict_proba(Q[:20]), base.fit(X[:, :3], y).predict_proba(Q[:20, :3])
    )
    np.testing.assert_array_equal(
        model.predict_proba(X), base.fit(X[30:], y[30:]).predict_proba(X)
    )
    trees = ReducedModels(DecisionTreeClassifier(random_state=0)).fit(holed, y)
    by_hand = DecisionTreeClassifier(random_state=0).fit(holed, y)
    np.testing.assert_array_equal(trees.predict_proba(X), by_hand.predict_proba(X))


def test_numbers_as_targets_need_a_regressor(rng):
    X = rng.normal(size=(40, 3))
    with pytest.raises(ValueError, match="ReducedModels is a classifier, but y is"):
        ReducedModels().fit(X, X[:, 0])


def test_no_training_row_for_a_pattern(rng):
    X = rng.normal(size=(40, 3))
    X[:20, 0] = X[20:, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"No training row has values in all of the columns \[0"
    ):
        ReducedModels(LinearRegression()).fit(X, np.arange(40.0))


def test_training_rows_of_some_classes_only(sensors):
    X, y, _, _ = sensors
    holed = X.copy()
    holed[y == 1, 2] = np.nan
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3\] do not cover all classes"):
        ReducedModels(LogisticRegression()).fit(holed, y)


def test_threads_share_models(sensors):
    X, y, Q, _ = sensors
    model = ReducedModels(LogisticRegression(max_iter=1000)).fit(X, y)
    together = Barrier(4)

    def ask(_):
        together.wait()
        return model.predict(Q)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert len(model.models_) == 2
    assert all((answer == answers[0]).all() for answer in answers)


def test_frames_pickles_and_files(sensors, tmp_path):
    X, y, Q, _ = sensors
    names = ["a", "b", "c", "d"]
    frame, holed = pd.DataFrame(X, columns=names), pd.DataFrame(Q, columns=names)
    model = ReducedModels(LogisticRegression(max_iter=1000)).fit(frame, y)
    expected = model.predict_proba(holed)
    assert list(model.models_["1110"].feature_names_in_) == names[:3]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(holed), expected)
    plain = ReducedModels(LogisticRegression(max_iter=1000), max_patterns=1).fit(X, y)
    plain.predict(Q)
    noiseproof.save(plain, tmp_path / "model.npf")
    again = noiseproof.load(tmp_path / "model.npf")
    assert_same(again, plain)
    np.testing.assert_array_equal(again.predict_proba(Q), plain.predict_proba(Q))


def test_sample_weight_reaches_every_model(sensors, rng):
    X, y, Q, _ = sensors
    weights = rng.integers(1, 4, size=len(y))
    base = LogisticRegression(max_iter=1000)
    model = ReducedModels(base).fit(X, y, sample_weight=weights)
    by_hand = base.fit(X[:, :3], y, sample_weight=weights).predict_proba(Q[:20, :3])
    np.testing.assert_array_equal(model.predict_proba(Q[:20]), by_hand)
    with pytest.raises(
        TypeError, match="KNeighborsClassifier does not accept sample_w"
    ):
        ReducedModels(KNeighborsClassifier()).fit(X, y, sample_weight=weights)


def test_it_beats_the_mean(rng):
    X = rng.normal(size=(600, 5)) @ rng.normal(size=(5, 5))
    y = X @ rng.normal(size=5)
    Q = X[300:].copy()
    Q[:, 3:] = np.nan
    model = ReducedModels(LinearRegression()).fit(X[:300], y[:300])
    filled = np.where(np.isnan(Q), X[:300].mean(axis=0), Q)
    assert model.score(Q, y[300:]) > model.estimator_.score(filled, y[300:]) + 0.02
