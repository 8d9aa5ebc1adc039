"""What a file from a stranger may hold: bounded before it is built, checked after.

skops sees to it that only trusted types are made. It does not see to it that reading
ends, that a small file stays small in memory, or that the arrays of a model fit
together, on which compiled loops rely.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from inspect import isfunction
from typing import Any
from zipfile import ZipFile

import numpy as np

from noiseproof._private import grown_nodes, tree_nodes
from noiseproof._rows import check_indices

# What skops writes about 50,000 texts compresses 46 times. An archive may unpack to so
# many times its size, and to so many bytes in any case; `save` does not compress what
# would go beyond that.
_RATIO = 64
_SMALL = {"description": 2**23, "content": 2**26}
_DEPTH = 200  # levels of JSON; each object has two
_BRACKET = 20  # bytes for each bracket of the description; skops needs more than 100


def check_archive(payload: bytes) -> None:
    """Refuse an archive that would grow, branch or nest out of all proportion."""
    with ZipFile(io.BytesIO(payload)) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        schema = sizes.get("schema.json", 0)
        _check_size(schema, payload, "description")
        _check_size(sum(i.file_size for i in archive.infolist()), payload, "content")
        text = archive.read("schema.json")
        if text.count(b"{") + text.count(b"[") > 1000 + len(text) / _BRACKET:
            raise ValueError("its description has too many parts for its length.")
        description = _Description(json.loads(text))
        del text
        total = schema
        for loader, name in description.files:
            total += sizes.get(name, 0)
            _check_size(total, payload, "content")
            total += _check_file(archive, name, loader)
            _check_size(total, payload, "content")
        for tree in description.trees:
            _check_grown(archive, tree)


def _check_size(size: int, payload: bytes, what: str) -> None:
    if size > _SMALL[what] + _RATIO * len(payload):
        raise ValueError(
            f"its {what} would unpack from {len(payload):,} to {size:,} bytes, which "
            "no saved model does."
        )


def _check_file(archive: ZipFile, name: str, loader: str) -> int:
    """What the file of an array promises must be there; returns what it unpacks to."""
    if loader == "SparseMatrixNode":
        with ZipFile(io.BytesIO(archive.read(name))) as parts:
            return sum(info.file_size for info in parts.infolist())
    if loader == "NdArrayNode":
        with archive.open(name) as file:
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[np.lib.format.read_magic(file)]
            shape, _, dtype = read(file)
            length = archive.getinfo(name).file_size - file.tell()
        # no items of size 0, which would cost nothing however many there are
        if math.prod(shape) * max(dtype.itemsize, 1) != length:
            raise ValueError(f"an array of shape {shape} is not as long as it says.")
    return 0


def _check_grown(archive: ZipFile, node: Any) -> None:
    """Refuse a tree of scikit-learn, before it is built, that leads out of itself.

    Its compiled part takes sizes, children and features as they are.
    """
    try:
        d, classes, outputs = node["__reduce__"]["args"]["content"]
        d, outputs = json.loads(d["content"]), json.loads(outputs["content"])
        state = node["content"]["content"]
        count, depth = (
            json.loads(state[name]["content"]) for name in ("node_count", "max_depth")
        )
        classes, nodes, values = (
            np.load(io.BytesIO(archive.read(part["file"])), allow_pickle=False)
            for part in (classes, state["nodes"], state["values"])
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError("a tree is not described as scikit-learn's are.") from error
    whole = all(type(n) is int and n >= 0 for n in (d, outputs, count, depth))
    good = (
        whole
        and _fits(classes, (outputs,))
        and classes.dtype == np.intp
        and outputs > 0
        and classes.min() > 0
        and nodes.dtype == grown_nodes()
        and nodes.shape == (count,)
        and _fits(values, (count, outputs, int(classes.max())))
        and values.dtype == np.float64
        and _depth_of(nodes, d) == depth
    )
    if not good:
        raise ValueError("the nodes of a tree do not fit together.")


def _depth_of(nodes: Any, d: int) -> int:
    """Steps on the longest way down, or -1 if a way leads out of the nodes or back."""
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


class _Description:
    """The tree of objects that skops would build, walked once.

    skops writes an object in full wherever it occurs. A file in which one occurrence
    is shorter than another could make it walk in circles, or along more paths than
    there are atoms.
    """

    def __init__(self, tree: Any):
        self.files: list[tuple[str, str]] = []
        self.trees: list[Any] = []
        self._shapes: dict[Any, int] = {}
        self._known: dict[Any, int] = {}
        self._shape(tree, 0)

    def _shape(self, node: Any, depth: int) -> int:
        """A number for the node and all below it, the same for equal ones."""
        if depth > _DEPTH:
            raise ValueError(f"its description is more than {_DEPTH} levels deep.")
        key: Any = node
        if isinstance(node, list):
            key = (list, *(self._shape(part, depth + 1) for part in node))
        elif isinstance(node, dict):
            key = (dict, *(
                (name, self._shape(part, depth + 1))
                for name, part in node.items()
                if name not in ("__id__", "file")
            ))  # fmt: skip
            if node.get("__loader__") == "TreeNode":
                self.trees.append(node)
            if "file" in node:
                self.files.append((node.get("__loader__", ""), node["file"]))
        shape = self._shapes.setdefault(key, len(self._shapes))
        own = node.get("__id__") if isinstance(node, dict) else None
        if own and self._known.setdefault(own, shape) != shape:
            raise ValueError("its description gives one object twice, in two ways.")
        return shape


def check_model(model: Any) -> None:
    """Refuse a model, or a part of one, whose arrays do not fit together."""
    for part in _parts(model):
        check_indices(part)
        state = getattr(part, "__dict__", None)
        if isinstance(state, dict) and not isinstance(part, type):
            hidden = [n for n in state if isfunction(getattr(type(part), n, None))]
            if hidden:  # such as the one that checks the width of X
                raise ValueError(
                    f"{hidden[0]} of its {type(part).__name__} hides a method."
                )
            wrong = _misfit(state)
            if wrong:
                raise ValueError(
                    f"{wrong} of its {type(part).__name__} does not fit the rest."
                )


def _parts(model: Any) -> Iterator[Any]:
    """The model and all that it holds, each thing once."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | None):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        elif not isinstance(part, type):
            waiting += getattr(part, "__dict__", {}).values()


