from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import AverageOverMissing, ConformalRegressor
from noiseproof.evaluation import missing_cost
from noiseproof.evaluation.missing_cost import Estimate
from noiseproof.noise import Missing


def table(n, seed=0, d=5):
    """Correlated columns, and classes by a logistic law that is known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    logits = 2.0 * X[:, 0] - 1.5 * X[:, 1] + 0.5 * X[:, 2]
    return X, (rng.random(n) < 1 / (1 + np.exp(-logits))).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = table(1200)
    return AverageOverMissing(LogisticRegression(), "donors", random_state=0).fit(X, y)


class Sure(ClassifierMixin, BaseEstimator):
    """A logistic regression that is far too sure."""

    def fit(self, X, y):
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        scores = 5 * self.inner_.decision_function(X)
        p = 1 / (1 + np.exp(-scores))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.inner_.predict(X)


@pytest.mark.parametrize("scoring", ["accuracy", "log_loss"])
def test_estimates_are_near_the_truth_and_intervals_hold_it(fitted, scoring):
    X, y = table(4000, seed=1)
    Z = Missing(0.4).sample(X, rng=0)
    found = missing_cost(fitted, Z, scoring=scoring)

    def true(rows):
        p = fitted.predict_proba(rows)
        if scoring == "accuracy":
            return np.mean(p.argmax(axis=1) == y)
        return -np.mean(np.log(p[np.arange(len(y)), y]))

    sign = 1 if scoring == "accuracy" else -1
    truth = {"score": true(Z), "complete_score": true(X)}
    truth["cost"] = sign * (truth["complete_score"] - truth["score"])
    for name, value in truth.items():
        estimate = getattr(found, name)
        assert estimate.low <= value <= estimate.high, name
        assert estimate.value == pytest.approx(value, abs=0.05), name
    assert truth["cost"] > 0.05
    assert found.warnings == ()


def test_a_model_that_is_too_sure_is_corrected():
    X, y = table(2000)
    model = AverageOverMissing(Sure(), "donors", random_state=0).fit(X, y)
    X, y = table(4000, seed=1)
    Z = Missing(0.3).sample(X, rng=0)
    sure = model.predict_proba(Z).max(axis=1).mean()
    right = np.mean(model.predict(Z) == y)
    assert sure > right + 0.04
    found = missing_cost(model, Z)
    assert abs(found.score.value - right) < 0.5 * (sure - right)
    assert found.score.low <= right <= found.score.high


@pytest.mark.parametrize(
    ("estimator", "law"),
    [(LinearRegression(), "joint-gaussian"), (LinearRegression(), "donors"),
     (HistGradientBoostingRegressor(max_iter=50), "donors")],
)  # fmt: skip
def test_squared_errors_of_regressors(estimator, law):
    rng = np.random.default_rng(0)
    X = table(4000)[0]
    y = X @ [2.0, -1.0, 0.5, 0.0, 0.0] + rng.normal(size=len(X))
    model = AverageOverMissing(estimator, law, random_state=0).fit(X[:2000], y[:2000])
    X, y = X[2000:], y[2000:]
    Z = Missing(0.3).sample(X, rng=0)
    found = missing_cost(model, Z)
    today, complete = (np.mean((model.predict(rows) - y) ** 2) for rows in (Z, X))
    assert found.scoring == "squared_error"
    assert found.score.value == pytest.approx(today, rel=0.2)
    assert found.complete_score.value == pytest.approx(complete, rel=0.2)
    assert found.cost.value == pytest.approx(today - complete, rel=0.3)
    assert list(found.by_column)[:2] == ["x0", "x1"]
    for name in found.missing:
        rows = Z.copy()
        column = int(name[1:])
        rows[:, column] = X[:, column]
        gain = today - np.mean((model.predict(rows) - y) ** 2)
        assert found.by_column[name].value == pytest.approx(gain, abs=0.1, rel=0.35)


def test_columns_are_ranked_as_the_truth_ranks_them(fitted):
    X, y = table(4000, seed=2)
    Z = Missing(0.5).sample(X, rng=0)
    found = missing_cost(fitted, Z, scoring="log_loss")
    hits = np.arange(len(y)), y

    def loss(rows):
        return -np.mean(np.log(fitted.predict_proba(rows)[hits]))

    for j in range(3):  # the others are worth nothing
        rows = Z.copy()
        rows[:, j] = X[:, j]
        estimate = found.by_column[f"x{j}"]
        assert estimate.value == pytest.approx(loss(Z) - loss(rows), abs=0.02, rel=0.3)
        assert estimate.low < estimate.value < estimate.high
    assert list(found.by_column)[:2] == ["x0", "x1"]
    assert found.worth["x0"] == pytest.approx(
        found.by_column["x0"].value / found.missing["x0"]
    )


def test_of_copies_the_group_is_worth_what_none_of_them_is():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 3000))
    X = np.column_stack([x, x, x, z]) + 0.05 * rng.normal(size=(3000, 4))
    y = (x > 0).astype(int)
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    model.fit(X[:1500], y[:1500])
    Z = X[1500:].copy()
    Z[:1000, :3] = np.nan
    found = missing_cost(model, Z, groups={"twins": ["x0", "x1", "x2"]})
    assert found.by_group["twins"].value == pytest.approx(found.cost.value, rel=0.3)
    assert found.groups == {"twins": ["x0", "x1", "x2"]}
    assert {type(end) for end in found.by_group["twins"]} == {float}
    # one hole alone costs nothing, where the twins are there
    Z = X[1500:].copy()
    Z[:1000, 0] = np.nan
    alone = missing_cost(model, Z)
    assert abs(alone.by_column["x0"].value) < 0.01


def test_columns_that_stand_for_each_other_are_grouped_by_themselves():
    rng = np.random.default_rng(1)
    base = rng.normal(size=(3000, 3))
    X = np.repeat(base, 4, axis=1) + 0.3 * rng.normal(size=(3000, 12))
    y = (base @ [1.0, 1.0, 0.3] > 0).astype(int)
    model = AverageOverMissing(
        RandomForestClassifier(50, random_state=0), "donors", random_state=0
    ).fit(X[:1500], y[:1500])
    Z = X[1500:].copy()
    Z[:, :8] = np.where(rng.random((1500, 8)) < 0.9, np.nan, Z[:, :8])
    found = missing_cost(model, Z, scoring="accuracy")
    sensors = [[f"x{j}" for j in part] for part in (range(4), range(4, 8))]
    assert sorted(found.groups.values()) == sensors  # the others are never missing
    best = max(one.value for one in found.by_column.values())
    assert all(best < one.value < found.cost.value for one in found.by_group.values())
    hits = np.mean(model.predict(Z) == y[1500:])
    members, inside = found.groups | {name: [name] for name in found.by_column}, []
    for name, cost in (found.by_group | found.by_column).items():
        known, places = Z.copy(), [int(column[1:]) for column in members[name]]
        known[:, places] = X[1500:, places]
        gain = np.mean(model.predict(known) == y[1500:]) - hits
        inside.append(cost.low < gain < cost.high)
    assert len(inside) == 10
    assert sum(inside) >= 8  # intervals of 95 %


def test_complete_rows_cost_nothing(fitted):
    found = missing_cost(fitted, table(500, seed=3)[0])
    assert found.score == found.complete_score
    assert found.cost == (0.0, 0.0, 0.0)
    assert found.by_column == {}
    assert found.verdict == "No value is missing in 500 rows."
    assert found.summary.startswith("Estimated accuracy of 500 rows: ")
    assert found.summary.endswith("; cost 0.000 (0.000 to 0.000)")
    assert repr(found).startswith(found.summary)


def test_holes_that_depend_on_the_value_get_a_warning(fitted):
    X, _ = table(3000, seed=4)
    by_value = Missing({2: 0.5, 0: 0.5}, mechanism="mnar")
    found = missing_cost(fitted, by_value.sample(X, rng=0))
    assert any("because of what they are" in words for words in found.warnings)
    for mechanism in ("mcar", "mar"):
        for seed in range(5):
            X, _ = table(1500, seed=10 + seed)
            Z = Missing(0.5, mechanism=mechanism).sample(X, rng=seed)
            words = missing_cost(fitted, Z).warnings
            assert not any("because" in one for one in words), (mechanism, seed, words)


@pytest.mark.parametrize("seed", range(3))
def test_few_labelled_rows_with_few_values_suffice_for_a_warning(seed):
    """71 rows are held out, and keep a fifth of their values."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_new, y, _ = train_test_split(X, y, test_size=0.5, random_state=seed)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model = AverageOverMissing(linear, random_state=0).fit(X, y)
    for mechanism, expected in (("mnar", True), ("mcar", False)):
        Z = Missing(0.8, mechanism=mechanism).sample(X_new, rng=seed)
        words = missing_cost(model, Z).warnings
        assert any("because of what they are" in one for one in words) == expected


