"""Tables with words: how they are read, divided and filled."""

import lzma

import numpy as np
import pandas as pd
import pytest
from experiments.data import load
from experiments.filling import Imputed, ImputedCodes, Means, fillings
from experiments.learners import answers, boosting, linear, scores, with_copies
from experiments.tables import (
    Table,
    as_table,
    divided,
    from_source,
    read_mlbench,
    read_tabfsbench,
    without,
    words,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def table():
    return load("heart-table", made=True)


@pytest.fixture
def holed(table, rng):
    return without(table.X, rng.random(table.X.shape) < 0.2)


def test_rare_words_are_one_and_numbers_are_floats():
    frame = pd.DataFrame(
        {
            "word": ["a"] * 3 + ["b", "c", None, "d"],
            "count": [1, 2, 3, 4, 5, 6, 7],
            "y": ["no", "yes", "no", None, "yes", "no", "no"],
        }
    )
    X, y = as_table(frame, "y", is_quantity=False)
    assert list(X["word"].astype(object).fillna("-")) == [*"aaa", "other", "-", "other"]
    assert list(X["count"]) == [1, 2, 3, 5, 6, 7]
    assert X["count"].dtype == float
    assert words(X) == ["word"]
    assert list(y) == [0, 1, 0, 1, 0, 0]
    assert Table(X, y).n_classes == 2
    assert Table(X, y.astype(float)).n_classes == 0


def test_a_time_stamp_is_read_in_both_its_forms(tmp_path, monkeypatch):
    (tmp_path / "tabfsbench").mkdir()
    with lzma.open(
        tmp_path / "tabfsbench" / "bike.csv.xz", "wt", encoding="utf-8"
    ) as file:
        file.write("datetime,temp,count\n2011/1/20 5:00,9.8,16\n")
        file.write("2012-12-02 23:00:00,1,4\n")
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    X, y = read_tabfsbench("bike")
    assert list(X) == ["temp", "year", "month", "day_of_week", "hour"]
    np.testing.assert_array_equal(
        X, [[9.8, 2011, 1, 3, 5], [1.0, 2012, 12, 6, 23]]
    )  # a Thursday and a Sunday
    np.testing.assert_array_equal(y, [16.0, 4.0])


def test_files_of_mlbench_are_asked_for(tmp_path, monkeypatch):
    pytest.importorskip("rdata")
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"mlbench/Soybean\.rda\. Get it from R"
    ):
        read_mlbench("Soybean")


def test_arrays_become_tables(rng):
    X, y = rng.random((6, 2)), np.array([-1, 1, 1, -1, 1, 1])
    for source in ((X, y), (X[:4], y[:4], X[4:], y[4:])):
        found = from_source(source)
        np.testing.assert_array_equal(found.X, X)
        np.testing.assert_array_equal(found.y, y > 0)


@pytest.mark.parametrize("name", ["heart-table", "abalone-table"])
def test_each_class_has_its_share_of_training_and_test_rows(name):
    table = load(name, made=True)
    train, test = divided(table, 1000, 1000, 0)
    assert (len(train.y), len(test.y)) == (120, 30)
    both = pd.concat([train.X, test.X])
    pd.testing.assert_frame_equal(
        both.sort_values("a", ignore_index=True),
        table.X.sort_values("a", ignore_index=True),
    )
    few = divided(table, 20, 10, 0)
    assert [len(part.y) for part in few] == [20, 10]
    if table.n_classes:
        for part in (train, test, *few):
            assert abs(part.y.mean() - table.y.mean()) * len(part.y) < 1.5
    other, _ = divided(table, 50, 1000, 1)
    assert len(other.y) == 50
    assert not other.X.equals(train.X[:50])


def test_means_and_frequent_words(table, holed):
    (found,) = Means().fit(table.X).filled(holed)
    number = holed["a"].fillna(table.X["a"].mean())
    pd.testing.assert_series_equal(found["a"], number)
    word = holed["word"].fillna(table.X["word"].value_counts().index[0])
    pd.testing.assert_series_equal(found["word"], word)


