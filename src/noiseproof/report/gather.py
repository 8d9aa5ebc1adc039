"""Find out everything that a report shows.

Certificates are of all rows. Scores, curves and costs are measured on a sample of them
if there are many, and the page says beside them how many rows that were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import permutations
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, recall_score

from noiseproof._charts import Series
from noiseproof._contents import treatment_of
from noiseproof._docs import shared_docs
from noiseproof._pipelines import has_intervals
from noiseproof._private import (
    Interval,
    StrOptions,
    _safe_indexing,
    validate_parameter_constraints,
)
from noiseproof._rows import canonical, contain, density, n_missing
from noiseproof._version import versions
from noiseproof.evaluation import (
    Certificates,
    MissingCost,
    Perturbation,
    as_perturbation,
    certify,
    costliest,
    feature_fragility,
    half_width,
    interval_coverage,
    last_step,
    missing_cost,
    progress_bar,
    read_models,
    robustness_curve,
    scoring_of,
    try_out,
)
from noiseproof.groups import (
    Feature,
    Groups,
    column_groups,
    feature_names,
    features_behind,
)
from noiseproof.report.summary import (
    DataSummary,
    HolesSummary,
    ModelSummary,
    Numbers,
    Summary,
    WorstRow,
)

LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_PROVEN = (
    "A lost feature reads as zero {}. For an ensemble that votes, it is missing (NaN)."
)
_SPACES = {
    "input": "A {gone} in the data, before any step of the model.",
    "model": "A {gone} behind the scalers and encoders of the model.",
}
_GONE = {
    "zero": "deleted feature reads as zero",
    "nan": "missing value becomes NaN (its column's mean if a model refuses NaN)",
}
_LOST = {
    "zero": "values replaced by zero (the model is not told)",
    "nan": "values missing (NaN)",
}
_NEEDS_TOLERANCE = (
    "Certificates of regressors need a tolerance, which a report does not have; use "
    "noiseproof certify --tolerance, or noiseproof.evaluation.certify."
)
_SHARE = "share of "  # how the label of a curve begins
_RISK_BUDGETS = (0, 1, 2, 5, 10, 20, 50, 100)  # fixed, so that no bound chooses its own
_ENOUGH = 0.98  # of the rows have changed at the largest budget shown
_POINTS = 40  # budgets to show certified accuracy at
_SHOWN, _SHOWN_ROWS = 12, 5  # features and groups of highest cost, and worst rows
_DIGITS = 9  # of a confidence that rank rows; the last bits depend on the processor
_FEW = 12  # classes that are shown one by one
_DESCRIBED = 600  # letters of a model's description, or of each part of a blend
_PREDICTIONS = 2_000_000  # rows to predict for the costs of a model that is not linear
_LEAST = 200  # rows that a cost is measured on, or it is not measured
_PAIR = "pair of groups"
_PROMISED = 0.9  # coverage of intervals that are tried
_FEWER = 2_000  # rows that they are tried on, and that the costs of holes are of

_LEGAL: dict[str, list[Any]] = {
    "space": [StrOptions(set(_SPACES))],
    "deleted_as": [StrOptions(set(_GONE))],
    "n_repeats": [Interval(Integral, 1, None, closed="left")],
    "max_rows": [Interval(Integral, 1, None, closed="left")],
    "cost_rows": [Interval(Integral, 1, None, closed="left"), None],
    "delta": [Interval(Real, 0, 1, closed="neither")],
    "random_state": [Integral],  # so that the page can be reproduced
}

_Tick = Callable[[], None]
_Parts = NDArray[np.float64]  # what each row adds to a score, whose mean they are


@shared_docs
@dataclass(frozen=True)
class Plan:
    """The options of `write_report`.

    Parameters
    ----------
    levels : array-like of floats, default=0, 0.1, ..., 0.9
        Shares of features that are lost at random.
    {n_repeats, groups}
    feature_names : list of str, default=None
        Names of the columns of X; None takes those of a frame, or x0, x1, ...
    title : str, default="Robustness report"
        Headline of the page.
    data, target : str or None, default=None
        Names of the data and of the target, for the line below the headline.
    {seed random_state}
    settings : dict, default=None
        What else it takes to reproduce the page, such as the command; shown as it is.
    training_rows : int or None, default=None
        Number of rows the models were trained on, if the page shall tell.
    {delta, space}
        Certificates for missing values are always computed in the model space, where a
        missing feature adds nothing to the score of our models.
    {deleted_as}
        The page says which one it shows.
    perturb : str or Noise, default=None
        What happens to the features on the curve, at levels that are shares, such as
        "mnar", "missing_columns" or `noiseproof.noise.MissingLike(rows)`. None loses
        each value with the same probability.
    max_rows : int, default=20_000
        Scores, curves and costs are measured on at most this many rows, drawn at
        random if there are more; the page says so. Certificates are of all rows.
    cost_rows : int or None, default=None
        The cost of losing each feature is measured on at most this many of those rows;
        None means on all of them. A slow model with many features needs a small number.
    {n_jobs, progress}

    {See Also: gather, write_report}
    """

    levels: ArrayLike = LEVELS
    n_repeats: int = 10
    groups: Any = None
    feature_names: Sequence[str] | None = None
    title: str = "Robustness report"
    data: str | None = None
    target: str | None = None
    random_state: int = 0
    settings: Mapping[str, Any] | None = None
    training_rows: int | None = None
    delta: float = 0.05
    space: str = "input"
    deleted_as: str = "nan"
    perturb: Any = None
    max_rows: int = 20_000
    cost_rows: int | None = None
    n_jobs: int | None = None
    progress: Any = None

    def check(self) -> None:
        """Raise one clear sentence for what the evaluation would not notice at once."""
        validate_parameter_constraints(_LEGAL, vars(self), caller_name="Plan")
        levels = np.asarray(self.levels, dtype=np.float64)
        if not levels.size or not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(
                f"levels are probabilities from 0 to 1; got {self.levels!r}."
            )
        what = self.perturbation
        gone = what.deleted_as or self.deleted_as
        if not (what.in_table and what.label_if(gone).startswith(_SHARE)):
            raise ValueError(
                "perturb must lose a share of the values, as 'mnar', 'missing_columns' "
                f"or a noise such as Missing() does; got {self.perturb!r}."
            )
        if gone != self.deleted_as:
            raise ValueError(
                f"With perturb={self.perturb!r} values are missing, so deleted_as must "
                "be 'nan'."
            )

    @property
    def perturbation(self) -> Perturbation:
        """What happens to the features on the curve."""
        return as_perturbation("delete" if self.perturb is None else self.perturb)


@shared_docs
def gather(models: Any, X: Any, y: Any, plan: Plan | None = None) -> Summary:
    """Evaluate fitted models on rows they were not trained on.

    Parameters
    ----------
    {models, held out X, true y}
    plan : Plan, default=None
        The options; None means their defaults.

    Returns
    -------
    summary : Summary
        For `render`, for a notebook, or for JSON by `to_dict`.

    {See Also: render, write_report}
    """
    plan = plan or Plan()
    plan.check()
    named = read_models(models)
    case = _Case.read(named, X, y, plan)
    try_out(named, case.X)
    few = case.sample(plan.max_rows)
    what, draws = few.perturbation(), plan.n_repeats
    if not what.is_random:
        draws = 1
    found, parts, scores = [], [], []
    steps = len(named) * (np.size(plan.levels) * draws + 2)
    with progress_bar(plan.progress, steps) as tick:
        proofs = [_certified(model, case, tick) for model in named.values()]
        budgets = _budgets(proofs)
        for (name, model), own in zip(named.items(), proofs, strict=True):
            facts = _scores(name, model, few) | _proven(model, case, own, budgets)
            facts["deletion"], by_row, by_draw = _curve(model, few, what, tick)
            linear = isinstance(own, Certificates) and own.deletion_budget is None
            facts |= _all_costs(model, few, linear)
            facts |= _intervals(model, few) | _holes(model, few)
            facts["treatment"] = treatment_of(model)
            found.append(ModelSummary(name, _described(model), **facts))
            parts.append(by_row)
            scores.append(by_draw)
            tick()
    leaders = _leaders(np.array(parts), np.array(scores))
    return _summary(found, leaders, case, few, draws)


@dataclass(frozen=True)
class _Case:
    """Rows, labels and what is asked about them."""

    X: Any
    y: NDArray[Any]
    columns: list[str]
    scoring: str
    plan: Plan

    @classmethod
    def read(cls, models: Mapping[str, Any], X: Any, y: Any, plan: Plan) -> _Case:
        """Rows and labels that fit each other, or one clear sentence."""
        y = np.asarray(y)
        X = canonical(X) if hasattr(X, "shape") else np.asarray(X)
        if len(X.shape) != 2 or y.ndim != 1 or X.shape[0] != len(y) or not len(y):
            raise ValueError(
                "X must be a table and y a column with as many rows, at least one; got "
                f"shapes {tuple(X.shape)} and {y.shape}."
            )
        scoring, *others = {scoring_of(model, y) for model in models.values()}
        if others:
            raise ValueError("Classifiers and regressors cannot share a report.")
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
        return cls(X, y, columns, scoring, plan)

    def sample(self, at_most: int) -> _Case:
        """All rows, or so many of them at random, in their order."""
        if len(self.y) <= at_most:
            return self
        rng = np.random.default_rng(self.plan.random_state)
        rows = np.sort(rng.choice(len(self.y), at_most, replace=False))
        return replace(self, X=_safe_indexing(self.X, rows), y=self.y[rows])

    def perturbation(self) -> Perturbation:
        """What happens to the features on the curve, with all that is known here."""
        plan = self.plan
        found = plan.perturbation
        if plan.space == "model":
            return found
        found = found.on(self.columns)
        if found.takes_groups and plan.groups is not None:
            groups = Groups.read(plan.groups, self.columns)
            found = found.grouped(groups.labels(len(self.columns)))
        rows = contain(self.X, found.deleted_as or plan.deleted_as)
        found.check(np.ravel(plan.levels).tolist(), rows, plan.deleted_as)
        return found.informed(rows, self.y)

    def features(self, model: Any, space: str) -> list[Feature]:
        """The columns, or what the last step of a pipeline gets."""
        if space == "input":
            return [Feature(name, name) for name in self.columns]
        seen = last_step(model, _safe_indexing(self.X, np.arange(1)))[1]
        return features_behind(model, self.columns, seen.shape[1])

    @property
    def proof_space(self) -> str:
        """Where certificates count features, which read as zero there.

        A missing cell does so behind scalers and encoders only; in the data zero would
        be a value like any other.
        """
        return "model" if self.plan.deleted_as == "nan" else self.plan.space


def _described(model: Any) -> str:
    """A model with its parameters; the parts of a blend each on a line of its own."""
    if not isinstance(model, VotingClassifier | VotingRegressor):
        return _shortened(repr(model))
    weights = np.ones(len(model.estimators)) if model.weights is None else model.weights
    shares = np.asarray(weights) / np.sum(weights)
    parts = [
        f"{share:.0%} {name}: {_shortened(repr(part))}"
        for share, (name, part) in zip(shares, model.estimators, strict=True)
    ]
    return "\n".join(["Blend of", *parts])


def _shortened(text: str) -> str:
    """A text in one line, which may be cut."""
    text = " ".join(text.split())
    return text if len(text) <= _DESCRIBED else text[:_DESCRIBED] + " ..."


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


def _curve(
    model: Any, case: _Case, what: Perturbation, tick: _Tick
) -> tuple[Series, _Parts, _Parts]:
    """Scores by level, what the rows add to them, and what the draws do.

    Of shape (levels, rows) and (levels, draws). Where rows lose their values
    independently of each other, the spread of what they add, each the mean of its
    draws, tells of other draws and of other rows at once, and that of the draws counts
    as none. If not, both count.
    """
    plan, means, parts, draws = case.plan, [], [], []
    levels = np.sort(plan.levels, axis=None).tolist()
    for level in levels:
        kept = _RowScores(case.scoring)
        curve = robustness_curve(
            *(model, case.X, case.y, what, [level]),
            groups=plan.groups if plan.space == "model" and what.takes_groups else None,
            scoring=kept,
            n_repeats=plan.n_repeats,
            random_state=plan.random_state,
            deleted_as=plan.deleted_as,
            space=plan.space,
            n_jobs=plan.n_jobs,
            progress=lambda done, total: tick(),
        )
        means.append(float(curve.mean[0, 0]))
        parts.append(kept.mean())
        draws.append(np.zeros(2) if what.rows_alone else curve.scores[0, 0])
    by_row, by_draw = np.array(parts), np.array(draws)
    y, half = np.array(means), np.hypot(half_width(by_row), half_width(by_draw))
    ends: Any = (None, None)
    if not np.isnan(half).any():  # of one row or one draw nothing is known
        ends = tuple((y - half).tolist()), tuple((y + half).tolist())
    return Series(tuple(levels), tuple(means), *ends), by_row, by_draw


def _leaders(parts: _Parts, draws: _Parts) -> tuple[tuple[int, ...], ...]:
    """For each level the best model, and those not clearly behind it.

    Models are compared row by row, and draw by draw.
    """
    found = []
    for own, drawn in zip(parts.swapaxes(0, 1), draws.swapaxes(0, 1), strict=True):
        order = np.argsort(-own.mean(axis=1), kind="stable")
        gaps, by_draw = (part[order[0]] - part[order] for part in (own, drawn))
        reach = np.hypot(half_width(gaps), half_width(by_draw))
        behind = gaps.mean(axis=1) > reach  # never, if there is one row
        found.append(tuple(order[~behind].tolist()))
    return tuple(found)


def _intervals(model: Any, few: _Case) -> dict[str, Any]:
    """How often the intervals of a regressor hold the target, and how wide they are."""
    known = few.plan.deleted_as == "nan" and density(few.X) is None
    if not known or not has_intervals(model):
        return {}
    few = few.sample(_FEWER)
    try:
        found = interval_coverage(
            model, few.X, few.y, _PROMISED, random_state=few.plan.random_state
        )
    except ValueError as refusal:  # such as too few rows to calibrate by
        # its cause does not name the model, which the page does anyway
        return {"why_no_intervals": str(refusal.__cause__ or refusal)}
    (covered,), (error,), (width,) = found.covered, found.error, found.width
    ends = tuple((covered - 2 * error).tolist()), tuple((covered + 2 * error).tolist())
    return {
        "promised": _PROMISED,
        "covered": Series(found.levels, tuple(covered.tolist()), *ends),
        "width": Series(found.levels, tuple(width.tolist())),
    }


def _holes(model: Any, few: _Case) -> dict[str, Any]:
    """What the missing values of the rows cost, if the model averages over them."""
    if density(few.X) is not None or not n_missing(few.X):
        return {}
    try:
        found = missing_cost(
            model, few.X, max_rows=_FEWER, random_state=few.plan.random_state
        )
    except TypeError:  # it does not
        return {}
    if not isinstance(found, MissingCost):
        return {}
    costly = list(found.by_column.items())[:_SHOWN]
    columns = {name: (found.missing[name], *one) for name, one in costly}
    holes = HolesSummary(
        found.scoring,
        tuple(found.score),
        tuple(found.complete_score),
        tuple(found.cost),
        columns,
        found.warnings,
    )
    return {"holes": holes}


def _all_costs(model: Any, few: _Case, linear: bool) -> dict[str, Any]:
    """What losing each feature, each group and each two groups costs."""
    few = few.sample(few.plan.cost_rows or few.plan.max_rows)
    costs: dict[str, Numbers] = {}
    rows: dict[str, int] = {}
    costs["feature"], rows["feature"] = _costs(model, few, None, linear)
    groups = few.plan.groups
    if groups is not None:
        alone, rows["group"] = _costs(model, few, groups, linear)
        costs["group"] = alone
        costs[_PAIR], rows[_PAIR] = _costs(model, few, groups, False, pairs=True)
        costs["alone"] = {
            f"{a} + {b}": alone[a] + alone[b] for a, b in permutations(alone, 2)
        }
    return {"costs": costs, "cost_rows": rows}


def _costs(
    model: Any, case: _Case, groups: Any, linear: bool, pairs: bool = False
) -> tuple[dict[str, float], int]:
    """What losing each column, or group of them, costs; and the rows this comes from.

    A linear model needs no new prediction; others predict all rows once per column, so
    they see fewer rows where there are many columns, and nothing where too few.
    """
    features = case.features(model, case.plan.space)
    if case.plan.space == "model":
        model, X = last_step(model, case.X)
        case = replace(case, X=X)
    together: Any = column_groups(features, case.columns, groups)
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


def _certified(model: Any, case: _Case, tick: _Tick) -> Certificates | str:
    """Certificates of all rows, or why there are none."""
    tick()
    if case.scoring != "accuracy":
        return _NEEDS_TOLERANCE
    try:
        return certify(model, case.X, case.y, space=case.proof_space)
    except TypeError as error:  # not linear, and it says why
        return str(error)


def _lost_at(own: Certificates) -> _Parts:
    """The number of features that must be lost before each prediction can change."""
    return own.budget if own.deletion_budget is None else own.deletion_budget


def _median(budget: _Parts) -> float | None:
    """The median, or None if no deletion changes half of the rows."""
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
    model: Any, case: _Case, found: Certificates, names: list[str]
) -> tuple[WorstRow, ...]:
    """Rows of the surer half that change with the fewest features, surest first.

    Of a row that is a close call anyway it is no news that one feature decides on it.
    """
    sure = _confidence(model, case.X).round(_DIGITS)
    known = not np.isnan(sure).any()
    surer = sure >= np.median(sure) if known else np.ones(len(sure), dtype=bool)
    rows = np.flatnonzero(np.isfinite(found.budget) & surer)
    rows = rows[np.lexsort((-sure[rows], found.budget[rows]))][:_SHOWN_ROWS]
    return tuple(
        WorstRow(
            row=i,
            label=str(case.y[i]),
            prediction=str(found.prediction[i]),
            budget=float(found.budget[i]),
            confidence=float(sure[i]) if known else None,
            features=()
            if found.changes is None
            else tuple(names[j] for j in found.deletion(i)),
        )
        for i in rows.tolist()
    )


def _scores(name: str, model: Any, case: _Case) -> dict[str, Any]:
    """Clean scores by metric, and the recall of each class if there are few."""
    y = case.y
    prediction = np.asarray(model.predict(case.X))
    if prediction.shape != y.shape:
        raise TypeError(
            f"The model {name!r} must predict one value per row; its predict gives "
            f"shape {prediction.shape} for {len(y)} rows."
        )
    if case.scoring == "r2":
        error = float(mean_absolute_error(y, prediction))
        scores = {"r2": float(r2_score(y, prediction)), "mean absolute error": error}
        return {"scores": scores, "recalls": {}}
    labels = np.unique(y)
    recalls = recall_score(y, prediction, labels=labels, average=None, zero_division=0)
    scores = {
        "accuracy": float(accuracy_score(y, prediction)),
        "balanced accuracy": float(np.mean(recalls)),
    }
    by_class = dict(zip(map(str, labels.tolist()), recalls.tolist(), strict=True))
    return {"scores": scores, "recalls": by_class if len(labels) <= _FEW else {}}


def _proven(
    model: Any, case: _Case, own: Certificates | str, budgets: list[int]
) -> dict[str, Any]:
    """What certificates tell about a model, at the same budgets for all models."""
    names = [feature.name for feature in case.features(model, case.proof_space)]
    if isinstance(own, str):
        return {"n_features": len(names), "why_uncertified": own}
    changed = None if own.deletion_budget is None else _median(own.budget)
    own = replace(own, budget=_lost_at(own))
    low = float(own.budget.min())
    # other models may have more features
    risky = [budget for budget in _RISK_BUDGETS if budget <= len(names)]
    risks = [own.risk_bound(budget, case.plan.delta) for budget in risky]
    return {
        "n_features": len(names),
        "certified": Series(tuple(budgets), tuple(own.accuracy_at(budgets).tolist())),
        "risk": Series(tuple(risky), tuple(risks)),
        "median_budget": _median(own.budget),
        "median_changed": changed,
        "inexact": int(np.count_nonzero(~own.exact)),
        "worst_rows": _worst_rows(model, case, own, names),
        "n_worst": int(np.count_nonzero(own.budget == low)),
        "lowest": low if np.isfinite(low) else None,
        "gives_probabilities": hasattr(model, "predict_proba"),
    }


def _budgets(proofs: list[Certificates | str]) -> list[int]:
    """Whole budgets, from 0 to behind where almost every row has changed."""
    found = [_lost_at(own) for own in proofs if isinstance(own, Certificates)]
    finite = [budget[np.isfinite(budget)] for budget in found]
    tops = [np.quantile(budget, _ENOUGH) for budget in finite if len(budget)]
    top = int(np.ceil(max(tops, default=0))) + 1
    points = np.linspace(0, top, min(top, _POINTS) + 1)
    return np.unique(np.round(points)).astype(int).tolist()


def _data(case: _Case, few: _Case) -> DataSummary:
    """The rows that the models were evaluated on."""
    seen = np.unique(few.y, return_counts=True)[1]
    n, d = case.X.shape
    labels, counts = np.unique(case.y, return_counts=True)
    classes = dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True))
    classify = case.scoring == "accuracy"
    return DataSummary(
        rows=n,
        features=d,
        classes=classes if classify else {},
        missing=n_missing(case.X) / (n * d),
        stored=density(case.X),
        curve_rows=len(few.y),
        few_rows=min(len(few.y), _FEWER),
        training_rows=case.plan.training_rows,
        chance=float(seen.max() / len(few.y)) if classify else 0.0,
    )


def _summary(
    models: list[ModelSummary],
    leaders: tuple[tuple[int, ...], ...],
    case: _Case,
    few: _Case,
    draws: int,
) -> Summary:
    """The whole, with the costs of the features and groups that cost most only."""
    plan = case.plan
    costly = {
        kind: costliest(model.costs.get(kind, {}) for model in models)
        for kind in ("feature", "group", _PAIR)
    }
    shown = {kind: tuple(names[:_SHOWN]) for kind, names in costly.items()}
    settings = {"seed": plan.random_state, **(plan.settings or {})}
    raw = plan.space == "input" and plan.deleted_as == "zero"
    where = "in the data" if raw else "behind scalers, where zero means average"
    today = f"{date.today().day} {date.today():%B %Y}"
    about = [plan.data, plan.target and f"target {plan.target}", today]
    return Summary(
        title=plan.title,
        about=" · ".join(filter(None, about)),
        scoring=case.scoring,
        data=_data(case, few),
        models=tuple(replace(m, costs=_only(shown, m.costs)) for m in models),
        leaders=leaders,
        costly=shown,
        tried={kind: len(names) for kind, names in costly.items()},
        delta=float(plan.delta),
        n_repeats=draws,
        deleted=_SPACES[plan.space].format(gone=_GONE[plan.deleted_as]),
        lost=_LOST[plan.deleted_as],
        curve=plan.perturbation.label_if(plan.deleted_as).removeprefix(_SHARE),
        proven=_PROVEN.format(where),
        settings={str(name): str(value) for name, value in settings.items()},
        versions=versions(),
    )


def _only(shown: Mapping[str, tuple[str, ...]], costs: Mapping[str, Numbers]) -> Any:
    """The costs of these features and groups."""
    chosen = {**shown, "alone": shown[_PAIR]}
    return {
        kind: {name: own[name] for name in chosen[kind] if name in own}
        for kind, own in costs.items()
    }