def test_too_few_values_to_check_anything_get_a_warning():
    X, y = table(120)
    model = AverageOverMissing(LogisticRegression(), random_state=0).fit(X, y)
    Z = Missing(0.95).sample(table(200, seed=1)[0], rng=0)
    words = missing_cost(model, Z).warnings
    assert any(one.startswith("There are too few observed values") for one in words)


def test_other_rows_get_a_warning(fitted):
    X, _ = table(2000, seed=5)
    X[:, 3] = 3 * X[:, 3] + 2
    found = missing_cost(fitted, Missing(0.2).sample(X, rng=0))
    assert any("not like the training rows" in words for words in found.warnings)


def test_columns_never_missing_before_get_a_warning():
    X, y = table(1500)
    gaps = X.copy()
    gaps[::3, 2] = np.nan
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    model.fit(gaps[:1000], y[:1000])
    found = missing_cost(model, Missing({1: 0.5}).sample(X[1000:], rng=0))
    assert any(
        words.startswith("Never missing in the labelled rows: x1.")
        for words in found.warnings
    )
    assert found.missing_before["x2"] == pytest.approx(1 / 3, abs=0.1)
    # so rarely that 250 labelled rows are likely to have none
    rare = Missing({1: 0.01}).sample(X[1000:], rng=0)
    assert np.isnan(rare[:, 1]).any()
    assert not any("Never" in one for one in missing_cost(model, rare).warnings)


