"""Find out everything that a report shows.

Clean scores and certificates are of all rows, a block at a time. What needs predictions
again and again (curves, attacks, costs) is measured on a sample of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import permutations
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, recall_score
from sklearn.utils import gen_batches

from noiseproof._pipelines import transform, unwrap
from noiseproof._private import _safe_indexing
from noiseproof._rows import canonical, density, n_missing
from noiseproof._version import versions
from noiseproof.evaluation import (
    Certificates,
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

_PROVEN = "A lost feature reads as zero {}; for a model that votes it is missing."
_SPACES = {
    "input": "A {gone} in the data, before any step of the model.",
    "model": "A {gone} behind the scalers and encoders of the model.",
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
_POINTS = 40  # budgets to show certified accuracy at
_SHOWN, _SHOWN_ROWS = 12, 5  # features and groups of highest cost, and worst rows
_FEW = 12  # classes that are shown one by one
_DESCRIBED = 600  # letters of a model's description
_BLOCK = 20_000  # rows at a time, where little beside X shall be in memory
_PREDICTIONS = 2_000_000  # rows to predict for the costs of a model that is not linear
_LEAST = 200  # rows that a cost is measured on, or it is not measured
_PAIR = "pair of groups"
_SURE = 0.975  # two-sided confidence of 95 %

_Tick = Callable[[], None]
_Parts = NDArray[np.float64]  # what each row adds to a score, whose mean they are


@dataclass(frozen=True)
class Plan:
    """The options of `write_report`.

    Parameters
    ----------
    levels : array-like of floats, default=0, 0.1, ..., 0.9
        Shares of features that are lost at random.
    n_repeats : int, default=10
        Draws per level.
    groups : dict of name to list of features, default=None
        Features that fail together, by name or number of their columns in X; or lists
        of features without names, or one label for each column.
    feature_names : list of str, default=None
        Names of the columns of X; None takes those of a frame, or x0, x1, ...
    title : str, default="Robustness report"
        Headline of the page.
    data, target : str or None, default=None
        Names of the data and of the target, for the line below the headline.
    random_state : int, default=0
        Seed of all that is random.
    n_jobs : int or None, default=None
        Threads.
    settings : dict, default=None
        What else it takes to reproduce the page, such as the command; shown as it is.
    training_rows : int or None, default=None
        Number of rows the models were trained on, if the page shall tell.
    delta : float, default=0.05
        Probability that a risk bound may fail.
    space : {"input", "model"}, default="input"
        Whether a pipeline loses cells before its first step, or before its last, where
        behind a scaler zero means average. Certificates of missing cells count what
        the last step gets: to our models a missing feature adds nothing there.
    deleted_as : {"nan", "zero"}, default="nan"
        What a lost cell becomes. "nan": it is missing, so that the model knows, or the
        mean of its column for a model that refuses NaN. "zero": it is deleted, and
        reads as zero. The page says which it shows.
    max_rows : int, default=20_000
        Curves and costs are measured on so many rows, drawn at random if there are
        more; the page tells. Clean scores and certificates are of all rows.
    progress : bool, callable or None, default=None
        None shows a bar to who waits at a terminal for more than two seconds; True
        always, False never. A function is called with (done, total).

    See Also
    --------
    gather : Follows the plan.
    write_report : Does both steps.
    """

    levels: ArrayLike = LEVELS
    n_repeats: int = 10
    groups: Any = None
    feature_names: Sequence[str] | None = None
    title: str = "Robustness report"
    data: str | None = None
    target: str | None = None
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
        The options; None means their defaults.

    Returns
    -------
    summary : Summary
        For `render`, for a notebook, or for JSON by `to_dict`.

    See Also
    --------
    render : Writes what was found as HTML.
    write_report : Does both steps.
    """
    plan = plan or Plan()
    plan.check()
    named = read_models(models)
    case = _Case.read(named, X, y, plan)
    try_out(named, case.X)
    few = case.sample(plan.max_rows)
    steps = len(named) * (np.size(plan.levels) * plan.n_repeats + 2)
    found, proofs, parts = [], [], []
    with progress_bar(plan.progress, steps) as tick:
        for name, model in named.items():
            whole, certificates = _on_all_rows(name, model, case)
            tick()
            measured, own = _on_some_rows(model, few, certificates, tick)
            tick()
            found.append(ModelSummary(name, **whole, **measured))
            proofs.append(certificates)
            parts.append(own)
    models = _proven(found, proofs, plan.delta)
    return _summary(models, _leaders(np.array(parts)), case, len(few.y))


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
        return self.pick(np.sort(rng.choice(len(self.y), at_most, replace=False)))

    def blocks(self) -> Iterator[_Case]:
        """Consecutive rows."""
        return map(self.pick, gen_batches(len(self.y), _BLOCK))

    def pick(self, rows: Any) -> _Case:
        """Some of the rows."""
        return replace(self, X=_safe_indexing(self.X, rows), y=self.y[rows])

    def seen_by(self, model: Any, proof: bool = False) -> tuple[Any, _Case]:
        """The model and the rows in the space where features are deleted.

        A proof counts features that read as zero. A missing cell does so behind scalers
        and encoders only; in the data zero would be a value like any other.
        """
        known = proof and self.plan.deleted_as == "nan"
        if self.plan.space == "input" and not known:
            return model, self
        steps, last = unwrap(model)
        if not steps:
            return last, self
        X = transform(steps, self.X)
        features = features_behind(model, self.columns, X.shape[1])
        return last, replace(self, X=X, features=features)


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