def _misfit(state: Any) -> str | None:
    """Name of a fitted attribute that does not fit the others, if there is one.

    The names are those of scikit-learn, of our models, and of libsvm and boosted trees,
    whose compiled loops trust all that they are given.
    """
    d, classes = state.get("n_features_in_"), state.get("classes_")
    whole = isinstance(d, int | np.integer) and d >= 0
    if d is not None and not whole:
        return "n_features_in_"
    if isinstance(classes, np.ndarray) and (classes.ndim != 1 or not len(classes)):
        return "classes_"
    labels = len(classes) if isinstance(classes, np.ndarray) else None
    n_scores = {None: None, 2: 1}.get(labels, labels)
    if not whole and {"_state", "_n_support", "_predictors", "tree_"} & state.keys():
        return "n_features_in_"
    return (
        _misfit_of_scores(state, d, labels)
        or ("_n_support" in state and _misfit_of_libsvm(state, d, labels))
        or ("_state" in state and _misfit_of_stream(state, d, n_scores))
        or ("_predictors" in state and _misfit_of_boosting(state, d, n_scores or 1))
        or ("tree_" in state and _misfit_of_grown(state["tree_"], d, state))
        or ("estimators_" in state and _misfit_of_forest(state, d))
        or None
    )


def _misfit_of_scores(state: Any, d: Any, labels: int | None) -> Any:
    """Weights of linear and of kernel models, and what is kept for each feature."""
    wrong = _misfit_of_features(state, d)
    if wrong:
        return wrong
    points, dual = state.get("support_vectors_"), state.get("dual_coef_")
    if points is not None and dual is not None and "_n_support" not in state:
        few = {None, 1, labels} if labels == 2 else {None, labels}
        if not _fits(points, (None, d)):
            return "support_vectors_"
        if not any(_fits(dual, (points.shape[0], k)) for k in few - {None}):
            return "dual_coef_"
    coef, intercept = state.get("coef_"), state.get("intercept_")
    if coef is None:
        return None
    if not (_fits(coef, (d,)) or _fits(coef, (None, d))):
        return "coef_"
    rows = coef.shape[0] if coef.ndim == 2 else 1
    if labels is not None and rows != labels and (labels, rows) != (2, 1):
        return "coef_" if rows > 1 else "classes_"
    sizes = () if intercept is None else np.shape(intercept)
    if sizes not in ((), (1,), (rows,)) or np.asarray(intercept).dtype.kind not in "fi":
        return "intercept_" if intercept is not None else None
    return None