def test_columns_never_missing_together_before_get_a_warning():
    X, y = table(3000)
    gaps = X.copy()
    gaps[::3, 3] = np.nan
    gaps[1::3, 4] = np.nan
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    model.fit(gaps[:1500], y[:1500])
    words = "Never missing together in the labelled rows: x3 with x4."
    apart = missing_cost(model, gaps[1500:])
    assert not any("Never" in one for one in apart.warnings)
    both = X[1500:].copy()
    both[:500, 3:] = np.nan
    together = missing_cost(model, both)
    assert any(one.startswith(words) for one in together.warnings)


def test_models_without_rows_kept_aside_take_labelled_ones():
    X, y = table(1500)
    logistic = LogisticRegression().fit(X[:500], y[:500])
    model = AverageOverMissing(FrozenEstimator(logistic), "donors").fit(X[:500])
    X_new, y_new = table(2000, seed=6)
    Z = Missing(0.3).sample(X_new, rng=0)
    plain = missing_cost(model, Z)
    assert plain.warnings[0].startswith("Not calibrated")
    assert plain.missing_before == {}
    found = missing_cost(model, Z, calibration=(X[500:], y[500:]))
    right = np.mean(model.predict(Z) == y_new)
    assert found.score.low <= right <= found.score.high
    assert not any("calibrated" in words for words in found.warnings)
    with pytest.raises(ValueError, match="one target for each"):
        missing_cost(model, Z, calibration=(X[500:], y))


def test_regressors_without_labelled_rows_know_the_cost_only():
    X, _ = table(600)
    model = AverageOverMissing(LinearRegression(), "donors", n_calibration=0)
    model.fit(X, X @ [2.0, 1.0, 0, 0, 0])
    found = missing_cost(model, Missing(0.4).sample(X, rng=0))
    assert np.isnan(found.score.value)
    assert f"{found.score}" == "unknown"
    assert found.cost.value > 0.5


