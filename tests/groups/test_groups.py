"""Groups as people write them, and features as the columns they come from."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from noiseproof import DropoutSVC
from noiseproof.evaluation import feature_fragility
from noiseproof.groups import Groups, column_groups, feature_names, features_behind
from noiseproof.report import Plan, gather
from noiseproof.tables import TableEncoder

FEATURES = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ({"arm": ["a", "c"], "leg": ["b"]}, ["arm", "leg"]),
        ({"arm": [2, "a", 0], "leg": "b"}, ["arm", "leg"]),
        ({"arm": ["2", "0"], "leg": 1}, ["arm", "leg"]),
        ([["a", 2], [1]], ["group 0", "group 1"]),
        (np.array([[0, 2, 2], [1, 1, 1]]), ["group 0", "group 1"]),
    ],
    ids=["names", "mixed", "numbers", "lists", "array"],
)
def test_groups_are_read_in_every_form(groups, names):
    found = Groups.read(groups, FEATURES)
    assert found.names == names
    assert [found[g].tolist() for g in range(len(found))] == [[0, 2], [1]]
    assert found.labels(4).tolist() == [0, 1, 0, 2]  # d is alone
    assert Groups.read(found, FEATURES) is found


@pytest.mark.parametrize(
    "labels",
    [["x", "y", "x", "z"], (5, 3, 5, 7), np.array(["x", "y", "x", "z"])],
    ids=["texts", "numbers", "array"],
)
def test_labels_are_groups(labels):
    found = Groups.read(labels, FEATURES)
    assert found.names == list(dict.fromkeys(np.asarray(labels).tolist()))
    assert [found[g].tolist() for g in range(3)] == [[0, 2], [1], [3]]
    assert found.labels(4).tolist() == [0, 1, 0, 2]
    assert Groups.read(pd.Series(list(labels)), FEATURES).names == found.names


def test_no_groups_are_features_alone():
    found = Groups.read(None, FEATURES)
    assert found.names == FEATURES
    assert found.labels(4).tolist() == [0, 1, 2, 3]


def test_a_column_named_by_a_number_goes_before_its_place():
    assert Groups.read({"g": [1]}, [1, 0])[0].tolist() == [0]


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        (
            {"g": ["z"]},
            ValueError,
            "The group 'g' contains 'z', which is not a feature",
        ),
        ({"g": [4]}, ValueError, "contains 4, which is not a feature of X"),
        ({"g": [-1]}, ValueError, "contains -1, which is not a feature of X"),
        ({"g": [[0]]}, ValueError, r"contains \[0\], which is not a feature of X"),
        ({"g": []}, ValueError, "The group 'g' has no features."),
        ([[0], []], ValueError, "The group 'group 1' has no features."),
        ({}, TypeError, "groups must be a dictionary"),
        ([], TypeError, "groups must be a dictionary"),
        (7, TypeError, "groups must be a dictionary"),
        ("abcd", TypeError, "groups must be a dictionary"),
        ([[0], 1, 2, 3], TypeError, "got lists and labels together"),
        (["x", "y"], ValueError, "one label for each of the 4 features; got 2"),
        (["x", "x", None, "y"], ValueError, "each feature; feature 2 has None"),
        ([1.0, np.nan, 1.0, 2.0], ValueError, "each feature; feature 1 has nan"),
    ],
    ids=str,
)
def test_bad_groups_get_one_sentence(groups, error, words):
    with pytest.raises(error, match=words):
        Groups.read(groups, FEATURES)


def test_overlapping_groups_have_no_labels():
    found = Groups.read({"arm": ["a", "b"], "hand": ["b"]}, FEATURES)
    with pytest.raises(ValueError, match="1 is in the groups 'arm' and 'hand'"):
        found.labels(4)


def test_fragility_takes_every_form(rng):
    X = rng.normal(size=(60, 4))
    y = X.sum(axis=1) > 0
    model = DropoutSVC().fit(X, y)
    forms = [{"u": [0, 1], "v": [2, 3]}, [[0, 1], [2, 3]], ["u", "u", "v", "v"]]
    costs = [feature_fragility(model, X, y, groups=form).cost for form in forms]
    np.testing.assert_array_equal(costs, [costs[0]] * 3)


@pytest.fixture
def table(rng):
    """A number column that looks like a value of a text column, and the reverse."""
    X = pd.DataFrame({"col_a": rng.normal(size=90), "n_n": rng.normal(size=90)})
    y = np.where(X["col_a"] > 0, "yes", "no")
    X["col"] = np.where(rng.random(90) < 0.9, np.where(X["n_n"] > 0, "a", "b_c"), "")
    X["n"] = np.where(rng.random(90) < 0.8, y, "n")
    return X, y


def behind(model, X):
    steps = model[:-1]
    d = steps.transform(X).shape[1]
    return features_behind(model, [str(n) for n in feature_names(model, X)], d)


TABLE_COLUMNS = ["col_a", "n_n", *["col"] * 3, *["n"] * 3]


def test_a_column_of_text_is_known_by_its_encoder(table):
    X, y = table
    model = make_pipeline(TableEncoder(), DropoutSVC(0.2)).fit(X, y)
    found = behind(model, X)
    assert [feature.column for feature in found] == TABLE_COLUMNS
    assert [feature.name for feature in found[2:5]] == ["col_", "col_a", "col_b_c"]
    for other in (X[["n", "col", "n_n", "col_a"]], pl.from_pandas(X)):
        assert behind(model, other) == found
    with pytest.warns(UserWarning, match="treated as deleted"):
        assert behind(model, X.drop(columns="col")) == found
    assert behind(model, X.assign(more=1.0)) == found
    assert [f.column for f in behind(model, X.to_numpy())] == TABLE_COLUMNS


def test_losing_a_text_column_costs_what_it_costs(table):
    """Though a number column bears the name of one of its values."""
    X, y = table
    model = make_pipeline(TableEncoder(), DropoutSVC(0.2)).fit(X, y)
    plan = Plan(levels=[0, 0.5], n_repeats=2, groups={"text": ["col", "n"]})
    found = gather(model, X, y, plan).models[0]
    assert set(found.costs["feature"]) == set(X.columns)
    for name in X.columns:
        cost = model.score(X, y) - model.score(X.assign(**{name: None}), y)
        assert found.costs["feature"][name] == pytest.approx(cost)
    cost = model.score(X, y) - model.score(X.assign(col=None, n=None), y)
    assert found.costs["group"]["text"] == pytest.approx(cost)


def scikit_learn(columns, **options):
    return ColumnTransformer(
        [
            ("text", make_pipeline(OneHotEncoder(**options)), columns[2:]),
            ("gone", "drop", columns[1:2]),
        ],
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
    )


@pytest.mark.parametrize("options", [{}, {"drop": "first"}, {"min_frequency": 35}])
@pytest.mark.parametrize("named", [True, False])
def test_encoders_of_scikit_learn_keep_books(table, named, options):
    X, y = table
    columns = list(X.columns) if named else [0, 1, 2, 3]
    rows = X if named else X.to_numpy()
    model = make_pipeline(scikit_learn(columns, **options), LogisticRegression())
    n_text = [-1 if options == {"drop": "first"} else 0]
    found = [f.column for f in behind(model.fit(rows, y), rows)]
    names = list(X.columns) if named else ["x0", "x1", "x2", "x3"]
    counts = {name: found.count(name) for name in names}
    one_hot = model[0].named_transformers_["text"][-1].get_feature_names_out()
    assert len(found) == len(one_hot) + 1
    assert sum(counts.values()) == len(found)
    assert counts[names[1]] == 0
    assert counts[names[0]] == 1
    assert found[-1] == names[0]
    if not options or n_text[0]:
        assert counts[names[2]] == counts[names[3]] == 3 + n_text[0]


def test_selected_made_and_mixed_features(rng):
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "a_b"])
    y = X["b"] + 0.5 * X["a_b"] > 0
    model = make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression())
    assert behind(model.fit(X, y), X) == [("b", "b"), ("a_b", "a_b")]
    squares = PolynomialFeatures(2, include_bias=False)
    found = behind(make_pipeline(squares, LogisticRegression()).fit(X, y), X)
    assert ("a^2", "a") in found
    assert ("a b", "a b") in found  # of two columns, so it stands for itself
    model = make_pipeline(StandardScaler(), PCA(2), LogisticRegression()).fit(X, y)
    assert behind(model, X) == [("pca0", "pca0"), ("pca1", "pca1")]


def test_searches_and_pipelines_are_opened(table):
    X, y = table
    inner = make_pipeline("passthrough", StandardScaler(), DropoutSVC(0.2))
    model = make_pipeline(TableEncoder(), inner)
    grid = {"pipeline__dropoutsvc__C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    found = features_behind(search, list(X.columns), 8)
    assert [feature.column for feature in found] == TABLE_COLUMNS


class Nameless(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X)[:, :2]


class OwnBooks(Nameless):
    """Ignores the names it is given, as encoders from elsewhere do."""

    def get_feature_names_out(self, input_features=None):
        return ["hair_dark_red", "size"]


def test_steps_that_know_no_names():
    found = features_behind(make_pipeline(Nameless(), PCA()), ["a", "b"], 2)
    assert found == [("a", "a"), ("b", "b")]
    found = features_behind(make_pipeline(Nameless(), PCA()), ["a", "b", "c"], 2)
    assert found == [("x0", "x0"), ("x1", "x1")]
    found = features_behind(make_pipeline(OwnBooks(), PCA()), ["size", "hair"], 2)
    assert found == [("hair_dark_red", "hair"), ("size", "size")]


def test_groups_of_which_nothing_is_left_are_left_out(rng):
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    steps = make_column_transformer((StandardScaler(), ["c", "a"]))
    model = make_pipeline(steps, LogisticRegression()).fit(X, X["a"] > 0)
    found = column_groups(
        features_behind(model, ["a", "b", "c"], 2),
        *(["a", "b", "c"], {"x": ["b"], "y": ["b", "c"], "z": ["a"]}),
    )
    assert found.names == ["y", "z"]
    assert [found[g].tolist() for g in range(2)] == [[0], [1]]
