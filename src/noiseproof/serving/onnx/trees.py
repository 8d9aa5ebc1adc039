"""Trees in a graph, with thresholds in double precision.

A rounded threshold would send some rows the other way, which would change averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import numpy_helper
from sklearn.base import is_classifier
from sklearn.tree import BaseDecisionTree

from noiseproof._private import BoostingState
from noiseproof.serving.onnx.answers import LINKS, Answer
from noiseproof.serving.onnx.graph import ML, Tensor
from noiseproof.serving.onnx.rows import Rows

Array = NDArray[Any]

_LOGARITHMIC = ("poisson", "gamma")  # losses


class Tree(NamedTuple):
    """The nodes of a tree, and what its leaves add to which scores.

    A row goes left if its feature is at most the threshold, or if it is NaN and the
    node sends missing values to the left.
    """

    is_leaf: Array
    feature: Array
    threshold: Array
    left: Array
    right: Array
    missing_left: Array
    values: Array  # (n_nodes, n_targets)
    targets: Sequence[int]


def boosted(model: Any, rows: Rows, method: str) -> Answer:
    """HistGradientBoosting: the sum of its trees' leaves, and its link."""
    state = BoostingState.of(vars(model))
    assert state is not None
    found = [
        (place, tree.nodes)
        for turn in state.predictors
        for place, tree in enumerate(turn)
    ]
    if state.preprocessor is not None or any(
        n["is_categorical"].any() for _, n in found
    ):
        raise TypeError(
            f"{type(model).__name__} with categorical features cannot be written to "
            "ONNX; encode them first, as by TableEncoder or OneHotEncoder."
        )
    trees = [_boosted(nodes, place) for place, nodes in found]
    baseline = np.asarray(state.baseline, dtype=np.float64).reshape(1, -1)
    scores = _sums(rows.matrix().double(), trees, baseline.shape[1]) + baseline
    if not is_classifier(model):
        return Answer(
            LINKS["exp" if model.loss in _LOGARITHMIC else "identity"](scores)
        )
    chances = LINKS["expit" if len(model.classes_) == 2 else "softmax"](scores)
    values = scores if method == "decision_function" else chances
    return Answer(values, chances.first_largest())


def grown(model: Any, rows: Rows, method: str) -> Answer:
    """Single trees and forests: the mean of their leaves, for single precision rows."""
    members = [model] if isinstance(model, BaseDecisionTree) else model.estimators_
    trees = [_grown(member.tree_, len(members)) for member in members]
    X = rows.matrix().cast(np.float32).double()
    values = _sums(X, trees, len(trees[0].targets))
    return Answer(values, values.first_largest() if is_classifier(model) else None)


def _boosted(nodes: Any, place: int) -> Tree:
    return Tree(
        nodes["is_leaf"].astype(bool),
        nodes["feature_idx"],
        nodes["num_threshold"],
        nodes["left"],
        nodes["right"],
        nodes["missing_go_to_left"],
        nodes["value"][:, None],
        [place],
    )


def _grown(tree: Any, n_trees: int) -> Tree:
    values = tree.value.reshape(tree.node_count, -1) / n_trees
    return Tree(
        tree.children_left < 0,
        tree.feature,
        tree.threshold,
        tree.children_left,
        tree.children_right,
        tree.missing_go_to_left,
        values,
        range(values.shape[1]),
    )


def _sums(X: Tensor, trees: list[Tree], n_targets: int) -> Tensor:
    """The sum over all trees of the leaves that rows fall into, (n, n_targets)."""
    sizes = [len(tree.is_leaf) for tree in trees]
    leaf = np.concatenate([tree.is_leaf for tree in trees])

    def every(name: str) -> Array:
        whole = np.concatenate([getattr(tree, name) for tree in trees])
        return np.where(leaf, np.zeros((), whole.dtype), whole)

    sums = X.op(
        "TreeEnsembleRegressor",
        domain=ML,
        n_targets=n_targets,
        aggregate_function="SUM",
        nodes_treeids=np.repeat(np.arange(len(trees)), sizes).tolist(),
        nodes_nodeids=np.concatenate([np.arange(size) for size in sizes]).tolist(),
        nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        nodes_featureids=every("feature").tolist(),
        nodes_values_as_tensor=_numbers(every("threshold")),
        nodes_truenodeids=every("left").tolist(),
        nodes_falsenodeids=every("right").tolist(),
        nodes_missing_value_tracks_true=every("missing_left").astype(int).tolist(),
        dtype=np.float32,
        **_leaves(trees),
    )
    return sums.double()


def _leaves(trees: list[Tree]) -> dict[str, Any]:
    """The values of all leaves, and which scores they add to."""
    leaves = [np.flatnonzero(tree.is_leaf) for tree in trees]
    widths = [len(tree.targets) for tree in trees]
    sizes = [len(own) * width for own, width in zip(leaves, widths, strict=True)]
    pairs = list(zip(trees, leaves, strict=True))
    places = [np.repeat(own, len(tree.targets)) for tree, own in pairs]
    targets = [np.tile(tree.targets, len(own)) for tree, own in pairs]
    values = [tree.values[own].ravel() for tree, own in pairs]
    return {
        "target_treeids": np.repeat(np.arange(len(trees)), sizes).tolist(),
        "target_nodeids": np.concatenate(places).tolist(),
        "target_ids": np.concatenate(targets).tolist(),
        "target_weights_as_tensor": _numbers(np.concatenate(values)),
    }


def _numbers(values: Array) -> Any:
    return numpy_helper.from_array(np.asarray(values, dtype=np.float64), "numbers")
