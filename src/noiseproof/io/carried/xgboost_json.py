"""XGBoost: its JSON format, `Booster.save_raw("json")`."""

from __future__ import annotations

from typing import Any

import numpy as np

from noiseproof.io.carried.nodes import (
    check_nodes,
    read_json,
    require,
    whole_number,
    whole_numbers,
)

NAMES = (
    *("XGBClassifier", "XGBRegressor", "XGBRanker"),
    *("XGBRFClassifier", "XGBRFRegressor"),
)
_NODES = (
    *("left_children", "right_children", "parents", "split_indices", "split_type"),
    *("split_conditions", "default_left", "base_weights"),
    *("loss_changes", "sum_hessian"),
)
_SETS = ("nodes", "segments", "sizes")
_CATEGORIES = 2**24  # that XGBoost can tell apart
_ROOT = 2**31 - 1  # the parent of the first node


def write(model: Any) -> dict[str, Any]:
    """Parameters and the text."""
    state: dict[str, Any] = {"params": model.get_params(deep=False), "text": None}
    if model.__sklearn_is_fitted__():
        state["text"] = bytes(model.get_booster().save_raw("json"))
    return state


def read(name: str, state: dict[str, Any]) -> Any:
    """A model of that class, fitted if there is a text."""
    import xgboost

    model = getattr(xgboost, name)(**state["params"])
    if state["text"] is None:
        return model
    check(state["text"])
    given = dict(vars(model))
    model.load_model(bytearray(state["text"]))
    vars(model).update(given)  # it takes parameters from the text, too
    return model


def check(text: Any) -> None:
    """Raise an error if XGBoost would read outside of the arrays in this text."""
    learner = read_json(text)["learner"]
    facts, booster = learner["learner_model_param"], learner["gradient_booster"]
    d, classes, targets = (
        whole_number(facts.get(name, "1"))
        for name in ("num_feature", "num_class", "num_target")
    )
    groups = max(classes, 1) * max(targets, 1)
    require(d > 0)
    for name in ("feature_names", "feature_types"):
        require(len(learner.get(name, ())) in (0, d))
    require(len(str(facts["base_score"]).split(",")) in (1, groups))
    for own in learner["objective"].values():  # the name, and parameters
        asked = own.get("num_class", classes) if isinstance(own, dict) else classes
        require(int(asked) == classes)
    if booster["name"] == "gblinear":
        require(len(booster["model"]["weights"]) == (d + 1) * groups)
        return
    if booster["name"] == "dart":
        dropped, booster = booster["weight_drop"], booster["gbtree"]
        require(len(dropped) == len(booster["model"]["trees"]))
    require(booster["name"] == "gbtree")
    _check_forest(booster["model"], d, groups)


def _check_forest(model: Any, d: int, groups: int) -> None:
    trees = model["trees"]
    require(whole_number(model["gbtree_model_param"]["num_trees"]) == len(trees))
    group = whole_numbers(model["tree_info"], len(trees))
    require(np.all((group >= 0) & (group < groups)))
    starts = whole_numbers(model["iteration_indptr"])
    require(starts[0] == 0 and starts[-1] == len(trees))
    require(np.all(np.diff(starts) >= 0))
    for number, tree in enumerate(trees):
        require(tree["id"] == number)
        _check_tree(tree, d)
    words = model.get("cats", {"enc": []})
    if words["enc"]:
        _check_words(words, d)


def _check_tree(tree: Any, d: int) -> None:
    facts = {name: whole_number(value) for name, value in tree["tree_param"].items()}
    n = facts["num_nodes"]
    if facts["size_leaf_vector"] > 1:
        raise ValueError("trees of several outputs (multi_strategy) are not read.")
    require(n > 0 and facts["num_feature"] == d and facts["size_leaf_vector"] >= 0)
    require(all(len(tree[name]) == n for name in _NODES))
    left, right, parents, feature, kinds = (
        whole_numbers(tree[name]) for name in _NODES[:5]
    )
    inner = np.flatnonzero(left >= 0)
    require(np.array_equal(inner, np.flatnonzero(right >= 0)))
    check_nodes(left, right, np.where(left >= 0, feature, 0), d, 1)
    require(parents[0] == _ROOT and np.all(parents[left[inner]] == inner))
    require(np.all(parents[right[inner]] == inner))
    sets, starts, sizes, members = (
        whole_numbers(tree[name])
        for name in (*(f"categories_{part}" for part in _SETS), "categories")
    )
    require(np.isin(kinds, (0, 1)).all() and not kinds[left < 0].any())
    require(np.array_equal(sets, np.flatnonzero(kinds)))
    require(np.array_equal(starts, np.cumsum(sizes) - sizes) and np.all(sizes >= 0))
    require(len(members) == sizes.sum())
    require(np.all((members >= 0) & (members < _CATEGORIES)))


def _check_words(words: Any, d: int) -> None:
    """The categories of a frame's columns: numbers, or texts laid end to end."""
    bounds = whole_numbers(words["feature_segments"], d + 1)
    require(bounds[0] == 0 and np.all(np.diff(bounds) >= 0) and len(words["enc"]) == d)
    order = whole_numbers(words["sorted_idx"], int(bounds[-1]))
    for column, first, last in zip(words["enc"], bounds, bounds[1:], strict=False):
        require(np.array_equal(np.sort(order[first:last]), np.arange(last - first)))
        n = len(column["values"])
        if "offsets" in column and last > first:
            ends = whole_numbers(column["offsets"], int(last - first) + 1)
            require(ends[0] == 0 and ends[-1] == n and np.all(np.diff(ends) >= 0))
        else:
            require(n == last - first)