def _on_some_rows(
    model: Any, few: _Case, certificates: Certificates | None, tick: _Tick
) -> tuple[dict[str, Any], _Parts]:
    """The curve and all costs of one model; and what each row adds to the curve."""
    last, seen = few.seen_by(model)
    deletion, parts = _curve(last, seen, tick)
    linear = certificates is not None and certificates.deletion_budget is None
    costs: dict[str, Numbers] = {}
    costs["feature"], cost_rows = _costs(last, seen, None, linear)
    if few.plan.groups is not None:
        alone = costs["group"] = _costs(last, seen, few.plan.groups, linear)[0]
        costs[_PAIR], _ = _costs(last, seen, few.plan.groups, False, pairs=True)
        costs["alone"] = {
            f"{a} + {b}": alone[a] + alone[b] for a, b in permutations(alone, 2)
        }
    found = {
        "n_features": few.pick(slice(1)).seen_by(model, proof=True)[1].X.shape[1],
        "deletion": deletion,
        "costs": costs,
        "cost_rows": cost_rows,
    }
    return found, parts


class _RowScores:
    """A metric that remembers what each row adds to it."""

    def __init__(self, scoring: str):
        self.scoring = scoring
        self.kept: list[_Parts] = []

    def __call__(self, model: Any, X: Any, y: NDArray[Any]) -> float:
        prediction = np.asarray(model.predict(X))
        if self.scoring == "accuracy":
            self.kept.append((prediction == y).astype(np.float64))
            return float(accuracy_score(y, prediction))
        score = float(r2_score(y, prediction))
        spread = (y - y.mean()) ** 2
        # to first order: 1 - Σ error² / Σ spread, of which the rows move both sums
        error = (y - prediction) ** 2 - (1 - score) * spread
        self.kept.append(score - error / (spread.mean() or 1.0))
        return score

    def mean(self) -> _Parts:
        """Over all draws; sorted first, so that threads cannot change the sums."""
        return np.asarray(np.sort(self.kept, axis=0).mean(axis=0))


def _curve(model: Any, case: _Case, tick: _Tick) -> tuple[Series, _Parts]:
    """Scores by level, and what the rows add to them, of shape (levels, rows).

    Rows lose their cells independently of each other. So the spread of what they add,
    each the mean of its draws, tells of other draws and of other rows at once.
    """
    plan, means, parts = case.plan, [], []
    levels = np.sort(plan.levels, axis=None).tolist()
    for level in levels:
        kept = _RowScores(case.scoring)
        curve = robustness_curve(
            *(model, case.X, case.y, "delete", [level]),
            scoring=kept,
            n_repeats=plan.n_repeats,
            random_state=plan.random_state,
            deleted_as=plan.deleted_as,
            n_jobs=plan.n_jobs,
            progress=lambda done, total: tick(),
        )
        means.append(float(curve.mean[0, 0]))
        parts.append(kept.mean())
    found = Series(tuple(levels), tuple(means))
    if len(case.y) > 1:
        y, half = np.array(means), _half_width(np.array(parts))
        found = replace(
            found, low=tuple((y - half).tolist()), high=tuple((y + half).tolist())
        )
    return found, np.array(parts)


def _half_width(parts: _Parts) -> Any:
    """Half of the 95 % interval of a mean over rows, along the last axis."""
    n = parts.shape[-1]
    if n < 2:
        return np.full(parts.shape[:-1], np.inf)
    return stdtrit(n - 1, _SURE) * parts.std(axis=-1, ddof=1) / np.sqrt(n)