def _misfit_of_stream(state: Any, d: int, k: int | None) -> Any:
    """What an online learner goes on with."""
    stream = state["_state"]
    if isinstance(stream, np.ndarray):  # of RobustPerceptron: weights and their drift
        good = stream.dtype == np.float64 and _fits(stream, (2, k, d + 1))
        return None if good and _fits(state.get("_losses"), (k,)) else "_state"
    for name, part in vars(stream).items():
        shape = (k, d) if name.endswith("w") else (k, 1)
        if name != "t" and not (_fits(part, shape) and part.dtype == np.float64):
            return f"_state.{name}"
    parts = {"w", "b", "scale_w", "scale_b", "lag_w", "lag_b", "t"}
    good = vars(stream).keys() == parts and isinstance(stream.t, int)
    return None if good and stream.t >= 0 else "_state"


def _misfit_of_libsvm(state: Any, d: int, labels: int | None) -> Any:
    """Support vectors of SVC, NuSVC, SVR, NuSVR and OneClassSVM."""
    counts, rows = state["_n_support"], state.get("support_")
    if not _fits(counts, (labels or 2,)) or counts.dtype != np.int32:
        return "_n_support"
    if not _fits(rows, (None,)) or rows.dtype != np.int32:
        return "support_"
    n, k = len(rows), len(counts)
    if counts.min() < 0 or (labels and counts.sum() != n):
        return "_n_support"
    pairs = k * (k - 1) // 2
    points = (0, 0) if state.get("kernel") == "precomputed" else (n, d)
    shapes = {"support_vectors_": points, "_intercept_": (pairs,)}
    shapes |= {"_dual_coef_": (k - 1, n)}
    for name in ("_probA", "_probB"):
        shapes[name] = (pairs,) if np.size(state.get(name)) else (0,)
    for name, shape in shapes.items():
        part = state.get(name)
        if not _fits(part, shape) or part.dtype != np.float64:
            return name
    if points == (0, 0) and (
        state.get("shape_fit_") != (d, d)
        or (n and not 0 <= rows.min() <= rows.max() < d)
    ):
        return "support_"
    dual = state["_dual_coef_"]  # compiled loops read all of it, stored or not
    return "_dual_coef_" if getattr(dual, "nnz", dual.size) != (k - 1) * n else None


def _misfit_of_features(state: Any, d: Any) -> str | None:
    """What is kept for each feature, or for each group of them."""
    groups = state.get("_labels")
    if groups is not None and not _are_groups(groups, state.get("feature_values_"), d):
        return "_labels"
    of_groups = {} if groups is None else {"feature_values_": None}
    for name in ("feature_values_", "missing_in_training_"):
        if name in state and not _fits(state[name], (of_groups.get(name, d),)):
            return name
    return None


def _are_groups(labels: Any, values: Any, d: Any) -> bool:
    """Whether labels of features lead to their group's value: compiled loops rely."""
    if not _fits(labels, (d,)) or labels.dtype.kind not in "iu":
        return False
    legal = (labels >= 0) & (labels < len(np.atleast_1d(values)))
    return _fits(values, (None,)) and bool(legal.all())


