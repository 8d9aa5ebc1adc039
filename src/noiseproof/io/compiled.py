"""Checks of scikit-learn models whose compiled loops trust the arrays they are given.

These are support vector machines, nearest neighbours, boosted trees, single trees and
forests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)

from noiseproof._private import (
    BoostingState,
    LibsvmState,
    NeighboursState,
    boosted_nodes,
    columns_of_a_tree,
    is_grown,
)

State = Any  # the attributes of a model by name; nobody vouches for their types
Conditions = Iterator[tuple[str, Any]]  # an attribute, and whether it is as it must be


def fits(part: Any, shape: tuple[int | None, ...], dtype: Any = None) -> bool:
    """Whether this is an array or matrix of numbers with that shape; None fits all."""
    kind = getattr(part, "dtype", np.dtype(object))
    sizes = getattr(part, "shape", ())
    return (
        kind.kind in "fiub"
        and dtype in (None, kind)
        and len(sizes) == len(shape)
        and all(n in (None, m) for m, n in zip(sizes, shape, strict=True))
    )


def n_labels(state: State) -> int | None:
    """Number of classes, or None without classes."""
    classes = state.get("classes_")
    return len(classes) if isinstance(classes, np.ndarray) else None


def n_scores(state: State) -> int | None:
    """Number of scores that decide between the classes."""
    labels = n_labels(state)
    return 1 if labels == 2 else labels


def takes(model: Any, d: Any) -> bool:
    """Whether a fitted model takes rows with d features, as far as it says."""
    return hasattr(model, "predict") and getattr(model, "n_features_in_", d) == d


def compiled(model: Any, state: State) -> Conditions:
    """The conditions for such a model to predict safely; none for other models."""
    libsvm, boosting = LibsvmState.of(state), BoostingState.of(state)
    neighbours = NeighboursState.of(state)
    if libsvm or boosting or neighbours or "tree_" in state:
        yield "n_features_in_", "n_features_in_" in state
    if libsvm:
        yield from _libsvm(state, libsvm)
    if boosting:
        yield from _boosting(state, boosting)
    if neighbours:
        yield from _neighbours(state, neighbours)
    if "tree_" in state:
        yield "tree_", _is_grown(state["tree_"], state)
    if isinstance(model, _FORESTS):
        yield from _forest(model, state)


def _libsvm(state: State, own: LibsvmState) -> Conditions:
    """Support vectors of SVC, NuSVC, SVR, NuSVR and OneClassSVM."""
    d, labels, rows = state["n_features_in_"], n_labels(state), state.get("support_")
    counts, dual = own.n_support, own.dual_coef
    yield "n_support_", fits(counts, (labels or 2,), np.int32)
    yield "support_", fits(rows, (None,), np.int32)
    n, k = len(state["support_"]), len(counts)
    yield "n_support_", counts.min() >= 0 and (not labels or counts.sum() == n)
    pairs = k * (k - 1) // 2
    computed = state.get("kernel") == "precomputed"
    points = (0, 0) if computed else (n, d)
    yield "support_vectors_", fits(state.get("support_vectors_"), points, np.float64)
    yield "intercept_", fits(own.intercept, (pairs,), np.float64)
    # compiled loops read all of it, stored or not
    yield "dual_coef_", fits(dual, (k - 1, n), np.float64)
    yield "dual_coef_", getattr(dual, "nnz", dual.size) == (k - 1) * n
    for name, part in (("probA_", own.prob_a), ("probB_", own.prob_b)):
        yield name, fits(part, (pairs if np.size(part) else 0,), np.float64)
    if computed:
        yield "shape_fit_", state.get("shape_fit_") == (d, d)
        yield "support_", n == 0 or (rows.min() >= 0 and rows.max() < d)


def _neighbours(state: State, own: NeighboursState) -> Conditions:
    """Rows, and where there are classes their numbers, for each output."""
    yield "its rows", fits(own.rows, (None, state["n_features_in_"]))
    n, classes = own.rows.shape[0], state.get("classes_")
    yield "n_samples_fit_", state.get("n_samples_fit_", n) == n
    if own.targets is not None:
        yield "its targets", np.shape(own.targets)[:1] == (n,)
    if classes is None:
        return
    several = classes if isinstance(classes, list) else [classes]
    yield "its targets", fits(own.targets, (n, len(several))[: own.targets.ndim])
    yield "its targets", own.targets.dtype.kind in "iu"
    codes = own.targets.reshape(n, -1)
    yield "classes_", codes.shape[1] == len(several) and codes.min() >= 0
    yield "classes_", all(codes.max(axis=0) < list(map(len, several)))


def _boosting(state: State, own: BoostingState) -> Conditions:
    """Trees of HistGradientBoosting, without categories, which `save` refuses."""
    d, k = state["n_features_in_"], n_scores(state) or 1
    # the first two change the columns, the third takes X for numbers of bins
    yield "categorical_features", own.preprocessor is None
    yield "is_categorical_", state.get("is_categorical_") is None
    yield "its state", own.in_fit is None
    yield "n_trees_per_iteration_", state.get("n_trees_per_iteration_") == k
    yield "baseline", fits(own.baseline, (1, k), np.float64)
    yield "bins", _are_bins(vars(own.bin_mapper), d)
    yield "predictors", type(own.predictors) is list
    for trees in own.predictors:
        yield "predictors", type(trees) is list and len(trees) == k
        yield "predictors", all(_is_boosted(vars(t).get("nodes"), d) for t in trees)


def _is_boosted(nodes: Any, d: int) -> bool:
    """Whether every path through these nodes ends, at a leaf, within the arrays."""
    if getattr(nodes, "dtype", None) != boosted_nodes() or nodes.ndim != 1:
        return False
    parents = np.flatnonzero(nodes["is_leaf"] == 0)
    forks = nodes[parents]
    children = np.stack([forks["left"], forks["right"]]).astype(np.int64)
    return bool(
        len(nodes)
        and np.all((children > parents) & (children < len(nodes)))  # so: no cycle
        and np.all((forks["feature_idx"] >= 0) & (forks["feature_idx"] < d))
        and not forks["is_categorical"].any()
        and np.all(np.isfinite(nodes["value"]))
    )


def _are_bins(state: State, d: int) -> bool:
    """Whether the bins of numbers suit d features; a warm start relies on it."""
    n_bins, edges = state.get("n_bins"), state.get("bin_thresholds_")
    kinds, sizes = state.get("is_categorical_"), state.get("n_bins_non_missing_")
    return (
        isinstance(n_bins, int)
        and 3 <= n_bins <= 256
        and state.get("missing_values_bin_idx_") == n_bins - 1
        and fits(kinds, (d,), np.uint8)
        and not kinds.any()
        and fits(sizes, (d,))
        and isinstance(edges, list)
        and len(edges) == d
        and all(
            fits(own, (n - 1,), np.float64) and n <= n_bins - 1
            for n, own in zip(sizes, edges, strict=True)
        )
    )


def _is_grown(tree: Any, state: State) -> bool:
    """Whether a tree of scikit-learn suits its estimator and has valid nodes."""
    if not is_grown(tree):
        return False
    own, d = tree.__getstate__(), state["n_features_in_"]
    counts, theirs = tree.n_classes, np.atleast_1d(state.get("n_classes_"))
    return bool(
        tree.n_features == d
        and tree.n_outputs == state.get("n_outputs_")
        and ("classes_" not in state or np.array_equal(counts, theirs))
        and tree.node_count == len(own["nodes"]) == len(own["values"])
        and depth_of(own["nodes"], d) == tree.max_depth
    )


def depth_of(nodes: Any, d: int) -> int:
    """Depth of a tree, or -1 if a path leads outside of the nodes or back."""
    left, right = nodes["left_child"], nodes["right_child"]
    parents = np.flatnonzero((left != -1) | (right != -1))
    children = np.stack([left[parents], right[parents]])
    features = nodes["feature"][parents]
    ends = np.all((children > parents) & (children < len(nodes)))
    if not (len(nodes) and ends and np.all((features >= 0) & (features < d))):
        return -1
    depth = np.zeros(len(nodes), dtype=np.int64)
    for parent, low, high in zip(parents.tolist(), *children.tolist(), strict=True):
        below = depth[parent] + 1
        depth[low], depth[high] = max(depth[low], below), max(depth[high], below)
    return int(depth.max())


# ensembles of scikit-learn that show rows to their trees unchecked
_BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
_FORESTS = (
    *(RandomForestClassifier, RandomForestRegressor, RandomTreesEmbedding),
    *(ExtraTreesClassifier, ExtraTreesRegressor, IsolationForest, *_BOOSTED),
)


def _forest(forest: Any, state: State) -> Conditions:
    """Each tree takes as many features as the forest passes to it."""
    if "estimators_" not in state:
        return
    d, trees = state.get("n_features_in_"), state["estimators_"]
    if isinstance(forest, _BOOSTED):
        k = state.get("n_trees_per_iteration_")
        yield "estimators_", isinstance(trees, np.ndarray) and trees.ndim == 2
        yield "estimators_", trees.shape[1] == k
        trees = trees.ravel().tolist()
    yield "estimators_", type(trees) is list and all(hasattr(t, "tree_") for t in trees)
    if isinstance(forest, IsolationForest):
        shown, d = state.get("estimators_features_"), columns_of_a_tree(forest)
        yield "estimators_features_", type(shown) is list and len(shown) == len(trees)
        yield "estimators_features_", all(fits(own, (d,)) for own in shown)
    yield "estimators_", all(takes(tree, d) for tree in trees)
