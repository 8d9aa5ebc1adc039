"""Which of several models to take, if this is what will happen to the features."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from noiseproof._charts import dot_strip, swatch
from noiseproof._docs import shared_docs
from noiseproof._private import _safe_indexing
from noiseproof._rows import canonical, contain
from noiseproof.evaluation.blending import BLEND, soft_predictions, stored, weights_on
from noiseproof.evaluation.curves import robustness_curve
from noiseproof.evaluation.models import as_scorer, score_name
from noiseproof.evaluation.perturbations import Perturbation, as_perturbation
from noiseproof.evaluation.progress import progress_bar
from noiseproof.evaluation.results import Result
from noiseproof.groups import Groups, feature_names

Scores = NDArray[np.float64]


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class Contest(Result):
    """What `contest` returns: scores by contender and fold, and what they cost.

    Parameters
    ----------
    contenders : tuple of str
        Names, in the order given.
    clean, damaged : array of shape (n_contenders, n_folds)
        Score on the held-out rows as they are, and after what was expected.
    fit_seconds, predict_seconds : array of shape (n_contenders,)
        Mean time of a fit, and of a prediction for 1,000 damaged rows.
    failed : dict of str to str
        Contenders that could not be fitted or asked, with the reason.
    expected : str
        What happened to the held-out rows.
    metric : str
        Name of the score.
    confidence : float
        Confidence at which contenders count as different.
    weights : dict of str to float
        Contenders that the blend is made of, with their weights; empty if none was
        asked for.

    {See Also: contest, recommend}

    {References: Nadeau 2003}
    """

    contenders: tuple[str, ...]
    clean: Scores
    damaged: Scores
    fit_seconds: Scores
    predict_seconds: Scores
    failed: Mapping[str, str]
    expected: str
    metric: str
    confidence: float
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def means(self) -> dict[str, tuple[float, float]]:
        """Mean score of each contender on damaged rows, and on clean ones."""
        both = self.damaged.mean(axis=1).tolist(), self.clean.mean(axis=1).tolist()
        return dict(zip(self.contenders, zip(*both, strict=True), strict=True))

    @property
    def best(self) -> str:
        """The contender with the highest mean score under damage."""
        return self.contenders[int(self.damaged.mean(axis=1).argmax())]

    @property
    def choice(self) -> str:
        """The contender to take: the blend if it is level with the best, else the best.

        Of contenders that cannot be told apart the best one owes most to chance; a
        blend owes least.
        """
        level = self.best, *self.level_with_best
        return BLEND if self.weights and BLEND in level else self.best

    @property
    def level_with_best(self) -> list[str]:
        """Contenders whose folds do not tell them apart from the best, without it.

        Differences are taken fold by fold. Folds share training rows, so their variance
        is raised as Nadeau and Bengio (2003) propose.
        """
        best = self.contenders.index(self.best)
        k = self.damaged.shape[1]
        if k < 2:  # one fold tells nobody apart
            return [name for name in self.contenders if name != self.best]
        gaps = self.damaged[best] - self.damaged
        error = np.sqrt((1 / k + 1 / (k - 1)) * gaps.var(axis=1, ddof=1))
        reach = student.ppf(0.5 + self.confidence / 2, k - 1) * error
        return [
            name
            for i, name in enumerate(self.contenders)
            if i != best and gaps[i].mean() <= reach[i]
        ]

    @property
    def verdict(self) -> str:
        """The outcome in one or two sentences."""
        damaged, clean = self.means[self.choice]
        rivals = {self.best, *self.level_with_best} - {self.choice}
        place = "best" if self.choice == self.best else "level with the best"
        text = (
            f"{self.choice} is {place} under {self.expected}: {self.metric} "
            f"{damaged:.3f}, {clean:.3f} on clean rows."
        )
        if self.choice == BLEND:
            text = f"{text} It is made of {self.shares}."
        if not rivals:
            return text
        if len(rivals) == len(self.contenders) - 1 > 1:
            return f"{text} None of the others is clearly worse."
        order = sorted(rivals, key=lambda name: (-self.means[name][0], name))
        return f"{text} Not clearly worse: {', '.join(order)}."

    @property
    def shares(self) -> str:
        """What the blend is made of, in words; empty if there is none."""
        shares = sorted(self.weights.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} ({share:.0%})" for name, share in shares)

    def _title(self) -> str:
        return f"{self.metric} under {self.expected}, {self.damaged.shape[1]} folds"

    def _columns(self) -> dict[str, Any]:
        return {
            "contender": self.contenders,
            "damaged": self.damaged.mean(axis=1),
            "± s.e.": self._standard_error(),
            "clean": self.clean.mean(axis=1),
            "fit s": self.fit_seconds,
            "predict s/1000": self.predict_seconds,
        }

    def _standard_error(self) -> Scores:
        """Of the mean score on damaged rows, from the spread over folds."""
        k = self.damaged.shape[1]
        if k < 2:
            return np.full(len(self.contenders), np.nan)
        return np.asarray(self.damaged.std(axis=1, ddof=1) / np.sqrt(k))

    def _overview(self) -> dict[str, Any]:
        order = np.argsort(-self.damaged.mean(axis=1), kind="stable")
        return {name: np.asarray(c)[order] for name, c in self._columns().items()}

    def _strips(self) -> list[str]:
        """Damaged and clean scores of each contender, with the error of the former."""
        shown = self._overview()
        pairs = [*zip(shown["damaged"].tolist(), shown["clean"].tolist(), strict=True)]
        ends = min(0.0, *map(min, pairs)), max(*map(max, pairs), 1e-9)
        return [
            dot_strip(dict(enumerate(pair)), *ends, ("damaged", "clean"), error)
            for pair, error in zip(pairs, shown["± s.e."].tolist(), strict=True)
        ]

    def _below(self) -> str:
        """A legend of the strips, and the verdict."""
        marks = f"{swatch(0)} damaged, ± s.e. &emsp; {swatch(1)} clean"
        return f"<p>{marks}</p><p>{escape(self.verdict)}</p>"


@shared_docs
def contest(
    contenders: Mapping[str, Any],
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    *,
    scoring: Any = None,
    cv: Any = 5,
    n_repeats: int = 3,
    random_state: Any = 0,
    confidence: float = 0.95,
    progress: Any = None,
    blend: Collection[str] = (),
    n_jobs: int | None = None,
    **options: Any,
) -> Contest:
    """Cross-validate models for what is expected to happen to their features.

    Every contender is trained on clean folds and judged on held-out rows, as they are
    and after the perturbation; all contenders see the same rows with the same cells
    gone. One that cannot be fitted or asked is left out, with the reason in `failed`.

    Parameters
    ----------
    contenders : dict of str to estimator
        Unfitted estimators that take X as it is.
    {X, y, perturb, level, any scoring, cv, n_repeats}
    {seed random_state}
    confidence : float, default=0.95
        Confidence at which contenders count as different.
    {progress}
    blend : collection of str, default=()
        Contenders of whose answers the weighted mean takes part, too, as "blend". Its
        weights are those that suit the damaged rows of the other folds best.
        Classifiers without probabilities are left out of it; of the others classes are
        taken from their probabilities.
    n_jobs : int or None, default=None
        Number of contenders that are judged at the same time. None means 1, or what a
        `joblib.parallel_config` says; its backend "dask" spreads them over the workers
        of a cluster. The scores do not depend on it.
    **options : dict
        Further options of `robustness_curve`, such as `deleted_as` or `space`.

    Returns
    -------
    contest : Contest
        Scores and costs, the best contender and a verdict.

    {See Also: recommend, perturbed_scorer, robustness_curve}

    {References: Nadeau 2003}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noiseproof import DropoutLogisticRegression
    >>> from noiseproof.evaluation import contest
    >>> X, y = load_digits(return_X_y=True)
    >>> contenders = {
    ...     "plain": LogisticRegression(C=10.0, max_iter=1000),
    ...     "dropout": DropoutLogisticRegression(0.2, C=10.0),
    ... }
    >>> contest(contenders, X / 16, y, "delete", 0.5, cv=3).best
    'dropout'
    """
    if not contenders:
        raise ValueError("A contest needs at least one contender.")
    classify = bool(is_classifier(next(iter(contenders.values()))))
    if scoring is None:
        scoring = "accuracy" if classify else "r2"
    labels = np.asarray(y)
    classes = np.unique(labels) if classify else None
    perturb = _checked(as_perturbation(perturb), level, X, labels, **options)
    folds = _folds(cv, X, labels, classify, random_state)
    curve_of = partial(
        robustness_curve, perturb=perturb, levels=[0, level], n_repeats=n_repeats,
        random_state=random_state, progress=False, **options,
    )  # fmt: skip
    with progress_bar(progress, len(folds) * len(contenders)) as tick:
        jobs = [
            delayed(_tried)(
                _Trial(name, as_scorer(scoring), classes, name in blend),
                *(contender, X, labels, folds, curve_of, tick),
            )
            for name, contender in contenders.items()
        ]
        trials = Parallel(n_jobs=n_jobs)(jobs)
    failed = {trial.name: trial.failure for trial in trials if trial.failure}
    trials = [trial for trial in trials if not trial.failure]
    if not trials:
        different = {reason for _, reason in failed.values()}
        kind, first = next(iter(failed.values()))
        first = f"{kind}: {first}" if len(different) > 1 else first
        raise ValueError(f"No contender could be judged: {first}")
    reasons = {name: ": ".join(reason) for name, reason in failed.items()}
    what, metric = _expected(trials[0].label, level), score_name(scoring)
    result = _summed_up(trials, reasons, what, metric, confidence)
    members = [trial for trial in trials if trial.held_out]
    return _with_blend(result, members, classes) if len(members) > 1 else result


def _checked(
    perturbation: Perturbation,
    level: float,
    X: Any,
    y: Any,
    *,
    space: str = "input",
    deleted_as: str = "zero",
    groups: Any = None,
    **_: Any,
) -> Perturbation:
    """Refuse, before any work, what no contender could be judged by.

    What depends on the rows and their labels is settled here, for all folds alike.
    """
    few = canonical(_safe_indexing(X, np.arange(min(2, np.shape(X)[0]))))
    names = feature_names(None, few)
    if space == "input" and len(np.shape(few)) == 2:
        perturbation = perturbation.on(names)
    gone = perturbation.deleted_as or deleted_as
    tried = perturbation
    if groups is not None:
        tried = tried.grouped(Groups.read(groups, names).labels(len(names)))
    if space == "model":
        return perturbation
    tried.check([level], contain(few, gone), gone)
    return perturbation.informed(contain(canonical(X), gone), y)


def _folds(cv: Any, X: Any, y: Any, classify: bool, seed: Any) -> list[Any]:
    """Pairs of rows to train on and rows held out."""
    if isinstance(cv, Integral):
        most = np.unique(y, return_counts=True)[1].max() if classify else len(y)
        if min(int(cv), most) < 2:
            raise ValueError(
                f"A contest needs at least 2 folds and 2 rows{' of a class' * classify}"
                f"; got cv={cv} and {len(y)} rows."
            )
        deal = StratifiedKFold if classify else KFold
        cv = deal(int(min(cv, most)), shuffle=True, random_state=seed)
    with warnings.catch_warnings():  # of classes with fewer rows than folds
        warnings.simplefilter("ignore", UserWarning)
        return list(check_cv(cv, y, classifier=classify).split(X, y))


def _expected(label: str, level: float) -> str:
    """A level of what the label names, in words: 30% of cells missing."""
    share = label.removeprefix("share ")
    return f"{label} = {level:g}" if share == label else f"{100 * level:g}% {share}"


class _Trial:
    """Fits and scores of one contender, fold by fold.

    It is the scorer of its own curves: so it measures times, and keeps predictions if
    they are to be blended.
    """

    def __init__(self, name: str, score: Any, classes: Any, blended: bool):
        self.name, self.score, self.classes = name, score, classes
        self.blended = blended
        self.label = ""
        self.failure: tuple[str, str] | None = None  # kind of error, and its message
        self.scores: list[Scores] = []  # of each fold: clean rows, and damaged
        self.fit_seconds = self.predict_seconds = 0.0
        self.rows = 0  # predicted so far
        self.predictions: list[tuple[Any, Any]] = []  # on this fold
        self.held_out: list[Any] = []  # the same of all folds

    def judge(self, model: Any, known: Any, held: Any, curve_of: Any) -> None:
        """Fit the contender on a fold's training rows, and score it on the others."""
        self.predictions = []
        start = time.perf_counter()
        model.fit(*known)
        took = time.perf_counter() - start
        curve = curve_of({self.name: model}, *held, scoring=self)
        self.label = curve.label
        self.fit_seconds += took
        self.scores.append(curve.mean[0])
        if self.predictions:  # of each draw, for clean rows and then for damaged
            self.held_out.append((self.predictions[0], *self.predictions[1::2]))

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        start = time.perf_counter()
        found = soft_predictions(model, X, self.classes) if self.blended else None
        if found is not None:
            self.predictions.append((found, np.asarray(y)))
            model = stored(found, self.classes)
        value = self.score(model, X, y)
        self.predict_seconds += time.perf_counter() - start
        self.rows += len(y)
        return float(value)


