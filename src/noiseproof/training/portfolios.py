"""The models that `recommend` compares."""

from __future__ import annotations

import warnings
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from noiseproof._docs import shared_docs
from noiseproof._private import _safe_indexing
from noiseproof._rows import canonical, contain, density
from noiseproof.conditionals import Donors, has_words, holes
from noiseproof.estimators import (
    AverageOverMissing,
    ConformalRegressor,
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutRidge,
    ReducedModels,
)
from noiseproof.evaluation import BLEND, Contest, as_perturbation
from noiseproof.groups import Groups, feature_names
from noiseproof.noise import Missing
from noiseproof.tables import TableEncoder
from noiseproof.training.sharing import Memo, encoding_once
from noiseproof.training.targets import task_of

BLENDED = (
    "averaged linear",
    "averaged boosting",
    "averaged forest",
    "averaged kernel machine",
    "boosting on NaN copies",
    "reduced linear",
    "reduced boosting",
)
_FOR_MISSING = (*BLENDED, "KNNImputer + linear")  # of no use without NaN
_DENSE = (  # what follows the linear models, none of which takes sparse rows
    "SimpleImputer + linear",
    "boosting",
    "forest",
    "SimpleImputer + boosting",
    *_FOR_MISSING,
)
_RATES = (None, 0.1, 0.3, 0.5)  # None: training without noise is always tried, too
_WEIGHTS = (0.01, 0.1, 1.0, 10.0)  # C of a logistic regression, 1 / alpha of a ridge
_TREES = 100  # in a forest
_FEW_TREES = 30  # in a forest by which hyperparameters are chosen
_TUNED_BY = 2_000  # rows on which hyperparameters are chosen
# Boosting on few rows: 20 iterations per class with learning rate 0.2 are as good as 50
# with the usual 0.1, and faster. With early stopping the number is a maximum.
_ITERATIONS, _STEEP, _MOST = 20, 0.2, 1_000
_STOPPED_EARLY = 300  # rows from which on boosting stops early
_RARE = 10  # a class with fewer rows has hardly any in the validation set for that
_LARGE = 10_000  # rows from which on trees may have more leaves
# Boosting on incomplete copies of rows cannot stop early, since the validation rows
# would be copies of training rows. On few rows it must stop after fewer iterations than
# usual. On many it learns faster, with larger trees. Without a penalty it diverges
# where classes are rare, as in Soybean.
_COPIED_ROWS = 200_000  # copies for each tree of an iteration; 2 to 8 of each row
_MANY = 5_000
_ON_FEW = {"max_iter": 40, "l2_regularization": 1.0}
_ON_MANY = {"learning_rate": 0.2, "max_leaf_nodes": 63, "l2_regularization": 1.0}
_KERNEL_ROWS = 3_000  # a kernel machine is slow on more
_NEIGHBOUR_ROWS = 3_000  # so is KNNImputer, which compares all pairs of rows
_FEW_PATTERNS = 64  # of missing columns, for each of which a linear model is fitted
_VERY_FEW = 8  # patterns in one draw, for each of which boosting is fitted
_DRAWS, _DRAWN_ROWS, _OF_ONE_ROW = 5, 5_000, 500  # with which patterns are counted
_UNSEEN = 0.02  # patterns are few if no larger share of the rows has one of its own
_CALIBRATED = 3  # folds that calibrate a kernel machine's scores as probabilities


