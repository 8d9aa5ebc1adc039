"""`certify` lets models that vote answer for themselves."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from noiseproof import PartitionEnsemble
from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import certified_scorer, certify

X, y = load_iris(return_X_y=True)
MODEL = PartitionEnsemble(DecisionTreeClassifier(max_depth=3), 3, random_state=0)


def test_certificates_are_those_of_the_votes():
    model = MODEL.fit(X, y)
    found, votes = certify(model, X, y), model.certify_votes(X)
    np.testing.assert_array_equal(found.budget, votes.budget)
    np.testing.assert_array_equal(found.deletion_budget, votes.deletion_budget)
    np.testing.assert_array_equal(found.prediction, model.predict(X))
    assert not found.exact.any()
    assert found.unit == "features"
    right = model.predict(X) == y
    assert found.accuracy_at(0) == right.mean() == model.score(X, y)
    assert found.accuracy_at(1) == np.mean(right & (votes.budget > 1))
    gone = found.accuracy_at(1, missing=True)
    assert gone == np.mean(right & (votes.deletion_budget > 1))
    assert "deletion_budget" in found.to_dict()
    assert certify(model, X, None).correct is None
    with pytest.raises(ValueError, match="deletion is only for linear models"):
        found.deletion(0)


def test_pipelines_and_searches():
    scaled = make_pipeline(StandardScaler(), MODEL)
    search = GridSearchCV(scaled, {"partitionensemble__n_parts": [2]}, cv=2)
    found = certify(search.fit(X, y), X, y)
    inner = search.best_estimator_[-1]
    expected = inner.certify_votes(StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(found.budget, expected.budget)


@pytest.mark.parametrize("step", [PCA(), SimpleImputer()])
def test_steps_that_mix_features_or_hide_that_they_are_missing_are_refused(step):
    model = make_pipeline(step, MODEL).fit(X, y)
    with pytest.raises(TypeError, match="before the ensemble may mix features"):
        certify(model, X, y)
    found = certify(model, X, y, space="model").budget
    behind = model[0].transform(X)
    np.testing.assert_array_equal(found, model[-1].certify_votes(behind).budget)


@pytest.mark.parametrize(
    "option", [{"values": np.ones(4)}, {"attack": FeatureDeletion()}]
)
def test_values_and_attacks_are_refused(option):
    with pytest.raises(ValueError, match="Do not pass values or an attack"):
        certify(MODEL.fit(X, y), X, y, **option)
    with pytest.raises(ValueError, match="space must be 'input' or 'model'; got 'up'"):
        certify(MODEL.fit(X, y), X, y, space="up")


# --- quantities --------------------------------------------------------------------

TREES = PartitionEnsemble(DecisionTreeRegressor(max_depth=3), 7, random_state=0)
Z, t = load_diabetes(return_X_y=True)


def test_certificates_of_a_regressor_are_those_of_the_median():
    model = TREES.fit(Z[::2], t[::2])
    found = certify(model, Z, t, tolerance=60.0)
    own = model.certify_votes(Z, t, 60.0)
    np.testing.assert_array_equal(found.budget, own.budget)
    np.testing.assert_array_equal(found.deletion_budget, own.deletion_budget)
    prediction = model.predict(Z)
    right = (t - 60.0 <= prediction) & (prediction <= t + 60.0)
    np.testing.assert_array_equal(found.correct, right)
    np.testing.assert_array_equal(found.prediction, prediction)
    assert found.accuracy_at(0) == right.mean()
    assert found.accuracy_at(2) == np.mean(own.budget > 2) > 0
    share = certify(model, Z, t, tolerance="40%")
    by_row = certify(model, Z, t, tolerance=0.4 * t)
    np.testing.assert_array_equal(share.budget, by_row.budget)
    around = certify(model, Z, None, tolerance=60.0)
    assert around.correct is None
    assert around.budget.min() >= 1
    scaled = make_pipeline(StandardScaler(), TREES).fit(Z, t)
    assert certify(scaled, Z, t, tolerance=60.0).unit == "features"


def test_tolerances_are_for_regressors_that_need_them():
    model = TREES.fit(Z, t)
    with pytest.raises(ValueError, match="certify needs a tolerance"):
        certify(model, Z, t)
    with pytest.raises(ValueError, match="tolerance is for regressors"):
        certify(MODEL.fit(X, y), X, y, tolerance=1.0)
    for wrong in ("much", "15", "-3%", "nan%", "%"):
        with pytest.raises(ValueError, match="a share of y such as '15%'; got"):
            certify(model, Z, t, tolerance=wrong)
    with pytest.raises(ValueError, match="is a share of y, so y must be passed"):
        certify(model, Z, None, tolerance="15%")


def test_a_search_finds_what_proves_most():
    """Judged by rows held out, of which the certified accuracy is the score."""
    ways = {"vote": ["majority", "pairwise"], "partition": ["balanced", "strides"]}
    search = GridSearchCV(MODEL, ways, scoring=certified_scorer(1), cv=2).fit(X, y)
    model = clone(MODEL).set_params(**search.best_params_)
    scores = []
    for train, test in StratifiedKFold(2).split(X, y):
        found = certify(model.fit(X[train], y[train]), X[test], y[test])
        scores.append(found.accuracy_at(1))
    assert search.best_score_ == pytest.approx(np.mean(scores))
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    model = TREES.fit(Z[::2], t[::2])
    score = certified_scorer(2, missing=True, tolerance="40%")(model, Z, t)
    assert score == certify(model, Z, t, tolerance="40%").accuracy_at(2, missing=True)
