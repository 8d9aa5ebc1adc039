"""Robustness curves: the score of a model by the level of a perturbation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from numbers import Integral
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from noiseproof._charts import Chart, Line, Series
from noiseproof._docs import shared_docs
from noiseproof._rows import Container, canonical, contain
from noiseproof.evaluation.linear import check_fate, check_space
from noiseproof.evaluation.models import (
    as_scorer,
    last_step,
    named_in_errors,
    read_models,
    refusing_holes,
    score_name,
    scoring_of,
    try_out,
)
from noiseproof.evaluation.perturbations import Perturbation, as_perturbation
from noiseproof.evaluation.progress import progress_bar
from noiseproof.evaluation.results import Result, half_width
from noiseproof.groups import Groups, column_groups, feature_names, features_behind

Array = NDArray[np.float64]


@shared_docs
def robustness_curve(
    models: Any,
    X: Any,
    y: Any,
    perturb: Any,
    levels: ArrayLike,
    *,
    groups: Any = None,
    scoring: Any = None,
    n_repeats: int = 10,
    random_state: Any = None,
    deleted_as: str = "zero",
    space: str = "input",
    confidence: float = 0.95,
    n_jobs: int | None = None,
    progress: Any = None,
) -> RobustnessCurve:
    """Score fitted models while features go missing, get noisy or are attacked.

    All models see the same perturbed rows, so their scores can be compared pair by
    pair. The same random numbers are used at all levels. This makes curves smooth, and
    the score at one level does not depend on the other levels. Nothing is fitted again.

    Parameters
    ----------
    {models, held out X, true y, perturb}
    levels : array-like of floats
        Levels at which to score the models.
    {groups}
        For "delete_groups", "missing_groups", "mar", "mnar", "outages", and for objects
        that take groups and have none. With space="model", all features that a pipeline
        derives from a column belong to it.
    {scoring}
        A function must not keep X, which the next draw overwrites.
    {n_repeats, any random_state}
        Results do not depend on `n_jobs`.
    {deleted_as}
        A deleted text becomes empty. With "nan", "delete" is the same as "missing".
    {space, confidence, n_jobs}
        Each thread has a copy of X.
    {progress}

    Returns
    -------
    curve : RobustnessCurve
        Scores by model, level and repeat, with means and intervals. `imputed` names the
        models that got column means in place of NaN.

    {See Also: RobustnessCurveDisplay, perturbed_scorer, certify}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from noiseproof import DropoutSVC
    >>> from noiseproof.evaluation import robustness_curve
    >>> X, y = load_digits(return_X_y=True)
    >>> models = [RidgeClassifier(), DropoutSVC(noise=0.2, C=10.0)]
    >>> fitted = {type(m).__name__: m.fit(X[:900] / 16, y[:900]) for m in models}
    >>> robustness_curve(
    ...     fitted, X[900:] / 16, y[900:], "delete", [0, 0.3, 0.6], random_state=0
    ... )
    accuracy by share of values replaced by zero (the model is not told): mean of 10
    draws, 95% interval
    <BLANKLINE>
    level  RidgeClassifier     DropoutSVC
        0    0.887 ± 0.000  0.881 ± 0.000
      0.3    0.628 ± 0.008  0.777 ± 0.007
      0.6    0.384 ± 0.012  0.562 ± 0.010
    """
    named = read_models(models)
    at = _read_levels(levels)
    _check(n_repeats, confidence)
    check_space(space)
    check_fate(deleted_as)
    y = np.asarray(y)
    X = canonical(X if hasattr(X, "shape") else np.asarray(X))
    if scoring is None:
        scoring = scoring_of(next(iter(named.values())), y)
    score = as_scorer(scoring)
    if X.shape[0] != y.shape[0] or not len(y):
        raise ValueError(
            "X and y must have the same number of rows, and at least one; got "
            f"{X.shape[0]} and {y.shape[0]}."
        )
    if groups is not None:
        Groups.read(groups, feature_names(None, X))  # bad groups cost no work
    try_out(named, X)
    stages = stages_of(
        *(named, X, y, perturb, at.tolist()),
        groups=groups, deleted_as=deleted_as, space=space,
    )  # fmt: skip
    perturbation = as_perturbation(perturb)
    deleted_as = perturbation.deleted_as or deleted_as
    seeds = seeds_of(random_state, n_repeats if perturbation.is_random else 1)
    scores = _run(stages, at, seeds, lambda m, Z: score(m, Z, y), n_jobs, progress)
    order = [name for stage in stages for name in stage.models]
    scores = scores[[order.index(name) for name in named]]
    imputed = tuple(n for s in stages if s.imputed for n in s.models)
    return RobustnessCurve(
        *(tuple(named), at, scores, perturbation.label_if(deleted_as)),
        *(score_name(scoring), confidence, imputed),
    )


class CurveRow(NamedTuple):
    """One score, with its model, level and repeat."""

    model: str
    level: float
    repeat: int
    score: float


@dataclass(frozen=True, repr=False, eq=False)
class CurveSummary(Result):
    """Mean scores and their intervals, by model and level."""

    curve: RobustnessCurve

    def _title(self) -> str:
        return self.curve._title()

    def _columns(self) -> dict[str, Any]:
        curve = self.curve
        low, high = curve.interval
        return {
            "model": np.repeat(curve.models, len(curve.levels)),
            "level": np.tile(curve.levels, len(curve.models)),
            "mean": curve.mean.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class RobustnessCurve(Result):
    """Scores of models at each level of a perturbation.

    Parameters
    ----------
    models : tuple of str
        Names of the models.
    levels : array of shape (n_levels,)
        Levels at which the models were scored.
    scores : array of shape (n_models, n_levels, n_repeats)
        All scores. Scores with the same level and repeat are for the same rows.
    label : str
        What a level means.
    scoring : str
        Name of the metric.
    confidence : float
        Confidence level of the intervals.
    imputed : tuple of str
        Names of the models that refuse NaN, and so got column means in its place.

    {See Also: robustness_curve, RobustnessCurveDisplay}
    """

    models: tuple[str, ...]
    levels: Array
    scores: Array
    label: str
    scoring: str
    confidence: float
    imputed: tuple[str, ...] = ()

    @property
    def n_repeats(self) -> int:
        """Number of random draws for each level."""
        return int(self.scores.shape[2])

    @property
    def mean(self) -> Array:
        """Mean score, of shape (n_models, n_levels)."""
        first = self.scores[..., 0]  # where all are equal, so is the mean, exactly
        return np.asarray(first + (self.scores - first[..., None]).mean(axis=2))

    @property
    def interval(self) -> tuple[Array, Array]:
        """Lower and upper ends of the interval of each mean, from Student's t.

        NaN if there is only one repeat, which does not show the spread.
        """
        half = half_width(self.scores, self.confidence)
        return self.mean - half, self.mean + half

    @property
    def rows(self) -> list[CurveRow]:
        """All observations: model, level, repeat, score."""
        columns = self.to_dict()
        return [CurveRow(*row) for row in zip(*columns.values(), strict=True)]

    def summary(self) -> CurveSummary:
        """Summarise the repeats: means and intervals by model and level.

        Returns
        -------
        summary : CurveSummary
            A table with `to_frame()` and `to_dict()`.
        """
        return CurveSummary(self)

    def area(self) -> dict[str, float]:
        """Compute the area under each mean curve, divided by the range of levels.

        Returns
        -------
        area : dict of str to float
            Mean score over the levels, by model (trapezoid rule).
        """
        order = np.argsort(self.levels)
        levels, means = self.levels[order], self.mean[:, order]
        if levels[0] == levels[-1]:
            areas = means.mean(axis=1)
        else:
            areas = np.trapezoid(means, levels, axis=1) / (levels[-1] - levels[0])
        return dict(zip(self.models, areas.tolist(), strict=True))

    def _title(self) -> str:
        what = f"{self.scoring} by {self.label}"
        if self.n_repeats > 1:
            what += f": mean of {self.n_repeats} draws, {self.confidence:.0%} interval"
        return f"{what}\n{self.note}" if self.note else what

    @property
    def note(self) -> str:
        """A sentence about the models that got column means in place of NaN, if any."""
        if not self.imputed:
            return ""
        who = ", ".join(self.imputed)
        return f"Models that refuse NaN, and got column means in its place: {who}."

    def _columns(self) -> dict[str, Any]:
        k, m, r = self.scores.shape
        return {
            "model": np.repeat(self.models, m * r),
            "level": np.tile(np.repeat(self.levels, r), k),
            "repeat": np.tile(np.arange(r), k * m),
            "score": self.scores.ravel(),
        }

    def _overview(self) -> dict[str, Any]:
        """A row for each level, a column for each model: mean ± half the interval."""
        spread = half_width(self.scores, self.confidence)
        columns = {
            name: [
                f"{mean:.3f}" + (f" ± {half:.3f}" if self.n_repeats > 1 else "")
                for mean, half in zip(*pair, strict=True)
            ]
            for name, *pair in zip(self.models, self.mean, spread, strict=True)
        }
        return {"level": [f"{level:g}" for level in self.levels], **columns}

    def _chart(self) -> Chart:
        """Means by level, with intervals if there are several draws."""
        order = np.argsort(self.levels)
        x = self.levels[order].tolist()
        drawn = [self.mean, *(self.interval if self.n_repeats > 1 else ())]
        lines = [
            Line(name, Series(x, *(part[i, order].tolist() for part in drawn)), i)
            for i, name in enumerate(self.models)
        ]
        return Chart(lines, self.label, self.scoring.replace("_", " "))


class Stage(NamedTuple):
    """Models that see the same perturbed rows."""

    rows: Container
    perturbation: Perturbation
    models: dict[str, Any]
    imputed: bool = False  # whether means stand in for NaN

    def informed(self, y: Any) -> Stage:
        """The stage after its perturbation has been given the rows and labels."""
        return self._replace(perturbation=self.perturbation.informed(self.rows, y))

    def draw(self, seed: Any, level: float) -> Any:
        """One draw of the perturbed rows, which no other draw overwrites."""
        return self.perturbation.draw(self.rows.fork(), seed)(level)


def stages_of(
    named: dict[str, Any],
    X: Any,
    y: Any,
    perturb: Any,
    levels: list[float],
    *,
    groups: Any,
    deleted_as: str,
    space: str,
) -> list[Stage]:
    """The rows that each model sees, ready to be perturbed, after all checks."""
    perturbation, columns = as_perturbation(perturb), feature_names(None, X)
    if space == "input" and len(X.shape) == 2:
        perturbation = perturbation.on(columns)  # it may have groups or rates by name
    if groups is not None:
        grouped = perturbation.grouped(
            Groups.read(groups, columns).labels(len(columns))
        )
        perturbation = grouped if space == "input" else perturbation
    deleted_as = perturbation.deleted_as or deleted_as
    stages = _stages(named, X, y, perturbation, space, deleted_as)
    if groups is not None and space == "model":
        stages = [_behind(stage, named, X, groups) for stage in stages]
    for stage in stages:
        stage.perturbation.check(levels, stage.rows, deleted_as)
    return [stage.informed(y) for stage in stages]


def _stages(
    named: dict[str, Any],
    X: Any,
    y: Any,
    perturbation: Perturbation,
    space: str,
    deleted_as: str,
) -> list[Stage]:
    """One stage for the models that accept NaN, and one for those that refuse it.

    With space="model", or for an attack that knows the model, each model has its own.
    """
    if space == "input" and not perturbation.white_box:
        refusing = refusing_holes(named, X) if deleted_as == "nan" else ()
        found = []
        for imputed in (False, True):
            own = {n: m for n, m in named.items() if (n in refusing) is imputed}
            rows = contain(X, "mean" if imputed else deleted_as) if own else None
            found += [] if rows is None else [Stage(rows, perturbation, own, imputed)]
        return found
    found = []
    for name, whole in named.items():
        model, Z = (whole, X) if space == "input" else last_step(whole, X)
        imputed = deleted_as == "nan" and bool(refusing_holes({name: model}, Z))
        rows = contain(Z, "mean" if imputed else deleted_as)
        own = {name: model}
        found.append(Stage(rows, perturbation.against(model, y), own, imputed))
    return found


def _behind(stage: Stage, named: dict[str, Any], X: Any, groups: Any) -> Stage:
    """The stage with groups of the features that a pipeline derives from columns."""
    (name,) = stage.models
    columns, d = feature_names(None, X), stage.rows.numbers().shape[1]
    features = features_behind(named[name], columns, d)
    labels = column_groups(features, columns, groups, rest=True).labels(d)
    return stage._replace(perturbation=stage.perturbation.grouped(labels))


def _run(
    stages: list[Stage],
    levels: Any,
    seeds: list[Any],
    score: Any,
    n_jobs: int | None,
    progress: Any,
) -> Any:
    """Scores of shape (n_models, n_levels, n_repeats)."""
    units = [(seed, level) for seed in seeds for level in levels.tolist()]
    workers = min(effective_n_jobs(n_jobs), len(units))
    shares = np.array_split(np.arange(len(units)), workers)

    def scored(name: str, model: Any, X: Any) -> float:
        with named_in_errors(name):
            return float(score(model, X))

    with progress_bar(progress, len(stages) * len(units)) as tick:

        def work(stage: Stage, share: Any) -> list[list[float]]:
            rows, scores = stage.rows.fork(), []
            for seed, group in groupby((units[i] for i in share), key=itemgetter(0)):
                draw = stage.perturbation.draw(rows, seed)
                for _, level in group:
                    X = draw(level)
                    scores.append([scored(*m, X) for m in stage.models.items()])
                    tick()
            return scores

        jobs = (delayed(work)(stage, share) for stage in stages for share in shares)
        parts = Parallel(n_jobs=workers, prefer="threads")(jobs)
    by_stage = [
        np.concatenate(parts[i : i + workers]).T for i in range(0, len(parts), workers)
    ]
    flat = np.concatenate(by_stage)
    return flat.reshape(len(flat), len(seeds), len(levels)).swapaxes(1, 2)


def seeds_of(random_state: Any, n: int) -> list[np.random.SeedSequence]:
    """One seed per repeat."""
    if isinstance(random_state, np.random.Generator):
        entropy = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        entropy = int(random_state.randint(2**31))
    else:
        entropy = random_state
    return np.random.SeedSequence(entropy).spawn(n)


def _read_levels(levels: ArrayLike) -> Any:
    array = np.array(levels, ndmin=1)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iuf":
        raise ValueError(f"levels must be a list of numbers; got {levels!r}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"levels must be finite; got {levels!r}.")
    return array


def _check(n_repeats: Any, confidence: Any) -> None:
    if not isinstance(n_repeats, Integral) or n_repeats < 1:
        raise ValueError(
            f"n_repeats must be an integer, at least 1; got {n_repeats!r}."
        )
    if not 0 < confidence < 1:
        raise ValueError(
            f"confidence must be between 0 and 1 (exclusive); got {confidence!r}."
        )