def _misfit_of_grown(tree: Any, d: int, state: Any) -> str | None:
    """A tree of scikit-learn; its nodes are checked again, as it has got them."""
    if type(tree).__module__ != "sklearn.tree._tree":
        return "tree_"
    own = tree.__getstate__()
    good = (
        tree.n_features == d
        and tree.n_outputs == state.get("n_outputs_")
        and ("classes_" not in state or _same(tree.n_classes, state.get("n_classes_")))
        and tree.node_count == len(own["nodes"]) == len(own["values"])
        and _depth_of(own["nodes"], d) == tree.max_depth
    )
    return None if good else "tree_"


def _same(counts: Any, own: Any) -> bool:
    return np.array_equal(np.atleast_1d(counts), np.atleast_1d(own))


def _misfit_of_forest(state: Any, d: Any) -> str | None:
    """Trees that get rows unchecked: each must take as many features as the whole."""
    grown = state["estimators_"]
    inner = grown.ravel() if isinstance(grown, np.ndarray) else grown
    if not isinstance(inner, list | tuple | np.ndarray):
        return "estimators_"
    trees = [one for one in inner if hasattr(one, "tree_")]
    if not trees or "estimators_features_" in state:  # these are checked by themselves
        return None
    rounds = state.get("n_trees_per_iteration_")
    if isinstance(grown, np.ndarray) and (grown.ndim != 2 or grown.shape[1] != rounds):
        return "estimators_"
    alike = all(getattr(one, "n_features_in_", None) == d for one in trees)
    return None if alike and len(trees) == len(inner) else "estimators_"


def _misfit_of_boosting(state: Any, d: int, k: int) -> Any:
    """Trees of HistGradientBoosting, without categories, which `save` refuses."""
    # the first two change the columns, the third takes X for numbers of bins
    for name in ("_preprocessor", "is_categorical_", "_in_fit"):
        if state.get(name) is not None:
            return name
    if state.get("n_trees_per_iteration_") != k:
        return "n_trees_per_iteration_"
    baseline, rounds = state.get("_baseline_prediction"), state["_predictors"]
    if not (_fits(baseline, (1, k)) and baseline.dtype == np.float64):
        return "_baseline_prediction"
    if not _is_bin_mapper(vars(state.get("_bin_mapper")), d):
        return "_bin_mapper"
    good = type(rounds) is list and all(
        type(trees) is list
        and len(trees) == k
        and all(_is_tree(vars(tree).get("nodes"), d) for tree in trees)
        for trees in rounds
    )
    return None if good else "_predictors"


def _is_tree(nodes: Any, d: int) -> bool:
    """Whether every path through these nodes ends, at a leaf, within the arrays."""
    if getattr(nodes, "dtype", None) != tree_nodes() or nodes.ndim != 1:
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


def _is_bin_mapper(state: Any, d: int) -> bool:
    """Whether the bins of numbers suit d features; more fits would rely on it."""
    n_bins, edges = state.get("n_bins"), state.get("bin_thresholds_")
    kinds, sizes = state.get("is_categorical_"), state.get("n_bins_non_missing_")
    return (
        isinstance(n_bins, int)
        and 3 <= n_bins <= 256
        and state.get("missing_values_bin_idx_") == n_bins - 1
        and _fits(kinds, (d,))
        and kinds.dtype == np.uint8
        and not kinds.any()
        and _fits(sizes, (d,))
        and isinstance(edges, list)
        and len(edges) == d
        and all(
            _fits(own, (None,)) and own.dtype == np.float64 and len(own) <= n_bins - 2
            for own in edges
        )
        and all(n == len(own) + 1 for n, own in zip(sizes, edges, strict=True))
    )


def _fits(part: Any, shape: tuple[int | None, ...]) -> bool:
    """Whether it is an array or matrix of numbers of that shape; None fits all."""
    kind = getattr(getattr(part, "dtype", None), "kind", "O")
    own = getattr(part, "shape", ())
    return (
        kind in "fiub"
        and len(own) == len(shape)
        and all(n in (None, m) for m, n in zip(own, shape, strict=True))
    )
