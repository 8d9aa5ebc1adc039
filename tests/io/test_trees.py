"""Boosted trees in files: they come back as they were, and forged ones are refused."""

import io
import json
import re
from dataclasses import replace
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import skops.io
from forged import refusal, write_forged
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from noiseproof import AverageOverMissing, load, portfolio, save
from noiseproof._private import skops_archive
from noiseproof.evaluation import contest
from noiseproof.io import FileFormatError
from noiseproof.io.model import pack, unpack
from noiseproof.training.portfolios import BLENDED, winner

pytestmark = pytest.mark.whole

GROWN = {
    "binary": (HistGradientBoostingClassifier, 2),
    "three classes": (HistGradientBoostingClassifier, 3),
    "quantity": (HistGradientBoostingRegressor, 40),
}


@pytest.fixture(params=GROWN)
def grown(request, rng):
    kind, labels = GROWN[request.param]
    X = rng.normal(size=(120, 4))
    X[::7, 1] = np.nan
    y = np.floor(labels * (X[:, 0] - X[:, 0].min()) / (1e-9 + np.ptp(X[:, 0])))
    y = y if labels == 40 else y.astype(int)
    return kind(max_iter=4, min_samples_leaf=5).fit(X, y), X


def test_they_come_back(grown, tmp_path):
    model, X = grown
    save(model, tmp_path / "model.npf")
    again = load(tmp_path / "model.npf")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("labels", [3, 100])
def test_every_contender_of_a_recommendation(labels, rng, tmp_path):
    """Text columns and holes included; the file answers like the model."""
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc"))
    y = np.floor(3 * rng.random(90)).astype(int)
    y = y if labels == 3 else X["a"].to_numpy() + rng.random(90)
    X["word"] = np.where(y > np.median(y), "high", "low")
    Q = X.mask(rng.random(X.shape) < 0.3)
    contenders = portfolio(X, y, "missing", 0.3)
    contenders |= {  # as if there were few patterns
        name: model
        for name, model in portfolio(X, y, "missing_columns", 0.3).items()
        if name.startswith("reduced")
    }
    members = {name: contenders[name] for name in BLENDED}
    judged = contest(members, X, y, "missing", 0.3, cv=2, n_repeats=1, blend=BLENDED)
    perturbed = judged.perturbed.copy()
    perturbed[judged.contenders.index("blend")] = 2.0  # so that it is the best
    weights = {"averaged linear": 0.3, "averaged boosting": 0.7}
    both = replace(judged, perturbed=perturbed, weights=weights)
    assert both.choice == "blend"
    contenders["blend"] = winner(contenders, both)
    for name, model in contenders.items():
        save(model.fit(X, y), tmp_path / "model.npf")
        again = load(tmp_path / "model.npf")
        np.testing.assert_array_equal(again.predict(Q), model.predict(Q), name)


def forge(model, tmp_path):
    """What load says about a model as it now is; the file is whole and well signed."""
    sentence = refusal(model, tmp_path)
    assert re.search("does not fit|hides a method", sentence)
    return sentence


FORGED_NODES = {
    "a child outside": ("left", 10_000),
    "a child far outside": ("right", 2**32 - 1),
    "a cycle": ("left", 0),
    "a feature outside": ("feature_idx", 4),
    "a negative feature": ("feature_idx", -1),
    "a category": ("is_categorical", 1),
    "no number": ("value", np.nan),
    "infinite": ("value", np.inf),
}


@pytest.mark.parametrize("how", FORGED_NODES)
def test_forged_nodes(how, grown, tmp_path):
    field, value = FORGED_NODES[how]
    nodes = grown[0]._predictors[2][-1].nodes
    assert not nodes[0]["is_leaf"]
    nodes[field][0] = value
    assert "predictors of its HistGradientBoosting" in forge(grown[0], tmp_path)


