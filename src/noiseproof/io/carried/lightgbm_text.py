"""LightGBM: its text format, `Booster.model_to_string`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._private import finish_lightgbm, lightgbm_facts
from noiseproof.io.carried.nodes import check_nodes, require

NAMES = ("LGBMClassifier", "LGBMRegressor", "LGBMRanker")

_END = b"end of trees\n"
_CATEGORIES = b"\npandas_categorical:"  # JSON, which is read by Python
_LINES = 22  # of a tree that LightGBM reads
_NODES = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child"),
    *("right_child", "internal_value", "internal_weight", "internal_count"),
)
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_NUMBER = re.compile(r"-?([0-9]+(\.[0-9]+)?(e[-+][0-9]+)?|nan|inf)")
_INTEGER = re.compile(r"-?[0-9]{1,9}")
_SHAPES_UNCHECKED = "predict_disable_shape_check"


def write(model: Any) -> dict[str, Any]:
    """Parameters, and what else a fitted model needs beside the text."""
    state: dict[str, Any] = {"params": model.get_params(deep=False), "text": None}
    if model.__sklearn_is_fitted__():
        text = model.booster_.model_to_string(num_iteration=-1).encode()
        trees, _, rest = text.partition(_END)  # then parameters and importances
        categories = rest[rest.rindex(_CATEGORIES) :]
        state |= {"text": trees + _END + categories, "facts": lightgbm_facts(model)}
        state["classes"] = getattr(model, "classes_", None)
    return state


def read(name: str, state: dict[str, Any]) -> Any:
    """A model of that class, fitted if there is a text."""
    import lightgbm

    params, text = state["params"], state["text"]
    if _SHAPES_UNCHECKED in params:
        raise ValueError(f"{_SHAPES_UNCHECKED} of its {name} is not safe.")
    model = getattr(lightgbm, name)(**params)
    if text is None:
        return model
    check(text)
    booster = lightgbm.Booster(model_str=text.decode())
    classes, scores = state["classes"], booster.num_model_per_iteration()
    if classes is not None:
        require(scores == len(classes) or (scores, len(classes)) == (1, 2))
    finish_lightgbm(model, booster, state["facts"], classes)
    return model


def check(text: Any) -> None:
    """Raise an error if LightGBM would read outside of the arrays in this text."""
    good = isinstance(text, bytes) and text.startswith(b"tree\n")
    if not good or b"\0" in text or b"\r" in text:
        raise ValueError("the text of a booster is not LightGBM's.")
    before, _, after = text.partition(_END)
    require(after.startswith(_CATEGORIES) and after.strip(b"\n").count(b"\n") == 0)
    head, *trees = before.split(b"\nTree=")
    facts = _facts(head.partition(b"\n")[2])
    d, classes = _integer(facts["max_feature_idx"]) + 1, _integer(facts["num_class"])
    require(d > 0 and classes > 0 and len(trees) % classes == 0)
    require(_integer(facts["num_tree_per_iteration"]) == classes)
    for name in ("feature_names", "feature_infos"):
        require(len(_words(facts[name])) == d)
    asked = re.findall("num_class:([^ ]*)", facts.get("objective", ""))
    require(all(_integer(n) == classes for n in asked))
    # where LightGBM looks for each tree, whose last line end split has taken away
    sizes = [len(b"Tree=" + tree) + (tree is not trees[-1]) for tree in trees]
    require(_integers(facts["tree_sizes"]).tolist() == sizes)
    for number, tree in enumerate(trees):
        first, _, rest = tree.partition(b"\n")
        require(first == str(number).encode())
        _check_tree(_facts(rest.partition(b"\n\n")[0]), d)


def _check_tree(tree: dict[str, str], d: int) -> None:
    leaves = _integer(tree["num_leaves"])
    require(leaves > 0 and len(tree) <= _LINES)
    # LightGBM ends the process where it cannot read a number
    require(all(_NUMBER.fullmatch(word) for v in tree.values() for word in _words(v)))
    if _integer(tree.get("is_linear", "0")) == 1:
        _check_linear(tree, leaves, d)
    if leaves == 1:
        require(len(_words(tree["leaf_value"])) == 1)
        return
    for names, length in ((_NODES, leaves - 1), (_LEAVES, leaves)):
        require(all(len(_words(tree[name])) == length for name in names))
    left, right, feature, kinds = (
        _integers(tree[name])
        for name in ("left_child", "right_child", "split_feature", "decision_type")
    )
    check_nodes(left, right, feature, d, leaves)
    _check_categories(tree, kinds % 2 == 1)


def _check_linear(tree: dict[str, str], leaves: int, d: int) -> None:
    """Leaves with a linear model each, which asks for features."""
    counts, asked = _integers(tree["num_features"]), _integers(tree["leaf_features"])
    require(np.all(counts >= 0) and counts.sum() == len(asked))
    require(np.all((asked >= 0) & (asked < d)))
    require(len(_words(tree["leaf_coeff"])) == len(asked))
    require(len(counts) == len(_words(tree["leaf_const"])) == leaves)


def _check_categories(tree: dict[str, str], categorical: NDArray[np.bool_]) -> None:
    """The threshold of a categorical split is the place of a set of categories."""
    sets = _integer(tree["num_cat"])
    places = np.array(_words(tree["threshold"]), dtype=np.float64)[categorical]
    require(np.all((places >= 0) & (places < sets)))
    if sets:
        bounds = _integers(tree["cat_boundaries"])
        require(len(bounds) == sets + 1 and bounds[0] == 0)
        require(np.all(np.diff(bounds) >= 0))
        require(len(_words(tree["cat_threshold"])) == bounds[-1])


def _facts(lines: bytes) -> dict[str, str]:
    """Parse lines `name=value`; a name alone means yes."""
    pairs = [line.partition("=") for line in lines.decode().strip("\n").split("\n")]
    facts = {name: value for name, _, value in pairs}
    require(len(facts) == len(pairs))
    return facts


def _words(text: str) -> list[str]:
    """Split at spaces; LightGBM knows no other white space."""
    return [word for word in text.split(" ") if word]


def _integers(text: str) -> NDArray[np.int64]:
    words = _words(text)
    require(all(_INTEGER.fullmatch(word) for word in words))
    return np.array(words, dtype=np.int64)


def _integer(text: str) -> int:
    (number,) = _integers(text).tolist()
    return int(number)
