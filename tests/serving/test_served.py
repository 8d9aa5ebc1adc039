"""A served model: any table, any model, strict or not, its contract and its costs."""

import datetime
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from arriving import NEW, averaged, table
from hypothesis import given, settings
from hypothesis import strategies as st
from same import assert_same
from sklearn.base import is_regressor
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import noiseproof
from noiseproof import AverageOverMissing, DropoutLogisticRegression, DropoutRidge
from noiseproof.serving import RowsError, Served, answer_columns
from noiseproof.tables import TableEncoder

Y = np.where(np.arange(120) % 3 == 0, "u", "v")


def numbers(**names):
    """Complete numbers of several types."""
    rng = np.random.default_rng(0)
    parts = {"a": rng.normal(size=120), "b": rng.integers(0, 9, 120)}
    return pd.DataFrame(parts).rename(columns=names)


def mixed(*categories):
    return (
        table()
        .drop(columns=["shift", "wait"])
        .astype(dict.fromkeys(categories, "category"))
    )


def by_name(*text):
    """A pipeline of scikit-learn that finds its columns by name."""
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    rest = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((words, list(text)), (rest, ["age", "visits"]))
    return make_pipeline(columns, LogisticRegression())


TABLES = {
    "array": (LogisticRegression(), numbers().to_numpy()),
    "array of float32": (LogisticRegression(), numbers().to_numpy(np.float32)),
    "array of whole numbers": (DropoutRidge(), numbers()[["b", "b"]].to_numpy()),
    "array of objects": (OneHotEncoder, mixed()[["ward"]].to_numpy(dtype=object)),
    "frame of numbers": (LogisticRegression(), numbers()),
    "frame of whole numbers": (LogisticRegression(), numbers()[["b"]]),
    "numbered columns": (LogisticRegression(), numbers(a=0, b=1)),
    "sparse": (DropoutLogisticRegression(), sp.csr_array(numbers().to_numpy())),
    "encoded": (make_pipeline(TableEncoder(), DropoutLogisticRegression()), mixed()),
    "encoded codes": (
        make_pipeline(TableEncoder(categorical=["visits"]), DropoutRidge()),
        mixed(),
    ),
    "coerced": (
        make_pipeline(TableEncoder(coerce=["age"]), DropoutRidge()),
        mixed().assign(age=[f"{a},5" for a in range(120)]),
    ),
    "by name": (by_name("ward"), mixed()),
    "categories": (
        HistGradientBoostingClassifier(categorical_features="from_dtype"),
        mixed("ward", "visits"),
    ),
    "averaged": (AverageOverMissing(by_name("ward"), "donors"), mixed()),
    "averaged, of polars": (
        AverageOverMissing(by_name("ward"), "donors"),
        pl.from_pandas(mixed()),
    ),
    "polars with categories and times": (
        make_pipeline(TableEncoder(), DropoutLogisticRegression()),
        pl.from_pandas(table().astype({"ward": "category"})),
    ),
    "averaged boosting": (
        AverageOverMissing(HistGradientBoostingClassifier(max_iter=3), "donors"),
        numbers(),
    ),
    "objects": (
        make_pipeline(TableEncoder(), DropoutLogisticRegression()),
        mixed().astype(object),
    ),
    "words and numbers together": (
        make_pipeline(TableEncoder(), DropoutLogisticRegression()),
        pd.DataFrame({"a": [1, "x", 2.5, None, True, "x"] * 20, "b": range(120)}),
    ),
    "nullable": (
        make_pipeline(TableEncoder(), DropoutLogisticRegression()),
        mixed().convert_dtypes(),
    ),
}


def served_on(name):
    model, X = TABLES[name]
    if model is OneHotEncoder:
        model = make_pipeline(OneHotEncoder(), LogisticRegression())
    model.fit(X, np.arange(120.0) if is_regressor(model) else Y)
    return Served(model, X), X


