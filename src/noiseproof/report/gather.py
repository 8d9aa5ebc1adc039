"""Find out everything that a report shows.

Clean scores and certificates are of all rows, a block at a time. What needs predictions
again and again (curves, attacks, costs) is measured on a sample of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, recall_score
from sklearn.utils import gen_batches

from noiseproof._pipelines import transform, unwrap
from noiseproof._rows import canonical, density, n_missing
from noiseproof._sklearn import _safe_indexing
from noiseproof._version import versions
from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import (
    Certificates,
    RobustnessCurve,
    certify,
    feature_fragility,
    progress_bar,
    read_models,
    robustness_curve,
    try_out,
)
from noiseproof.groups import Feature, column_groups, feature_names, features_behind
from noiseproof.report.summary import (
    DataSummary,
    ModelSummary,
    Numbers,
    Series,
    Summary,
    WorstRow,
)

LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_SPACES = {
    "input": "A {gone} in the data, before any step of the model.",
    "model": "A {gone} as the model proper sees it, behind its scalers and encoders.",
}
_GONE = {
    "zero": "deleted feature reads as zero",
    "nan": "missing cell becomes NaN, or its column's mean if a model refuses NaN,",
}
_LOST = {
    "zero": "features deleted (read as zero)",
    "nan": "cells missing (the model knows)",
}
_RISK_BUDGETS = (0, 1, 2, 5, 10, 20, 50, 100)  # fixed, so that no bound chooses its own
_ENOUGH = 0.98  # of the rows have changed at the largest budget shown
_POINTS, _ATTACKS = 40, 10  # budgets to show certified accuracy at, and to attack with
_SHOWN, _SHOWN_ROWS = 12, 8  # features and groups of highest cost, and worst rows
_FEW = 12  # classes that are shown one by one
_DESCRIBED = 600  # letters of a model's description
_BLOCK = 20_000  # rows at a time, where little beside X shall be in memory
_PREDICTIONS = 2_000_000  # rows to predict for the costs of a model that is not linear
_LEAST = 200  # rows that a cost is measured on, or it is not measured


_Tick = Callable[[], None]


@dataclass(frozen=True)
class Plan:
    """The options of `write_report`, which explains them."""

    levels: ArrayLike = LEVELS
    n_repeats: int = 10
    groups: Any = None
    feature_names: Sequence[str] | None = None
    title: str = "Robustness report"
    random_state: int = 0
    n_jobs: int | None = None
    settings: Mapping[str, Any] | None = None
    training_rows: int | None = None
    delta: float = 0.05
    space: str = "input"
    deleted_as: str = "nan"
    max_rows: int = 20_000
    progress: Any = None

    def check(self) -> None:
        """Raise one clear sentence for what the evaluation would not notice at once."""
        for name, known in (("space", _SPACES), ("deleted_as", _GONE)):
            value = getattr(self, name)
            if value not in known:
                words = " or ".join(map(repr, known))
                raise ValueError(f"{name} must be {words}; got {value!r}.")
        for name in ("n_repeats", "max_rows"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(
                    f"{name} must be a whole number from 1; got {value!r}."
                )
        levels = np.asarray(self.levels, dtype=np.float64)
        if not levels.size or not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(
                f"levels are probabilities from 0 to 1; got {self.levels!r}."
            )
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie within (0, 1); got {self.delta!r}.")
        if not isinstance(self.random_state, Integral):
            raise TypeError(
                "random_state must be a whole number, so that the page can be "
                f"reproduced; got {self.random_state!r}."
            )


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
    case = _Case.read(named, X, y, plan)
    try_out(named, case.X)
    few = case.sample(plan.max_rows)
    steps = len(named) * (np.size(plan.levels) * plan.n_repeats + 2)
    with progress_bar(plan.progress, steps) as tick:
        wholes = []
        for name, model in named.items():
            wholes.append(_whole(name, model, case))
            tick()
        budgets = _budgets([w.certificates for w in wholes if w.certificates])
        found = []
        for (name, model), whole in zip(named.items(), wholes, strict=True):
            found.append(_judge(name, model, whole, budgets, few, tick))
            tick()
    return _summary(found, case, len(few.y))


@dataclass(frozen=True)
class _Case:
    """Rows, labels and what is asked about them."""

    X: Any
    y: NDArray[Any]
    columns: list[str]  # of the table
    features: list[Feature]  # of X, which are the columns until `seen_by` a pipeline
    scoring: str
    plan: Plan

    @classmethod
    def read(cls, models: Mapping[str, Any], X: Any, y: Any, plan: Plan) -> _Case:
        """Rows and labels that fit each other, or one clear sentence."""
        y = np.asarray(y)
        X = canonical(X) if hasattr(X, "shape") else np.asarray(X)
        scoring = _scoring(models, y)
        if len(X.shape) != 2 or y.ndim != 1 or X.shape[0] != len(y) or not len(y):
            raise ValueError(
                "X must be a table and y a column with as many rows, at least one; got "
                f"shapes {tuple(X.shape)} and {y.shape}."
            )
        if scoring == "r2" and len(y) < 2:
            raise ValueError("R² needs at least 2 rows; got 1.")
        names = plan.feature_names
        if names is None:
            names = feature_names(next(iter(models.values())), X)
        if len(names) != X.shape[1]:
            raise ValueError(
                f"feature_names must hold {X.shape[1]} names; got {len(names)}."
            )
        columns = [str(name) for name in names]
        column_groups((), columns, plan.groups)  # bad groups cost no work
        return cls(X, y, columns, [Feature(n, n) for n in columns], scoring, plan)

    def sample(self, at_most: int) -> _Case:
        """All rows, or so many of them at random, in their order."""
        if len(self.y) <= at_most:
            return self
        rng = np.random.default_rng(self.plan.random_state)
        return self._pick(np.sort(rng.choice(len(self.y), at_most, replace=False)))

    def blocks(self) -> Iterator[tuple[int, _Case]]:
        """Consecutive rows, and where they start."""
        for block in gen_batches(len(self.y), _BLOCK):
            yield block.start, self._pick(block)

    def _pick(self, rows: Any) -> _Case:
        return replace(self, X=_safe_indexing(self.X, rows), y=self.y[rows])

    def seen_by(self, model: Any, space: str | None = None) -> tuple[Any, _Case]:
        """The model and the rows in the space where features are deleted."""
        if (space or self.plan.space) == "input":
            return model, self
        steps, last = unwrap(model)
        if not steps:
            return last, self
        X = transform(steps, self.X)
        features = features_behind(model, self.columns, X.shape[1])
        return last, replace(self, X=X, features=features)

    def certified(self, model: Any) -> tuple[Any, _Case]:
        """The model and the rows where what is missing adds nothing to a score."""
        missing = self.plan.deleted_as == "nan"
        return self.seen_by(model, "model" if missing else None)


def _scoring(models: Mapping[str, Any], y: NDArray[Any]) -> str:
    """Accuracy for classifiers, R² for regressors; a report is about one kind."""
    found = {_is_regressor(model, y) for model in models.values()}
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


class _Whole(NamedTuple):
    """What all rows tell of a model: clean scores and certificates, or why not."""

    scores: Numbers
    recalls: Numbers
    certificates: Certificates | None = None
    worst_rows: tuple[WorstRow, ...] = ()
    why_not: str = ""


def _judge(
    name: str, model: Any, whole: _Whole, budgets: list[int], few: _Case, tick: _Tick
) -> ModelSummary:
    """All about one model, with the costs of all its features."""
    plan, certificates = few.plan, whole.certificates
    last, seen = few.seen_by(model)
    curve = robustness_curve(
        *(last, seen.X, seen.y, "delete", np.sort(plan.levels, axis=None)),
        scoring=few.scoring,
        n_repeats=plan.n_repeats,
        random_state=plan.random_state,
        deleted_as=plan.deleted_as,
        n_jobs=plan.n_jobs,
        progress=lambda done, total: tick(),
    )
    text = " ".join(repr(model).split())
    linear, grouped = certificates is not None, plan.groups is not None
    found = ModelSummary(
        name=name,
        description=text if len(text) <= _DESCRIBED else text[:_DESCRIBED] + " ...",
        scores=whole.scores,
        recalls=whole.recalls,
        deletion=_series(curve),
        feature_costs=_costs(last, seen, None, linear),
        group_costs=_costs(last, seen, plan.groups, linear) if grouped else {},
        why_uncertified=whole.why_not,
        worst_rows=whole.worst_rows,
    )
    if certificates is None:
        return found
    return replace(found, **_certified(certificates, *few.certified(model), budgets))


def _series(curve: RobustnessCurve) -> Series:
    """The mean curve of the only model, with its interval unless it has one draw."""
    x, y = tuple(curve.levels.tolist()), tuple(curve.mean[0].tolist())
    if curve.n_repeats == 1:
        return Series(x, y)
    low, high = (tuple(end[0].tolist()) for end in curve.interval)
    return Series(x, y, low, high)


def _costs(model: Any, case: _Case, groups: Any, linear: bool) -> dict[str, float]:
    """What losing each column, or group of them, costs; nothing if it takes too long.

    A linear model needs no new prediction; others predict all rows once per column, so
    they see fewer rows where there are many columns.
    """
    together: Any = column_groups(case.features, case.columns, groups)
    if not len(together):  # the model sees nothing of them
        return {}
    if not (linear and case.plan.deleted_as == "zero"):
        at_most = _PREDICTIONS // len(together)
        if at_most < min(_LEAST, len(case.y)):
            return {}
        case = case.sample(at_most)
    found = feature_fragility(
        *(model, case.X, case.y),
        groups=together,
        scoring=case.scoring,
        deleted_as=case.plan.deleted_as,
        n_jobs=case.plan.n_jobs,
        progress=False,
    )
    return dict(zip(found.names, found.cost.tolist(), strict=True))


def _whole(name: str, model: Any, case: _Case) -> _Whole:
    """Scores, then certificates, a block of rows at a time."""
    scores, recalls = _scores(name, model, case)
    if case.scoring != "accuracy":
        return _Whole(scores, recalls, why_not="Certificates are for classifiers.")
    parts: list[Certificates] = []
    rows: list[WorstRow] = []
    for start, block in case.blocks():
        last, seen = block.certified(model)
        try:
            found = certify(last, seen.X, seen.y)
        except TypeError as error:  # not linear, and it says why
            return _Whole(scores, recalls, why_not=str(error))
        parts.append(found)
        lowest = np.argsort(found.budget, kind="stable")[:_SHOWN_ROWS]
        rows += [
            WorstRow(
                row=int(start + i),
                label=str(seen.y[i]),
                prediction=str(found.prediction[i]),
                budget=float(found.budget[i]),
                features=tuple(seen.features[j].name for j in found.deletion(i)),
            )
            for i in lowest
            if np.isfinite(found.budget[i])
        ]
    rows.sort(key=lambda row: (row.budget, row.row))
    # joined without the features that go, which would fill the memory
    kept = ("budget", "exact", "prediction", "correct")
    whole = {name: np.concatenate([getattr(p, name) for p in parts]) for name in kept}
    joined = Certificates(**whole, unit=parts[0].unit)
    return _Whole(scores, recalls, joined, tuple(rows[:_SHOWN_ROWS]))


def _scores(name: str, model: Any, case: _Case) -> tuple[Numbers, Numbers]:
    """Clean scores by metric, and the recall of each class if there are few."""
    y = case.y
    prediction = np.concatenate(
        [np.asarray(model.predict(block.X)) for _, block in case.blocks()]
    )
    if prediction.shape != y.shape:
        raise TypeError(
            f"The model {name!r} must predict one value per row; its predict gives "
            f"shape {prediction.shape} for {len(y)} rows."
        )
    if case.scoring == "r2":
        error = float(mean_absolute_error(y, prediction))
        return {"r2": float(r2_score(y, prediction)), "mean absolute error": error}, {}
    labels = np.unique(y)
    recalls = recall_score(y, prediction, labels=labels, average=None, zero_division=0)
    scores = {
        "accuracy": float(accuracy_score(y, prediction)),
        "balanced accuracy": float(np.mean(recalls)),
    }
    by_class = dict(zip(map(str, labels.tolist()), recalls.tolist(), strict=True))
    return scores, by_class if len(labels) <= _FEW else {}


def _budgets(found: list[Certificates]) -> list[int]:
    """Whole budgets, from 0 to where almost every row of every model has changed."""
    finite = [one.budget[np.isfinite(one.budget)] for one in found]
    tops = [np.quantile(budget, _ENOUGH) for budget in finite if len(budget)]
    top = int(np.ceil(max(tops, default=1)))
    points = np.linspace(0, top, min(top, _POINTS) + 1)
    return np.unique(np.round(points)).astype(int).tolist()


def _certified(
    found: Certificates, last: Any, seen: _Case, budgets: list[int]
) -> dict[str, Any]:
    """What certificates tell."""
    attacked, d = None, seen.X.shape[1]  # other models may have more features
    if np.isin(seen.y, last.classes_).all():  # else the attack knows not what to avoid
        some = [b for b in budgets[:: -(-len(budgets) // _ATTACKS)] if b <= d]
        attack = (seen.X, seen.y, FeatureDeletion(), some)
        attacked = _series(robustness_curve(last, *attack, progress=False))
    risky = [budget for budget in _RISK_BUDGETS if budget <= d]
    risks = [found.risk_bound(budget, seen.plan.delta) for budget in risky]
    median = float(np.quantile(found.budget, 0.5, method="lower"))
    return {
        "certified": Series(tuple(budgets), tuple(found.accuracy_at(budgets).tolist())),
        "attacked": attacked,
        "risk": Series(tuple(risky), tuple(risks)),
        "median_budget": median if np.isfinite(median) else None,
        "inexact": int(np.count_nonzero(~found.exact)),
        "n_worst": int(np.count_nonzero(found.budget == found.budget.min())),
    }


def _summary(found: list[ModelSummary], case: _Case, curve_rows: int) -> Summary:
    """The whole, with the costs of the dearest features and groups only."""
    plan, (n, d) = case.plan, case.X.shape
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
    labels, counts = np.unique(case.y, return_counts=True)
    classes = dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True))
    data = DataSummary(
        rows=n,
        features=d,
        classes=classes if case.scoring == "accuracy" else {},
        missing=n_missing(case.X) / (n * d),
        stored=density(case.X),
        curve_rows=curve_rows,
        training_rows=plan.training_rows,
    )
    settings = {"seed": plan.random_state, **(plan.settings or {})}
    return Summary(
        title=plan.title,
        scoring=case.scoring,
        data=data,
        models=tuple(models),
        features=features,
        groups=groups,
        delta=float(plan.delta),
        n_repeats=int(plan.n_repeats),
        deleted=_SPACES[plan.space].format(gone=_GONE[plan.deleted_as]),
        lost=_LOST[plan.deleted_as],
        settings={str(name): str(value) for name, value in settings.items()},
        versions=versions(),
    )


def _dearest(costs: list[Numbers]) -> tuple[str, ...]:
    """Names of the highest costs to any model, the dearest first."""
    worst: dict[str, float] = {}
    for one in costs:
        for name, cost in one.items():
            worst[name] = max(cost, worst.get(name, -np.inf))
    return tuple(sorted(worst, key=lambda name: -worst[name])[:_SHOWN])


def _only(names: tuple[str, ...], costs: Numbers) -> dict[str, float]:
    return {name: costs[name] for name in names if name in costs}
