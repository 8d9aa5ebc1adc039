"""What a loaded model must look like: arrays that fit together, legal parameters.

skops makes only trusted types, but gives them whatever attributes a file names, and
`predict` and the compiled loops below it rely on these. `CHECKS` lists those types of
ours that a file may hold: what has no check cannot be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import isfunction
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.compose import ColumnTransformer
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

from noiseproof import estimators as ours
from noiseproof._marginal import OnlineState
from noiseproof._private import (
    BoostingState,
    LibsvmState,
    boosted_nodes,
    check_parameters,
    columns_of_a_tree,
    is_grown,
)
from noiseproof._rows import check_indices
from noiseproof.attacks import ATTACKS
from noiseproof.conditionals import (
    Cells,
    Conditional,
    Donors,
    FactorRegression,
    FullRegression,
    JointGaussian,
)
from noiseproof.groups import Groups
from noiseproof.noise import NOISES, Missing
from noiseproof.structured import LinearChain, Multiclass, TokenDeletion
from noiseproof.tables import TableEncoder

State = Any  # the attributes of a model by name; nobody vouches for their types
Conditions = Iterator[tuple[str, Any]]  # an attribute, and whether it is as it must be

_MOST_DRAWS = 10_000  # of a row; a million of them could take gigabytes
_TIMES = (None, "datetime64[us]", "timedelta64[us]")


class Check(NamedTuple):
    """What a fitted model of a type has, all of it or nothing, and how it fits."""

    kept: tuple[str, ...] = ()
    conditions: Callable[[State], Conditions] = lambda state: iter(())


def check_model(model: Any) -> None:
    """Refuse a model, or a part of one, that does not fit together."""
    for part in _parts(model):
        check_indices(part)
        state = getattr(part, "__dict__", None)
        if not isinstance(state, dict) or isinstance(part, type):
            continue
        kind = type(part).__name__
        hidden = [
            name
            for name in state
            if isfunction(getattr(type(part), name, None))
            or name == "_parameter_constraints"
        ]
        if hidden:  # such as the one that checks the width of X
            raise ValueError(f"{hidden[0]} of its {kind} hides a method.")
        if type_name(type(part)) in CHECKS and hasattr(part, "_parameter_constraints"):
            check_parameters(part)
        # one after the other: later conditions rely on those before
        for name, good in _conditions(part, state):
            if not good:
                raise ValueError(f"{name} of its {kind} does not fit the rest.")


def type_name(kind: Any) -> str:
    """Module and name, as skops writes them."""
    return f"{kind.__module__}.{kind.__name__}"


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


def _conditions(part: Any, state: State) -> Conditions:
    """What any model is held to by the names of its attributes, then its own check."""
    d, classes = state.get("n_features_in_"), state.get("classes_")
    whole = isinstance(d, int | np.integer) and not isinstance(d, bool) and d >= 0
    yield "n_features_in_", whole or ("n_features_in_" not in state)
    if isinstance(classes, np.ndarray):
        yield "classes_", classes.ndim == 1 and len(classes)
    yield from _features(state)
    yield from _scores(state)
    libsvm, boosting = LibsvmState.of(state), BoostingState.of(state)
    if libsvm or boosting or "tree_" in state:
        yield "n_features_in_", whole
    if libsvm:
        yield from _libsvm(state, libsvm)
    if boosting:
        yield from _boosting(state, boosting)
    if "tree_" in state:
        yield "tree_", _is_grown(state["tree_"], state)
    if isinstance(part, _FORESTS):
        yield from _forest(part, state)
    kept, conditions = CHECKS.get(type_name(type(part)), Check())
    if state.keys() & kept:
        yield from ((name, name in state) for name in kept)
        yield from conditions(state)


def fits(part: Any, shape: tuple[int | None, ...], dtype: Any = None) -> bool:
    """Whether it is an array or matrix of numbers of that shape; None fits all."""
    kind = getattr(part, "dtype", np.dtype(object))
    sizes = getattr(part, "shape", ())
    return (
        kind.kind in "fiub"
        and dtype in (None, kind)
        and len(sizes) == len(shape)
        and all(n in (None, m) for m, n in zip(sizes, shape, strict=True))
    )


def _n_labels(state: State) -> int | None:
    classes = state.get("classes_")
    return len(classes) if isinstance(classes, np.ndarray) else None


def _n_scores(state: State) -> int | None:
    """How many scores decide between the classes."""
    labels = _n_labels(state)
    return 1 if labels == 2 else labels


# What the names of attributes promise, whoever the model is from


def _features(state: State) -> Conditions:
    """What is kept for each feature, or for each group of them."""
    d, groups = state.get("n_features_in_"), state.get("_labels")
    values = state.get("feature_values_")
    if groups is not None:
        yield "feature_values_", fits(values, (None,))
        yield "_labels", fits(groups, (d,)) and groups.dtype.kind in "iu"
        yield "_labels", np.all((groups >= 0) & (groups < len(values)))
    elif "feature_values_" in state:
        yield "feature_values_", fits(values, (d,))
    if "missing_in_training_" in state:
        yield "missing_in_training_", fits(state["missing_in_training_"], (d,))


def _scores(state: State) -> Conditions:
    """Weights of linear and of kernel models."""
    d, labels, coef = state.get("n_features_in_"), _n_labels(state), state.get("coef_")
    points, dual = state.get("support_vectors_"), state.get("dual_coef_")
    if points is not None and dual is not None and LibsvmState.of(state) is None:
        few = {labels, _n_scores(state)} - {None}
        yield "support_vectors_", fits(points, (None, d))
        yield "dual_coef_", any(fits(dual, (points.shape[0], k)) for k in few)
    if coef is None:
        return
    yield "coef_", fits(coef, (d,)) or fits(coef, (None, d))
    rows = coef.shape[0] if coef.ndim == 2 else 1
    if labels is not None and rows != labels:
        yield ("coef_" if rows > 1 else "classes_"), (labels, rows) == (2, 1)
    if state.get("intercept_") is not None:
        intercept = np.asarray(state["intercept_"])
        yield "intercept_", intercept.shape in ((), (1,), (rows,))
        yield "intercept_", intercept.dtype.kind in "fi"


def _libsvm(state: State, own: LibsvmState) -> Conditions:
    """Support vectors of SVC, NuSVC, SVR, NuSVR and OneClassSVM."""
    d, labels, rows = state["n_features_in_"], _n_labels(state), state.get("support_")
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


def _boosting(state: State, own: BoostingState) -> Conditions:
    """Trees of HistGradientBoosting, without categories, which `save` refuses."""
    d, k = state["n_features_in_"], _n_scores(state) or 1
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
    """Whether the bins of numbers suit d features; more fits would rely on it."""
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
    """Whether a tree of scikit-learn suits its estimator; its nodes as it has them."""
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


# ensembles of scikit-learn that show rows to their trees unchecked
_BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
_FORESTS = (
    *(RandomForestClassifier, RandomForestRegressor, RandomTreesEmbedding),
    *(ExtraTreesClassifier, ExtraTreesRegressor, IsolationForest, *_BOOSTED),
)


def _forest(forest: Any, state: State) -> Conditions:
    """Each tree takes as many features as it is shown."""
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


# Our own types


def takes(model: Any, d: Any) -> bool:
    """Whether a fitted model takes rows of d features, as far as it says."""
    return hasattr(model, "predict") and getattr(model, "n_features_in_", d) == d


def _same_classes(model: Any, classes: Any) -> bool:
    """Whether a model answers with these classes, if it has any."""
    theirs = getattr(model, "classes_", None)
    if isinstance(theirs, list):  # of several outputs
        pairs = isinstance(classes, list) and len(theirs) == len(classes)
        return pairs and all(map(np.array_equal, theirs, classes))
    if theirs is None or classes is None:
        return theirs is classes
    return theirs.dtype == classes.dtype and np.array_equal(theirs, classes)


def _linear(state: State) -> Conditions:
    """What `_scores` has found to fit together is really there."""
    for name in ("coef_", "intercept_"):
        yield name, np.asarray(state[name]).dtype.kind == "f"


def _labelled(state: State) -> Conditions:
    yield from _linear(state)
    yield "classes_", isinstance(state["classes_"], np.ndarray)


def _online(state: State) -> Conditions:
    """What DropoutSGDClassifier goes on with."""
    yield from _labelled(state)
    d, k, stream = state["n_features_in_"], _n_scores(state), state["_state"]
    yield "_state", isinstance(stream, OnlineState) and np.shape(stream.w) == (k, d)


def _stream(state: State) -> Conditions:
    yield "w", fits(state["w"], (None, None), np.float64)
    k, d = state["w"].shape
    for name in ("scale_w", "lag_w"):
        yield name, fits(state[name], (k, d), np.float64)
    for name in ("b", "scale_b", "lag_b"):
        yield name, fits(state[name], (k, 1), np.float64)
    yield "t", type(state["t"]) is int and state["t"] >= 0


def _perceptron(state: State) -> Conditions:
    """Weights and their drift, which RobustPerceptron goes on with."""
    yield from _labelled(state)
    d, k = state["n_features_in_"], _n_scores(state)
    yield "_state", fits(state["_state"], (2, k, d + 1), np.float64)
    yield "_losses", fits(state["_losses"], (k,))
    if "averaged_" in state:
        yield "averaged_", fits(state["averaged_"], np.shape(state["coef_"]))


def _invariant(state: State) -> Conditions:
    """InvariantSVC has weights, or support vectors and a kernel."""
    yield "classes_", isinstance(state["classes_"], np.ndarray)
    if "coef_" in state:
        yield "intercept_", "intercept_" in state
        yield from _linear(state)
        return
    for name in ("support_vectors_", "dual_coef_"):
        yield name, state.get(name) is not None
    gamma = state.get("gamma_")
    yield "gamma_", isinstance(gamma, float) and 0 <= gamma < np.inf


def _structured(state: State) -> Conditions:
    problem, weights = state["problem_"], state["weights_"]
    yield "weights_", fits(weights, (getattr(problem, "n_weights_", -1),))
    if isinstance(problem, Multiclass):
        d = state.get("n_features_in_")
        yield "problem_", problem.n_weights_ == len(problem.classes_) * d
        yield "classes_", _same_classes(problem, state.get("classes_"))


def _multiclass(state: State) -> Conditions:
    yield "classes_", isinstance(state["classes_"], np.ndarray)


def _chain(state: State) -> Conditions:
    labels, d = state["labels_"], state["n_features_"]
    yield "labels_", isinstance(labels, np.ndarray) and labels.ndim == 1
    yield "n_features_", isinstance(d, int | np.integer) and d >= 0
    yield "n_weights_", state["n_weights_"] == len(labels) * (d + len(labels))


def _wrapper(state: State) -> Conditions:
    """A meta-estimator that passes questions on to one model."""
    inner = state["estimator_"]
    yield "estimator_", takes(inner, state["n_features_in_"])
    yield "classes_", _same_classes(inner, state.get("classes_"))


def _averaged(state: State) -> Conditions:
    yield from _wrapper(state)
    yield "n_draws", state["n_draws"] <= _MOST_DRAWS
    d, law, linear = state["n_features_in_"], state["conditional_"], state["linear_"]
    yield "conditional_", hasattr(law, "draws")
    if isinstance(law, Conditional):
        cells = getattr(law, "cells_", None)
        yield "conditional_", isinstance(cells, Cells) and len(cells.names) == d
    if linear is None:
        return
    yield "linear_", isinstance(law, JointGaussian) and isinstance(linear, dict)
    yield "linear_", linear.keys() == {"coef", "intercept", "flat", "link"}
    coef, k = linear["coef"], np.shape(linear["intercept"])
    yield "linear_", len(k) == 1 and fits(coef, (*k, d)) and fits(coef[:, 0], k)
    yield "linear_", fits(linear["intercept"], k)
    yield (
        "linear_",
        linear["flat"] in (True, False) and (k == (1,) or not linear["flat"]),
    )
    yield "linear_", linear["link"] in (None, *ours.LINKS)
    if "classes_" in state:
        yield "linear_", k[0] == _n_scores(state)
        yield (
            "linear_",
            linear["link"] is None or ((linear["link"] == "expit") == (k == (1,))),
        )


def _cells(state: State) -> Conditions:
    """The columns of a table: names, kinds, words, means and scales."""
    names, words, times = state["names"], state["words"], state["times"]
    yield "names", type(names) is list and all(type(name) is str for name in names)
    d = len(names)
    yield "words", type(words) is list and len(words) == d
    for own in words:
        good = isinstance(own, np.ndarray) and own.dtype == object and own.ndim == 1
        yield "words", own is None or (good and len(own))
    yield "times", type(times) is list and len(times) == d
    yield "times", all(unit in _TIMES for unit in times)
    for name in ("means", "scales", "low", "high"):
        yield name, fits(state[name], (d,)) and np.isfinite(state[name]).all()
    yield "scales", (state["scales"] > 0).all()
    sizes = [1 if own is None else len(own) for own in words]
    owner, is_number = state["owner"], state["is_number"]
    yield "owner", fits(owner, (sum(sizes),)) and owner.dtype.kind in "iu"
    yield "owner", np.array_equal(owner, np.repeat(np.arange(d), sizes))
    yield "is_number", fits(is_number, (d,), bool)
    yield "is_number", is_number.tolist() == [own is None for own in words]


def _law(state: State) -> Conditions:
    """What both conditionals learn: columns, and covariances of their features."""
    cells, regression = state["cells_"], state["regression_"]
    yield "cells_", isinstance(cells, Cells)
    yield "regression_", isinstance(regression, FullRegression | FactorRegression)
    full = isinstance(regression, FullRegression)
    width = len(regression.covariance if full else regression.rest)
    yield "regression_", width == len(cells.owner)


def _donors(state: State) -> Conditions:
    yield from _law(state)
    cells, rows, bandwidth = state["cells_"], state["rows_"], state["bandwidth_"]
    yield "rows_", fits(rows, (None, len(cells.names))) and rows.dtype.kind == "f"
    yield "rows_", len(rows) and np.isfinite(rows).all()
    for j in np.flatnonzero(~cells.is_number):
        places = rows[:, j]
        yield "rows_", places.min() >= 0 and places.max() < len(cells.words[j])
        yield "rows_", np.all(places == np.floor(places))
    yield "bandwidth_", isinstance(bandwidth, float) and 0 < bandwidth < np.inf


def _gaussian(state: State) -> Conditions:
    yield from _law(state)
    yield "cells_", state["cells_"].is_number.all()


def _full(state: State) -> Conditions:
    covariance = state["covariance"]
    p = np.shape(covariance)[0] if np.ndim(covariance) else 0
    yield "covariance", p and fits(covariance, (p, p), np.float64)
    yield "covariance", np.isfinite(covariance).all()
    yield "covariance", np.allclose(covariance, covariance.T)
    smallest, largest = eigvalsh(covariance)[[0, -1]]
    yield "covariance", smallest > -1e-9 * largest


def _factors(state: State) -> Conditions:
    factors, rest = state["factors"], state["rest"]
    yield "rest", fits(rest, (None,), np.float64) and np.isfinite(rest).all()
    yield "rest", (rest > 0).all()
    yield "factors", fits(factors, (len(rest), None), np.float64)
    yield "factors", factors.shape[1] and np.isfinite(factors).all()


def _reduced(state: State) -> Conditions:
    yield from _wrapper(state)
    d, rows, y = state["n_features_in_"], state["rows_"], state["targets_"]
    yield "rows_", fits(rows, (None, d)) and len(rows)
    yield "targets_", isinstance(y, np.ndarray) and y.shape[:1] == rows.shape[:1]
    if "classes_" in state and y.ndim == 1:
        yield "targets_", np.isin(y, state["classes_"]).all()
    weights, models, others = (state[n] for n in ("weights_", "models_", "others_"))
    yield "weights_", weights is None or fits(weights, rows.shape[:1])
    yield "models_", type(models) is dict and len(models) <= state["max_patterns"]
    for key, model in models.items():
        yield "models_", type(key) is str and len(key) == d and set(key) <= {*"01"}
        yield "models_", takes(model, max(key.count("1"), 1))
        yield "models_", _same_classes(model, state.get("classes_"))
    yield "others_", others is None or type(others) is ours.AverageOverMissing
    yield "others_", others is None or takes(others, d)


def _partition(state: State) -> Conditions:
    """Each feature has one vote, and each group of features as well."""
    d, parts, models = (state[n] for n in ("n_features_in_", "parts_", "estimators_"))
    classes, groups = state["classes_"], state["groups"]
    yield "parts_", type(parts) is list and parts
    for part in parts:
        yield "parts_", fits(part, (None,)) and part.dtype.kind in "iu" and len(part)
    yield "parts_", np.array_equal(np.sort(np.concatenate(parts)), np.arange(d))
    yield "estimators_", type(models) is list and len(models) == len(parts)
    yield "classes_", np.array_equal(classes, np.unique(classes))
    for part, model in zip(parts, models, strict=True):
        yield "estimators_", takes(model, len(part)) and type(model) is type(models[0])
        yield "estimators_", np.isin(getattr(model, "classes_", classes), classes).all()
    if groups is not None:
        names = state.get("feature_names_in_", [f"x{j}" for j in range(d)])
        label = Groups.read(groups, list(names)).labels(d)
        vote = np.concatenate([[p] * len(part) for p, part in enumerate(parts)])
        vote = vote[np.argsort(np.concatenate(parts))]
        pairs = np.unique(np.stack([label, vote]), axis=1)
        yield "groups", pairs.shape[1] == label.max() + 1


def _encoder(state: State) -> Conditions:
    d, coerced = state["n_features_in_"], state["coerced_"]
    yield "encoder_", hasattr(state["encoder_"], "transform")
    for name in ("text_columns_", "empty_columns_", "coerced_", "missing_rates_"):
        yield name, type(state[name]) is list
    if "feature_names_in_" not in state:
        return
    names = state["feature_names_in_"]
    yield "feature_names_in_", isinstance(names, np.ndarray) and names.shape == (d,)
    known = set(names.tolist())
    yield "feature_names_in_", all(type(name) is str for name in known)
    yield "encoder_", isinstance(state["encoder_"], ColumnTransformer)
    _, (_, _, texts) = state["encoder_"].transformers_[:2]
    yield "text_columns_", state["text_columns_"] == texts
    yield "empty_columns_", known.issuperset(state["empty_columns_"])
    yield "missing_rates_", all(len(pair) == 2 for pair in state["missing_rates_"])
    yield "coerced_", all(len(how) == 3 and how[0] in known for how in coerced)


_LINEAR = ("n_features_in_", "coef_", "intercept_")
_LABELLED = (*_LINEAR, "classes_")
_WRAPPED = ("n_features_in_", "estimator_")
_RULES: dict[type, Check] = {
    **dict.fromkeys(
        [
            *(ours.DropoutSVC, ours.DropoutLogisticRegression),
            *(ours.DropoutRidgeClassifier, ours.DropoutExponentialClassifier),
            ours.RobustLPClassifier,
        ],
        Check(_LABELLED, _labelled),
    ),
    **dict.fromkeys(
        [ours.DropoutRidge, ours.DropoutPoissonRegressor], Check(_LINEAR, _linear)
    ),
    ours.DropoutSGDClassifier: Check((*_LABELLED, "_state"), _online),
    ours.RobustPerceptron: Check((*_LABELLED, "_state", "_losses"), _perceptron),
    ours.InvariantSVC: Check(("n_features_in_", "classes_"), _invariant),
    ours.StructuredSVM: Check(("problem_", "weights_"), _structured),
    **dict.fromkeys(
        [ours.CorruptedCopies, ours.VirtualExamples, ours.VirtualSupportVectors],
        Check(_WRAPPED, _wrapper),
    ),
    ours.AverageOverMissing: Check((*_WRAPPED, "conditional_", "linear_"), _averaged),
    ours.ReducedModels: Check(
        (*_WRAPPED, "rows_", "targets_", "weights_", "models_", "others_"), _reduced
    ),
    ours.PartitionEnsemble: Check(
        ("n_features_in_", "classes_", "parts_", "estimators_"), _partition
    ),
    Donors: Check(("cells_", "regression_", "rows_", "bandwidth_"), _donors),
    JointGaussian: Check(("cells_", "regression_"), _gaussian),
    TableEncoder: Check(
        (
            *("n_features_in_", "encoder_", "text_columns_", "empty_columns_"),
            *("coerced_", "missing_rates_"),
        ),
        _encoder,
    ),
    # parts of fitted models
    OnlineState: Check(
        ("w", "b", "scale_w", "scale_b", "lag_w", "lag_b", "t"), _stream
    ),
    Cells: Check(
        (
            *("names", "words", "times", "means", "scales", "low", "high"),
            *("owner", "is_number"),
        ),
        _cells,
    ),
    FullRegression: Check(("covariance",), _full),
    FactorRegression: Check(("factors", "rest"), _factors),
    Multiclass: Check(("classes_", "n_weights_"), _multiclass),
    LinearChain: Check(("labels_", "n_features_", "n_weights_"), _chain),
    # nothing but parameters, which are checked wherever they are used
    **dict.fromkeys(
        [*NOISES.values(), *ATTACKS.values(), Missing, TokenDeletion], Check()
    ),
}
CHECKS = {type_name(kind): check for kind, check in _RULES.items()}
CHECKS["noiseproof.evaluation.scorers.PerturbedScorer"] = Check()  # parameters, too
