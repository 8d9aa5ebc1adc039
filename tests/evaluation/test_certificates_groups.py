"""Certificates that count groups, against every subset of groups."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline

from noiseproof import DropoutSVC
from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import certify
from noiseproof.tables import TableEncoder


def _model(coef, intercept, d):
    model = LogisticRegression()
    model.coef_, model.intercept_ = coef, intercept
    model.classes_ = np.arange(max(2, len(coef)))
    model.n_features_in_ = d
    return model


def _brute(model, X, labels, values):
    """The cheapest set of groups whose deletion changes the prediction."""
    n_groups = len(values)
    clean = model.predict(X)
    best = np.full(len(X), np.inf)
    for size in range(1, n_groups + 1):
        for gone in combinations(range(n_groups), size):
            Z = np.where(np.isin(labels, gone), 0.0, X)
            cost = sum(values[g] for g in gone)
            changed = model.predict(Z) != clean
            best[changed] = np.minimum(best[changed], cost)
    return best


def check_no_subset_is_cheaper(rng, n, k, n_groups, valued, grid):
    """A model of k vectors and n rows, against all subsets of their groups."""
    d = n_groups + int(rng.integers(0, 5))
    labels = rng.permutation(np.r_[np.arange(n_groups), rng.integers(0, n_groups, d)])
    labels = np.unique(labels[:d], return_inverse=True)[1]
    n_groups = labels.max() + 1
    X, coef = rng.normal(size=(n, d)), rng.normal(size=(k, d))
    if grid:  # ties
        X, coef = np.round(X), np.round(coef)
    model = _model(coef, np.round(rng.normal(size=k)), d)
    values = {
        None: np.ones(n_groups),
        "whole": rng.integers(0, 4, n_groups).astype(float),
        "real": rng.uniform(0.1, 2, n_groups),
    }[valued]
    groups = [np.flatnonzero(labels == g).tolist() for g in range(n_groups)]
    given_values = None if valued is None else values
    truth = _brute(model, X, labels, values)
    for rows in (X, sp.csr_array(X)):
        found = certify(model, rows, None, given_values, groups)
        assert np.all(found.budget <= truth * (1 + 1e-12))
        exact = found.exact
        np.testing.assert_allclose(found.budget[exact], truth[exact], rtol=1e-12)
        assert not grid or exact.all()
        without = np.where(found.changes.toarray(), 0.0, X)
        changed = model.predict(without) != found.prediction
        assert np.all(changed[exact & np.isfinite(truth)])


KINDS = {
    "k": [1, 3, 4],
    "n_groups": [1, 2, 3, 4, 5],
    "valued": [None, "whole", "real"],
    "grid": [True, False],
}


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**9),
    **{name: st.sampled_from(choices) for name, choices in KINDS.items()},
)
def test_no_subset_of_groups_is_cheaper(seed, **kind):
    check_no_subset_is_cheaper(np.random.default_rng(seed), 20, **kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(ParameterGrid(KINDS)), ids=str)
def test_no_subset_of_groups_is_cheaper_at_length(kind, rng):
    """90 kinds, 1,200 rows of each: 108,000 cases."""
    for _ in range(6):
        check_no_subset_is_cheaper(rng, 200, **kind)


def test_groups_of_one_are_features(rng):
    X, coef = rng.normal(size=(50, 6)), rng.normal(size=(3, 6))
    model, values = _model(coef, np.zeros(3), 6), rng.uniform(0.5, 2, 6)
    for v in (None, values):
        plain = certify(model, X, None, v)
        groups = certify(model, X, None, v, [[j] for j in range(6)])
        np.testing.assert_array_equal(groups.budget, plain.budget)
    assert certify(model, X, None, None, [[0, 1]]).unit == "groups"


def test_names(rng):
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    y = (X.sum(axis=1) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    by_name = certify(model, X, y, None, {"arm": ["a", "c"]})
    by_number = certify(model, X, y, None, [[0, 2]])
    np.testing.assert_array_equal(by_name.budget, by_number.budget)


@pytest.mark.parametrize(
    ("groups", "values", "message"),
    [
        ([[0, 1], [1]], None, "Feature 1 is in the groups"),
        ({"arm": ["z"]}, None, "'arm' contains 'z', which is not a feature of X"),
        ({"arm": []}, None, "The group 'arm' has no features"),
        (["a", "b"], None, "one label for each of the 3 features; got 2"),
        (
            [[0], [1, 2]],
            [1.0],
            "Group values must be one number for each of the 2 groups; got",
        ),
        (
            [[0], [1]],
            [1.0, 2.0],
            "need every feature to be in a group, but 'x2' is in no group",
        ),
    ],
)
def test_bad_groups(groups, values, message):
    model = _model(np.ones((1, 3)), np.zeros(1), 3)
    with pytest.raises(ValueError, match=message):
        certify(model, np.ones((2, 3)), None, values, groups)


def test_groups_of_columns_behind_an_encoder(rng):
    """It puts numbers first and splits text, so names of columns are no positions.

    Here it makes as many features as there are columns, in another order.
    """
    n = 60
    X = pd.DataFrame({"word": rng.choice(["u", "v"], n), "a": rng.normal(size=n)})
    X["empty"] = np.nan
    y = (X["a"] + (X["word"] == "u") > 0.5).to_numpy()
    with pytest.warns(UserWarning, match="Empty and left out"):
        model = make_pipeline(TableEncoder(), DropoutSVC(0.1)).fit(X, y)
    Z = model[0].transform(X)
    assert Z.shape[1] == X.shape[1]
    found = certify(model, X, y, groups={"both": ["word", "a"]}, space="model")
    assert found.unit == "groups"
    labels = np.zeros(3)  # the number, and both values of the word
    truth = _brute(model[-1], Z, labels, [1.0])
    np.testing.assert_array_equal(found.budget, truth)


def test_groups_of_an_attack_follow_columns_that_a_pipeline_moves(rng):
    """As many features as columns, in another order."""
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = (X @ [2.0, 1.0, -1.0] > 0).to_numpy()
    moved = ColumnTransformer([("c", "passthrough", ["c"])], remainder="passthrough")
    model = make_pipeline(moved, LogisticRegression()).fit(X, y)
    attack = FeatureDeletion(groups={"both": ["a", "b"]})
    found = certify(model, X, y, attack=attack, space="model")
    expected = _brute(model[-1], model[0].transform(X), np.array([1, 0, 0]), [1, 1])
    np.testing.assert_array_equal(found.budget, expected)
