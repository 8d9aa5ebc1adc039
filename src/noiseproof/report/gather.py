"""Find out everything that a report shows."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from noiseproof.evaluation.models import read_models, try_out
from noiseproof.evaluation.progress_bar import progress_bar
from noiseproof.report.case import Case
from noiseproof.report.features import places_of, places_of_groups
from noiseproof.report.plan import Plan
from noiseproof.report.sampled import attack_curve, costs_of, deletion_curve
from noiseproof.report.summary import ModelSummary, Series, Summary
from noiseproof.report.whole import Worst, certificates_of, scores_of

__all__ = ["gather"]

_PACKAGES = ("noiseproof", "scikit-learn", "numpy", "scipy", "numba")
_RISK_BUDGETS = (0, 1, 2, 5, 10, 20, 50, 100)  # fixed, so that no bound chooses its own
_ENOUGH = 0.98  # of the rows have changed at the largest budget shown
_POINTS, _ATTACKS = 40, 10  # budgets to show certified accuracy at, and to attack with
_SHOWN = 12  # features and groups of highest cost
_DESCRIBED = 600  # letters of a model's description


def gather(models: Any, X: Any, y: Any, plan: Plan | None = None) -> Summary:
    """Judge fitted models on rows they were not trained on.

    Parameters
    ----------
    models : model, dict of str to model, or list of (str, model)
        Fitted, with `predict`.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows, not those of the training.
    y : array-like of shape (n_samples,)
        True labels or targets.
    plan : Plan, default=None
        The options of `write_report`; None means their defaults.

    Returns
    -------
    summary : Summary
        For `render`, or for JSON by `to_dict`.
    """
    plan = plan or Plan()
    plan.check()
    named = read_models(models)
    case = Case.read(X, y, _scoring(named, y), plan)
    try_out(named, case.X)
    few = case.sample(plan.max_rows)
    steps = len(named) * (np.size(plan.levels) * plan.n_repeats + 2)
    with progress_bar(plan.progress, steps) as tick:
        pairs = []
        for name, model in named.items():
            pairs.append(_judge(name, model, case, few, tick))
            tick()
        budgets = _budgets([worst for _, worst in pairs])
        found = []
        for model, (summary, worst) in zip(named.values(), pairs, strict=True):
            found.append(_certified(summary, worst, *few.seen_by(model), budgets))
            tick()
    return _summary(found, case, len(few.y))


def _scoring(models: Mapping[str, Any], y: Any) -> str:
    """Accuracy for classifiers, R² for regressors; a report is about one kind."""
    found = {_is_regressor(model, np.asarray(y)) for model in models.values()}
    if len(found) > 1:
        raise ValueError("Classifiers and regressors cannot share a report.")
    return "r2" if found.pop() else "accuracy"


def _is_regressor(model: Any, y: NDArray[Any]) -> bool:
    """What the model says about itself, or else whether the targets are fractions."""
    if hasattr(model, "__sklearn_tags__") and (
        is_classifier(model) or is_regressor(model)
    ):
        return bool(is_regressor(model))
    return y.dtype.kind == "f" and bool(np.any(y != np.round(y)))


def _budgets(worst: list[Worst]) -> list[int]:
    """Whole budgets, from 0 to where almost every row of every model has changed."""
    found = [w.certificates.budget for w in worst if w.certificates is not None]
    finite = [budget[np.isfinite(budget)] for budget in found]
    tops = [np.quantile(budget, _ENOUGH) for budget in finite if len(budget)]
    top = int(np.ceil(max(tops, default=1)))
    points = np.linspace(0, top, min(top, _POINTS) + 1)
    return np.unique(np.round(points)).astype(int).tolist()


def _judge(
    name: str, model: Any, case: Case, few: Case, tick: Callable[[], None]
) -> tuple[ModelSummary, Worst]:
    """All about one model but certificates, with the costs of all its features."""
    last, seen = few.seen_by(model)
    columns = places_of(seen.names, few.names)
    groups = case.plan.groups
    parts = {} if groups is None else places_of_groups(groups, columns, few.names)
    deletion = deletion_curve(last, seen, tick)
    scores, recalls = scores_of(name, model, case)
    worst = certificates_of(model, case)
    linear = worst.certificates is not None
    summary = ModelSummary(
        name=name,
        description=_description(model),
        scores=scores,
        recalls=recalls,
        deletion=deletion,
        feature_costs=costs_of(last, seen, columns, linear),
        group_costs=costs_of(last, seen, parts, linear) if parts else {},
        why_uncertified=worst.why_not,
    )
    return summary, worst


def _certified(
    summary: ModelSummary, worst: Worst, last: Any, seen: Case, budgets: list[int]
) -> ModelSummary:
    """The summary with what certificates tell, if there are any."""
    found = worst.certificates
    if found is None:
        return summary
    risky = [budget for budget in _RISK_BUDGETS if budget <= seen.X.shape[1]]
    risks = [found.risk_bound(budget, seen.plan.delta) for budget in risky]
    median = float(np.quantile(found.budget, 0.5, method="lower"))
    return replace(
        summary,
        certified=Series(tuple(budgets), tuple(found.accuracy_at(budgets).tolist())),
        attacked=attack_curve(last, seen, budgets[:: -(-len(budgets) // _ATTACKS)]),
        risk=Series(tuple(risky), tuple(risks)),
        median_budget=median if np.isfinite(median) else None,
        inexact=int(np.count_nonzero(~found.exact)),
        worst_rows=worst.rows,
        n_worst=int(np.count_nonzero(found.budget == found.budget.min())),
    )


def _summary(found: list[ModelSummary], case: Case, curve_rows: int) -> Summary:
    """The whole, with the costs of the dearest features and groups only."""
    plan = case.plan
    features = _dearest([model.feature_costs for model in found])
    groups = _dearest([model.group_costs for model in found])
    models = [
        replace(
            model,
            feature_costs=_only(features, model.feature_costs),
            group_costs=_only(groups, model.group_costs),
        )
        for model in found
    ]
    settings = {"seed": plan.random_state, **(plan.settings or {})}
    return Summary(
        title=plan.title,
        scoring=case.scoring,
        data=case.summary(curve_rows),
        models=tuple(models),
        features=features,
        groups=groups,
        delta=float(plan.delta),
        n_repeats=int(plan.n_repeats),
        deleted=plan.deleted,
        settings={str(name): str(value) for name, value in settings.items()},
        versions=_versions(),
    )


def _dearest(costs: list[Mapping[str, float]]) -> tuple[str, ...]:
    """Names of the highest costs to any model, the dearest first."""
    worst: dict[str, float] = {}
    for one in costs:
        for name, cost in one.items():
            worst[name] = max(cost, worst.get(name, -np.inf))
    return tuple(sorted(worst, key=lambda name: -worst[name])[:_SHOWN])


def _only(names: tuple[str, ...], costs: Mapping[str, float]) -> dict[str, float]:
    return {name: costs[name] for name in names if name in costs}


def _description(model: Any) -> str:
    """The model with its parameters, in one line."""
    text = " ".join(repr(model).split())
    return text if len(text) <= _DESCRIBED else text[:_DESCRIBED] + " ..."


def _versions() -> dict[str, str]:
    """Python and the packages that the numbers depend on."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a source tree
            continue
    return found | {"Python": platform.python_version()}
