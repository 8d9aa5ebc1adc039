"""CatBoost: its JSON format, `save_model(path, format="json")`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from noiseproof._private import finish_catboost
from noiseproof.io.carried.nodes import read_json, require

NAMES = ("CatBoostClassifier", "CatBoostRegressor", "CatBoostRanker", "CatBoost")
_DEPTH = 16  # of symmetric trees, which have a leaf for each of 2^depth answers


def write(model: Any) -> dict[str, Any]:
    """Parameters and the text."""
    state: dict[str, Any] = {"params": model.get_params(), "text": None}
    if model.is_fitted():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            model.save_model(str(path), format="json")
            state["text"] = path.read_bytes()
    return state


def read(name: str, state: dict[str, Any]) -> Any:
    """A model of that class, fitted if there is a text."""
    import catboost

    model = getattr(catboost, name)(**state["params"])
    if state["text"] is None:
        return model
    described = read_json(state["text"])
    leaves = check(described)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_bytes(state["text"])
        model.load_model(str(path), format="json")
    # CatBoost writes all digits, but some are lost when it reads them
    model.set_leaf_values(leaves)
    scale, bias = described["scale_and_bias"]
    model.set_scale_and_bias(float(scale), list(map(float, bias)))
    finish_catboost(model, state["params"])
    return model


def check(described: Any) -> Any:
    """Values of all leaves in their order, after checking that trees fit together."""
    questions = _count_questions(described["features_info"])
    outputs, values = len(described["scale_and_bias"][1]), []
    require(outputs > 0 and not described.get("ctr_data"))
    _check_classes(described["model_info"].get("class_params"), outputs)
    for tree in described.get("oblivious_trees", ()):
        splits, leaves = tree["splits"], 2 ** min(len(tree["splits"]), _DEPTH + 1)
        require(len(splits) <= _DEPTH)
        require(len(tree["leaf_values"]) == leaves * outputs)
        require(len(tree.get("leaf_weights") or ()) in (0, leaves))
        require(all(_is_split(split, questions) for split in splits))
        values += tree["leaf_values"]
    for tree in described.get("trees", ()):
        for node in _nodes(tree):
            if "split" in node:
                require(_is_split(node["split"], questions))
                continue
            leaf = node["value"] if isinstance(node["value"], list) else [node["value"]]
            require(len(leaf) == outputs)
            values += leaf
    require(all(type(value) in (int, float) for value in values))
    return np.array(values, dtype=np.float64)


def _check_classes(classes: Any, outputs: int) -> None:
    """Scores are of these classes, in this order; two classes may share a score."""
    if classes is None:
        return
    n, order = len(classes["class_names"]), classes["class_to_label"]
    require(sorted(order) == list(range(n)) and n in (outputs, outputs + 1))
    require(n == outputs or n == 2)


def _count_questions(features: Any) -> int:
    """How many yes-or-no questions the features answer, if they fit together.

    Those are borders of numbers and values of words. Tables of statistics are refused:
    CatBoost follows their indices wherever they lead.
    """
    if features.get("ctrs"):
        raise ValueError(
            "statistics of categories (ctrs) are not read; with a larger "
            "one_hot_max_size CatBoost encodes categories without them."
        )
    numbers, words = (
        features.get(f"{kind}_features", []) for kind in ("float", "categorical")
    )
    for own in (numbers, words):
        require([one["feature_index"] for one in own] == list(range(len(own))))
    places = [one["flat_feature_index"] for one in [*numbers, *words]]
    require(sorted(places) == list(range(len(places))))
    borders = sum(len(one["borders"] or ()) for one in numbers)
    return borders + sum(len(one.get("values") or ()) for one in words)


def _nodes(node: Any) -> Iterator[Any]:
    """Nodes of a tree, those on the left first, as CatBoost has them."""
    yield node
    if "split" in node:
        yield from _nodes(node["left"])
        yield from _nodes(node["right"])


def _is_split(split: Any, questions: int) -> bool:
    index = split["split_index"]
    return (
        split["split_type"] in ("FloatFeature", "OneHotFeature")
        and type(index) is int
        and 0 <= index < questions
    )