@shared_docs
def portfolio(
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    *,
    groups: Any = None,
    task: str | None = None,
    encoder: Any = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Make the models that `recommend` compares, unfitted, by name.

    How many there are depends on the table and on the perturbation: from 4 linear
    models for sparse rows up to 16. `recommend` adds a blend of some of them, and tells
    which ones are left out, and why.

    Parameters
    ----------
    {raw X, raw y, perturb, level, groups, task, encoder, seed random_state}

    Returns
    -------
    contenders : dict of str to estimator
        For `noiseproof.evaluation.contest`.

    {See Also: recommend}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import portfolio
    >>> sorted(portfolio(*load_wine(return_X_y=True), "missing", 0.5))[-2:]
    ['forest', 'linear without noise']
    """
    classify = (task or task_of(y)) == "classification"
    if groups is not None:
        groups = Groups.read(groups, feature_names(None, X))
    table = TableEncoder() if encoder is None else encoder
    linear = partial(DropoutLogisticRegression, calibrated=True)
    found: dict[str, Any] = {}
    for rate in _RATES:
        name = "linear without noise" if rate is None else f"dropout {rate:g}"
        model = linear(rate) if classify else DropoutRidge(rate)
        found[name] = make_pipeline(table, model)
    if density(X) is not None:  # the other models need dense rows
        return found
    dense = clone(table)
    if "sparse_output" in dense.get_params():
        dense.set_params(sparse_output=False)
    some = _sample(X, y, random_state)
    small = _best(_forests(dense, classify, random_state), *some)
    forest = clone(small[-1]).set_params(n_estimators=_TREES)
    plain = {
        "linear": _best(_linear(table, classify), *some),
        "boosting": make_pipeline(dense, _boosting(y, classify, random_state)),
        "forest": make_pipeline(dense, forest),
    }
    found["SimpleImputer + linear"] = plain["linear"]
    found["boosting"] = plain["boosting"]
    found["forest"] = plain["forest"]
    if holes(X).any():
        fill = SimpleImputer(add_indicator=True)
        behind = make_pipeline(dense, fill, plain["boosting"][-1])
        found["SimpleImputer + boosting"] = behind
    if not is_known(perturb):
        return found
    found |= _averaged(X, y, plain, small, some, random_state)
    found |= _trained_for_holes(X, y, plain, random_state)
    patterns, at_once = _number_of_patterns(X, y, perturb, level, groups)
    if patterns <= _FEW_PATTERNS:
        found["reduced linear"] = ReducedModels(plain["linear"])
        if at_once <= _VERY_FEW:
            found["reduced boosting"] = ReducedModels(plain["boosting"])
    return found


def left_out(contenders: dict[str, Any], X: Any, known: bool) -> dict[str, str]:
    """Models that are not in the portfolio for these rows, with the reasons.

    `known` says whether the models will see which values are missing.
    """
    patterns = "more than {} patterns of missing columns"
    reasons = {
        "SimpleImputer + boosting": "no missing values in the training rows",
        "averaged kernel machine": f"more than {_KERNEL_ROWS:,} rows",
        "KNNImputer + linear": f"more than {_NEIGHBOUR_ROWS:,} rows",
        "reduced linear": patterns.format(_FEW_PATTERNS),
        "reduced boosting": f"{patterns.format(_VERY_FEW)} at a time",
    }
    if not known:
        reasons |= dict.fromkeys(_FOR_MISSING, "values do not become NaN")
    if density(X) is not None:
        reasons |= dict.fromkeys(_DENSE, "X is sparse")
    return {name: reasons[name] for name in _DENSE if name not in contenders}


def _averaged(
    X: Any, y: Any, plain: dict[str, Any], small: Any, some: Any, random_state: Any
) -> dict[str, Any]:
    """Contenders that average over what missing values may have been.

    `small` is the forest with fewer trees, and `some` are rows by which to choose.
    """
    # only the model that is taken in the end needs calibrated intervals
    averaged = partial(AverageOverMissing, random_state=random_state, n_calibration=0)
    averaged = partial(averaged, **_treated(averaged(small), *some))
    found = {f"averaged {name}": averaged(model) for name, model in plain.items()}
    if holes(X).any():
        averaged = partial(averaged, treatment="auto")
        averaged = partial(averaged, **_treated(averaged(plain["linear"]), *some))
        found["averaged linear"] = averaged(plain["linear"])
    if np.shape(X)[0] <= _KERNEL_ROWS:
        scaled = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        kernel = _kernel_machine(y) if is_classifier(plain["linear"]) else scaled
        machine = make_pipeline(plain["linear"][0], SimpleImputer(), kernel)
        found["averaged kernel machine"] = averaged(machine)
    return found


def _trained_for_holes(
    X: Any, y: Any, plain: dict[str, Any], random_state: Any
) -> dict[str, Any]:
    """Boosting on incomplete copies of the rows; a linear model behind KNNImputer."""
    dense, boosting = plain["boosting"]
    rows = np.shape(X)[0]
    classes = len(np.unique(y)) if is_classifier(boosting) else 1
    fixed: Any = {"early_stopping": False, "random_state": random_state}
    trees = type(boosting)(**fixed, **(_ON_FEW if rows < _MANY else _ON_MANY))
    each_step = classes if classes > 2 else 1
    copies = int(np.clip(_COPIED_ROWS // (rows * each_step), 2, 8))
    each = Missing(0.9, by_row=True)
    copied = CorruptedCopies(trees, each, copies, random_state=random_state)
    found = {"boosting on NaN copies": make_pipeline(dense, copied)}
    if rows <= _NEIGHBOUR_ROWS:
        neighbours = make_pipeline(dense, KNNImputer(), plain["linear"][-1])
        found["KNNImputer + linear"] = neighbours
    return found


def _sample(X: Any, y: Any, random_state: Any) -> tuple[Any, Any]:
    """A random sample of rows, on which hyperparameters are chosen."""
    y = np.asarray(y)
    rng = np.random.default_rng(random_state)
    rows = np.sort(rng.permutation(len(y))[:_TUNED_BY])
    return _safe_indexing(X, rows), y[rows]


def _best(models: list[Any], X: Any, y: Any) -> Any:
    """The best model by cross-validation; the first one if that is not possible."""
    scoring = "neg_log_loss" if is_classifier(models[0]) else None
    memo = Memo()
    tried = [encoding_once(model, memo) for model in models]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes with fewer rows than folds
        try:
            scores = [
                cross_val_score(model, X, y, cv=3, scoring=scoring, error_score="raise")
                for model in tried
            ]
        except ValueError:
            return models[0]
    return models[int(np.mean(scores, axis=1).argmax())]


def _linear(table: Any, classify: bool) -> list[Any]:
    """Linear models behind mean imputation, the usual strength of the penalty first.

    Where training rows have missing values, indicator columns mark them.
    """
    fill = SimpleImputer(add_indicator=True)
    plain = [
        LogisticRegression(C=C, max_iter=1000) if classify else Ridge(1 / C)
        for C in sorted(_WEIGHTS, key=lambda C: abs(np.log(C)))
    ]
    return [make_pipeline(table, fill, model) for model in plain]


def _boosting(y: Any, classify: bool, random_state: Any) -> Any:
    """Boosted trees, with early stopping if there are enough rows for it."""
    grown = (
        HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    )
    y = np.asarray(y)
    rare = classify and np.unique(y, return_counts=True)[1].min() < _RARE
    if rare or len(y) < _STOPPED_EARLY:
        return grown(
            learning_rate=_STEEP,
            max_iter=_ITERATIONS,
            early_stopping=False,
            random_state=random_state,
        )
    return grown(
        max_iter=_MOST,
        max_leaf_nodes=31 if len(y) < _LARGE else 63,
        early_stopping=True,
        n_iter_no_change=20,
        random_state=random_state,
    )


def _forests(table: Any, classify: bool, random_state: Any) -> list[Any]:
    """A small random forest and extremely randomised trees."""
    kinds = (
        (RandomForestClassifier, ExtraTreesClassifier)
        if classify
        else (RandomForestRegressor, ExtraTreesRegressor)
    )
    return [
        make_pipeline(table, kind(_FEW_TREES, random_state=random_state))
        for kind in kinds
    ]


def _treated(averaged: Any, X: Any, y: Any) -> dict[str, Any]:
    """Parameters of `AverageOverMissing` that are chosen once for several models.

    These are the conditional and, if training rows have missing values, the treatment.
    Choosing them takes many fits, so quick models (a forest, a linear model) do it.
    """
    words, holed = has_words(X), holes(X).any()
    if words and not holed:  # there is nothing to choose
        return {"conditional": Donors()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(averaged).fit(X, y)
    except ValueError:  # for example, a column is empty in these rows
        return {"conditional": Donors()}
    found = {"conditional": clone(fitted.conditional_)}
    if fitted.treatments_ is not None:
        found["treatment"] = fitted.treatments_.verdict
    return found


def _number_of_patterns(
    X: Any, y: Any, perturb: Any, level: float, groups: Any
) -> tuple[float, int]:
    """How many patterns of missing columns to expect in all, and in one draw.

    The first number is infinite if many patterns were met only once.
    """
    columns = feature_names(None, X)
    some = np.arange(min(len(y), _DRAWN_ROWS))
    X, y = _safe_indexing(X, some), np.asarray(y)[some]
    perturbation = as_perturbation(perturb).on(columns)
    if groups is not None and perturbation.takes_groups:
        perturbation = perturbation.grouped(groups.labels(len(columns)))
    rows = contain(canonical(X), "nan")
    perturbation = perturbation.informed(rows, y)

    def met(rows: Any, seed: Any, own: Any = False) -> Counter[bytes]:
        gone = holes(perturbation.draw(rows, seed)(level)) | own
        return Counter(row.tobytes() for row in np.packbits(gone, axis=1))

    seeds = np.random.SeedSequence(0).spawn(_DRAWS + _OF_ONE_ROW)
    draws = [met(rows, seed) for seed in seeds[:_DRAWS]]
    at_once = max(map(len, draws))
    if not perturbation.rows_alone:  # all rows of a draw may have the same pattern
        own, row = holes(X), contain(np.ones((1, len(columns))), "nan")
        draws = [
            met(row, seed, own[i % len(own)]) for i, seed in enumerate(seeds[_DRAWS:])
        ]
    counts = sum(draws, Counter[bytes]())
    once = sum(n == 1 for n in counts.values())
    return (len(counts) if once <= _UNSEEN * counts.total() else np.inf), at_once


def _kernel_machine(y: Any) -> Any:
    """A kernel machine, with probabilities if each class has enough rows for them."""
    if np.unique(y, return_counts=True)[1].min() < 4 * _CALIBRATED:
        return SVC()
    return CalibratedClassifierCV(SVC(), cv=_CALIBRATED, ensemble=False)


def winner(contenders: dict[str, Any], result: Contest, random_state: Any = 0) -> Any:
    """The recommended model, unfitted. A regressor has prediction intervals.

    Averaging models hold rows out for calibration again, as they do by default.
    """
    names = [result.choice] if result.choice != BLEND else list(result.weights)
    members = [(name, clone(contenders[name])) for name in names]
    weights = [result.weights.get(name, 1.0) for name in names]
    first = members[0][1]
    aside = AverageOverMissing().n_calibration
    if is_classifier(first):
        for _, member in members:
            if hasattr(member, "n_calibration"):
                member.set_params(n_calibration=aside)
        blend = VotingClassifier(members, voting="soft", weights=weights)
        return blend if len(members) > 1 else first
    if len(members) > 1:
        first = VotingRegressor(members, weights=weights)
    elif hasattr(first, "predict_interval"):
        return first.set_params(n_calibration=aside)
    return ConformalRegressor(first, random_state=random_state)


def is_known(perturb: Any, deleted_as: str = "zero") -> bool:
    """Whether values become missing (NaN), so that the model sees which ones."""
    return (as_perturbation(perturb).deleted_as or deleted_as) == "nan"
