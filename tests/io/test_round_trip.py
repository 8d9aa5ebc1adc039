"""What is saved comes back bit by bit."""

import numpy as np
import pandas as pd
import pytest
from problems import dataset, kind, noises
from same import assert_same
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    IsolationForest,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectKBest, chi2, f_classif, mutual_info_classif
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import noiseproof
from noiseproof import (
    AverageOverMissing,
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutSVC,
    PartitionEnsemble,
    ReducedModels,
)
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


TREE, GUESS = DecisionTreeClassifier(max_depth=3), DropoutLogisticRegression()
NESTED = {
    "partition": PartitionEnsemble(TREE),
    "partition of forests": PartitionEnsemble(ExtraTreesClassifier(2), n_parts=2),
    "averaged": AverageOverMissing(TREE, "donors"),
    "averaged frozen": AverageOverMissing(FrozenEstimator(TREE)),
    "reduced": ReducedModels(TREE, max_patterns=1),
    "copies": CorruptedCopies(TREE),
    "chain": ClassifierChain(TREE),
    "vote": VotingClassifier([("tree", TREE), ("linear", GUESS)]),
    "votes of trees": VotingClassifier([("one", TREE), ("other", TREE)]),
    "stack": StackingClassifier([("tree", TREE), ("linear", GUESS)], TREE, cv=2),
    "bagging": BaggingClassifier(TREE, 3, max_features=2),
    "boosting": AdaBoostClassifier(TREE, n_estimators=2),
    "one against rest": OneVsRestClassifier(TREE),
    "calibrated": CalibratedClassifierCV(TREE, cv=2),
    "isolation": IsolationForest(n_estimators=3, max_features=2),
}


@pytest.mark.parametrize("name", NESTED)
def test_trees_within_other_models(name, rng, tmp_path):
    """What is saved can be loaded: trees in a list are no forest."""
    model, X = clone(NESTED[name]), rng.normal(size=(60, 4))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    if name == "averaged frozen":
        model = AverageOverMissing(FrozenEstimator(clone(TREE).fit(X, y)))
    model.fit(X, np.eye(3, dtype=int)[y] if name == "chain" else y)
    if name in ("partition", "averaged", "averaged frozen", "reduced"):
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        model.predict(X)  # patterns of missing columns get their models now
    back = again(model, tmp_path)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_a_failed_save_leaves_the_old_file(rng, tmp_path):
    """A model that load would refuse, as its attributes were changed by hand."""
    path = tmp_path / "model.npf"
    noiseproof.save(Gaussian(0.5), path)
    model = DropoutSVC().fit(np.eye(4), [0, 1, 0, 1])
    model.coef_ = model.coef_[:, :-1]
    with pytest.raises(TypeError, match=r"DropoutSVC cannot be saved: coef_ of its"):
        noiseproof.save(model, path)
    assert noiseproof.load(path).scale == 0.5


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
    told = {"training_rows": False}
    assert read_notes(path) == {"target": "größe", "rows": 3} | told
    noiseproof.save(Gaussian(), path)
    assert read_notes(path) == told


STEPS = {
    "scores": SelectKBest(f_classif, k=2),
    "information": SelectKBest(mutual_info_classif, k=2),
    "counts": SelectKBest(chi2, k=2),
    "chosen columns": make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=float))
    ),
    "imputer": IterativeImputer(random_state=0),
}


@pytest.mark.parametrize("name", STEPS)
def test_functions_and_parts_of_scikit_learn(name, rng, tmp_path):
    X = pd.DataFrame(rng.random((60, 3)), columns=list("abc"))
    model = make_pipeline(clone(STEPS[name]), DropoutSVC())
    model.fit(X, np.arange(60) % 2)
    back = again(model, tmp_path)
    X = X.mask(X > 0.9) if name == "imputer" else X
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))


def test_what_cannot_be_loaded_is_not_saved(tmp_path):
    path = tmp_path / "model.npf"
    noiseproof.save(Gaussian(0.5), path)
    own = make_pipeline(FunctionTransformer(lambda X: X), DropoutSVC())
    with pytest.raises(
        TypeError, match=r"Pipeline cannot be saved: it contains .*lambda"
    ):
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
