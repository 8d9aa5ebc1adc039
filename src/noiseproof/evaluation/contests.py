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

from noiseproof._private import _safe_indexing
from noiseproof._rows import canonical, contain
from noiseproof._svg import dot_strip, swatch
from noiseproof.evaluation.blending import (
    BLEND,
    Fold,
    said,
    speaking,
    weights_on,
)
from noiseproof.evaluation.curves import robustness_curve
from noiseproof.evaluation.models import as_scorer, score_name
from noiseproof.evaluation.perturbations import Perturbation, as_perturbation
from noiseproof.evaluation.progress import progress_bar
from noiseproof.evaluation.results import Result, frozen
from noiseproof.groups import Groups, feature_names

Scores = NDArray[np.float64]


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

    See Also
    --------
    contest : Holds it.
    noiseproof.recommend : Holds it between a portfolio of models.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning
    52, 2003.
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
        i = self.contenders.index(self.choice)
        rivals = {self.best, *self.level_with_best} - {self.choice}
        place = "best" if self.choice == self.best else "level with the best"
        text = (
            f"{self.choice} is {place} under {self.expected}: {self.metric} "
            f"{self.damaged[i].mean():.3f}, {self.clean[i].mean():.3f} on clean rows."
        )
        if self.choice == BLEND:
            text = f"{text} It is made of {self._shares()}."
        if not rivals:
            return text
        if len(rivals) == len(self.contenders) - 1 > 1:
            return f"{text} None of the others is clearly worse."
        mean = dict(zip(self.contenders, self.damaged.mean(axis=1), strict=True))
        order = sorted(rivals, key=lambda name: (-mean[name], name))
        return f"{text} Not clearly worse: {', '.join(order)}."

    def _shares(self) -> str:
        """What the blend is made of."""
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

    def _chart(self) -> str:
        marks = f"{swatch(0)} damaged, ± s.e. &emsp; {swatch(1)} clean"
        return f"<p>{marks}</p><p>{escape(self.verdict)}</p>"


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
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels or targets.
    perturb, level
        What is expected, as in `robustness_curve`.
    scoring : str, scorer or callable, default=None
        The metric; None is accuracy for classifiers and R² for regressors.
    cv : int, splitter or iterable, default=5
        Folds; a number of them is dealt out at random, stratified for classifiers.
    n_repeats : int, default=3
        Draws of the perturbation for each fold.
    random_state : int, default=0
        Seed of the folds and of the perturbation.
    confidence : float, default=0.95
        At which contenders count as different.
    progress : bool, callable or None, default=None
        As in `robustness_curve`.
    blend : collection of str, default=()
        Contenders of whose answers the weighted mean takes part, too, as "blend". Its
        weights are those that suit the damaged rows of the other folds best.
        Classifiers without probabilities are left out of it; of the others classes are
        taken from their probabilities.
    n_jobs : int or None, default=None
        Contenders that are judged at a time; None means 1, or as many as a
        `joblib.parallel_config` says. With its backend "dask" they are spread over the
        workers of a cluster. The scores are the same.
    **options : dict
        Further options of `robustness_curve`, such as `deleted_as` or `space`.

    Returns
    -------
    contest : Contest
        Scores and costs, the best contender and a verdict.

    See Also
    --------
    noiseproof.recommend : A contest between a portfolio of models.
    perturbed_scorer : For a search of scikit-learn.
    robustness_curve : Judges fitted models.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning
    52, 2003.

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
    classify = _are_classifiers(contenders)
    if scoring is None:
        scoring = "accuracy" if classify else "r2"
    labels = np.asarray(y)
    classes = np.unique(labels) if classify else None
    perturbation = as_perturbation(perturb)
    _check(perturbation, level, X, **options)
    folds = _folds(cv, X, labels, classify, random_state)
    judge = partial(
        robustness_curve, perturb=perturb, levels=[0, level], n_repeats=n_repeats,
        random_state=random_state, progress=False, **options,
    )  # fmt: skip
    with progress_bar(progress, len(folds) * len(contenders)) as tick:
        jobs = [
            delayed(_judged)(
                _Watch(name, as_scorer(scoring), classes, name in blend),
                *(contender, X, labels, folds, judge, tick),
            )
            for name, contender in contenders.items()
        ]
        watches = Parallel(n_jobs=n_jobs)(jobs)
    failed = {watch.name: watch.failure for watch in watches if watch.failure}
    watches = [watch for watch in watches if not watch.failure]
    if not watches:
        reasons = {reason for _, reason in failed.values()}
        kind, first = next(iter(failed.values()))
        first = f"{kind}: {first}" if len(reasons) > 1 else first
        raise ValueError(f"No contender could be judged: {first}")
    told = {name: ": ".join(reason) for name, reason in failed.items()}
    what, metric = _expected(watches[0].label, level), score_name(scoring)
    result = _summed_up(watches, told, what, metric, confidence)
    members = [watch for watch in watches if watch.kept]
    return _with_blend(result, members, classes) if len(members) > 1 else result