def _assert_alike(found, wanted):
    """Classes are the same; numbers may be rounded as the rows lie in memory."""
    assert found.dtype == wanted.dtype
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.filterwarnings("ignore:.* different texts in")
@pytest.mark.parametrize("name", TABLES)
def test_the_training_table_comes_through_as_it_is(name, tmp_path):
    """Read, held and asked, also after a journey through a file: the bare answers."""
    served, X = served_on(name)
    wanted = served.model.predict(X)
    _assert_alike(served.predict(X), wanted)
    assert served.check(X) == []
    assert type(served.read(X).X) is type(X) or served.form == "array"
    if name == "categories":  # of boosting, which no file may hold
        return
    noiseproof.save(served, tmp_path / "served.npf")
    again = noiseproof.load(tmp_path / "served.npf")
    assert_same(again.columns, served.columns)
    _assert_alike(again.predict(X), wanted)
    if hasattr(X, "dtypes") and hasattr(X, "iloc"):
        kinds = served.read(X).X.dtypes.map(lambda dtype: dtype.kind)
        plain = X.dtypes.map(lambda dtype: {"U": "O"}.get(dtype.kind, dtype.kind))
        plain = plain.replace("i", "f") if name == "nullable" else plain
        assert kinds.tolist() == plain.tolist()


def test_a_table_of_names_for_a_model_that_knows_none():
    """It was fitted on an array; the names are for those who ask."""
    X = numbers()
    model = LogisticRegression().fit(X.to_numpy(), Y)
    served = Served(model, X)
    assert served.form == "array"
    wanted = model.predict_proba(X.to_numpy())
    np.testing.assert_allclose(served.predict_proba(X[["b", "a"]]), wanted)
    np.testing.assert_allclose(served.predict_proba(X.to_numpy()), wanted)


def test_the_reference_may_have_other_columns():
    X = numbers().assign(target=Y, other=1.0)
    served = Served(LogisticRegression().fit(X[["b", "a"]], Y), X, target="target")
    assert served.names == ["b", "a"]
    with pytest.raises(ValueError, match="reference lacks the column 'b', on which"):
        Served(served.model, X[["a"]])
    unnamed = make_pipeline(LogisticRegression()).fit(X[["a", "b"]].to_numpy(), Y)
    with pytest.raises(ValueError, match="cannot predict the reference; pass the"):
        Served(unnamed, X.drop(columns="target"))


@pytest.mark.parametrize(
    "form", [pa.Table.from_pandas, lambda X: pl.from_pandas(X).lazy()]
)
def test_references_in_other_containers(form):
    X = numbers()
    served = Served(LogisticRegression().fit(X, Y), form(X))
    assert [(c.name, c.kind) for c in served.columns] == [
        ("a", "number"),
        ("b", "number"),
    ]
    np.testing.assert_array_equal(served.predict(X), served.model.predict(X))


WRONG = [np.empty((0, 2)), np.empty((3, 0)), [1, 2], "x", {"a": [1]}, [{"a": 1}]]


@pytest.mark.parametrize("reference", WRONG)
def test_a_reference_without_rows_or_columns(reference):
    model = LogisticRegression().fit(numbers(), Y)
    with pytest.raises(ValueError, match="must be a table with rows and columns"):
        Served(model, reference)


def test_what_cannot_be_served():
    with pytest.raises(TypeError, match="The model has no method predict: StandardS"):
        Served(StandardScaler(), numbers())
    dates = numbers().assign(day=pd.date_range("2024", periods=120).date)
    model = make_pipeline(TableEncoder(), DropoutLogisticRegression())
    with pytest.warns(UserWarning, match="different texts"):
        model.fit(dates, Y)
    with pytest.raises(
        TypeError, match="'day' of the reference contains values of type date"
    ):
        Served(model, dates)