def test_an_imputer_gets_scaled_numbers(table, holed):
    numbers, kept = table.X.drop(columns="word"), holed.drop(columns="word")
    (found,) = Imputed(KNNImputer()).fit(numbers).filled(kept)
    scaler = StandardScaler().fit(numbers)
    imputer = KNNImputer().fit(scaler.transform(numbers))
    wanted = scaler.inverse_transform(imputer.transform(scaler.transform(kept)))
    np.testing.assert_allclose(found, wanted)


def test_a_word_is_the_one_of_most_neighbours(table):
    gone = without(table.X[:40], ["word"])
    (found,) = Imputed(KNNImputer(n_neighbors=1)).fit(table.X).filled(gone)
    assert (found["word"] == table.X["word"][:40]).all()  # the row is its own neighbour
    assert found["word"].dtype == table.X["word"].dtype


def test_regression_predicts_a_word_by_other_columns(table):
    """The word tells whether the other columns are large, and follows from them."""
    gone = without(table.X, ["word"])
    imputer = IterativeImputer(max_iter=2, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        (found,) = ImputedCodes(imputer).fit(table.X).filled(gone)
    codes = table.X["word"].cat.codes
    numbers = table.X.drop(columns="word")
    wanted = LinearRegression().fit(numbers, codes).predict(numbers).round()
    same = found["word"].cat.codes == wanted.clip(0, 1)
    assert same.mean() > 0.97  # its own regression has a small penalty
    assert found["word"].dtype == table.X["word"].dtype


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("way", ["mean fill", "KNNImputer", "IterativeImputer"])
@pytest.mark.parametrize("kept", [[], ["word"], ["a", "b", "c", "d"]])
def test_only_holes_are_filled(table, holed, way, kept):
    """Also in tables of words, or of numbers, alone, and in training rows."""
    rows = holed[kept] if kept else holed
    (found,) = fillings(0)[way].fit(rows).filled(rows)
    assert not found.isna().any(axis=None)
    assert list(found.dtypes) == list(rows.dtypes)
    pd.testing.assert_frame_equal(found.where(rows.notna()), rows)


def test_multiple_imputations_leave_what_is_known(table, holed):
    pytest.importorskip("miceforest")
    mice = fillings(2)["miceforest"].fit(table.X)
    first, second = mice.filled(holed)
    for found in (first, second):
        assert not found.isna().any(axis=None)
        pd.testing.assert_frame_equal(found.where(holed.notna()), holed)
    assert not first.equals(second)
    assert mice.filled(table.X)[0] is table.X


def test_copies_have_rates_of_their_own(rng):
    n, d = 400, 50
    frame = pd.DataFrame(np.ones((n, d))).rename(columns=str)
    X, y = with_copies(Table(frame, np.arange(n) % 2), 2, rng)
    assert X[:n].equals(frame)
    np.testing.assert_array_equal(y, np.tile(np.arange(n) % 2, 3))
    rates = X[n:].isna().mean(axis=1)
    assert rates.mean() == pytest.approx(0.45, abs=0.03)
    assert rates.std() == pytest.approx(0.9 / 12**0.5, rel=0.1)


def test_scores_are_scikit_learns(rng):
    y, p = rng.integers(3, size=50), rng.dirichlet(np.ones(3), 50)
    accuracy, loss = scores(p, y)
    assert accuracy == np.mean(p.argmax(axis=1) == y)
    assert loss == pytest.approx(log_loss(y, p))
    found = rng.random(50)
    assert scores(found, y) == (pytest.approx(root_mean_squared_error(y, found)), None)


def test_answers_have_a_column_for_each_class(table):
    few = Table(table.X, np.where(table.y > 0, 2, 0))
    model = boosting(few, 2).fit(*few)
    found = answers(model, table.X, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert not found[:, 1].any()


def test_linear_models_get_indicators_of_missing_numbers(rng):
    X = pd.DataFrame({"a": rng.standard_normal(80), "b": rng.standard_normal(80)})
    holed = X.mask(np.arange(160).reshape(80, 2) % 3 == 0)
    y = holed["a"].isna() * 5.0
    model = linear(Table(holed, y.to_numpy()), indicators=True).fit(holed, y)
    plain = LinearRegression().fit(holed.isna() * 1.0, y)
    np.testing.assert_allclose(
        model.predict(holed), plain.predict(holed.isna() * 1.0), atol=0.5
    )
    assert model[-1].n_features_in_ == 4
