"""Whole columns are gone in every row."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noiseproof
from noiseproof import DropoutLogisticRegression
from noiseproof.evaluation import (
    MissingColumns,
    contest,
    perturbed_scorer,
    robustness_curve,
)


class Spy:
    """A model that notes which columns it sees nothing of."""

    def __init__(self):
        self.gone = []

    def predict(self, X):
        gone = np.asarray(pd.DataFrame(X).isna())
        if len(gone) > 2:
            assert (gone.all(axis=0) | ~gone.any(axis=0)).all()
            self.gone.append(np.flatnonzero(gone.all(axis=0)).tolist())
        return np.zeros(len(gone))


@pytest.fixture
def table(rng):
    """Columns that tell more and more about y; the last one has words."""
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame({c: rng.normal(size=400) + k * y for k, c in enumerate("dcba")})
    X["word"] = np.where(rng.random(400) < 0.9, np.where(y, "yes", "no"), "other")
    return X, y


def seen(perturb, X, y, levels, **options):
    spy = Spy()
    options = {"n_repeats": 3, "random_state": 0} | options
    curve = robustness_curve(spy, X, y, perturb, levels, **options)
    return spy.gone, curve


def test_the_most_or_the_least_relevant_go_first(table):
    levels = [0, 0.2, 0.3, 0.6, 1]
    gone, curve = seen("missing_columns", *table, levels)
    assert gone == [[], [4], [3, 4], [2, 3, 4], [0, 1, 2, 3, 4]]
    assert curve.n_repeats == 1  # nothing is random
    assert curve.label == "share of columns missing (NaN), the most relevant first"
    gone, curve = seen(MissingColumns(order="least"), *table, levels)
    assert gone == [[], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3, 4]]
    assert "least relevant" in curve.label


def test_any_may_go_first(table):
    gone, curve = seen(MissingColumns(order="random"), *table, [0.4], n_repeats=30)
    assert all(len(columns) == 2 for columns in gone)
    assert len({tuple(columns) for columns in gone}) > 5
    assert curve.n_repeats == 30
    assert seen(MissingColumns(order="random"), *table, [0.4], n_repeats=30)[0] == gone


def test_only_those_named(table):
    for columns in (["a", "d"], [3, 0], ["3", "d"]):
        gone, curve = seen(MissingColumns(columns), *table, [0, 0.5, 1])
        assert gone == [[], [3], [0, 3]]
    assert "share of the named columns" in curve.label
    assert seen(MissingColumns("word"), *table, [1])[0] == [[4]]
    with pytest.raises(ValueError, match="contains 'z', which is not a column of"):
        seen(MissingColumns(["z"]), *table, [1])


def test_columns_behind_a_scaler_have_numbers(table):
    X, y = table[0][[*"dcba"]], table[1]
    scaler = StandardScaler().fit(X)
    model = make_pipeline(scaler, DropoutLogisticRegression(0.1)).fit(X, y)
    options = {"random_state": 0, "space": "model"}
    curve = robustness_curve(model, X, y, "missing_columns", [0, 0.5, 1], **options)
    inside = robustness_curve(model, X, y, "missing_columns", [0, 0.5, 1])
    np.testing.assert_allclose(curve.mean, inside.mean)  # missing is average, for ours
    with pytest.raises(ValueError, match="contains 'a', which is not a column"):
        robustness_curve(model, X, y, MissingColumns(["a"]), [1], **options)


def test_sparse_columns(rng):
    X = rng.poisson(1.0, size=(300, 5)) * 1.0
    y = X[:, 2] > 1

    class Sum:
        def predict(self, X):
            sums.append(np.asarray(X.sum(axis=0)).ravel())
            return np.zeros(X.shape[0])

    sums = []
    robustness_curve(Sum(), sp.csr_array(X), y, "missing_columns", [0.2])
    np.testing.assert_allclose(sums[-1] == 0, [0, 0, 1, 0, 0])


def lost_in_contest(table, perturb):
    """Columns that are missing from the perturbed rows of each fold, if it is one."""
    X, y = table
    X = X.assign(a2=X["a"] + 1e-3 * np.arange(400) / 400)  # nearly as relevant
    lost = []

    class Model(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X[["d"]].fillna(0), y)

        def predict(self, X):
            perturbed = X[len(X) // 2 :]  # the first half are the rows as they were
            lost.append(tuple(X.columns[perturbed.isna().all()]))
            return super().predict(X[["d"]].fillna(0))

    contest({"one": Model()}, X, y, perturb, 0.2, cv=8, n_repeats=1)
    return [names for names in lost if len(names) == 1]


def test_all_folds_of_a_contest_lose_the_most_relevant(table):
    assert len(set(lost_in_contest(table, "missing_columns"))) == 1


def test_each_fold_of_a_contest_has_a_random_order_of_its_own(table):
    """Otherwise a blend would be weighted for a pattern or two."""
    assert len(set(lost_in_contest(table, MissingColumns(order="random")))) > 2


def test_scorers_search_and_save(table, tmp_path):
    X, y = table[0][[*"dcba"]], table[1]
    perturb = MissingColumns(["a"], order="least")
    assert repr(perturb) == "MissingColumns(columns=['a'], order='least')"
    assert clone(perturb).columns == ["a"]
    scorer = perturbed_scorer(perturb, 1.0)
    trees = HistGradientBoostingClassifier(max_iter=5)
    search = GridSearchCV(trees, {"max_depth": [1, 3]}, scoring=scorer, cv=2).fit(X, y)
    assert search.best_score_ < trees.fit(X, y).score(X, y)
    noiseproof.save(search, tmp_path / "search.npf")
    again = noiseproof.load(tmp_path / "search.npf")
    assert again.scoring(again, X, y) == search.scoring(search, X, y)


@pytest.mark.parametrize(
    ("perturb", "level", "words"),
    [
        (MissingColumns(order="worst"), 0.5, "'relevant', 'least' or 'random'; got"),
        ("missing_columns", 3, "missing columns, levels are probabilities"),
    ],
)
def test_bad_input(perturb, level, words, table):
    with pytest.raises(ValueError, match=words):
        robustness_curve(Spy(), *table, perturb, [level])


@pytest.mark.parametrize(
    ("perturb", "words"),
    [
        ("missing_columns", "a table of rows and columns; got 3"),
        ("mar", "a table of rows and columns; got 3"),
        ("mnar", "a table of rows and columns; got 3"),
        ("outages", "need an array or a data frame with two dimensions"),
    ],
)
def test_images_have_no_columns(perturb, words):
    class Zero:
        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ValueError, match=words):
        robustness_curve(Zero(), np.ones((4, 2, 2)), np.ones(4), perturb, [0])