def test_frames_with_words_and_pipelines():
    X, y = table(1500)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["word"] = np.where(y == 1, "yes", np.where(X[:, 3] > 0, "no", "maybe"))
    model = AverageOverMissing(
        make_pipeline(_Numbers(), StandardScaler(), LogisticRegression()),
        random_state=0,
    ).fit(frame[:1000], y[:1000])
    gone = frame[1000:].copy()
    gone.loc[gone.index[:400], "word"] = None
    gone.loc[gone.index[:200], "a"] = np.nan
    found = missing_cost(model, gone)
    assert list(found.by_column) == ["word", "a"]
    assert found.by_column["word"].value > 0.02
    outer = make_pipeline(
        StandardScaler(),
        AverageOverMissing(LogisticRegression(), "donors", random_state=0),
    ).fit(frame[list("abcde")][:1000], y[:1000])
    rows = Missing(0.5).sample(frame[list("abcde")][1000:], rng=0)
    assert missing_cost(outer, rows).cost.value > 0.02


class _Numbers(BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        words = X["word"].map({"yes": 1.0, "no": 0.0, "maybe": 0.0}).astype(float)
        return X.drop(columns="word").assign(word=words).to_numpy()


def test_a_series_by_files_or_by_a_column(fitted):
    X, _ = table(900, seed=7)
    parts = {str(q): Missing(q).sample(X, rng=0) for q in (0.1, 0.5)}
    series = missing_cost(fitted, parts)
    assert list(series.batches) == ["0.1", "0.5"]
    assert series.batches["0.1"].cost.value < series.batches["0.5"].cost.value
    one = missing_cost(fitted, parts["0.5"])
    assert series.batches["0.5"].cost == one.cost
    rows = np.concatenate(list(parts.values()))
    by_label = missing_cost(fitted, rows, by=np.repeat([1, 2], 900))
    assert list(by_label.batches) == ["1", "2"]
    assert by_label.batches["2"].cost == one.cost
    assert len(missing_cost(fitted, parts["0.5"], by=np.arange(900)).batches) == 40
    assert "costliest" in repr(series)
    assert len(series.to_dict()["cost_low"]) == 2


def test_a_series_by_a_column_that_the_model_does_not_get():
    X, y = table(900)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = AverageOverMissing(LogisticRegression(), "donors").fit(frame, y)
    Z = Missing(0.3).sample(frame, rng=0)
    Z["day"] = np.repeat(["Mon", "Tue"], 450)
    found = missing_cost(model, Z, by="day")
    assert list(found.batches) == ["Mon", "Tue"]
    tuesday = missing_cost(model, Z[450:].drop(columns="day"))
    assert found.batches["Tue"].cost == tuesday.cost


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_batches_by_texts(fitted, kind):
    Z = Missing(0.3).sample(table(240)[0], rng=0)
    found = missing_cost(fitted, Z, by=kind(["Tue", "Mon"] * 120))
    assert list(found.batches) == ["Mon", "Tue"]


@pytest.mark.parametrize("zone", [None, "Europe/Zurich"])
def test_batches_by_dates_and_numbers(fitted, zone):
    Z = Missing(0.3).sample(table(240)[0], rng=0)
    days = pd.date_range("2024-01-09", periods=12, tz=zone)
    expected = [f"2024-01-{day:02}" for day in range(9, 21)]
    by_date = missing_cost(fitted, Z, by=pd.Series(np.repeat(days, 20))[::-1])
    assert list(by_date.batches) == expected
    parts = dict(zip(days, np.split(Z[::-1], 12), strict=True))
    assert list(missing_cost(fitted, parts).batches) == expected
    named = {str(day): part for day, part in parts.items()}
    assert list(missing_cost(fitted, named).batches) == list(named)
    hours = pd.Series(np.repeat(pd.date_range("2024-01-09", periods=2, freq="h"), 120))
    first, second = missing_cost(fitted, Z, by=hours).batches
    assert first.startswith("2024-01-09T00:00")
    assert second.startswith("2024-01-09T01:00")
    by_number = missing_cost(fitted, Z, by=np.repeat(np.arange(12, 0, -1), 20))
    assert list(by_number.batches) == [str(day) for day in range(1, 13)]


@pytest.mark.parametrize(
    "labels",
    [[1.0, np.nan], ["Mon", None], pd.Series(["Mon", None]),
     pd.to_datetime(pd.Series(["2024-01-01", None])),
     pd.Series(["Mon", pd.NA], dtype="string")],
)  # fmt: skip
def test_rows_without_a_label_are_refused(fitted, labels):
    X, _ = table(2)
    with pytest.raises(ValueError, match=r"no label for 1 of 2 rows; .* leave these"):
        missing_cost(fitted, X, by=labels)


def test_arrays_and_frames_tell_the_same(fitted):
    Z = Missing(0.5).sample(table(700, seed=8)[0], rng=0)
    one, other = missing_cost(fitted, Z), missing_cost(fitted, pd.DataFrame(Z))
    # columns and rows lie in another order in memory, so sums may differ in a last bit
    assert tuple(one.cost) == pytest.approx(tuple(other.cost), rel=1e-12)
    for estimates in zip(one.by_column.values(), other.by_column.values(), strict=True):
        assert estimates[0] == pytest.approx(estimates[1])


def test_a_sample_tells_nearly_the_same(fitted):
    Z = Missing(0.5).sample(table(4000, seed=9)[0], rng=0)
    whole = missing_cost(fitted, Z, max_rows=4000)
    some = missing_cost(fitted, Z, max_rows=1000)
    assert some.cost.value == pytest.approx(whole.cost.value, abs=0.01)
    assert some.score.value == pytest.approx(whole.score.value, abs=0.003)
    assert some.by_column["x0"].value == pytest.approx(
        whole.by_column["x0"].value, rel=0.2
    )


def test_what_cannot_work_is_said_in_a_sentence(fitted):
    X, y = table(100)
    with pytest.raises(TypeError, match=r"does not average .* Wrap the model"):
        missing_cost(LogisticRegression().fit(X, y), X)
    with pytest.raises(ValueError, match="scoring must be 'accuracy' or 'log_loss'"):
        missing_cost(fitted, X, scoring="r2")
    with pytest.raises(ValueError, match="by='day' is not a column of X"):
        missing_cost(fitted, pd.DataFrame(X), by="day")
    named = pd.DataFrame(X, columns=list("abcde"))
    model = AverageOverMissing(LogisticRegression(), "donors").fit(named, y)
    with pytest.raises(ValueError, match="'a' is also a column of the model; copy it"):
        missing_cost(model, named, by="a")
    for nothing, by in (({}, None), (X[:0], [])):
        with pytest.raises(ValueError, match="no batches"):
            missing_cost(fitted, nothing, by=by)
    with pytest.raises(ValueError, match="no rows"):
        missing_cost(fitted, X[:0])


def test_bad_options_are_refused_in_a_sentence(fitted):
    X, y = table(100)
    with pytest.raises(NotFittedError):
        missing_cost(make_pipeline(StandardScaler(), AverageOverMissing()), X)
    for max_rows in (0, -1, 2.5):
        with pytest.raises(ValueError, match="max_rows must be a whole number"):
            missing_cost(fitted, X, max_rows=max_rows)
    with pytest.raises(ValueError, match="X must have rows and columns"):
        missing_cost(fitted, X[0])
    with pytest.raises(ValueError, match="leave out by"):
        missing_cost(fitted, {"a": X}, by=np.zeros(100))
    with pytest.raises(ValueError, match="batches of the same name: 1, '1'"):
        missing_cost(fitted, {1: X, "1": X})
    with pytest.raises(ValueError, match="The batch tuesday has no rows"):
        missing_cost(fitted, {"monday": X, "tuesday": X[:0]})
    with pytest.raises(ValueError, match="Two groups have the name '1'"):
        missing_cost(fitted, Missing(0.5).sample(X, rng=0), groups={1: [0], "1": [1]})
    with pytest.raises(TypeError, match="calibration must be a pair"):
        missing_cost(fitted, X, calibration=X)
    for calibration, words in (
        ((X[:0], y[:0]), "calibration has no rows"),
        ((X, y[:50]), "100 rows and 50 targets"),
        ((X[:, :4], y), "calibration must have the 5 columns of X|features"),
        ((X, np.where(y, 1.0, np.nan)), "y has .* missing values"),
        ((X, np.where(y, "1", "0")), "none of the classes of the model, such as 0"),
        ((X, y[:, None]), "y must have one dimension"),
    ):
        with pytest.raises(ValueError, match=words):
            missing_cost(fitted, X, calibration=calibration)
    regressor = AverageOverMissing(LinearRegression(), "donors").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="y must be numbers for a regressor"):
        missing_cost(regressor, X, calibration=(X, np.full(100, "high")))


