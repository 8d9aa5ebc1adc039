"""Recommendations: sensible, reproducible, for tables of all kinds."""

import inspect
import time
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import AverageOverMissing, load, portfolio, recommend, save
from noiseproof.cli import app
from noiseproof.conditionals import Donors
from noiseproof.evaluation import MissingColumns, contest
from noiseproof.noise import Gaussian, Missing, MissingLike, Outages
from noiseproof.tables import TableEncoder
from noiseproof.training import task_of
from noiseproof.training.portfolios import BLENDED, left_out
from noiseproof.training.sharing import Shared, shared

pytestmark = pytest.mark.whole


@pytest.mark.parametrize(
    ("load", "floor"),
    [
        (load_wine, 0.85),
        pytest.param(load_breast_cancer, 0.94, marks=pytest.mark.slow),
        pytest.param(load_diabetes, 0.3, marks=pytest.mark.slow),
    ],
)
def test_what_it_takes_if_half_of_the_cells_are_missing(load, floor):
    X, y = load(return_X_y=True)
    found = recommend(X, y, "missing", 0.5, cv=3, n_repeats=1)
    judged = found.contest
    score = {name: perturbed for name, (perturbed, _) in judged.means.items()}
    assert not judged.failed
    assert judged.choice == "blend" or judged.choice in BLENDED
    assert set(judged.weights) <= set(BLENDED)
    assert sum(judged.weights.values()) == pytest.approx(1)
    assert score[judged.choice] > floor
    assert score[judged.choice] > score["linear without noise"] + 0.02
    assert is_regressor(found.model) == (load is load_diabetes)
    assert judged.verdict in repr(found)
    assert max(map(len, repr(judged).splitlines())) <= 80
    Q = np.where(np.random.default_rng(0).random(X.shape) < 0.5, np.nan, X)
    assert found.model.predict(Q).shape == y.shape


