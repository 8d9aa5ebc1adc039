"""LightGBM, XGBoost and CatBoost in files: as they were, without code, or refused."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forged import refusal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noiseproof
from noiseproof import AverageOverMissing, PartitionEnsemble, ReducedModels
from noiseproof.io.carried import Carrier, carry
from noiseproof.io.model import unpack

LIBRARIES = {
    "lightgbm": {"n_estimators": 4, "num_leaves": 5, "verbose": -1, "n_jobs": 1},
    "xgboost": {"n_estimators": 4, "max_depth": 3, "n_jobs": 1},
    "catboost": {
        **{"iterations": 4, "depth": 3, "verbose": 0, "thread_count": 1},
        "allow_writing_files": False,
    },
}
PREFIX = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}
every_library = pytest.mark.parametrize("library", LIBRARIES)


def booster(library, kind="Classifier", **params):
    module = pytest.importorskip(library)
    return getattr(module, PREFIX[library] + kind)(**LIBRARIES[library] | params)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(150, 4))
    return X, np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])


def again(model, tmp_path):
    noiseproof.save(model, tmp_path / "model.npf")
    return noiseproof.load(tmp_path / "model.npf")


def assert_equal_answers(back, model, X):
    assert type(back) is type(model)
    for method in ("predict", "predict_proba"):
        if hasattr(model, method):
            ours, theirs = (getattr(m, method)(X) for m in (back, model))
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
    assert back.n_features_in_ == model.n_features_in_
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(back.classes_, model.classes_)


VARIANTS = [
    ("lightgbm", {"boosting_type": "dart"}),
    ("lightgbm", {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}),
    ("lightgbm", {"linear_tree": True, "max_bin": 15}),
    ("xgboost", {"booster": "dart"}),
    ("xgboost", {"booster": "gblinear"}),
    ("xgboost", {"num_parallel_tree": 2, "tree_method": "exact", "gamma": 1.0}),
    ("catboost", {"grow_policy": "Lossguide"}),
    ("catboost", {"nan_mode": "Max", "bootstrap_type": "No"}),
    *((library, {}) for library in LIBRARIES),
]


@pytest.mark.parametrize("target", ["classes", "two", "amount"])
@pytest.mark.parametrize(("library", "params"), VARIANTS)
@pytest.mark.filterwarnings("ignore")  # libraries about each other's new versions
def test_alone(library, params, target, rows, tmp_path):
    X, y = rows
    kind = "Regressor" if target == "amount" else "Classifier"
    y = {"classes": y, "two": (y > 1).astype(int), "amount": X[:, 0] ** 2}[target]
    model = booster(library, kind, **params)
    assert repr(again(model, tmp_path).get_params()) == repr(model.get_params())
    back = again(model.fit(X, y), tmp_path)
    assert_equal_answers(back, model, X)
    assert repr(back.get_params()) == repr(model.get_params())
    assert_equal_answers(clone(back).fit(X, y), model, X)


AROUND = {
    "averaged": lambda m: AverageOverMissing(m, "donors"),
    "averaged pipeline": lambda m: AverageOverMissing(
        make_pipeline(StandardScaler(), m), "joint-gaussian"
    ),
    "reduced": lambda m: ReducedModels(m, max_patterns=2),
    "partition": lambda m: PartitionEnsemble(m, n_parts=2),
    "vote": lambda m: VotingClassifier([("a", m), ("b", clone(m))]),
    "calibrated": lambda m: CalibratedClassifierCV(m, cv=2),
    "search": lambda m: GridSearchCV(m, {}, cv=2),
}


@every_library
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.filterwarnings("ignore")
def test_within_other_models(library, around, rows, rng, tmp_path):
    X, y = rows
    if library == "catboost" and not around.startswith("averaged"):
        y = (y > 1).astype(int)  # its answers are a column where there are more
    model = AROUND[around](booster(library)).fit(X, y)
    if around.startswith("averaged") or around == "reduced":
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        model.predict(X)
    assert_equal_answers(again(model, tmp_path), model, X)


@every_library
@pytest.mark.filterwarnings("ignore")
def test_names_words_and_frozen_ones(library, rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame(X, columns=["p", "q", "r", "s"])
    labels = y if library == "xgboost" else np.array(["low", "mid", "high"])[y]
    frozen = FrozenEstimator(booster(library).fit(frame, labels))
    back = again(frozen, tmp_path)
    assert_equal_answers(back, frozen, frame)
    name = "feature_names_" if library == "catboost" else "feature_names_in_"
    assert list(getattr(back.estimator, name)) == list(frame.columns)


CATEGORIES = {
    "lightgbm": {"min_child_samples": 2},
    "xgboost": {"enable_categorical": True},
    "catboost": {"cat_features": ["word"], "one_hot_max_size": 10},
}


@every_library
@pytest.mark.filterwarnings("ignore")
def test_categories(library, rows, rng, tmp_path):
    X, y = rows
    word = np.array(["a", "b", "c"])[(y + (rng.random(len(y)) < 0.1)) % 3]
    frame = pd.DataFrame({"word": pd.Categorical(word), "n": X[:, 3]})
    model = booster(library, **CATEGORIES[library]).fit(frame, y)
    assert_equal_answers(again(model, tmp_path), model, frame)


def test_statistics_of_categories_are_refused(rows, rng, tmp_path):
    X, y = rows
    frame = pd.DataFrame({"word": np.array(list("abcdefgh"))[y + 2], "n": X[:, 3]})
    model = booster("catboost", cat_features=["word"], one_hot_max_size=1)
    model.fit(frame, y)
    with pytest.raises(TypeError, match=r"ctrs.*one_hot_max_size"):
        noiseproof.save(model, tmp_path / "model.npf")
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
# LightGBM 4.6 also warns if it was fitted on an array, which has no names
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_early_stopping_is_remembered(rows, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = rows
    model = booster("lightgbm", n_estimators=60, learning_rate=0.9)
    stop = lightgbm.early_stopping(2, verbose=False)
    model.fit(X[:90], y[:90], eval_set=[(X[90:], y[90:])], callbacks=[stop])
    assert 0 < model.best_iteration_ < 55
    back = again(model, tmp_path)
    assert_equal_answers(back, model, X)
    assert back.best_iteration_ == model.best_iteration_


def test_functions_of_ones_own_are_refused(rows, tmp_path):
    model = booster("lightgbm", objective=lambda y, p: (p - y, np.ones_like(y)))
    with pytest.raises(
        TypeError, match=r"LGBMClassifier cannot be saved: it contains .*"
    ):
        noiseproof.save(model, tmp_path / "model.npf")


@every_library
def test_files_name_no_class_of_the_library(library, rows, tmp_path):
    """What it is, is a word of ours; only what the library parses is theirs."""
    noiseproof.save(booster(library).fit(*rows), tmp_path / "model.npf")
    _, payload = unpack((tmp_path / "model.npf").read_bytes(), "model")
    assert noiseproof.io.model._skops().get_untrusted_types(data=payload) == [
        "noiseproof.io.carried.carrier.Carrier"
    ]


@every_library
def test_a_machine_without_the_library(library, rows, tmp_path, monkeypatch):
    noiseproof.save(booster(library).fit(*rows), tmp_path / "model.npf")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(noiseproof.io.FileFormatError, match=f"needs {library}"):
        noiseproof.load(tmp_path / "model.npf")


def number(name, place, value):
    """Another number at one place of a list, as LightGBM or JSON writes it."""
    pattern = rf'({name}"?[=:]\s*\[?)([^\n\]]*)'.encode()

    def change(text):
        found = re.search(pattern, text)
        mark = b"," if b"," in found[2] else b" "
        numbers = found[2].split(mark)
        numbers[place] = str(value).encode()
        return text[: found.start(2)] + mark.join(numbers) + text[found.end(2) :]

    return change


FORGED = {
    "lightgbm": {
        "a cycle": number("left_child", 0, 0),
        "a child outside": number("right_child", 0, 9999),
        "a leaf outside": number("left_child", -1, -9999),
        "a feature outside": number("split_feature", 0, 4),
        "a negative feature": number("split_feature", 0, -1),
        "fewer features": number("max_feature_idx", 0, 0),
        "more classes": number("num_class", 0, 9),
        "many leaves": number("num_leaves", 0, 100_000),
        "another place": number("tree_sizes", 0, 100_000_000),
        "a category": number("decision_type", 0, 1),
        "no number": number("leaf_value", 0, "x"),
        "a line twice": lambda t: t.replace(b"num_cat=0\n", b"num_cat=0\n" * 2, 1),
        "something else": lambda t: b"{}",
        "an early end": lambda t: t[: len(t) // 2] + b"\0" + t[len(t) // 2 :],
    },
    "xgboost": {
        "a cycle": number("left_children", 1, 0),
        "a child outside": number("right_children", 0, 9999),
        "a feature outside": number("split_indices", 0, 4),
        "a parent outside": number("parents", 1, 9999),
        "a category": number("split_type", 0, 1),
        "many nodes": number("num_nodes", 0, '"100000"'),
        "fewer features": number("num_feature", 0, '"1"'),
        "another class": number("tree_info", 0, 3),
        "vectors": number("size_leaf_vector", 0, '"-1"'),
        "something else": lambda t: b"binf",
        "a name twice": lambda t: b'{"learner":{},' + t[1:],
        "a ladder": lambda t: b"[" * 100_000,
    },
    "catboost": {
        "a question outside": number("split_index", 0, "99999,"),
        "another label": lambda t: changed(t, "model_info", "class_params",
            "class_to_label", value=[0, 1, 7]),
        "few leaves": lambda t: changed(t, "oblivious_trees", 0, "leaf_values",
            value=[0.0]),
        "deep": lambda t: changed(t, "oblivious_trees", 0, "splits",
            value=[{"split_index": 0, "split_type": "FloatFeature"}] * 40),
        "another feature": lambda t: changed(t, "features_info", "float_features", 0,
            "flat_feature_index", value=77),
        "statistics": lambda t: changed(t, "ctr_data", value={"x": {}}),
        "something else": lambda t: b"CBM1",
    },
}  # fmt: skip


def changed(text, *path, value):
    described = part = json.loads(text)
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    return json.dumps(described).encode()


@pytest.mark.parametrize(
    ("library", "how"),
    [(library, how) for library in FORGED for how in FORGED[library]],
)
def test_forged_texts_do_not_reach_the_library(library, how, rows, tmp_path):
    carrier = carry(booster(library).fit(*rows))
    text = FORGED[library][how](carrier.state["text"])
    assert text != carrier.state["text"]
    carrier.state["text"] = text
    assert re.search("fit together|no JSON|not LightGBM's", refusal(carrier, tmp_path))


def test_forged_carriers(rows, tmp_path):
    carrier = carry(booster("lightgbm").fit(*rows))
    carrier.state["params"]["predict_disable_shape_check"] = True
    assert "not safe" in refusal(carrier, tmp_path)
    assert "not a kind of object" in refusal(
        Carrier("os.system", {"params": {}}), tmp_path
    )
    assert "described" in refusal(Carrier("xgboost.XGBRegressor", {}), tmp_path)


def test_forged_neighbours(rows, tmp_path):
    X, y = rows
    for name, value in {
        "_y": y + 100,
        "_fit_X": X[:, :2],
        "n_samples_fit_": 10**6,
        "effective_metric_": 7,
        "leaf_size": -1,
    }.items():
        carrier = carry(KNeighborsClassifier().fit(X, y))
        carrier.state[name] = value
        assert refusal(carrier, tmp_path), name


@pytest.mark.whole
@every_library
def test_random_damage_ends_no_process(library, tmp_path):
    """Whatever of a text reaches the library is read, or refused by an exception."""
    pytest.importorskip(library)
    code = Path(__file__).parents[1] / "helpers" / "damaged_boosters.py"
    paths = [str(Path(noiseproof.__file__).parents[1]), os.environ.get("PYTHONPATH")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, code, library, "300"],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    answered, refused = map(int, done.stdout.split()[-2:])
    assert answered > 0
    assert refused > 100