def test_a_leaf_that_is_none(grown, tmp_path):
    """Its children are zero, so the path would go on for ever."""
    grown[0]._predictors[0][0].nodes["is_leaf"] = 0
    assert "predictors" in forge(grown[0], tmp_path)


FORGED_STATES = {
    "no trees of a class": lambda m: m._predictors[1].clear(),
    "no list": lambda m: m.__dict__.update(_predictors=tuple(m._predictors)),
    "no nodes": lambda m: setattr(
        m._predictors[0][0], "nodes", m._predictors[0][0].nodes[:0]
    ),
    "other nodes": lambda m: setattr(
        m._predictors[0][0], "nodes", m._predictors[0][0].nodes.reshape(1, -1)
    ),
    "wider": lambda m: setattr(m, "n_features_in_", 5),
    "narrower": lambda m: setattr(m, "n_features_in_", 1),
    "of any width": lambda m: delattr(m, "n_features_in_"),
    "binned": lambda m: setattr(m, "_in_fit", True),
    "more trees": lambda m: setattr(m, "n_trees_per_iteration_", 9),
    "a baseline of text": lambda m: setattr(m, "_baseline_prediction", np.array(["a"])),
    "too many bins": lambda m: setattr(m._bin_mapper, "n_bins", 1000),
    "categories": lambda m: m._bin_mapper.is_categorical_.fill(1),
    "edges": lambda m: m._bin_mapper.bin_thresholds_.pop(),
    "many edges": lambda m: m._bin_mapper.bin_thresholds_.__setitem__(0, np.ones(500)),
    "no check of the width": lambda m: setattr(m, "_preprocess_X", []),
    "other columns": lambda m: setattr(m, "_preprocessor", AverageOverMissing()),
}


@pytest.mark.parametrize("how", FORGED_STATES)
def test_forged_states(how, grown, tmp_path):
    FORGED_STATES[how](grown[0])
    forge(grown[0], tmp_path)


def test_trees_within_other_models_are_checked(rng, tmp_path):
    X = rng.normal(size=(80, 3))
    boosting = HistGradientBoostingClassifier(max_iter=2)
    model = AverageOverMissing(boosting, "joint-gaussian").fit(X, X[:, 0] > 0)
    model.estimator_._predictors[0][0].nodes["feature_idx"] = 77
    assert "HistGradientBoostingClassifier" in forge(model, tmp_path)


def test_random_bytes_in_the_nodes(grown, tmp_path):
    """Whatever is not refused predicts, and quickly."""
    model, X = grown
    dice = np.random.default_rng(0)
    nodes = model._predictors[0][0].nodes
    whole, answered = nodes.tobytes(), 0
    for _ in range(40):
        forged = np.frombuffer(whole, dtype=np.uint8).copy()
        forged[dice.integers(len(forged), size=2)] = dice.integers(256, size=2)
        model._predictors[0][0].nodes = forged.view(nodes.dtype)
        write_forged(model, tmp_path / "model.npf")
        try:
            again = load(tmp_path / "model.npf")
        except FileFormatError:
            continue
        assert again.predict(X).shape == (len(X),)
        answered += 1
    assert 0 < answered < 40


FORESTS = (
    RandomForestClassifier(3, random_state=0),
    RandomForestRegressor(3, random_state=0),
    ExtraTreesClassifier(3, random_state=0),
    GradientBoostingClassifier(n_estimators=2),
    GradientBoostingRegressor(n_estimators=2),
    DecisionTreeClassifier(),
    AdaBoostClassifier(n_estimators=2),
)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3))
    return X, np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])


@pytest.mark.parametrize("model", FORESTS, ids=lambda model: type(model).__name__)
def test_forests_come_back(model, rows, tmp_path):
    X, y = rows
    fitted = clone(model).fit(X, y)
    save(fitted, tmp_path / "model.npf")
    again = load(tmp_path / "model.npf")
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