def test_groups_keep_their_names_and_none_is_lost(fitted):
    Z = Missing(0.5).sample(table(300, seed=2)[0], rng=0)
    found = missing_cost(fitted, Z, groups=[["x0", "x1"], ["x0", "x2"]])
    assert found.groups == {
        "x0 and 1 more": ["x0", "x1"],
        "x0, x2": ["x0", "x2"],
    }
    labels = np.array(["north", "south", "north", "south", "east"])
    for given in (labels, labels.tolist()):
        found = missing_cost(fitted, Z, groups=given)
        assert found.groups == {
            "north": ["x0", "x2"],
            "south": ["x1", "x3"],
            "east": ["x4"],
        }


def test_few_rows_are_grouped_as_many_are():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(1200, 3))
    X = np.repeat(base, 2, axis=1) + 0.3 * rng.normal(size=(1200, 6))
    y = (base.sum(axis=1) > 0).astype(int)
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    model.fit(X[:1000], y[:1000])
    Z = X[1000:1005].copy()
    Z[0] = np.nan
    pairs = [["x0", "x1"], ["x2", "x3"], ["x4", "x5"]]
    assert sorted(missing_cost(model, Z).groups.values()) == pairs
    model.set_params(n_calibration=0).fit(X[:1000], y[:1000])
    assert missing_cost(model, Z).groups == {}  # five rows tell nothing