def _leaders(parts: _Parts) -> tuple[tuple[int, ...], ...]:
    """For each level the best model, and those not clearly behind it, row by row."""
    found = []
    for own in parts.swapaxes(0, 1):  # models, rows
        order = np.argsort(-own.mean(axis=1), kind="stable")
        gaps = own[order[0]] - own[order]
        near = gaps.mean(axis=1) <= _half_width(gaps)
        found.append(tuple(order[near].tolist()))
    return tuple(found)


def _costs(
    model: Any, case: _Case, groups: Any, linear: bool, pairs: bool = False
) -> tuple[dict[str, float], int]:
    """What losing each column, or group of them, costs; and the rows this comes from.

    A linear model needs no new prediction; others predict all rows once per column, so
    they see fewer rows where there are many columns, and nothing where too few.
    """
    together: Any = column_groups(case.features, case.columns, groups)
    n = len(together) * (len(together) - 1) // 2 if pairs else len(together)
    if not n:  # the model sees nothing of them
        return {}, len(case.y)
    if not linear:
        at_most = _PREDICTIONS // n
        if at_most < min(_LEAST, len(case.y)):
            return {}, 0
        case = case.sample(at_most)
    found = feature_fragility(
        *(model, case.X, case.y),
        groups=together,
        pairs=pairs,
        scoring=case.scoring,
        deleted_as=case.plan.deleted_as,
        n_jobs=case.plan.n_jobs,
        progress=False,
    )
    return dict(zip(found.names, found.cost.tolist(), strict=True)), len(case.y)


def _on_all_rows(
    name: str, model: Any, case: _Case
) -> tuple[dict[str, Any], Certificates | None]:
    """Clean scores and certificates of one model, or why there are none."""
    text = " ".join(repr(model).split())
    scores, recalls = _scores(name, model, case)
    found: dict[str, Any] = {
        "description": text if len(text) <= _DESCRIBED else text[:_DESCRIBED] + " ...",
        "scores": scores,
        "recalls": recalls,
    }
    if case.scoring != "accuracy":
        return found | {"why_uncertified": "Certificates are for classifiers."}, None
    parts, sure = [], []
    for block in case.blocks():
        last, seen = block.seen_by(model, proof=True)
        try:
            # without the features that go, which would fill the memory
            parts.append(replace(certify(last, seen.X, seen.y), changes=None))
        except TypeError as error:  # not linear, and it says why
            return found | {"why_uncertified": str(error)}, None
        sure.append(_confidence(last, seen.X))
    voted = parts[0].deletion_budget is not None
    names = ["budget", "exact", "prediction", "correct", *["deletion_budget"] * voted]
    kept = {one: np.concatenate([getattr(p, one) for p in parts]) for one in names}
    if voted:
        found["median_changed"] = _median(kept["budget"])
        kept["budget"] = kept["deletion_budget"]
    certificates = Certificates(**kept, unit=parts[0].unit)
    found["worst_rows"] = _worst_rows(model, case, certificates, np.concatenate(sure))
    found["gives_probabilities"] = hasattr(last, "predict_proba")
    return found, certificates


def _median(budget: _Parts) -> float | None:
    median = float(np.quantile(budget, 0.5, method="lower"))
    return median if np.isfinite(median) else None