def test_only_a_summary_is_kept(tmp_path):
    """None of the numbers, beside the ends of their range, and no row number."""
    X = numbers()
    served = Served(DropoutLogisticRegression().fit(X, Y), X)
    kept = json.dumps(served.contract()) + json.dumps(served.json_schema())
    low, high = X["a"].min(), X["a"].max()
    inner = X["a"][(X["a"] > low) & (X["a"] < high)]
    assert not [a for a in inner if repr(a) in kept]
    assert served.contract()["a"]["range"] == [low, high]


def test_strict_lists_all_that_is_wrong():
    rows = [{"age": "old", "ward": "z", "visits": 1e6, "bed": 1}]
    found = averaged().check(rows)
    kinds = ["absent", "extra", "unreadable", "out of range", "unseen"]
    assert [note.kind for note in found] == kinds
    assert [note.values for note in found] == [4, 0, 1, 1, 1]
    json.dumps([note._asdict() for note in found])
    for ask in (averaged().predict, averaged().predict_proba):
        with pytest.raises(RowsError) as raised:
            ask(rows, strict=True)
        sentence = str(raised.value)
        for word in ("'shift', 'height', 'wait'", "'bed'", "'old'", "'z'", "'1000000'"):
            assert word in sentence
        assert "\n" not in sentence
    assert averaged().predict(NEW, strict=True).shape == (8,)


def test_rows_are_read_once():
    served = averaged()
    arrived = served.read(NEW)
    assert served.read(arrived) is arrived
    assert served.check(arrived) is arrived.notes
    assert arrived.missing.sum() == NEW.isna().to_numpy().sum()
    np.testing.assert_array_equal(served.predict(arrived), served.predict(NEW))


@pytest.mark.parametrize("names", [{}, {"b": "c"}])
def test_rows_that_were_read_for_another_model(names):
    X = numbers(**names)
    other = Served(LogisticRegression().fit(X, Y), X)
    X = numbers() if names else NEW
    served = Served(LogisticRegression().fit(X, Y), X) if names else averaged()
    with pytest.raises(RowsError, match="were read for another model"):
        other.predict(served.read(X))