def _tried(
    trial: _Trial, contender: Any, X: Any, y: Any, folds: Any, curve_of: Any, tick: Any
) -> _Trial:
    """The trial of a contender on all folds, or until it failed."""
    # contenders are what is spread, and their predictions come in one order
    with parallel_config(backend="threading", n_jobs=1):
        for train, test in folds:
            known, held = ((_safe_indexing(X, p), y[p]) for p in (train, test))
            try:
                trial.judge(clone(contender), known, held, curve_of)
            except Exception as error:  # whatever a model of theirs may raise
                trial.failure = type(error).__name__, str(error)
                return trial
            tick()
    return trial


def _summed_up(trials: list[_Trial], *about: Any) -> Contest:
    """The contest between those who were judged on all folds."""
    scores = np.array([trial.scores for trial in trials])  # name, fold, level
    return Contest(
        tuple(trial.name for trial in trials),
        *(scores[:, :, 0], scores[:, :, 1]),
        np.array([trial.fit_seconds / scores.shape[1] for trial in trials]),
        np.array([1000 * trial.predict_seconds / trial.rows for trial in trials]),
        *about,
    )


def _with_blend(judged: Contest, trials: list[_Trial], classes: Any) -> Contest:
    """The contest with one contender more, the blend of those tried."""
    members, score = [trial.name for trial in trials], trials[0].score
    by_fold = zip(*(trial.held_out for trial in trials), strict=True)
    by_version = [zip(*by_model, strict=True) for by_model in by_fold]
    folds = [
        [(np.stack([found for found, _ in pairs]), pairs[0][1]) for pairs in fold]
        for fold in by_version
    ]
    scores = []  # of each fold: rows as they are, and damaged
    for fold in folds:
        others = [other for other in folds if other is not fold] or [fold]
        weights = weights_on(others, classes)
        blended = ((np.tensordot(weights, all_of, 1), y) for all_of, y in fold)
        clean, *damaged = (
            score(stored(mean, classes), np.empty((len(y), 0)), y)
            for mean, y in blended
        )
        scores.append((clean, np.mean(damaged)))
    weights = weights_on(folds, classes)
    kept = {m: float(w) for m, w in zip(members, weights, strict=True) if w > 0}
    taken = [judged.contenders.index(name) for name in kept]
    clean, damaged = np.transpose(scores)
    return replace(
        judged,
        contenders=(*judged.contenders, BLEND),
        clean=np.vstack([judged.clean, clean]),
        damaged=np.vstack([judged.damaged, damaged]),
        fit_seconds=_with_sum(judged.fit_seconds, taken),
        predict_seconds=_with_sum(judged.predict_seconds, taken),
        weights=kept,
    )


def _with_sum(seconds: Scores, of: list[int]) -> Scores:
    """Times of all contenders, and of a blend of these."""
    return np.append(seconds, seconds[of].sum())