def _are_classifiers(contenders: Mapping[str, Any]) -> bool:
    if not contenders:
        raise ValueError("A contest needs at least one contender.")
    return bool(is_classifier(next(iter(contenders.values()))))


def _check(
    perturbation: Perturbation,
    level: float,
    X: Any,
    *,
    space: str = "input",
    deleted_as: str = "zero",
    groups: Any = None,
    **_: Any,
) -> None:
    """Refuse, before any work, what no contender could be judged by."""
    few = canonical(_safe_indexing(X, np.arange(min(2, np.shape(X)[0]))))
    if groups is not None:
        names = feature_names(None, few)
        labels = Groups.read(groups, names).labels(len(names))
        perturbation = perturbation.grouped(labels)
    if space == "input":
        gone = perturbation.deleted_as or deleted_as
        perturbation.check([level], contain(few, gone), gone)


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


class _Watch:
    """Asks a contender, and remembers scores, times, and answers that are blended."""

    def __init__(self, name: str, score: Any, classes: Any, listens: bool):
        self.name, self.score, self.classes = name, score, classes
        self.listens = listens
        self.label = ""
        self.failure: tuple[str, str] | None = None  # kind of error, and what it says
        self.scores: list[Scores] = []  # of each fold: rows as they are, and damaged
        self.fitting = self.asking = 0.0  # seconds
        self.rows = 0
        self.heard: list[tuple[Any, Any]] = []  # on this fold
        self.kept: list[Any] = []  # the same of all folds

    def judge(self, model: Any, known: Any, held: Any, judge: Any) -> None:
        """Fit the contender on a fold's training rows, and ask it about the others."""
        self.heard = []
        start = time.perf_counter()
        model.fit(*known)
        took = time.perf_counter() - start
        curve = judge({self.name: model}, *held, scoring=self)
        self.label = curve.label
        self.fitting += took
        self.scores.append(curve.mean[0])
        if self.heard:  # of each draw, about rows as they are and then damaged
            self.kept.append((self.heard[0], *self.heard[1::2]))

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        start = time.perf_counter()
        answers = said(model, X, self.classes) if self.listens else None
        if answers is not None:
            self.heard.append((answers, np.asarray(y)))
            model = speaking(answers, self.classes)
        value = self.score(model, X, y)
        self.asking += time.perf_counter() - start
        self.rows += len(y)
        return float(value)


def _judged(
    watch: _Watch, contender: Any, X: Any, y: Any, folds: Any, judge: Any, tick: Any
) -> _Watch:
    """What became of a contender on all folds, or until it failed."""
    # contenders are what is spread, and what they are asked comes in one order
    with parallel_config(backend="threading", n_jobs=1):
        for train, test in folds:
            known, held = ((_safe_indexing(X, p), y[p]) for p in (train, test))
            try:
                watch.judge(clone(contender), known, held, judge)
            except Exception as error:  # whatever a model of theirs may raise
                watch.failure = type(error).__name__, str(error)
                return watch
            tick()
    return watch


def _summed_up(
    watches: list[_Watch], failed: Any, what: str, metric: str, confidence: float
) -> Contest:
    """The contest between those who were judged on all folds."""
    scores = np.array([watch.scores for watch in watches])  # name, fold, level
    return Contest(
        tuple(watch.name for watch in watches),
        frozen(scores[:, :, 0]),
        frozen(scores[:, :, 1]),
        frozen([watch.fitting / scores.shape[1] for watch in watches]),
        frozen([1000 * watch.asking / watch.rows for watch in watches]),
        failed,
        what,
        metric,
        confidence,
    )


def _with_blend(judged: Contest, watches: list[_Watch], classes: Any) -> Contest:
    """The contest with one contender more, the blend of those watched."""
    members, score = [watch.name for watch in watches], watches[0].score
    of_each = zip(*(watch.kept for watch in watches), strict=True)
    folds = [Fold(said_of_fold) for said_of_fold in of_each]
    scores = []  # of each fold: rows as they are, and damaged
    for fold in folds:
        others = [other for other in folds if other is not fold] or [fold]
        clean, *damaged = (
            score(speaking(answers, classes), np.empty((len(y), 0)), y)
            for answers, y in fold.blended(weights_on(others, classes))
        )
        scores.append((clean, np.mean(damaged)))
    weights = weights_on(folds, classes)
    kept = {m: float(w) for m, w in zip(members, weights, strict=True) if w > 0}
    taken = [judged.contenders.index(name) for name in kept]
    clean, damaged = np.transpose(scores)
    return replace(
        judged,
        contenders=(*judged.contenders, BLEND),
        clean=frozen(np.vstack([judged.clean, clean])),
        damaged=frozen(np.vstack([judged.damaged, damaged])),
        fit_seconds=_with_sum(judged.fit_seconds, taken),
        predict_seconds=_with_sum(judged.predict_seconds, taken),
        weights=kept,
    )


def _with_sum(seconds: Scores, of: list[int]) -> Scores:
    return frozen([*seconds, seconds[of].sum()])