NONSENSE = {
    "no rows": ([], "There are no rows to predict"),
    "no rows in a frame": (NEW[:0], "There are no rows"),
    "a text": ("age", "got str"),
    "a number": (3.0, "got float"),
    "one dimension": (np.zeros(5), r"got ndarray of shape \(5,\)"),
    "three": (np.zeros((2, 5, 1)), r"got ndarray of shape \(2, 5, 1\)"),
    "another width": (
        np.zeros((2, 4)),
        "7 columns of the training table, in their order; got 4",
    ),
    "rows of many lengths": ([[1, 2], [3]], "Rows must be"),
    "lengths": ({"age": [1, 2], "ward": ["a"]}, "2 values of 'age' and 1 values of"),
    "one value": ({"age": [1, 2], "ward": "a"}, "2 values of 'age' and one value of"),
    "not all records": ([{"age": 1}, 3], "Row 1 must be a dictionary.*; got int"),
    "twins": (pd.concat([NEW, NEW[["age"]]], axis=1), "Two columns are named 'age'"),
    "labels": ({"age": {0: 1, 1: 2}, "ward": {0: "a"}}, "the same labels of rows"),
    "a set": ({"age": {1, 2}, "ward": {"a"}}, "must have an order; got a set"),
    "records by name": ({"r": {"age": 1}, "s": {"age": 2}}, "none is there"),
    "nothing known": ({}, "none is there"),
    "a pair of unknown": ([{"x": 1}, {"y": 2}], "none is there"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_gets_one_sentence(name):
    rows, words = NONSENSE[name]
    with pytest.raises(RowsError, match=words) as raised:
        averaged().predict(rows)
    assert "\n" not in str(raised.value)


CELLS = {
    "number": [
        (3, 3.0), (True, 1.0), ("3", 3.0), (" 3e2 ", 300.0), (np.float32(0.5), 0.5),
        ("", None), ("NA", None), (None, None), (np.nan, None), (pd.NA, None),
        ("x", "bad"), (np.inf, "bad"), ("inf", "bad"), (10**400, "bad"), ([1], "bad"),
        (1j, "bad"), (pd.Timestamp("2024"), "bad"), ({"a": 1}, "bad"),
        (np.timedelta64(5, "ns"), "bad"), (pd.Timedelta(5), "bad"),
    ],
    "boolean": [
        (True, 1.0), (0, 0.0), (1.0, 1.0), ("TRUE", 1.0), ("false", 0.0), ("0", 0.0),
        ("", None), (pd.NA, None), (2, "bad"), ("maybe", "bad"), ([True], "bad"),
    ],
    "category": [
        ("a", "a"), ("b", "b"), ("", "unseen"), (None, None), (pd.NaT, None),
        (3, "unseen"), ("A", "unseen"), (["a"], "bad"),
    ],
    "time": [
        ("2024-01-01 08:00", "2024-01-01 07:00"),  # without a zone: that of training
        ("2024-01-01T07:00:00Z", "2024-01-01 07:00"),
        ("2024-01-01 08:00+02:00", "2024-01-01 06:00"),
        (pd.Timestamp("2024-07-01", tz="UTC"), "2024-07-01 00:00"),
        (pd.Timestamp("2024-07-01").date(), "2024-06-30 22:00"),
        (np.datetime64("2024-07-01T12:00"), "2024-07-01 10:00"),
        (pd.NaT, None), ("", None), ("tomorrow", "bad"), (3, "bad"), ("2024", "bad"),
    ],
    "duration": [
        (pd.Timedelta("1h"), 3600), (np.timedelta64(1, "h"), 3600), (60, 60),
        (" 0.5 ", 0.5), ("0 days 01:00:00", 3600), ("2 days", 172800),
        ("-1 days +23:00:00", -3600), ("1 day, 1:00:00.5", 90000.5), ("1:00:00", 3600),
        ("-00:00:01", -1), ("PT1H", 3600), ("P1DT2H3M4.5S", 93784.5), ("-PT1S", -1),
        ("P1W", 604800), ("P", "bad"), ("PT", "bad"), ("long", "bad"), ("1:2", "bad"),
        ("", None), (pd.NaT, None),
    ],
}  # fmt: skip
OF = {"number": "age", "boolean": "smoker", "category": "ward", "time": "shift"}
OF |= {"duration": "wait"}


@pytest.mark.parametrize(("kind", "cell", "meant"), [
    (kind, *pair) for kind, pairs in CELLS.items() for pair in pairs
])  # fmt: skip
def test_single_values(kind, cell, meant):
    """As a record, and in a column of objects."""
    name = OF[kind]
    for rows in ([{name: cell, "visits": 1}], {name: [cell], "visits": [1]}):
        arrived = averaged().read(rows)
        kinds = {"bad": "unreadable", "unseen": "unseen"}
        found = [n.kind for n in arrived.notes if n.columns == [name]]
        found = [kind for kind in found if kind != "out of range"]
        wanted = [kinds[meant]] if meant in ("bad", "unseen") and cell != "a" else []
        assert found == wanted
        missing = meant in (None, "bad", "unseen")
        assert arrived.missing[0, averaged().names.index(name)] == missing
        if missing:
            assert arrived.X[name].isna().all()
        elif kind == "time":
            utc = arrived.X[name].dt.tz_convert("UTC")
            assert utc[0] == pd.Timestamp(meant, tz="UTC")
        elif kind == "duration":
            assert arrived.X[name][0] == pd.Timedelta(meant, "s")
        else:
            assert arrived.X[name][0] == meant


ARROW = {
    "date32": (pa.date32(), datetime.date(2024, 7, 1)),
    "date64": (pa.date64(), datetime.date(2024, 7, 1)),
    "timestamp": (pa.timestamp("s"), datetime.datetime(2024, 7, 1)),
    "duration": (pa.duration("ms"), datetime.timedelta(hours=1)),
    "string view": (pa.string_view(), "a"),
    "128 bits": (None, 3),
}


@pytest.mark.parametrize("name", ARROW)
@pytest.mark.parametrize("column", OF.values())
def test_types_of_arrow_and_polars(name, column):
    """A column of each type in place of each column: read as its values are."""
    kind, cell = ARROW[name]
    if kind is None:
        typed = pl.Series([cell, None], dtype=pl.Int128)
    else:
        typed = pd.Series([cell, None], dtype=pd.ArrowDtype(kind))
    rows, plain = ({column: part, "height": [1, 1]} for part in (typed, [cell, None]))
    found, wanted = averaged().read(rows), averaged().read(plain)
    pd.testing.assert_frame_equal(found.X, wanted.X)
    assert [note[:1] for note in found.notes] == [note[:1] for note in wanted.notes]


def test_durations():
    X = numbers().assign(wait=pd.to_timedelta(np.arange(120) % 9, unit="h"))
    model = make_pipeline(TableEncoder(), DropoutLogisticRegression()).fit(X, Y)
    served = Served(model, X)
    assert served.contract()["wait"]["range"] == [0.0, 8 * 3600.0]
    rows = {"wait": [pd.Timedelta("1h"), 3600, "3600", np.timedelta64(1, "h"), None]}
    rows |= {"a": [0.0] * 5, "b": [1] * 5}
    found = served.read(rows).X["wait"]
    assert (found[:4] == pd.Timedelta("1h")).all()
    assert found.isna()[4]
    assert served.check({"wait": "long", "a": 1})[1].kind == "unreadable"


@pytest.mark.parametrize("cell", [1e300, 1e13, "P99999999999999W", 1e10])
def test_durations_that_do_not_fit_into_64_bits(cell):
    rows = {"wait": cell, "age": 50}
    fits = cell == 1e10
    [note] = [n for n in averaged().check(rows) if n.columns == ["wait"]]
    assert note.kind == ("out of range" if fits else "unreadable")
    assert averaged().read(rows).X["wait"].isna()[0] != fits


def test_times_that_do_not_fit_into_nanoseconds():
    X = table()[["age", "shift"]].assign(shift=lambda X: X["shift"].dt.as_unit("ns"))
    served = Served(
        make_pipeline(TableEncoder(), DropoutLogisticRegression()).fit(X, Y), X
    )
    rows = {"age": 50, "shift": "9999-01-01"}
    assert [note.kind for note in served.check(rows)] == ["unreadable"]


def test_numbers_that_stand_for_categories():
    served, X = served_on("encoded codes")
    assert served.contract()["visits"]["words"] == list(range(9))
    rows = X[:4].assign(visits=["3", 3.0, "3.0", 77])
    assert [note.kind for note in served.check(rows)] == ["unseen"]
    assert served.read(rows).X["visits"].tolist()[:3] == [3, 3, 3]
    served, X = served_on("categories")
    found = served.read(X[:3].assign(visits=["3", 4.0, 77])).X["visits"]
    assert found.tolist()[:2] == [3, 4]
    assert found.isna()[2]
    assert found.dtype == X["visits"].dtype


def test_text_that_the_model_reads_itself():
    """Commas before fractions; every number is a new text, and none of them unseen."""
    served, X = served_on("coerced")
    rows = pd.concat([X[:1]] * 3).assign(age=["7,25", 7.25, None])
    assert served.check(rows) == []
    plain = served.model.predict(rows.assign(age=["7,25", "7.25", None]))
    np.testing.assert_allclose(served.predict(rows), plain)
    assert plain[0] == pytest.approx(plain[1])


def test_free_text_is_not_a_category():
    X = pd.DataFrame({"note": [f"text {i}" for i in range(120)], "b": range(120)})
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["b"])), LogisticRegression()
    ).fit(X, Y)
    served = Served(model, X)
    assert served.contract()["note"]["kind"] == "text"
    assert served.check({"note": "something new", "b": 3}) == []


