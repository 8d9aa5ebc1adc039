"""What a report finds out from a sample of rows, by predicting again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import RobustnessCurve, feature_fragility, robustness_curve
from noiseproof.report.case import Case
from noiseproof.report.features import Places
from noiseproof.report.summary import Series

__all__ = ["attack_curve", "costs_of", "deletion_curve"]

_PREDICTIONS = 2_000_000  # rows to predict for the costs of a model that is not linear
_LEAST = 200  # rows that a cost is measured on, or it is not measured


def deletion_curve(model: Any, case: Case, tick: Callable[[], None]) -> Series:
    """Score by the share of features that die at random."""
    plan = case.plan
    curve = robustness_curve(
        *(model, case.X, case.y, "delete", np.sort(plan.levels, axis=None)),
        scoring=case.scoring,
        n_repeats=plan.n_repeats,
        random_state=plan.random_state,
        deleted_as=plan.missing,
        n_jobs=plan.n_jobs,
        progress=lambda done, total: tick(),
    )
    return _series(curve)


def attack_curve(model: Any, case: Case, budgets: list[int]) -> Series | None:
    """Accuracy of a linear model under the worst deletion of each budget.

    None if some row has a label that the model does not know: the attack cannot tell
    what to keep it from.
    """
    if not np.isin(case.y, model.classes_).all():
        return None
    curve = robustness_curve(
        model, case.X, case.y, FeatureDeletion(), budgets, progress=False
    )
    return _series(curve)


def costs_of(model: Any, case: Case, places: Places, linear: bool) -> dict[str, float]:
    """What losing each feature, or group of them, costs; nothing if it takes too long.

    A linear model needs no new prediction; others predict all rows once per feature, so
    they see fewer rows where there are many features.
    """
    missing = case.plan.missing
    if not (linear and missing == "zero"):
        at_most = _PREDICTIONS // len(places)
        if at_most < min(_LEAST, len(case.y)):
            return {}
        case = case.sample(at_most)
    groups: dict[str, Any] = {name: own for name, own in places.items() if own}
    if hasattr(case.X, "columns"):  # which might be numbered in another order
        columns = list(case.X.columns)
        groups = {name: [columns[j] for j in own] for name, own in groups.items()}
    found = feature_fragility(
        *(model, case.X, case.y),
        groups=groups,
        scoring=case.scoring,
        deleted_as=missing,
        n_jobs=case.plan.n_jobs,
        progress=False,
    )
    return dict(zip(found.names, found.cost.tolist(), strict=True))


def _series(curve: RobustnessCurve) -> Series:
    """The mean curve of the only model, with its interval unless it has one draw."""
    x, y = tuple(curve.levels.tolist()), tuple(curve.mean[0].tolist())
    if curve.n_repeats == 1:
        return Series(x, y)
    low, high = (tuple(end[0].tolist()) for end in curve.interval)
    return Series(x, y, low, high)
