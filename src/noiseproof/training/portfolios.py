"""The models that compete for a recommendation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from noiseproof._docs import shared_docs
from noiseproof._rows import density
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

BLENDED = ("averaged linear", "averaged boosting", "averaged kernel machine")
_RATES = (None, 0.1, 0.3, 0.5)  # None: training without noise is always tried, too
_ITERATIONS = 50  # of boosting, for each class
_COPIES = 3  # incomplete ones of every row, beside the row itself
_KERNEL_ROWS = 5_000  # more make a kernel machine slow
_NEIGHBOUR_ROWS = 3_000  # and an imputer that compares every row with every other
_FEW_GROUPS = 6  # up to 64 patterns of outages
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
    ['averaged boosting', 'averaged kernel machine']
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
    plain = LogisticRegression(max_iter=1000) if classify else Ridge()
    grown = (
        HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    )
    boosting = grown(max_iter=_ITERATIONS, random_state=random_state)
    filled = make_pipeline(table, SimpleImputer(), plain)
    trees = make_pipeline(table, boosting)
    found["linear behind mean fill"] = filled
    found["boosting"] = trees
    if not is_known(perturb):
        return found
    share = as_perturbation(perturb).on(feature_names(None, X)).mean_share(level)
    found |= _for_missing(X, y, share, filled, trees, groups, random_state)
    return found


def _for_missing(
    X: Any, y: Any, level: float, filled: Any, trees: Any, groups: Any, seed: int
) -> dict[str, Any]:
    """Contenders that know which cells are missing."""
    found: dict[str, Any] = {}
    table, plain, boosting = filled[0], filled[-1], trees[-1]
    classify = is_classifier(plain)
    gone = Missing(min(0.9, level))
    copies = CorruptedCopies(boosting, gone, _COPIES, random_state=seed)
    found["boosting on NaN copies"] = make_pipeline(table, copies)
    # only the one to take needs intervals
    averaged = partial(AverageOverMissing, random_state=seed, n_calibration=0)
    found["averaged linear"] = averaged(filled)
    found["averaged boosting"] = averaged(trees)
    rows = np.shape(X)[0]
    if rows <= _KERNEL_ROWS:
        scaled = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        kernel = _kernel_machine(y) if classify else scaled
        machine = make_pipeline(table, SimpleImputer(), kernel)
        found["averaged kernel machine"] = averaged(machine)
    if rows <= _NEIGHBOUR_ROWS:
        found["linear behind KNNImputer"] = make_pipeline(table, KNNImputer(), plain)
    if groups is not None and len(groups) <= _FEW_GROUPS:
        found["reduced models"] = ReducedModels(filled)
    return found


def _kernel_machine(y: Any) -> Any:
    """A kernel machine with probabilities, if there are rows enough to learn them."""
    if np.unique(y, return_counts=True)[1].min() < 4 * _CALIBRATED:
        return SVC()
    return CalibratedClassifierCV(SVC(), cv=_CALIBRATED, ensemble=False)


def winner(contenders: dict[str, Any], result: Contest, random_state: Any = 0) -> Any:
    """The contender to take, unfitted; a regressor has intervals."""
    names = [result.choice] if result.choice != BLEND else list(result.weights)
    members = [(name, clone(contenders[name])) for name in names]
    weights = [result.weights.get(name, 1.0) for name in names]
    first = members[0][1]
    if is_classifier(first):
        blend = VotingClassifier(members, voting="soft", weights=weights)
        return blend if len(members) > 1 else first
    if len(members) > 1:
        first = VotingRegressor(members, weights=weights)
    elif hasattr(first, "predict_interval"):
        return first.set_params(n_calibration=AverageOverMissing().n_calibration)
    return ConformalRegressor(first, random_state=random_state)


def is_known(perturb: Any, deleted_as: str = "zero") -> bool:
    """Whether cells are missing, and the model knows."""
    return (as_perturbation(perturb).deleted_as or deleted_as) == "nan"