def test_a_model_that_refuses_missing_values():
    X = numbers().assign(c=1.0)
    model = LogisticRegression().fit(X, Y)
    served = Served(model, X)
    assert not any(clause["may_be_missing"] for clause in served.contract().values())
    rows = X[:4].drop(columns="c").assign(b=[1, "x", 3, 4])
    with pytest.raises(RowsError) as raised:
        served.predict(rows)
    sentence = "LogisticRegression refuses missing values, and 4 of 4 rows lack 'b', "
    assert str(raised.value).startswith(f"{sentence}'c'. Serve AverageOverMissing(")
    assert len(served.check(rows)) == 2
    averaged = AverageOverMissing(FrozenEstimator(model), "donors").fit(X)
    assert Served(averaged, X).predict(rows).shape == (4,)


def test_a_model_that_refuses_some_missing_values():
    """Trained on complete rows, with an imputer for the numbers only."""
    X, part = mixed(), ["age", "visits"]
    columns = make_column_transformer(
        (SimpleImputer(), part), (OneHotEncoder(), ["ward"])
    )
    served = Served(make_pipeline(columns, LogisticRegression()).fit(X, Y), X)
    contract = served.contract()
    assert [n for n, c in contract.items() if not c["may_be_missing"]] == ["ward"]
    assert contract.keys() == set(X.columns)
    assert served.predict(X[:3].assign(age=None)).shape == (3,)
    with pytest.raises(RowsError, match="3 of 3 rows lack 'ward'"):
        served.predict(X[:3].assign(ward="z"))


