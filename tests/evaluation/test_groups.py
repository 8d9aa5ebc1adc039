"""Outages of whole groups: curves, scorers and pairs."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import (
    certify,
    contest,
    feature_fragility,
    perturbed_scorer,
    robustness_curve,
)
from noiseproof.noise import Dropout

GROUPS = {"arm": ["a", "c"], "leg": ["b"]}


class _Spy(ClassifierMixin, BaseEstimator):
    """A model that keeps what it was shown."""

    classes_ = np.array([0, 1])

    def __init__(self):
        self.seen = []

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        self.seen.append(X.toarray() if sp.issparse(X) else np.array(X))
        return np.zeros(X.shape[0], dtype=int)


def _frame(n=3000):
    return pd.DataFrame(np.ones((n, 4)), columns=[*"abcd"])


@pytest.mark.parametrize("container", [_frame, lambda: sp.csr_array(_frame())])
@pytest.mark.parametrize("perturb", ["delete_groups", "missing_groups"])
def test_groups_of_a_row_die_together(container, perturb):
    X = container()
    if sp.issparse(X) and perturb == "missing_groups":
        pytest.skip("NaN would fill a sparse matrix")
    spy = _Spy()
    groups = GROUPS if hasattr(X, "columns") else [[0, 2], [1]]
    robustness_curve(
        {"spy": spy}, X, np.zeros(X.shape[0]), perturb, [0.3], groups=groups,
        n_repeats=1, random_state=0,
    )  # fmt: skip
    seen = spy.seen[-1]
    gone = np.isnan(seen) if perturb == "missing_groups" else seen == 0
    np.testing.assert_array_equal(gone[:, 0], gone[:, 2])
    np.testing.assert_allclose(gone.mean(axis=0), 0.3, atol=0.04)
    for other in (1, 3):  # a column in no group dies by itself
        assert np.mean(gone[:, 0] & gone[:, other]) == pytest.approx(0.09, abs=0.03)


def test_behind_a_pipeline_a_column_is_all_its_features(rng):
    X = pd.DataFrame(rng.integers(0, 3, size=(200, 3)).astype(str), columns=[*"abc"])
    y = (X["a"] == "1").astype(int)
    spy = _Spy()
    spy.fit = lambda X, y: spy
    pipe = make_pipeline(OneHotEncoder(sparse_output=False), LogisticRegression())
    pipe.fit(X, y)
    pipe.steps[-1] = ("spy", spy)
    robustness_curve(
        {"spy": pipe}, X, y, "delete_groups", [0.5], groups={"g": ["a", "b"]},
        space="model", n_repeats=1, random_state=0,
    )  # fmt: skip
    left = spy.seen[-1].reshape(200, 3, 3).sum(axis=2)
    np.testing.assert_array_equal(left[:, 0], left[:, 1])
    assert 0 < left[:, 2].mean() < 1


def test_noise_with_groups_by_name_and_the_scorer(rng):
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=[*"abcd"])
    y = (X["a"] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    noise = Dropout(0.3, groups=GROUPS)
    curve = robustness_curve(model, X, y, noise, [0, 0.5], random_state=0)
    assert curve.mean[0, 1] < curve.mean[0, 0]
    scorer = perturbed_scorer("delete_groups", 0.5, groups=GROUPS)
    assert scorer(model, X, y) < 1


@pytest.mark.parametrize("space", ["input", "model"])
def test_attacks_and_noise_take_groups_of_columns(space, rng):
    X = pd.DataFrame(rng.integers(0, 3, size=(150, 3)).astype(str), columns=[*"abc"])
    X = X if space == "model" else X.astype(float)
    y = ((X["a"] == X["a"][0]) & (X["b"] != X["b"][1])).astype(int)
    steps = [OneHotEncoder(sparse_output=False)] if space == "model" else []
    model = make_pipeline(*steps, LogisticRegression()).fit(X, y)
    options = {"random_state": 0, "space": space}
    groups = {"g": ["a", "b"]}
    curve = robustness_curve(
        model, X, y, FeatureDeletion(), [0, 1, 2], groups=groups, **options
    )
    behind = [range(6), range(6, 9)] if space == "model" else [[0, 1], [2]]
    rows = model[:-1].transform(X) if steps else X
    certified = certify(model[-1], rows, y, groups=[list(part) for part in behind])
    np.testing.assert_array_equal(curve.mean[0], certified.accuracy_at([0, 1, 2]))
    noisy = robustness_curve(model, X, y, Dropout(), [0.5], groups=groups, **options)
    assert noisy.mean[0, 0] < curve.mean[0, 0]
    own = FeatureDeletion(groups=[[0, 1]])
    with pytest.raises(ValueError, match="have none of their own"):
        robustness_curve(model, X, y, own, [1], groups=groups, **options)


@pytest.mark.parametrize("perturb", ["delete_groups", "missing_groups"])
def test_contests_know_groups(perturb, rng):
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=[*"abcd"])
    y = (X["a"] > 0).astype(int)
    trees = {"trees": HistGradientBoostingClassifier(max_iter=9, min_samples_leaf=5)}
    found = contest(trees, X, y, perturb, 1.0, groups=GROUPS, cv=2)
    assert found.clean.mean() > 0.7 > found.perturbed.mean()
    with pytest.raises(ValueError, match="'arm' contains 'z', which is not a feature"):
        contest(trees, X, y, perturb, 1.0, groups={"arm": ["z"]}, cv=2)


def test_which_two_outages_hurt_most(rng):
    X = rng.normal(size=(400, 6))
    X[:, 2:4] = X[:, :2]  # the second sensor repeats the first
    y = (X[:, :2].sum(axis=1) > 0).astype(int)
    groups = {"one": [0, 1], "copy": [2, 3], "idle": [4, 5]}
    linear = LogisticRegression().fit(X, y)
    trees = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    for model in (linear, trees):
        found = feature_fragility(model, X, y, groups=groups, pairs=True)
        assert len(found.names) == 3
        assert found.names[0] == "one + copy"
        assert found.kind == "pair of groups"
        gone = X.copy()
        gone[:, :4] = X[:, :4].mean(axis=0) if model is linear else np.nan
        expected = model.score(X, y) - model.score(gone, y)
        assert found.cost[0] == pytest.approx(expected)


def test_bad_input():
    X, y, model = _frame(5), np.zeros(5), _Spy()
    for perturb, groups, message in [
        ("delete_groups", None, "needs groups"),
        ("delete", GROUPS, "groups are for perturb='delete_groups'"),
        ("delete_groups", {"arm": ["z"]}, "'arm' contains 'z', which is not"),
        ("delete_groups", {"arm": ["a"], "leg": ["a"]}, "Feature 0 is in the groups"),
    ]:
        with pytest.raises(ValueError, match=message):
            robustness_curve(model, X, y, perturb, [0.5], groups=groups)
    with pytest.raises(ValueError, match="probabilities from 0 to 1; got 2"):
        robustness_curve(model, X, y, "delete_groups", [2], groups=GROUPS)
    with pytest.raises(ValueError, match="at least two features or groups; got 1"):
        feature_fragility(model, X, y, groups={"arm": ["a"]}, pairs=True)