def test_the_cost_is_the_difference_of_the_scores():
    X, y = load_breast_cancer(return_X_y=True)
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)  # complete rows are always right
    model = AverageOverMissing(RandomForestClassifier(20, random_state=0), "donors")
    model.set_params(random_state=0).fit(X[:300], y[:300])
    for rate in (0.2, 0.5, 0.8):
        found = missing_cost(model, Missing(rate).sample(X[300:], rng=0))
        gap = found.complete_score.value - found.score.value
        assert found.cost.value == pytest.approx(gap, abs=1e-12)
        assert found.cost.low <= gap <= found.cost.high
        assert 0.0 <= found.score.low <= found.complete_score.high <= 1.0


def test_columns_that_repeat_each_other_are_said_to():
    """Six copies of one column, of which each alone is worth next to nothing."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(2000, 1))
    X = base + 0.3 * rng.normal(size=(2000, 6))
    y = (base[:, 0] + 0.5 * rng.normal(size=2000) > 0).astype(int)
    model = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    model.fit(X[:1000], y[:1000])
    Z = Missing(0.5).sample(X[1000:], rng=0)
    found = missing_cost(model, Z)
    words = "their order is mostly noise. Columns may stand in for each other"
    assert [len(names) for names in found.groups.values()] == [6]
    assert words in found.verdict
    assert found.warnings == ()
    assert "doubtful" not in found.verdict
    assert words not in missing_cost(model, Z, groups=[]).verdict  # nothing to see
    alone = found.by_column | {"x0": Estimate(0.1, 0.05, 0.15)}
    assert words not in replace(found, by_column=alone).verdict
    group = {name: Estimate(0.2, 0.1, 0.3) for name in found.by_group}
    told = replace(found, by_group=group, cost=Estimate(0.2, 0.1, 0.3)).verdict
    assert "Those of the group x0, x1, x2 and 3 more cost most: 0.200." in told


def test_pipelines_keep_the_names_of_columns():
    X, y = table(600)
    frame = pd.DataFrame(X, columns=list("abcde"))
    averaged = AverageOverMissing(LogisticRegression(), "donors", random_state=0)
    model = make_pipeline(StandardScaler(), averaged).fit(frame[:400], y[:400])
    Z = Missing(0.5).sample(frame[400:], rng=0)
    assert set(missing_cost(model, Z).by_column) == set("abcde")
    found = missing_cost(model, Z, groups={"first": ["a", "b"]})
    assert found.groups == {"first": ["a", "b"]}


def test_a_model_behind_a_pipeline_is_judged_on_rows_of_its_own_scale():
    """The fit without the labelled rows has a scaler of its own."""
    X, _ = table(1600)
    y = X @ [2.0, -1.0, 0, 0, 0]
    averaged = AverageOverMissing(LinearRegression(), "donors", n_calibration=0)
    inner = make_pipeline(StandardScaler(), averaged)
    model = make_pipeline(StandardScaler(), ConformalRegressor(inner, random_state=0))
    model.fit(100 * X[:1000] + 7, y[:1000])
    Z = Missing(0.4).sample(X[1000:], rng=0)
    found = missing_cost(model, 100 * Z + 7)
    true = np.mean((model.predict(100 * Z + 7) - y[1000:]) ** 2)
    assert found.score.low <= true <= found.score.high
    assert found.score.value == pytest.approx(true, rel=0.2)


def test_hours_are_told_without_seconds(fitted):
    Z = Missing(0.5).sample(table(60, seed=3)[0], rng=0)
    hours = np.datetime64("2024-01-01T00", "us") + np.arange(60) // 20 * 3600 * 10**6
    found = missing_cost(fitted, Z, by=hours)
    assert list(found.batches) == [f"2024-01-01T0{i}:00" for i in range(3)]


def test_votes_and_conformal_regressors_are_calibrated_too():
    X, y = table(1600)
    names = np.array(["no", "yes"])[y]
    members = [
        (f"{C}", AverageOverMissing(LogisticRegression(C=C), "donors", random_state=0))
        for C in (0.1, 10.0)
    ]
    vote = VotingClassifier(members, voting="soft", weights=[0.3, 0.7])
    vote.fit(X[:1000], names[:1000])
    Z = Missing(0.4).sample(X[1000:], rng=0)
    found = missing_cost(vote, Z)
    assert not any("calibrated" in words for words in found.warnings)
    right = np.mean(vote.predict(Z) == names[1000:])
    assert found.score.low <= right <= found.score.high
    target = X @ [2.0, -1.0, 0, 0, 0] + np.random.default_rng(0).normal(size=1600)
    averaged = AverageOverMissing(LinearRegression(), "donors", n_calibration=0)
    regressor = ConformalRegressor(averaged, random_state=0)
    regressor.fit(X[:1000], target[:1000])
    found = missing_cost(regressor, Z)
    true = np.mean((regressor.predict(Z) - target[1000:]) ** 2)
    assert found.score.low <= true <= found.score.high
    scaled = make_pipeline(StandardScaler(), clone(averaged))
    regressor = ConformalRegressor(scaled, random_state=0)
    regressor.fit(1000 * X[:1000], target[:1000])
    again = missing_cost(regressor, 1000 * Z)
    assert tuple(again.score) == pytest.approx(tuple(found.score), rel=0.05)


def test_arrays_and_frames_tell_the_same_with_indicators():
    X, y = table(900)
    holed = Missing(0.2).sample(X, rng=1)
    only = ({"averaged with indicators": 1.0},) * 2 + ("averaged",)
    model = AverageOverMissing(
        LogisticRegression(), "donors", random_state=0, treatment=only
    )
    Z = Missing(0.5).sample(X[600:], rng=2)
    one = missing_cost(clone(model).fit(holed[:600], y[:600]), Z)
    names = list("abcde")
    model.fit(pd.DataFrame(holed[:600], columns=names), y[:600])
    other = missing_cost(model, pd.DataFrame(Z, columns=names))
    assert tuple(one.cost) == pytest.approx(tuple(other.cost), rel=1e-6)
    for j, name in enumerate(names):
        mine, theirs = one.by_column[f"x{j}"], other.by_column[name]
        assert tuple(mine) == pytest.approx(tuple(theirs), abs=1e-6)