def test_a_reference_with_missing_values_that_training_left_out():
    X = mixed()
    whole = X.dropna()
    model = LogisticRegression().fit(whole[["age", "visits"]], whole["smoker"])
    served = Served(model, X)
    assert served.contract()["age"]["missing_rate"] == pytest.approx(1 / 3)
    assert served.predict({"age": 3, "visits": 2}).shape == (1,)


def test_sparse_tables_have_a_width_only():
    served, X = served_on("sparse")
    assert served.contract() == {}
    np.testing.assert_array_equal(served.predict(X.toarray()), served.predict(X))
    for wrong in (X[:, :1], np.zeros(2), [{"x0": 1}]):
        with pytest.raises(RowsError, match="sparse matrix with 2 columns"):
            served.predict(wrong)


class Interval(DummyRegressor):
    """A regressor with intervals."""

    def predict_interval(self, X, coverage=0.9):
        mean = self.predict(X)
        return np.column_stack([mean - coverage, mean + coverage])


def test_intervals():
    X, y = numbers(), np.arange(120.0)
    served = Served(Interval().fit(X, y), X)
    predictions, intervals = served.predict({"a": [1, 2], "b": [3, None]}, interval=0.8)
    np.testing.assert_allclose(predictions, [59.5] * 2)
    np.testing.assert_allclose(intervals, [[58.7, 60.3]] * 2)
    plain = Served(LinearRegression().fit(X, y), X)
    with pytest.raises(RowsError, match="LinearRegression has no intervals: wrap the"):
        plain.predict(X, interval=0.9)
    classes = Served(LinearSVC().fit(X, Y), X)
    with pytest.raises(RowsError, match=r"LinearSVC is a classifier.*conformal_sets"):
        classes.predict(X, interval=0.9)
    for wrong in (0, 1, 9, float("nan")):
        with pytest.raises(RowsError, match=f"between 0 and 1; got {wrong}"):
            served.predict(X, interval=wrong)


def test_a_coverage_that_needs_many_rows_is_shown_as_it_was_asked_for():
    X = numbers()
    model = AverageOverMissing(LinearRegression(), "joint-gaussian", n_calibration=60)
    served = Served(model.fit(X, np.arange(120.0)), X)
    with pytest.raises(RowsError, match=r"coverage=0\.9999999 needs"):
        served.predict(X, interval=0.9999999)


