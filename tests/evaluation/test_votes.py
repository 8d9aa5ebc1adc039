"""`certify` lets models that vote answer for themselves."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from noiseproof import PartitionEnsemble
from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import certify

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
    with pytest.raises(ValueError, match="does not pick features"):
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
    with pytest.raises(TypeError, match="before the votes may mix features"):
        certify(model, X, y)
    found = certify(model, X, y, space="model").budget
    behind = model[0].transform(X)
    np.testing.assert_array_equal(found, model[-1].certify_votes(behind).budget)


@pytest.mark.parametrize(
    "option", [{"values": np.ones(4)}, {"attack": FeatureDeletion()}]
)
def test_values_and_attacks_are_refused(option):
    with pytest.raises(ValueError, match="take neither values nor an attack"):
        certify(MODEL.fit(X, y), X, y, **option)
    with pytest.raises(ValueError, match="space must be 'input' or 'model'; got 'up'"):
        certify(MODEL.fit(X, y), X, y, space="up")
