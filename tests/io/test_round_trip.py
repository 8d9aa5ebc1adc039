"""What is saved comes back bit by bit."""

import numpy as np
import pandas as pd
import pytest
from problems import dataset, kind, noises
from same import assert_same
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import noiseproof
from noiseproof import DropoutLogisticRegression, DropoutSVC
from noiseproof.attacks import ATTACKS, FeatureDeletion
from noiseproof.estimators import ESTIMATORS
from noiseproof.evaluation import perturbed_scorer
from noiseproof.io import read_notes
from noiseproof.noise import Gaussian

every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def again(thing, tmp_path):
    noiseproof.save(thing, tmp_path / "thing.npf")
    return noiseproof.load(tmp_path / "thing.npf")


@pytest.mark.parametrize("labels", ["numbers", "text"])
@pytest.mark.parametrize("classes", [2, 3])
@every_estimator
def test_fitted_models(name, classes, labels, rng, tmp_path):
    model = ESTIMATORS[name]()
    X, y = dataset(model, rng, classes=classes)
    if kind(model) == "classifier" and labels == "text":
        y = np.array(["a", "b", "c"])[y]
    model.fit(X, y)
    back = again(model, tmp_path)
    assert_same(back, model)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


@every_estimator
def test_models_before_fit_and_of_float32(name, rng, tmp_path):
    model = ESTIMATORS[name]()
    assert_same(again(model, tmp_path), model)
    X, y = dataset(model, rng)
    model.fit(X.astype(np.float32), y)
    assert_same(again(model, tmp_path), model)


@pytest.mark.parametrize("noise", noises(5))
def test_noises(noise, tmp_path):
    assert_same(again(noise, tmp_path), noise)


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(name, tmp_path):
    assert_same(again(ATTACKS[name](), tmp_path), ATTACKS[name]())


def test_parameters_of_all_kinds(tmp_path):
    model = DropoutSVC(Gaussian(np.array([0.1, np.pi])), class_weight={0: 0.3, 1: 1.7})
    assert_same(again(model, tmp_path), model)
    attack = FeatureDeletion(2.5, values=[1.0, np.inf])
    assert_same(again(attack, tmp_path), attack)


def test_an_online_model_goes_on_where_it_was(rng, tmp_path):
    for name in ("dropout-sgd", "robust-perceptron"):
        model = ESTIMATORS[name]()
        X, y = dataset(model, rng)
        model.partial_fit(X[:20], y[:20], classes=[0, 1])
        back = again(model, tmp_path)
        for one in (model, back):
            one.partial_fit(X[20:], y[20:])
        np.testing.assert_array_equal(back.coef_, model.coef_)


def test_pipelines_with_preprocessing(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3, np.nan] * 5, "b": ["x", "y", None, "z"] * 5})
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["a"]), (OneHotEncoder(handle_unknown="ignore"), ["b"])
    )
    pipeline = make_pipeline(columns, DropoutLogisticRegression())
    pipeline.fit(frame, np.arange(20) % 2)
    back = again(pipeline, tmp_path)
    np.testing.assert_array_equal(
        back.predict_proba(frame), pipeline.predict_proba(frame)
    )


@pytest.mark.parametrize("scoring", [None, "roc_auc", perturbed_scorer("delete", 0.5)])
def test_searches(scoring, rng, tmp_path):
    X, y = dataset(DropoutSVC(), rng)
    search = GridSearchCV(DropoutSVC(), {"C": [0.1, 1.0]}, cv=2, scoring=scoring)
    back = again(search.fit(X, y), tmp_path)
    assert back.best_params_ == search.best_params_
    assert back.score(X, y) == search.score(X, y)


def test_notes(tmp_path):
    path = tmp_path / "thing.npf"
    noiseproof.save(Gaussian(), path, notes={"target": "größe", "rows": 3})
    assert read_notes(path) == {"target": "größe", "rows": 3}
    noiseproof.save(Gaussian(), path)
    assert read_notes(path) == {}


def test_what_cannot_be_loaded_is_not_saved(tmp_path):
    path = tmp_path / "model.npf"
    noiseproof.save(Gaussian(0.5), path)
    own = make_pipeline(FunctionTransformer(lambda X: X), DropoutSVC())
    with pytest.raises(TypeError, match=r"Pipeline cannot be saved: it holds .*lambda"):
        noiseproof.save(own, path)
    with pytest.raises(TypeError, match="cannot be saved"):
        noiseproof.save(DropoutSVC(noise=(i for i in range(3))), path)
    assert noiseproof.load(path).scale == 0.5
    assert [file.name for file in tmp_path.iterdir()] == ["model.npf"]


class Mine(DropoutSVC):
    """Somebody's own class."""


def test_types_of_ones_own_can_be_trusted_by_name(tmp_path, monkeypatch):
    path = tmp_path / "mine.npf"
    with pytest.raises(TypeError, match="Mine"):
        noiseproof.save(Mine(), path)
    name = f"{Mine.__module__}.Mine"
    noiseproof.save(Mine(), path, trusted=[Mine])
    with pytest.raises(
        noiseproof.io.FileFormatError, match=r"Mine, which load does not"
    ):
        noiseproof.load(path)
    assert isinstance(noiseproof.load(path, trusted=[Mine]), Mine)
    assert isinstance(noiseproof.load(path, trusted=[name]), Mine)
