"""The models that compete for a recommendation."""

from __future__ import annotations

import warnings
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
_RATES = (None, 0.1, 0.3, 0.5)  # None: training without noise is always tried, too
_WEIGHTS = (0.01, 0.1, 1.0, 10.0)  # C of a logistic regression, 1 / alpha of a ridge
_TREES = 100  # of a forest
_TUNED_BY = 2_000  # rows on which constants are chosen
# Iterations of boosting, for each class, where rows are few, and the learning rate: as
# good as 50 at the usual 0.1, and faster. If it stops by itself it does so many at most.
_ITERATIONS, _STEEP, _MOST = 20, 0.2, 1_000
_STOPPED_EARLY = 300  # rows, from which boosting finds its number of iterations
_RARE = 10  # rows of a class that has hardly any among those held out for that
_LARGE = 10_000  # rows for which trees may have more leaves
_COPIED_ROWS = 40_000  # of incomplete copies, for each class, if there are 2 to 8 each
_KERNEL_ROWS = 3_000  # more make a kernel machine slow
_NEIGHBOUR_ROWS = 3_000  # and an imputer that compares every row with every other
_FEW_PATTERNS = 64  # of missing columns, for each of which there is a linear model
_VERY_FEW = 8  # and one of boosting
_DRAWS, _DRAWN_ROWS = 5, 5_000  # by which patterns are counted
_SEEN = 0.98  # share of a draw's rows whose patterns were met before, if they are few
_CALIBRATED = 3  # folds that make probabilities of a kernel machine's scores