def test_several_targets_have_no_table_of_predictions():
    X, y = numbers(), np.c_[np.arange(120) % 2, np.arange(120) % 3]
    for model in (RandomForestClassifier(2), LinearRegression()):
        served = Served(model.fit(X, y), X)
        assert served.predict(X).shape == (120, 2)
        with pytest.raises(RowsError, match="predicts several targets at once"):
            answer_columns(served, X)


def test_what_the_model_lacks_the_served_one_lacks():
    X = numbers()
    regressor = Served(DropoutRidge().fit(X, np.arange(120.0)), X)
    assert not hasattr(regressor, "predict_proba")
    assert not hasattr(regressor, "classes_")
    machine = Served(LinearSVC().fit(X, Y), X)
    assert machine.classes_.tolist() == ["u", "v"]
    assert not hasattr(machine, "predict_proba")


def test_costs_are_falls_of_the_largest_probability():
    """The witness: the same by hand, on the rows of the sample."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["strong", "weak", "none"])
    y = 2 * X["strong"] + 0.5 * X["weak"] + 0.1 * rng.normal(size=60) > 0
    model = AverageOverMissing(LogisticRegression(), "donors").fit(X, y)
    clauses = Served(model, X).contract()
    sure = model.predict_proba(X).max(axis=1).mean()  # 60 rows are all in the sample
    for name, clause in clauses.items():
        less = model.predict_proba(X.assign(**{name: np.nan})).max(axis=1).mean()
        assert clause["absence_cost"] == pytest.approx(sure - less)
    costs = [clauses[name]["absence_cost"] for name in X.columns]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 0.1


def test_costs_of_a_regressor_are_changes_of_its_prediction():
    X, y = numbers(), 3 * numbers()["a"] + 0.01 * np.arange(120)
    model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    places = np.linspace(0, 119, 100).astype(int)
    cost = Served(model, X).contract()["a"]["absence_cost"]
    some = X.iloc[places]
    change = model.predict(some.assign(a=np.nan)) - model.predict(some)
    assert cost == pytest.approx(np.sqrt(np.mean(change**2)))
    assert cost > 1


def test_costs_take_a_bounded_time(monkeypatch):
    """After so many seconds the others stay unknown, and may still be missing."""
    monkeypatch.setattr("noiseproof.serving.absence._SECONDS", -1.0)
    X = numbers()
    served = Served(DropoutLogisticRegression().fit(X, Y), X)
    for clause in served.contract().values():
        assert clause["absence_cost"] is None
        assert clause["may_be_missing"]


def test_no_probabilities_no_costs():
    X = numbers()
    model = AverageOverMissing(LinearSVC(), "donors").fit(X, Y)
    clauses = Served(model, X).contract().values()
    assert all(c["may_be_missing"] and c["absence_cost"] is None for c in clauses)


def test_the_contract():
    contract = averaged().contract()
    json.dumps(contract)
    kinds = {name: clause["kind"] for name, clause in contract.items()}
    assert kinds == {
        "age": "number",
        "visits": "number",
        "ward": "category",
        "smoker": "boolean",
        "shift": "time",
        "height": "number",
        "wait": "duration",
    }
    assert contract["ward"]["words"] == ["a", "b", "c"]
    assert contract["visits"]["range"] == [0, 8]
    assert contract["age"]["missing_rate"] == pytest.approx(1 / 3)
    assert contract["shift"]["time_zone"] == "Europe/Berlin"
    assert contract["shift"]["range"][0] == "2024-01-01T07:00:00+00:00"
    for clause in contract.values():
        assert clause["may_be_missing"]
        assert isinstance(clause["absence_cost"], float)


def is_valid(record, schema):
    """As much of JSON Schema as ours has."""
    types = {"number": int | float, "string": str, "boolean": bool, "null": type(None)}
    for name, cell in record.items():
        rule = schema["properties"].get(name, {})
        if "enum" in rule and cell not in rule["enum"]:
            return False
        kinds = rule.get("type", list(types))
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not any(isinstance(cell, types[kind]) for kind in kinds):
            return False
        if isinstance(cell, bool) and "boolean" not in kinds:
            return False
        if isinstance(cell, int | float) and not (
            rule.get("minimum", -np.inf) <= cell <= rule.get("maximum", np.inf)
        ):
            return False
    return True


@pytest.mark.parametrize(
    ("record", "valid"),
    [
        ({}, True),
        ({"age": 40, "visits": 3, "ward": "a", "smoker": True}, True),
        ({"age": None, "visits": None, "ward": None, "smoker": None}, True),
        ({"age": 40, "shift": "2024-05-01T08:00:00Z", "bed": 4}, True),
        ({"age": "old"}, False),
        ({"age": 4000}, False),
        ({"visits": -50}, False),
        ({"ward": "z"}, False),
        ({"smoker": "perhaps"}, False),
        ({"shift": 3}, False),
    ],
)
def test_the_schema_allows_what_needs_no_note(record, valid):
    schema = averaged().json_schema()
    json.dumps(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    assert "required" not in schema
    assert is_valid(record, schema) == valid
    notes = averaged().check(record | {"age": record.get("age")})
    assert valid == all(note.kind in ("absent", "extra") for note in notes)


@pytest.mark.parametrize(
    ("cell", "valid"),
    [
        ("2024-05-01", True),
        ("2024-05-01T08:00", True),
        ("2024-05-01 08:00:00.5", True),
        ("tomorrow", False),
        ("2024", False),
        ("08:00", False),
    ],
)
def test_the_schema_knows_times_without_a_zone(cell, valid):
    X = numbers().assign(day=np.repeat(pd.date_range("2024", periods=40, freq="9D"), 3))
    model = make_pipeline(TableEncoder(), DropoutLogisticRegression()).fit(X, Y)
    served = Served(model, X)
    pattern = served.json_schema()["properties"]["day"]["pattern"]
    assert bool(re.search(pattern, cell)) == valid
    kinds = [n.kind for n in served.check({"day": cell, "a": 0.0, "b": 1})]
    assert kinds == ([] if valid else ["unreadable"])


def test_a_column_that_must_be_there_is_not_null_in_the_schema():
    X = numbers()
    schema = Served(LogisticRegression().fit(X, Y), X).json_schema()
    assert schema["properties"]["a"]["type"] == ["number"]


def test_times_without_a_name_of_their_zone():
    X = table().assign(shift=lambda t: t["shift"].dt.tz_convert("+01:00"))
    model = make_pipeline(TableEncoder(), DropoutLogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match=r"'shift' of the reference, .* has no name"):
        Served(model, X)


def test_served_models_explain_themselves():
    assert repr(averaged()).startswith("Served(AverageOverMissing(")
    assert repr(averaged()).endswith(", 7 columns)")


CELL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["a", "3", "2024-01-01T08:00:00+01:00", "nan", "1e999", "٣"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
    st.datetimes(),
    st.decimals(),
    st.sampled_from([pd.NA, pd.NaT, np.float32(2), np.bool_(True), b"x", 1j]),
)
NAMES = st.sampled_from([*NEW.columns, "bed", "diagnosis", ""])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(NAMES, CELL, max_size=6), min_size=1, max_size=3))
def test_whatever_arrives_is_answered_or_refused_in_a_sentence(records):
    """Nothing that JSON or a frame may hold gets through to the model unread."""
    served = averaged()
    if len(set(NEW.columns) & {name for row in records for name in row}) < 2:
        records.append(dict.fromkeys(["age", "ward"]))  # else it is another table
    chances = served.predict_proba(records)
    assert chances.shape == (len(records), 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    json.dumps([note._asdict() for note in served.check(records)])
    together = {n: [row.get(n) for row in records] for n in NEW.columns}
    np.testing.assert_allclose(served.predict_proba(together), chances)