def table(rng, n=70):
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    y = np.where(X["a"] + X["b"] + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    X["word"] = np.where(rng.random(n) < 0.9, y, "maybe")
    X.loc[::9, "a"] = np.nan
    X.loc[::11, "word"] = None
    return X, y


def test_tables_with_text_and_holes_and_the_same_again(rng):
    X, y = table(rng)
    options = {"cv": 2, "n_repeats": 1}
    found = recommend(X, y, "missing", 0.3, **options)
    assert not found.contest.failed
    assert set(found.model.predict(X)) <= {"yes", "no"}
    again = recommend(X, y, "missing", 0.3, **options)
    np.testing.assert_array_equal(found.contest.perturbed, again.contest.perturbed)
    np.testing.assert_array_equal(found.model.predict(X), again.model.predict(X))


@pytest.mark.parametrize("perturb", ["delete", Gaussian()])
def test_damage_that_the_model_does_not_know_of(perturb, rng):
    X, y = table(rng)
    found = recommend(X, y, perturb, 0.3, cv=3, n_repeats=1)
    assert not found.contest.failed
    assert not any("averaged" in name for name in found.contest.contenders)
    assert "linear without noise" in found.contest.contenders


def test_deleted_as_nan_is_missing(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    options = {"cv": 2, "n_repeats": 1}
    one = recommend(X, y, "missing", 0.3, **options).contest
    two = recommend(X, y, "delete", 0.3, deleted_as="nan", **options).contest
    np.testing.assert_array_equal(one.perturbed, two.perturbed)


@pytest.mark.parametrize(
    ("perturb", "expected"),
    [
        (
            Missing({"a": 0.5, "word": 0.2}, mechanism="mar"),
            "50% of values missing (NaN) in the worst columns, more often where",
        ),
        (MissingLike(np.eye(3, dtype=bool)), "100% of rows with missing values as in"),
        (MissingColumns(["a"]), "100% of the named columns missing (NaN)"),
        (Outages(0.4, length=5), "40% of values missing (NaN), in outages of about 5"),
        ("mnar", "30% of values missing (NaN), more often where they are large"),
    ],
)
def test_how_values_are_missing(perturb, expected, rng):
    """Without a level it is that of the object, and the model knows what is missing."""
    X, y = table(rng)
    found = recommend(X, y, perturb, cv=2, n_repeats=1)
    assert not found.contest.failed
    assert found.contest.expected.startswith(expected)
    assert "averaged boosting" in found.contest.contenders
    assert found.contest.perturbed.mean() < found.contest.clean.mean()


def test_sizes_grow_with_the_rows(rng):
    """Boosting stops by itself where it can tell when; small tables get more copies."""
    X, y = rng.normal(size=(20_000, 2)), np.arange(20_000) % 5
    small, large = (portfolio(X[:n], y[:n], "missing", 0.3) for n in (100, 20_000))
    assert not small["boosting"][-1].early_stopping
    assert large["boosting"][-1].early_stopping
    sizes = [found["boosting"][-1].max_iter for found in (small, large)]
    assert sizes[1] > 10 * sizes[0]
    copies = [found["boosting on NaN copies"][-1].n_copies for found in (small, large)]
    assert copies == [8, 2]
    rare = np.where(np.arange(1000) < 3, 5, y[:1000])  # too few to hold some out
    assert not portfolio(X[:1000], rare, "missing", 0.3)["boosting"][-1].early_stopping


def test_sparse_rows_stay_sparse(rng):
    X = csr_array(rng.poisson(0.3, size=(90, 30)).astype(float))
    y = (X.toarray()[:, :5].sum(axis=1) > 1).astype(int)
    found = recommend(X, y, "delete", 0.3, cv=3, n_repeats=1)
    assert all("dropout" in n or "linear" in n for n in found.contest.contenders)
    assert found.model.predict(X).shape == y.shape
    again = recommend(X, y, "missing", 0.3, cv=3, n_repeats=1)  # they are not stored
    np.testing.assert_array_equal(found.contest.perturbed, again.contest.perturbed)


@pytest.mark.parametrize("choice", ["blend", "averaged linear", "boosting"])
def test_quantities_come_with_intervals(choice, rng, tmp_path, monkeypatch):
    """Whichever contender is taken, and after it was saved."""
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    y = X.to_numpy() @ [1.0, 2.0, -1.0] + rng.normal(size=500)
    X["word"] = np.where(y > 0, "high", "low")
    monkeypatch.setattr("noiseproof.evaluation.Contest.choice", choice)
    found = recommend(X[:300], y[:300], cv=2, n_repeats=1)
    new = X[300:].assign(b=np.nan)
    low, high = found.model.predict_interval(new, coverage=0.8).T
    assert abs(np.mean((low <= y[300:]) & (y[300:] <= high)) - 0.8) < 0.12
    assert found.keeps_rows
    save(found.model, tmp_path / "model.npf")
    back = load(tmp_path / "model.npf").predict_interval(new, coverage=0.8)
    np.testing.assert_array_equal(back, np.column_stack([low, high]))


def test_few_rows():
    X = np.arange(16.0).reshape(8, 2)
    found = recommend(X, [0, 0, 0, 0, 0, 1, 1, 1], "missing", 0.3)
    assert found.contest.perturbed.shape[1] == 5
    assert is_classifier(found.model)
    found = recommend(X, X[:, 0] + 0.5, "missing", 0.3, cv=2, n_repeats=1)
    assert is_regressor(found.model)


def test_many_rows_are_judged_by_a_sample(rng):
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    found = recommend(X, y, "delete", 0.3, cv=2, n_repeats=1, max_rows=100)
    small = recommend(X, y, "delete", 0.3, cv=2, n_repeats=1)
    assert found.contest.perturbed.shape == small.contest.perturbed.shape
    assert np.any(found.contest.clean != small.contest.clean)
    assert "2 folds of 100 of 400 rows" in repr(found)


@pytest.mark.parametrize(
    ("y", "quantity"),
    [
        (np.arange(10) % 3, False),
        (np.arange(10) % 2 == 0, False),
        (np.array(["a", "b"] * 5), False),
        (np.linspace(0, 1, 10), True),
        (np.arange(100), True),
        (np.arange(1000) % 50, False),
        (np.arange(1000.0) % 50, False),
        (np.arange(5000) % 100, False),
        (np.arange(5000) % 101, True),
        (load_diabetes().target, True),
    ],
)
def test_classes_and_quantities(y, quantity):
    assert (task_of(y) == "regression") == quantity


GROUPS = {"left": range(10), "right": range(10, 20)}
FEW = {  # and numbers of patterns in all, and in one draw
    "one set of columns": ("missing_columns", 0.2, None, 1, 1),
    "two batches": (MissingLike(np.arange(20) < [[5], [9]]), 1.0, None, 2, 2),
    "two groups": ("missing_groups", 0.3, GROUPS, 4, 4),
    "labels": ("missing_groups", 0.3, np.arange(20) // 10, 4, 4),
    "three columns": (Missing({"x0": 0.5, "x1": 0.5, "x2": 0.5}), 0.5, None, 8, 8),
    "four columns": (Missing([0.5] * 4 + [0.0] * 16), 0.5, None, 16, 16),
    "another column each time": (MissingColumns(order="random"), 0.05, None, 20, 1),
    "other columns each time": (MissingColumns(order="random"), 0.2, None, np.inf, 1),
    "any cells": ("missing", 0.3, None, np.inf, np.inf),
}


@pytest.mark.parametrize("case", FEW)
def test_few_patterns_have_a_model_each(case, rng):
    perturb, level, groups, patterns, at_once = FEW[case]
    X, y = rng.normal(size=(400, 20)), np.arange(400) % 2
    found = portfolio(X, y, perturb, level, groups=groups)
    assert ("reduced linear" in found) == (patterns <= 64)
    assert ("reduced boosting" in found) == (patterns <= 64 and at_once <= 8)


def test_boosting_on_copies_does_not_stop_early_by_them(rng):
    """The validation rows of early stopping would be copies of training rows."""
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 2
    found = portfolio(X, y, "missing", 0.3)
    assert found["boosting"][-1].early_stopping
    assert not found["boosting on NaN copies"][-1].estimator.early_stopping


ALL = {  # as the documentation names them
    "linear without noise", "dropout 0.1", "dropout 0.3", "dropout 0.5",
    "SimpleImputer + linear", "KNNImputer + linear",
    "boosting", "SimpleImputer + boosting", "boosting on NaN copies", "forest",
    "averaged linear", "averaged boosting", "averaged forest",
    "averaged kernel machine", "reduced linear", "reduced boosting",
}  # fmt: skip
PATTERNS = "more than {} patterns of missing columns"
ROWS = "more than 3,000 rows"


@pytest.mark.parametrize("perturb", ["missing", "missing_columns", "delete"])
@pytest.mark.parametrize("kind", ["few", "many", "holes", "sparse"])
def test_all_models_take_part_or_are_left_out_for_a_reason(kind, perturb, rng):
    X = rng.normal(size=(3_001 if kind == "many" else 100, 20))
    y = np.arange(len(X)) % 2
    X[::7, 3] = np.nan if kind == "holes" else 0.0
    X = csr_array(X) if kind == "sparse" else X
    found = portfolio(X, y, perturb, 0.3)
    others = left_out(found, X, perturb != "delete")
    assert found.keys() | others.keys() == ALL
    assert not found.keys() & others.keys()
    if kind == "sparse":
        assert set(others.values()) == {"X is sparse"}
        assert len(found) == 4
        return
    expected = {"SimpleImputer + boosting": "no missing values in the training rows"}
    expected = {} if kind == "holes" else expected
    if perturb == "delete":
        told = dict.fromkeys([*BLENDED, "KNNImputer + linear"])
        assert others == expected | dict.fromkeys(told, "values do not become NaN")
        return
    if perturb == "missing":
        expected |= {"reduced linear": PATTERNS.format(64)}
        expected |= {"reduced boosting": f"{PATTERNS.format(8)} at a time"}
    if kind == "many":
        expected |= {"averaged kernel machine": ROWS, "KNNImputer + linear": ROWS}
    assert others == expected


def test_texts_say_how_many_models_there_are():
    """The blend comes on top: it is made of some of these models."""
    assert recommend.__doc__.startswith(f"Find the best of up to {len(ALL)} models, or")
    assert f"up to {len(ALL)}. `recommend` adds a blend" in portfolio.__doc__
    for command in (app.recommend, app.train):
        text = f"{command.__doc__} {inspect.get_annotations(command)}"
        assert f"the best of up to {len(ALL)} models, or a blend" in text


def test_the_verdict_names_the_models_that_were_not_tried(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    found = recommend(X, y, "delete", 0.3, cv=2, n_repeats=1)
    assert found.contest.left_out.keys() == ALL - set(found.contest.contenders)
    assert found.contest.verdict.endswith(
        "Not tried: SimpleImputer + boosting (no missing values in the training "
        "rows); averaged linear, averaged boosting, averaged forest, averaged kernel "
        "machine, boosting on NaN copies, reduced linear, reduced boosting, "
        "KNNImputer + linear (values do not become NaN)."
    )


def test_reduced_models_are_the_oracle(rng):
    """If two groups fail as a whole, and each tells all: nothing is to be averaged."""
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[:, 2:] = X[:, :2] ** 2  # of no use if the others are gone
    groups = {"left": [0, 1], "right": [2, 3]}
    found = recommend(X, y, "missing_groups", 0.3, groups=groups, cv=3, n_repeats=1)
    assert not found.contest.failed
    assert found.contest.means["reduced linear"][1] > 0.9


@pytest.mark.parametrize("n_values", [0, 1])
@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_an_empty_column_takes_nobody_out(kind, n_values, rng):
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    full = recommend(X[:, [0, 2]], y, cv=2, n_repeats=1).contest
    X[n_values:, 1] = np.nan
    named = pd.DataFrame(X, columns=["a", "gone", "c"])
    if kind == "polars":
        named = pytest.importorskip("polars").DataFrame(named.to_dict("list"))
    table = X if kind == "array" else named
    found = recommend(table, y, cv=2, n_repeats=1)
    assert not found.contest.failed
    assert set(found.contest.contenders) - {"blend"} >= set(full.contenders) - {"blend"}
    name = "x1" if kind == "array" else "gone"
    assert f"Columns left out, since hardly any row has a value there: {name}." in repr(
        found
    )
    assert np.mean(found.model.predict(table) == y) > 0.9
    X[:, 1] = 5.0
    if kind == "pandas":
        assert np.mean(found.model.predict(named.assign(gone=5.0)) == y) > 0.9
    left = np.asarray(named)[n_values:, 1].astype(float)
    assert np.isnan(left).all()  # it is still the same


def test_a_column_with_a_single_word_takes_nobody_out(rng):
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    y = (X["a"] > 0).to_numpy()
    X["remark"] = [None] * 79 + ["late"]
    found = recommend(X, y, cv=2, n_repeats=1)
    assert not found.contest.failed
    new = X.assign(remark="other")
    np.testing.assert_array_equal(found.model.predict(new), found.model.predict(X))


def test_an_empty_column_may_have_a_number_as_its_name(rng):
    X = pd.DataFrame(rng.normal(size=(80, 3)))
    y = (X[0] > 0).to_numpy()
    X[1] = np.nan
    found = recommend(X, y, cv=2, n_repeats=1)
    assert "hardly any row has a value there: 1." in repr(found)
    assert X[1].isna().all()


def test_words_that_make_many_features_take_nobody_out(rng):
    """So that their features are a sparse matrix, which boosting refuses."""
    X = pd.DataFrame({"word": rng.choice([f"w{i}" for i in range(40)], 120)})
    X["other"] = rng.choice([f"v{i}" for i in range(40)], 120)
    y = X["word"].str[1].to_numpy() > "2"
    found = recommend(X, y, "missing", 0.3, cv=2, n_repeats=1)
    assert not found.contest.failed
    assert {"boosting", "forest", "averaged boosting"} <= set(found.contest.contenders)


def test_what_contenders_share_changes_no_score(rng):
    X, y = table(rng)
    contenders = portfolio(X, y, "missing", 0.3)
    assert "SimpleImputer + boosting" in contenders  # since rows have holes
    options = {"cv": 2, "n_repeats": 2, "random_state": 0, "blend": BLENDED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of words that a fold has not seen
        alone = contest(contenders, X, y, "missing", 0.3, **options)
        both = contest(shared(contenders), X, y, "missing", 0.3, **options)
    assert not alone.failed
    assert both.contenders == alone.contenders
    np.testing.assert_array_equal(both.perturbed, alone.perturbed)
    np.testing.assert_array_equal(both.clean, alone.clean)
    assert both.weights == alone.weights


FITS = []


class Counted(LogisticRegression):
    """Notes the rows of each fit."""

    def fit(self, X, y):
        FITS.append(X.copy())
        return super().fit(X, y)


def test_what_contenders_share_is_fitted_once_for_each_fold(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    model, law = make_pipeline(StandardScaler(), Counted()), Donors()
    averaged = AverageOverMissing(model, law, n_draws=7, n_calibration=0)
    both = {"alone": model, "averaged": averaged}
    FITS.clear()
    judged = contest(shared(both), X, y, "missing", 0.3, cv=3)
    assert len(FITS) == 3
    assert all(np.any(FITS[0] != other) for other in FITS[1:])
    apart = contest(both, X, y, "missing", 0.3, cv=3)
    assert len(FITS) == 9
    np.testing.assert_array_equal(judged.perturbed, apart.perturbed)


class CountedScaler(StandardScaler):
    """Notes the rows that it is shown."""

    def fit(self, X, y=None, sample_weight=None):
        FITS.append(("fit", len(X)))
        return super().fit(X, y, sample_weight)

    def transform(self, X, copy=None):
        FITS.append(("transform", len(X)))
        return super().transform(X, copy)


def test_rows_are_encoded_once_for_each_fold(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    weights = {"weak": 0.1, "usual": 1.0, "strong": 10.0}
    models = {
        name: make_pipeline(CountedScaler(), SimpleImputer(), LogisticRegression(C=C))
        for name, C in weights.items()
    }
    FITS.clear()
    judged = contest(shared(models), X, y, "missing", 0.3, cv=2, n_repeats=4)
    # two rows tell who takes NaN; the held-out rows as they are, and after four draws
    of_a_fold = [("fit", 30), *(("transform", n) for n in (30, 2, 5 * 30))]
    np.testing.assert_array_equal(FITS, 2 * of_a_fold)
    apart = contest(models, X, y, "missing", 0.3, cv=2, n_repeats=4)
    np.testing.assert_array_equal(judged.perturbed, apart.perturbed)


def test_a_treatment_that_was_found_before_is_as_good_as_one_found_anew(rng):
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = make_pipeline(SimpleImputer(), LogisticRegression())
    first = AverageOverMissing(model, Donors(), random_state=0).fit(X, y)
    found = first.treatments_.verdict
    again = AverageOverMissing(model, Donors(), random_state=0, treatment=found)
    np.testing.assert_array_equal(
        again.fit(X, y).predict_proba(X), first.predict_proba(X)
    )
    assert again.treatment_ == first.treatment_
    other = {"averaged": 1.0}, {"averaged": 1.0}, "averaged"
    assert again.set_params(treatment=other).fit(X, y).treatment_ == "averaged"
    gone = {"nobody": 1.0}, {"averaged": 1.0}, "averaged"  # then it is found anew
    again.set_params(treatment=gone).fit(X, y)
    assert again.treatment_ == first.treatment_


def test_shared_parts_look_as_what_they_contain(rng):
    memo = {}
    part = Shared(LogisticRegression(), memo)
    assert is_classifier(part)
    assert hasattr(part, "predict_proba")
    assert not hasattr(part, "draws")
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    one, same = (clone(part).fit(rows, y) for rows in (X, X.copy()))
    assert one.estimator_ is same.estimator_
    other, apart = clone(part).fit(X + 1, y), deepcopy(part).fit(X, y)
    assert other.estimator_ is not one.estimator_
    assert apart.estimator_ is not one.estimator_
    np.testing.assert_array_equal(
        one.predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X)
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"groups": 5}, "groups must be a dictionary .* got 5"),
        ({"groups": {"arm": ["z"]}}, "'arm' contains 'z', which is not a feature"),
        ({"level": "much"}, "'level' parameter of recommend .* Got 'much'"),
        ({"level": 2.0}, "probabilities from 0 to 1; got 2.0"),
        ({"perturb": "rain"}, "perturb must be one of .* got 'rain'"),
        ({"perturb": "missing_groups"}, "perturb='missing_groups' needs groups"),
        ({"task": "guess"}, "'task' parameter of recommend .* Got 'guess'"),
        ({"encoder": 3}, "'encoder' parameter of recommend .* Got 3"),
        ({"max_rows": 1}, "'max_rows' parameter of recommend .* Got 1"),
        ({"n_repeats": 0}, "'n_repeats' parameter of recommend .* Got 0"),
        ({"n_repeat": 1}, "unexpected keyword argument 'n_repeat'"),
        ({"space": "table"}, "space must be 'input' or 'model'; got 'table'"),
        ({"deleted_as": None}, "deleted_as must be 'zero' or 'nan'; got None"),
        ({"random_state": "x"}, "'random_state' parameter of recommend .* Got 'x'"),
        ({"X": [1.0, 2.0]}, r"X must be a table .* got shape \(2,\)"),
        ({"X": "data.csv"}, "X must be a table .* got 'data.csv'"),
        ({"y": [0, 1]}, "inconsistent numbers of samples"),
        ({"y": [0.0, 1.0, np.nan] * 4}, "y is missing in 4 of 12 rows, .* row 2"),
        ({"y": [0, None, 1] * 4}, "y is missing in 4 of 12 rows, first in row 1"),
        ({"y": ["a", "b", np.nan] * 4}, "y is missing in 4 of 12 rows"),
        ({"y": pd.array(["a", pd.NA, "b"] * 4)}, "y is missing in 4 of 12 rows"),
        ({"y": pd.array([0, pd.NA, 1] * 4)}, "y is missing in 4 of 12 rows"),
        ({"y": pd.Categorical(["a", None, "b"] * 4)}, "y is missing in 4 of 12"),
        ({"y": [0.0, 1.0, np.inf] * 4}, "Input y contains infinity"),
        ({"y": [7] * 12}, "nothing to learn: every y is 7"),
        ({"y": ["a", "b"] * 6, "task": "regression"}, "numbers in y, .* such as a"),
    ],
)
def test_bad_arguments_get_one_sentence_before_any_work(wrong, sentence, monkeypatch):
    fits = []
    monkeypatch.setattr(TableEncoder, "fit_transform", lambda *_: fits.append(1))
    arguments = {"X": np.arange(24.0).reshape(12, 2), "y": np.arange(12) % 2} | wrong
    with pytest.raises((ValueError, TypeError), match=sentence):
        recommend(**arguments)
    assert not fits


@pytest.mark.slow
def test_digits_in_well_under_two_minutes():
    from sklearn.datasets import load_digits

    start = time.perf_counter()
    found = recommend(*load_digits(return_X_y=True), "missing", 0.5)
    assert time.perf_counter() - start < 120
    assert found.contest.choice == "blend"
    assert found.contest.perturbed.mean(axis=1).max() > 0.94