def _confidence(model: Any, X: Any) -> _Parts:
    """The probability of each prediction, or its lead; NaN where there is neither."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)).max(axis=1)
    if not hasattr(model, "decision_function"):
        return np.full(X.shape[0], np.nan)
    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:
        return np.abs(scores)
    top = np.partition(scores, -2, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def _worst_rows(
    model: Any, case: _Case, found: Certificates, sure: _Parts
) -> tuple[WorstRow, ...]:
    """Rows of the surer half that change with the fewest features, surest first.

    Of a row that is a close call anyway it is no news that one feature decides on it.
    """
    known = not np.isnan(sure).any()
    surer = sure >= np.median(sure) if known else np.ones(len(sure), dtype=bool)
    rows = np.flatnonzero(np.isfinite(found.budget) & surer)
    rows = rows[np.lexsort((-sure[rows], found.budget[rows]))][:_SHOWN_ROWS]
    if not len(rows):
        return ()
    last, seen = case.pick(rows).seen_by(model, proof=True)
    again = certify(last, seen.X, seen.y)
    return tuple(
        WorstRow(
            row=int(row),
            label=str(seen.y[i]),
            prediction=str(found.prediction[row]),
            budget=float(found.budget[row]),
            confidence=float(sure[row]) if known else None,
            features=()
            if again.changes is None
            else tuple(seen.features[j].name for j in again.deletion(i)),
        )
        for i, row in enumerate(rows)
    )


def _scores(name: str, model: Any, case: _Case) -> tuple[Numbers, Numbers]:
    """Clean scores by metric, and the recall of each class if there are few."""
    y = case.y
    prediction = np.concatenate(
        [np.asarray(model.predict(block.X)) for block in case.blocks()]
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


def _proven(
    models: list[ModelSummary], proofs: list[Certificates | None], delta: float
) -> list[ModelSummary]:
    """The models with what their certificates tell, at the same budgets for all."""
    budgets = _budgets([one.budget for one in proofs if one is not None])
    found = []
    for model, own in zip(models, proofs, strict=True):
        if own is not None:
            low = float(own.budget.min())
            # other models may have more features
            risky = [budget for budget in _RISK_BUDGETS if budget <= model.n_features]
            risks = [own.risk_bound(budget, delta) for budget in risky]
            holds = own.accuracy_at(budgets).tolist()
            model = replace(
                model,
                certified=Series(tuple(budgets), tuple(holds)),
                risk=Series(tuple(risky), tuple(risks)),
                median_budget=_median(own.budget),
                inexact=int(np.count_nonzero(~own.exact)),
                n_worst=int(np.count_nonzero(own.budget == low)),
                lowest=low if np.isfinite(low) else None,
            )
        found.append(model)
    return found


def _budgets(found: list[_Parts]) -> list[int]:
    """Whole budgets, from 0 to behind where almost every row has changed."""
    finite = [budget[np.isfinite(budget)] for budget in found]
    tops = [np.quantile(budget, _ENOUGH) for budget in finite if len(budget)]
    top = int(np.ceil(max(tops, default=0))) + 1
    points = np.linspace(0, top, min(top, _POINTS) + 1)
    return np.unique(np.round(points)).astype(int).tolist()


def _summary(
    models: list[ModelSummary],
    leaders: tuple[tuple[int, ...], ...],
    case: _Case,
    curve_rows: int,
) -> Summary:
    """The whole, with the costs of the features and groups that cost most only."""
    plan, (n, d) = case.plan, case.X.shape
    costly = {kind: _costly(kind, models) for kind in ("feature", "group", _PAIR)}
    shown = {kind: names[:_SHOWN] for kind, names in costly.items()}
    labels, counts = np.unique(case.y, return_counts=True)
    classes = dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True))
    classify = case.scoring == "accuracy"
    data = DataSummary(
        rows=n,
        features=d,
        classes=classes if classify else {},
        missing=n_missing(case.X) / (n * d),
        stored=density(case.X),
        curve_rows=curve_rows,
        training_rows=plan.training_rows,
        chance=float(counts.max() / n) if classify else 0.0,
    )
    settings = {"seed": plan.random_state, **(plan.settings or {})}
    raw = plan.space == "input" and plan.deleted_as == "zero"
    where = "in the data" if raw else "behind scalers, where zero means average"
    today = f"{date.today().day} {date.today():%B %Y}"
    about = [plan.data, plan.target and f"target {plan.target}", today]
    return Summary(
        title=plan.title,
        about=" · ".join(filter(None, about)),
        scoring=case.scoring,
        data=data,
        models=tuple(replace(m, costs=_only(shown, m.costs)) for m in models),
        leaders=leaders,
        costly=shown,
        tried={kind: len(names) for kind, names in costly.items()},
        delta=float(plan.delta),
        n_repeats=int(plan.n_repeats),
        deleted=_SPACES[plan.space].format(gone=_GONE[plan.deleted_as]),
        lost=_LOST[plan.deleted_as],
        proven=_PROVEN.format(where),
        settings={str(name): str(value) for name, value in settings.items()},
        versions=versions(),
    )


def _costly(kind: str, models: list[ModelSummary]) -> tuple[str, ...]:
    """Names by falling cost to the model that it costs most."""
    worst: dict[str, float] = {}
    for model in models:
        for name, cost in model.costs.get(kind, {}).items():
            worst[name] = max(cost, worst.get(name, -np.inf))
    return tuple(sorted(worst, key=lambda name: -worst[name]))


def _only(shown: Mapping[str, tuple[str, ...]], costs: Mapping[str, Numbers]) -> Any:
    """The costs of these features and groups."""
    chosen = {**shown, "alone": shown[_PAIR]}
    return {
        kind: {name: own[name] for name in chosen[kind] if name in own}
        for kind, own in costs.items()
    }