@shared_docs
def portfolio(
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    groups: Any = None,
    random_state: Any = 0,
    *,
    encoder: Any = None,
    task: str | None = None,
) -> dict[str, Any]:
    """Return the unfitted models that `recommend` compares, by name.

    Parameters
    ----------
    {raw X, raw y, perturb, level, groups, seed random_state, encoder, task}

    Returns
    -------
    contenders : dict of str to estimator
        For `noiseproof.evaluation.contest`.

    {See Also: recommend}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import portfolio
    >>> sorted(portfolio(*load_wine(return_X_y=True), "missing", 0.5))[:2]
    ['averaged boosting', 'averaged forest']
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
    if density(X) is not None:  # what follows would fill every zero
        return found
    dense = clone(table)
    if "sparse_output" in dense.get_params():
        dense.set_params(sparse_output=False)
    some = _sample(X, y, random_state)
    plain = {
        "linear": _best(_linear(table, classify), *some),
        "boosting": make_pipeline(dense, _boosting(y, classify, random_state)),
        "forest": _best(_forests(dense, classify, random_state), *some),
    }
    found["linear behind mean fill"] = plain["linear"]
    found["boosting"] = plain["boosting"]
    found["forest"] = plain["forest"]
    if holes(X).any():
        fill = SimpleImputer(add_indicator=True)
        behind = make_pipeline(dense, fill, plain["boosting"][-1])
        found["boosting behind mean fill"] = behind
    if not is_known(perturb):
        return found
    found |= _averaged(X, y, plain, some, random_state)
    found |= _trained_for_holes(X, y, plain, random_state)
    patterns = _number_of_patterns(X, y, perturb, level, groups)
    if patterns <= _FEW_PATTERNS:
        found["reduced linear"] = ReducedModels(plain["linear"])
    if patterns <= _VERY_FEW:
        found["reduced boosting"] = ReducedModels(plain["boosting"])
    return found


def _averaged(
    X: Any, y: Any, plain: dict[str, Any], some: tuple[Any, Any], random_state: Any
) -> dict[str, Any]:
    """Contenders that average over what missing values may have been."""
    # only the one to take needs intervals
    averaged = partial(AverageOverMissing, random_state=random_state, n_calibration=0)
    averaged = partial(averaged, **_treated(averaged(plain["forest"]), *some))
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
    """Boosting on incomplete copies of the rows, and an imputer that compares rows."""
    dense, trees = plain["boosting"][0], plain["boosting"][-1]
    rows = np.shape(X)[0]
    classes = len(np.unique(y)) if is_classifier(trees) else 1
    copies = int(np.clip(_COPIED_ROWS // (rows * classes), 2, 8))
    each = Missing(0.9, by_row=True)
    copied = CorruptedCopies(trees, each, copies, random_state=random_state)
    found = {"boosting on NaN copies": make_pipeline(dense, copied)}
    if rows <= _NEIGHBOUR_ROWS:
        neighbours = make_pipeline(dense, KNNImputer(), plain["linear"][-1])
        found["linear behind KNNImputer"] = neighbours
    return found


def _sample(X: Any, y: Any, random_state: Any) -> tuple[Any, Any]:
    """Some rows, on which constants are chosen."""
    y = np.asarray(y)
    rng = np.random.default_rng(random_state)
    rows = np.sort(rng.permutation(len(y))[:_TUNED_BY])
    return _safe_indexing(X, rows), y[rows]


def _best(models: list[Any], X: Any, y: Any) -> Any:
    """The best of some models by cross-validation; the first if none can be judged."""
    scoring = "neg_log_loss" if is_classifier(models[0]) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with hardly any rows
        try:
            scores = [
                cross_val_score(model, X, y, cv=3, scoring=scoring, error_score="raise")
                for model in models
            ]
        except ValueError:
            return models[0]
    return models[int(np.mean(scores, axis=1).argmax())]


def _linear(table: Any, classify: bool) -> list[Any]:
    """Linear models behind an imputer, from strong to weak penalties; first the usual.

    Where training rows have holes, indicators tell them apart.
    """
    fill = SimpleImputer(add_indicator=True)
    plain = [
        LogisticRegression(C=C, max_iter=1000) if classify else Ridge(1 / C)
        for C in sorted(_WEIGHTS, key=lambda C: abs(np.log(C)))
    ]
    return [make_pipeline(table, fill, model) for model in plain]


def _boosting(y: Any, classify: bool, random_state: Any) -> Any:
    """Boosted trees that stop by themselves, if there are rows enough to tell when."""
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
    """Two kinds of forests."""
    kinds = (
        (RandomForestClassifier, ExtraTreesClassifier)
        if classify
        else (RandomForestRegressor, ExtraTreesRegressor)
    )
    return [
        make_pipeline(table, kind(_TREES, random_state=random_state)) for kind in kinds
    ]


def _treated(averaged: Any, X: Any, y: Any) -> dict[str, Any]:
    """What some rows tell about averaging, for all models of a kind.

    The conditional, and how rows are answered if training rows have holes: choosing
    them takes many fits, which a forest and a linear model make quickly.
    """
    words, holed = has_words(X), holes(X).any()
    if words and not holed:  # there is nothing to choose
        return {"conditional": Donors()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(averaged).fit(X, y)
    except ValueError:  # such as a column that holds nothing in these rows
        return {"conditional": Donors()}
    found = {"conditional": clone(fitted.conditional_)}
    if fitted.treatments_ is not None:
        found["treatment"] = fitted.treatments_.verdict
    return found


def _number_of_patterns(
    X: Any, y: Any, perturb: Any, level: float, groups: Any
) -> float:
    """How many patterns of missing columns there will be, if it can be told.

    Without bound if a new draw shows many that were not met before.
    """
    columns = feature_names(None, X)
    some = np.arange(min(len(y), _DRAWN_ROWS))
    X, y = _safe_indexing(X, some), np.asarray(y)[some]
    perturbation = as_perturbation(perturb).on(columns)
    if groups is not None and perturbation.takes_groups:
        perturbation = perturbation.grouped(groups.labels(len(columns)))
    rows = contain(canonical(X), "nan")
    perturbation = perturbation.informed(rows, y)
    met: set[bytes] = set()
    for seed in np.random.SeedSequence(0).spawn(_DRAWS):
        gone = holes(perturbation.draw(rows, seed)(level))
        patterns = [row.tobytes() for row in np.packbits(gone, axis=1)]
        seen = np.mean([pattern in met for pattern in patterns])
        met |= set(patterns)
    return len(met) if seen >= _SEEN else np.inf


def _kernel_machine(y: Any) -> Any:
    """A kernel machine with probabilities, if there are rows enough to learn them."""
    if np.unique(y, return_counts=True)[1].min() < 4 * _CALIBRATED:
        return SVC()
    return CalibratedClassifierCV(SVC(), cv=_CALIBRATED, ensemble=False)


def winner(contenders: dict[str, Any], result: Contest, random_state: Any = 0) -> Any:
    """The contender to take, unfitted; a regressor has intervals.

    Those that average over missing values keep rows aside again, as they do by default.
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
    """Whether cells are missing, and the model knows."""
    return (as_perturbation(perturb).deleted_as or deleted_as) == "nan"