FORGED_TREES = {
    "a child outside": ("left_child", 10_000),
    "a cycle": ("right_child", 0),
    "a feature outside": ("feature", 3),
    "a negative feature": ("feature", -1),
}


def test_forests_are_saved_in_linear_time(rows, tmp_path, monkeypatch):
    """skops lists all files of the archive for each array."""
    calls = []

    def listed(archive):
        calls.append(archive)
        return list(archive.NameToInfo)

    monkeypatch.setattr(ZipFile, "namelist", listed)
    save(RandomForestClassifier(20).fit(*rows), tmp_path / "model.npf")
    assert len(calls) < 20


def test_archives_describe_models_as_skops_does(rows):
    model = RandomForestClassifier(3).fit(*rows)
    archives = skops_archive(model), skops.io.dumps(model)
    first, second = (
        json.loads(ZipFile(io.BytesIO(part)).read("schema.json")) for part in archives
    )
    assert without_numbers(first) == without_numbers(second)


def without_numbers(node):
    """A description without the numbers of its objects, which are addresses."""
    if isinstance(node, list):
        return [without_numbers(part) for part in node]
    if not isinstance(node, dict):
        return node
    own = ("__id__", "file")
    return {name: without_numbers(x) for name, x in node.items() if name not in own}


def replaced(path, name, change):
    """Rewrite an array of a saved tree, with a new checksum."""
    header, payload = unpack(path.read_bytes(), "forged")
    with ZipFile(io.BytesIO(payload)) as archive:
        files = {n: archive.read(n) for n in archive.namelist()}
    description = json.loads(files["schema.json"])
    (tree,) = found_trees(description)
    change(files, tree["content"]["content"][name], description)
    out = io.BytesIO()
    with ZipFile(out, "w") as archive:
        for n, data in files.items():
            archive.writestr(n, json.dumps(description) if n == "schema.json" else data)
    path.write_bytes(pack(header, out.getvalue()))


def found_trees(node):
    if isinstance(node, dict):
        own = [node] if node.get("__loader__") == "TreeNode" else []
        return own + [t for part in node.values() for t in found_trees(part)]
    return [t for part in node for t in found_trees(part)] if type(node) is list else []


@pytest.mark.parametrize("how", FORGED_TREES)
def test_forged_trees_are_not_built(how, rows, tmp_path):
    path = tmp_path / "model.npf"
    save(DecisionTreeClassifier().fit(*rows), path)
    field, value = FORGED_TREES[how]

    def change(files, part, description):
        nodes = np.load(io.BytesIO(files[part["file"]]))
        nodes[field][0] = value
        out = io.BytesIO()
        np.save(out, nodes)
        files[part["file"]] = out.getvalue()

    replaced(path, "nodes", change)
    with pytest.raises(FileFormatError, match="nodes of a tree do not fit"):
        load(path)


@pytest.mark.parametrize("name", ["node_count", "max_depth"])
@pytest.mark.parametrize("by", [-1, 1000])
def test_forged_sizes_of_trees(name, by, rows, tmp_path):
    path = tmp_path / "model.npf"
    save(DecisionTreeClassifier().fit(*rows), path)

    def change(files, part, description):
        part["content"] = json.dumps(json.loads(part["content"]) + by)
        part["__id__"] = 1

    replaced(path, name, change)
    with pytest.raises(FileFormatError, match="nodes of a tree do not fit"):
        load(path)


def test_trees_that_do_not_fit_their_forest(rows, tmp_path):
    X, y = rows
    forest = RandomForestClassifier(2).fit(X, y)
    forest.estimators_[1] = DecisionTreeClassifier().fit(np.hstack([X, X]), y)
    assert "estimators_ of its RandomForest" in forge(forest, tmp_path)
    tree = DecisionTreeClassifier().fit(X, y)
    tree.n_features_in_ = 2
    assert "tree_ of its DecisionTree" in forge(tree, tmp_path)
