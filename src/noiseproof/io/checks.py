"""Checks of loaded models: arrays must fit together, and parameters must be legal.

skops makes only trusted types, but gives them whatever attributes a file names, and
`predict` and the compiled loops below it rely on these. `CHECKS` lists those types of
ours that a file may hold: what has no check cannot be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from inspect import isfunction
from typing import Any
from zoneinfo import available_timezones

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.base import BaseEstimator, is_regressor
from sklearn.compose import ColumnTransformer

from noiseproof import estimators as ours
from noiseproof._conformal import Calibration
from noiseproof._contents import parts
from noiseproof._marginal import OnlineState
from noiseproof._private import LibsvmState, check_parameters
from noiseproof._rows import KeptColumn, KeptRows, check_indices
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
from noiseproof.io.compiled import (
    Conditions,
    State,
    compiled,
    fits,
    n_labels,
    n_scores,
    takes,
)
from noiseproof.noise import MISSINGNESS, NOISES
from noiseproof.serving import FORMS, KINDS, Column, Served
from noiseproof.structured import LinearChain, Multiclass, TokenDeletion
from noiseproof.tables import TableEncoder

_MOST_DRAWS = 10_000  # of a row; a million of them could take gigabytes
_TIMES = (None, "datetime64[us]", "timedelta64[us]")


def check_model(model: Any) -> None:
    """Raise an error if parts of a model do not fit together."""
    for part in parts(model):
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
        wrong = _misfit(part, state)
        if wrong:
            raise ValueError(f"{wrong} of its {kind} does not fit the rest.")


def type_name(kind: Any) -> str:
    """Module and name, as skops writes them."""
    return f"{kind.__module__}.{kind.__name__}"


def _misfit(part: Any, state: State) -> str | None:
    """Name of the first attribute that is absent or does not fit; None if all fit."""
    try:  # one after the other: later conditions rely on those before
        return next((name for name, good in _conditions(part, state) if not good), None)
    except KeyError as error:
        return str(error.args[0])


def _conditions(part: Any, state: State) -> Conditions:
    """The conditions for attributes of these names in any model, then its own."""
    d, classes = state.get("n_features_in_"), state.get("classes_")
    whole = isinstance(d, int | np.integer) and not isinstance(d, bool) and d >= 0
    yield "n_features_in_", whole or ("n_features_in_" not in state)
    if isinstance(classes, np.ndarray):
        yield "classes_", classes.ndim == 1 and len(classes)
    yield from _features(state)
    yield from _scores(state)
    yield from compiled(part, state)
    fitted = any(name.endswith("_") for name in state)
    if fitted or not isinstance(part, BaseEstimator):
        yield from CHECKS.get(type_name(type(part)), _nothing)(state)


# What the names of attributes promise, whoever the model is from


def _features(state: State) -> Conditions:
    """Attributes with a value for each feature, or for each group of features."""
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
    d, labels, coef = state.get("n_features_in_"), n_labels(state), state.get("coef_")
    points, dual = state.get("support_vectors_"), state.get("dual_coef_")
    if points is not None and dual is not None and LibsvmState.of(state) is None:
        few = {labels, n_scores(state)} - {None}
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


# Our own types


def _same_classes(model: Any, classes: Any) -> bool:
    """Whether a model predicts these classes, if it has any."""
    theirs = getattr(model, "classes_", None)
    if isinstance(theirs, list):  # of several outputs
        pairs = isinstance(classes, list) and len(theirs) == len(classes)
        return pairs and all(map(np.array_equal, theirs, classes))
    if theirs is None or classes is None:
        return theirs is classes
    return theirs.dtype == classes.dtype and np.array_equal(theirs, classes)


def _linear(state: State) -> Conditions:
    """The attributes that `_scores` checks must exist."""
    yield "n_features_in_", state["n_features_in_"] is not None
    for name in ("coef_", "intercept_"):
        yield name, np.asarray(state[name]).dtype.kind == "f"


def _labelled(state: State) -> Conditions:
    yield from _linear(state)
    yield "classes_", isinstance(state["classes_"], np.ndarray)


def _online(state: State) -> Conditions:
    """The state with which DropoutSGDClassifier continues training."""
    yield from _labelled(state)
    d, k, stream = state["n_features_in_"], n_scores(state), state["_state"]
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
    """The weights with which RobustPerceptron continues training."""
    yield from _labelled(state)
    d, k = state["n_features_in_"], n_scores(state)
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
    """A meta-estimator around one model."""
    inner = state["estimator_"]
    yield "estimator_", takes(inner, state["n_features_in_"])
    yield "classes_", _same_classes(inner, state.get("classes_"))


def _averaged(state: State) -> Conditions:
    yield from _wrapper(state)
    yield "n_draws", state["n_draws"] <= _MOST_DRAWS
    d, law, linear = state["n_features_in_"], state["conditional_"], state["linear_"]
    yield from _quantiles(state)
    yield from _calibrated(state)
    yield from _treated(state)
    yield "conditional_", hasattr(law, "draws")
    if isinstance(law, Conditional):
        cells = getattr(law, "cells_", None)
        yield "conditional_", isinstance(cells, Cells) and len(cells.names) == d
    if linear is None:
        return
    yield "linear_", isinstance(law, JointGaussian) and isinstance(linear, dict)
    yield "linear_", list(linear) == ["coef", "intercept", "flat", "link"]
    coef, intercept, flat, link = linear.values()
    k = np.shape(intercept)
    yield "linear_", len(k) == 1 and fits(coef, (*k, d)) and fits(intercept, k)
    yield "linear_", flat is False or (flat is True and k == (1,))
    yield "linear_", link in (None, *ours.LINKS)
    if "classes_" in state:
        yield "linear_", k == (n_scores(state),)
        yield "linear_", link is None or (link == "expit") == (k == (1,))


def _quantiles(state: State) -> Conditions:
    """Models of a quantile model at other levels; older files have none."""
    d, levels, models = (
        state["n_features_in_"],
        state.get("levels_", ()),
        state.get("by_level_", []),
    )
    rising = np.diff([0.0, *levels, 1.0]) if type(levels) is tuple else np.zeros(1)
    yield "levels_", (rising > 0).all() and len(levels) != 1
    yield "by_level_", type(models) is list and len(models) == len(levels)
    yield "by_level_", all(takes(model, d) for model in models)
    own = ours.quantile_parameter(state["estimator_"]) if levels else None
    yield "levels_", not levels or (own is not None and 0 < own[1] < 1)


def _calibrated(state: State) -> Conditions:
    """Intervals for as many columns as the model has, or a reason for having none."""
    intervals, d = state.get("intervals_", ""), state["n_features_in_"]
    if isinstance(intervals, str):
        return
    yield "intervals_", isinstance(intervals, ours.Intervals)
    yield "intervals_", takes(intervals.model, d)
    calibration = intervals.calibration
    yield "intervals_", isinstance(calibration, Calibration)
    yield "intervals_", calibration.rows.shape[1] == d
    yield "intervals_", fits(calibration.targets, (None,), np.float64)


def _conformal(state: State) -> Conditions:
    """A meta-estimator around one regressor, and its intervals."""
    yield from _wrapper(state)
    yield "intervals_", "intervals_" in state
    yield from _calibrated(state)


def _treated(state: State) -> Conditions:
    """Members that take the same columns, with weights that sum to one."""
    d, treated = state["n_features_in_"], state.get("treatments_")
    if treated is None:
        return
    yield "treatments_", type(treated) is ours.Treatments
    yield "treatments_", fits(treated.patterns, (None, d), np.bool_)
    yield "treatments_", all(takes(m, d) for m in treated.members.values())
    for member in treated.members.values():
        yield "treatments_", _same_classes(member, state.get("classes_"))


def _treatments(state: State) -> Conditions:
    members = state["members"]
    yield "members", type(members) is dict and len(members)
    for name in ("seen", "new"):
        weights = state[name]
        yield name, type(weights) is dict and len(weights)
        yield name, all(type(key) is str and key in members for key in weights)
        yield name, all(type(w) is float and 0 < w <= 1 for w in weights.values())
        yield name, abs(sum(weights.values()) - 1) < 1e-6
    yield "patterns", fits(state["patterns"], (None, None), np.bool_)
    yield "patterns", len(state["patterns"])
    yield "complete", type(state["complete"]) is str and state["complete"] in members
    yield "reach", type(state["reach"]) is float and 0 <= state["reach"] < np.inf


def _leaving(state: State) -> Conditions:
    """A conditional, and some of its columns."""
    law = state["conditional_"]
    yield "conditional_", isinstance(law, Conditional)
    yield from _columns(state, len(law.cells_.names))


def _columns(state: State, d: int | None = None) -> Conditions:
    columns = state["columns"]
    yield "columns", fits(columns, (None,)) and columns.dtype.kind in "iu"
    yield "columns", ((columns >= 0) & (columns < (d or np.inf))).all()


def _intervals(state: State) -> Conditions:
    yield "model", hasattr(state["model"], "predict")
    yield "calibration", isinstance(state["calibration"], Calibration)


def _calibration(state: State) -> Conditions:
    """Rows with targets, and which of their values are missing."""
    rows, y, labels = (state[name] for name in ("rows", "targets", "labels"))
    yield "rows", isinstance(rows, KeptRows)
    n, d = rows.shape
    yield "targets", fits(y, (n,)) and len(y) and np.isfinite(y).all()
    yield "missing", fits(state["missing"], (n, len(labels)), np.bool_)
    yield "alone", state["alone"] is None or type(state["alone"]) is int
    yield "labels", fits(labels, (d,)) or fits(labels, (0,))
    yield "labels", labels.dtype.kind in "iu" and np.all((labels >= 0) & (labels < d))


def _kept(state: State) -> Conditions:
    """Columns of equal lengths, or one array or matrix of numbers."""
    parts, names, library = (state[name] for name in ("parts", "names", "library"))
    yield "library", library in (None, "pandas", "polars")
    yield "parts", type(parts) is list and parts
    if library is None:
        yield "parts", len(parts) == 1 and fits(parts[0], (None, None))
        yield "names", names is None
        return
    kind = KeptColumn if library == "pandas" else np.ndarray
    yield "parts", all(isinstance(part, kind) for part in parts)
    columns = [getattr(part, "values", part) for part in parts]
    yield "parts", all(np.shape(column) == (len(columns[0]),) for column in columns)
    yield "names", type(names) is list and len(names) == len(parts)
    yield "names", all(isinstance(name, str | int | float) for name in names)


def _kept_column(state: State) -> Conditions:
    values, categories = state["values"], state["categories"]
    yield "values", isinstance(values, np.ndarray) and values.ndim == 1
    yield "dtype", type(state["dtype"]) is str
    yield "ordered", type(state["ordered"]) is bool
    if categories is not None:
        yield "categories", isinstance(categories, KeptColumn)
        yield "values", values.dtype.kind in "iu" and values.min(initial=-1) >= -1
        yield "values", values.max(initial=-1) < len(categories.values)


def _sets(state: State) -> Conditions:
    """Conformal sets: a model, its classes and calibration rows."""
    model, classes, rows = (state[n] for n in ("model", "classes_", "calibration_"))
    yield "model", hasattr(model, "predict" if classes is None else "predict_proba")
    yield "calibration_", isinstance(rows, Calibration)
    yield "calibration_", takes(model, rows.rows.shape[1]) or classes is not None
    known = ("absolute",) if classes is None else ("lac", "aps")
    yield "conformity_score", state["conformity_score"] in known
    if classes is not None:
        yield "classes_", _same_classes(model, classes)
        yield (
            "calibration_",
            np.all((rows.targets >= 0) & (rows.targets < len(classes))),
        )
        yield "calibration_", rows.targets.dtype.kind in "iu"
    coverage = state["coverage"]
    yield "coverage", isinstance(coverage, float) and 0 < coverage < 1
    yield "_seed", type(state["_seed"]) is int and 0 <= state["_seed"] < 2**31


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
    """What both conditionals have learned: columns, and covariances of features."""
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
    yield "rows_", isinstance(rows, KeptRows) and rows.shape[0] and rows.shape[1] == d
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
    numbers, groups = "middle_" in state, state["groups"]
    classes: Any = () if numbers else state["classes_"]
    yield "parts_", type(parts) is list and parts
    for part in parts:
        yield "parts_", fits(part, (None,)) and part.dtype.kind in "iu" and len(part)
    yield "parts_", np.array_equal(np.sort(np.concatenate(parts)), np.arange(d))
    yield "estimators_", type(models) is list and len(models) == len(parts)
    base = state["estimator"]
    yield "estimator", (base is not None and is_regressor(base)) == numbers
    if numbers:
        yield "middle_", type(state["middle_"]) is float
    else:
        yield "classes_", np.array_equal(classes, np.unique(classes))
    for part, model in zip(parts, models, strict=True):
        yield "estimators_", takes(model, len(part)) and type(model) is type(models[0])
        yield "estimators_", is_regressor(model) == numbers
        known = getattr(model, "classes_", classes)
        yield "estimators_", numbers or np.isin(known, classes).all()
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


def _served(state: State) -> Conditions:
    """A model, and the columns of its table."""
    form, width, columns = (state[name] for name in ("form", "width", "columns"))
    target = state["target"]
    yield "target", target is None or type(target) is str
    yield "form", type(form) is str and form in FORMS
    yield "width", type(width) is int and width > 0
    yield "model", takes(state["model"], width)
    yield "columns", type(columns) is list
    yield "columns", len(columns) == (0 if form == "sparse" else width)
    yield "columns", all(type(column) is Column for column in columns)
    names = [str(column.label) for column in columns]
    yield "columns", len(set(names)) == len(names)
    known = getattr(state["model"], "feature_names_in_", names)
    yield "columns", form == "sparse" or list(known) == names


def _column(state: State) -> Conditions:
    """The summary of a column, and the form in which the model gets it."""
    yield "its state", state.keys() == {field.name for field in fields(Column)}
    kind, low, high = state["kind"], state["low"], state["high"]
    yield "label", type(state["label"]) in (str, int)
    yield "kind", type(kind) is str and kind in KINDS
    yield "dtype", type(state["dtype"]) is str and state["dtype"] in KINDS[kind]
    rate, cost = state["missing_rate"], state["absence_cost"]
    yield "missing_rate", rate is None or (type(rate) is float and 0 <= rate <= 1)
    yield "absence_cost", cost is None or type(cost) is float
    for name, end in (("low", low), ("high", high)):
        yield name, end is None or (type(end) is float and np.isfinite(end))
    yield "high", (low is None) == (high is None)
    yield "high", low is None or low <= high
    words, zone = state["words"], state["zone"]
    yield "words", (type(words) is list) if kind == "category" else words is None
    for word in words or ():
        yield "words", type(word) in (str, int, float, bool)
    yield "words", len(set(map(repr, words or ()))) == len(words or ())
    yield "zone", zone is None or (type(zone) is str and zone in available_timezones())
    for name in ("none", "may_be_missing"):
        yield name, type(state[name]) is bool


def _nothing(state: State) -> Conditions:
    """An object that has parameters only, which are checked when they are used."""
    yield from ()


_RULES: dict[type, Callable[[State], Conditions]] = {
    ours.DropoutSVC: _labelled,
    ours.DropoutLogisticRegression: _labelled,
    ours.DropoutRidgeClassifier: _labelled,
    ours.DropoutExponentialClassifier: _labelled,
    ours.DropoutRidge: _linear,
    ours.DropoutPoissonRegressor: _linear,
    ours.DropoutSGDClassifier: _online,
    ours.RobustLPClassifier: _labelled,
    ours.RobustLPRegressor: _linear,
    ours.RobustPerceptron: _perceptron,
    ours.InvariantSVC: _invariant,
    ours.StructuredSVM: _structured,
    ours.CorruptedCopies: _wrapper,
    ours.VirtualExamples: _wrapper,
    ours.VirtualSupportVectors: _wrapper,
    ours.AverageOverMissing: _averaged,
    ours.ReducedModels: _reduced,
    ours.ConformalRegressor: _conformal,
    ours.PartitionEnsemble: _partition,
    Donors: _donors,
    JointGaussian: _gaussian,
    TableEncoder: _encoder,
    Served: _served,
    # parts of fitted models
    OnlineState: _stream,
    Cells: _cells,
    Column: _column,
    FullRegression: _full,
    FactorRegression: _factors,
    ours.Intervals: _intervals,
    ours.Treatments: _treatments,
    ours.Leaving: _leaving,
    ours.Indicators: _columns,
    Calibration: _calibration,
    KeptRows: _kept,
    KeptColumn: _kept_column,
    Multiclass: _multiclass,
    LinearChain: _chain,
    **dict.fromkeys([*NOISES.values(), *ATTACKS.values()], _nothing),
    **dict.fromkeys([*MISSINGNESS.values(), TokenDeletion], _nothing),
}
CHECKS = {type_name(kind): check for kind, check in _RULES.items()}
for name in (  # in searches
    "scorers.PerturbedScorer",
    "scorers.CertifiedScorer",
    "perturbations.MissingColumns",
):
    CHECKS[f"noiseproof.evaluation.{name}"] = _nothing
CHECKS["noiseproof.evaluation.conformal.ConformalSets"] = _sets
