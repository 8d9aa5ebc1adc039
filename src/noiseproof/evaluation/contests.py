"""Which of several models to take, if this is what will happen to the features."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed

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

_FIRST = 2  # folds, after which contenders that are clearly behind are dropped
_CLEARLY = 3.0  # standard errors of the paired differences of rows
_USED = 0.1  # weight in the blend of these folds for which one is kept all the same


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class Contest(Result):
    """What `contest` returns: scores by contender and fold, and what they cost.

    Parameters
    ----------
    contenders : tuple of str
        Names, in the order given.
    clean, damaged : array of shape (n_contenders, n_folds)
        Score on the held-out rows as they are, and after what was expected. NaN for the
        folds after which a contender was dropped.
    fit_seconds, predict_seconds : array of shape (n_contenders,)
        Mean time of a fit, and of a prediction for 1,000 damaged rows. What several
        contenders of `recommend` share is counted for the first of them.
    failed : dict of str to str
        Contenders that could not be fitted or asked, with the reason.
    expected : str
        What happened to the held-out rows.
    metric : str
        Name of the score.
    n_rows : int
        Number of rows of all folds.
    weights : dict of str to float
        Contenders that the blend is made of, with their weights; empty if there is no
        blend.
    sampled_from : int, default=None
        Number of rows of the table, if the rows of the folds are a sample of it.
    notes : tuple of str
        What was left out of the table.

    {See Also: contest, recommend}
    """

    contenders: tuple[str, ...]
    clean: Scores
    damaged: Scores
    fit_seconds: Scores
    predict_seconds: Scores
    failed: Mapping[str, str]
    expected: str
    metric: str
    n_rows: int
    weights: Mapping[str, float] = field(default_factory=dict)
    sampled_from: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def means(self) -> dict[str, tuple[float, float]]:
        """Mean score of each contender on damaged rows, and on clean ones."""
        both = _means(self.damaged).tolist(), _means(self.clean).tolist()
        return dict(zip(self.contenders, zip(*both, strict=True), strict=True))

    @property
    def dropped(self) -> list[str]:
        """Contenders that were clearly behind after two folds, and got no more."""
        gone = np.flatnonzero(np.isnan(self.damaged).any(axis=1))
        return [self.contenders[i] for i in gone]

    @property
    def best(self) -> str:
        """The contender with the highest mean score under damage, on all folds."""
        return self.contenders[int(np.nanargmax(self.damaged.mean(axis=1)))]

    @property
    def choice(self) -> str:
        """The contender to take: the blend if it is close to the best, else the best.

        Close is within one standard error. The best of many contenders owes much to
        chance; a blend owes less.
        """
        close = self.weights and BLEND in self.within_one_error
        return BLEND if close else self.best

    @property
    def within_one_error(self) -> list[str]:
        """Contenders at most one standard error behind the best, without it.

        They are those whose printed score is at least the printed score of the best
        less its printed standard error, in the order of their scores.
        """
        best = self.contenders.index(self.best)
        scores, errors = _means(self.damaged).round(3), self._standard_error().round(3)
        least = scores[best] - errors[best] - 1e-9
        order = np.argsort(-_means(self.damaged), kind="stable").tolist()
        names = [self.contenders[i] for i in order if scores[i] >= least and i != best]
        return [name for name in names if name not in self.dropped]

    @property
    def verdict(self) -> str:
        """The outcome in a few sentences."""
        name, best = self.choice, self.best
        damaged, clean = self.means[name]
        score = f"{self.metric} {damaged:.3f}, {clean:.3f} on clean rows"
        if name == best:
            told = [f"{name} is best under {self.expected}: {score}."]
        else:
            top = f"{best} ({self.means[best][0]:.3f})"
            told = [
                f"{name} is taken under {self.expected}: {score}. It is within one "
                f"standard error of the best, {top}."
            ]
        if name == BLEND:
            told.append(f"It is made of {self.shares}.")
        close = [n for n in self.within_one_error if n != name]
        if close:
            also = "Also within" if name != best else "Within"
            told.append(
                f"{also} one standard error of the best: {self._scored(close)}."
            )
        if self.dropped:
            told.append(
                f"Clearly behind after two folds: {self._scored(self.dropped)}."
            )
        if self.failed:
            why = (f"{n} ({_brief(reason)})" for n, reason in self.failed.items())
            told.append(f"Could not take part: {', '.join(why)}.")
        return " ".join([*told, *self.notes])

    def _scored(self, names: list[str]) -> str:
        """Names with their scores on damaged rows, the best first."""
        order = sorted(names, key=lambda name: -self.means[name][0])
        return ", ".join(f"{name} ({self.means[name][0]:.3f})" for name in order)

    @property
    def shares(self) -> str:
        """What the blend is made of, in words; empty if there is none."""
        shares = sorted(self.weights.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} ({share:.0%})" for name, share in shares)

    def _title(self) -> str:
        return f"{self.metric} under {self.expected},\n{self.folds}"

    @property
    def folds(self) -> str:
        """How many folds there were, and of what rows, in words."""
        whole = f" of {self.sampled_from:,}" if self.sampled_from else ""
        return f"{self.damaged.shape[1]} folds of {self.n_rows:,}{whole} rows"

    def _columns(self) -> dict[str, Any]:
        return {
            "contender": self.contenders,
            "damaged": _means(self.damaged),
            "± s.e.": self._standard_error(),
            "clean": _means(self.clean),
            "fit s": self.fit_seconds,
            "predict s/1000": self.predict_seconds,
        }

    def _standard_error(self) -> Scores:
        """Of the mean score on damaged rows, from the spread over folds."""
        k = np.sum(~np.isnan(self.damaged), axis=1)
        apart = np.nansum((self.damaged.T - _means(self.damaged)) ** 2, axis=0)
        with np.errstate(invalid="ignore"):  # one fold has no standard error
            return np.asarray(np.sqrt(apart / (k - 1) / k))

    def _overview(self) -> dict[str, Any]:
        order = np.argsort(-_means(self.damaged), kind="stable")
        shown = {name: np.asarray(c)[order] for name, c in self._columns().items()}
        # with three decimals, as the verdict has them
        exact = {
            n: [f"{x:.3f}" for x in shown[n]] for n in ("damaged", "± s.e.", "clean")
        }
        return {**shown, **exact}

    def _strips(self) -> list[str]:
        """Damaged and clean scores of each contender, with the error of the former."""
        shown = {
            name: [*map(float, c)]
            for name, c in self._overview().items()
            if name != "contender"
        }
        pairs = [*zip(shown["damaged"], shown["clean"], strict=True)]
        ends = min(0.0, *map(min, pairs)), max(*map(max, pairs), 1e-9)
        return [
            dot_strip(dict(enumerate(pair)), *ends, ("damaged", "clean"), error)
            for pair, error in zip(pairs, shown["± s.e."], strict=True)
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
    progress: Any = None,
    blend: Collection[str] = (),
    drop: bool = False,
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
    {seed random_state, progress}
    blend : collection of str, default=()
        Contenders of whose answers the weighted mean takes part, too, as "blend". Its
        weights are those that suit the damaged rows of the other folds best.
        Classifiers without probabilities are left out of it; of the others classes are
        taken from their probabilities. There is none if one contender would have all
        the weight.
    drop : bool, default=False
        Whether contenders that are clearly behind after two folds get no more of them:
        by more than three standard errors of the differences between their errors and
        those of the best, row by row. One to which a blend would give a weight of at
        least a tenth stays. This is for accuracy and R², the scores without `scoring`.
    n_jobs : int or None, default=None
        Number of folds that are judged at the same time. None means 1, or what a
        `joblib.parallel_config` says; its backend "dask" spreads them over the workers
        of a cluster. The scores do not depend on it.
    **options : dict
        Further options of `robustness_curve`, such as `deleted_as` or `space`.

    Returns
    -------
    contest : Contest
        Scores and costs, the best contender and a verdict.

    {See Also: recommend, perturbed_scorer, robustness_curve}

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
    labels = np.asarray(y)
    classes = np.unique(labels) if classify else None
    perturb = checked(perturb, level, X, labels, **options)
    folds = _folds(cv, X, labels, classify, random_state)
    if scoring is not None:
        drop = False
    else:
        scoring = "accuracy" if classify else "r2"
    curve_of = partial(
        robustness_curve, perturb=perturb, levels=[0, level], n_repeats=n_repeats,
        random_state=random_state, progress=False, **options,
    )  # fmt: skip
    race = _Race(dict(contenders), set(blend), as_scorer(scoring), classes, drop)
    with progress_bar(progress, len(folds) * len(contenders)) as tick:
        judge = partial(race.judge, X=X, y=labels, curve_of=curve_of)
        for some in (folds[:_FIRST], folds[_FIRST:]):
            running = race.running
            jobs = (delayed(judge)(running, *fold) for fold in some)
            for found in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
                race.add(found)
                for _ in contenders:
                    tick()
    if not race.running:
        different = {reason for _, reason in race.failed.values()}
        kind, first = next(iter(race.failed.values()))
        first = f"{kind}: {first}" if len(different) > 1 else first
        raise ValueError(f"No contender could be judged: {first}")
    n_rows = len(np.unique(np.concatenate([test for _, test in folds])))
    return race.summed_up(len(folds), level, score_name(scoring), n_rows)


def checked(
    perturb: Any,
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
    perturbation = as_perturbation(perturb)
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


def _brief(reason: str) -> str:
    """The first sentence of what an error says."""
    return reason.strip().splitlines()[0].split(". ")[0].rstrip(".")


class _Trial(NamedTuple):
    """What a contender did on one fold."""

    clean: float
    damaged: float
    label: str  # what the level means
    fit_seconds: float
    predict_seconds: float
    rows: int  # predicted
    losses: Scores | None  # of each row, the mean over all draws of the damage
    answers: list[Any]  # for the rows as they are, and after each draw, to be blended


class _Recorder:
    """The scorer of one curve: it measures times, and keeps what the model says.

    Of those that are to be blended it keeps soft predictions. Those that are compared
    row by row are asked once, for these or for their predictions.
    """

    def __init__(self, score: Any, classes: Any, blended: bool, drop: bool):
        self.score, self.classes = score, classes
        self.blended, self.drop = blended, drop
        self.seconds, self.rows = 0.0, 0
        self.calls, self.clean = 0, 0.0
        self.losses: list[Scores] = []
        self.answers: list[Any] = []

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        """Score; each draw comes with the clean rows, which are judged once."""
        self.calls += 1
        if self.calls % 2 and self.calls > 1:
            return self.clean
        start = time.perf_counter()
        found = soft_predictions(model, X, self.classes) if self.blended else None
        if found is not None:
            self.answers.append((found, np.asarray(y)))
            model = stored(found, self.classes)
        if self.drop:
            given = model.predict(X)
            self.losses.append(given != y if self.classes is not None else given - y)
            model = stored(given, None)
        value = float(self.score(model, X, y))
        self.seconds += time.perf_counter() - start
        self.rows += len(y)
        self.clean = value if self.calls == 1 else self.clean
        return value

    def trial(self, curve: Any, fit_seconds: float) -> _Trial:
        """What was recorded, of clean rows first and then of each draw."""
        clean, damaged = curve.mean[0].tolist()
        of_rows = np.square(self.losses[1:], dtype=float)
        return _Trial(
            *(clean, damaged, curve.label, fit_seconds, self.seconds, self.rows),
            *(of_rows.mean(axis=0) if self.drop else None, self.answers),
        )


class _Race:
    """Contenders, and what they did fold by fold."""

    def __init__(
        self,
        contenders: dict[str, Any],
        blended: set[str],
        score: Any,
        classes: Any,
        drop: bool,
    ):
        self.contenders, self.blended = contenders, blended
        self.score, self.classes, self.drop = score, classes, drop
        self.trials: dict[str, list[_Trial]] = {name: [] for name in contenders}
        self.failed: dict[str, tuple[str, str]] = {}  # kind of error, and its message

    def judge(
        self, names: list[str], train: Any, test: Any, X: Any, y: Any, curve_of: Any
    ) -> dict[str, Any]:
        """Trials of these contenders on one fold, or why they failed."""
        known, held = ((_safe_indexing(X, part), y[part]) for part in (train, test))
        # what they share, such as a fit, is of this fold
        contenders = deepcopy({name: self.contenders[name] for name in names})
        found: dict[str, Any] = {}
        # folds are what is spread, and predictions come in one order
        with parallel_config(backend="threading", n_jobs=1):
            for name, contender in contenders.items():
                blended = name in self.blended
                record = _Recorder(self.score, self.classes, blended, self.drop)
                try:
                    start = time.perf_counter()
                    model = clone(contender).fit(*known)
                    took = time.perf_counter() - start
                    curve = curve_of({name: model}, *held, scoring=record)
                    found[name] = record.trial(curve, took)
                except Exception as error:  # whatever a model of theirs may raise
                    found[name] = type(error).__name__, str(error)
        return found

    def add(self, found: dict[str, Any]) -> None:
        """Take note of one fold."""
        for name, trial in found.items():
            if isinstance(trial, _Trial):
                self.trials[name].append(trial)
            else:
                self.failed.setdefault(name, trial)

    @property
    def running(self) -> list[str]:
        """Those that have not failed, and are not clearly behind the others."""
        names = [name for name in self.contenders if name not in self.failed]
        done = [len(self.trials[name]) for name in names]
        if not self.drop or max(done, default=0) < _FIRST:
            return names
        losses = {
            name: np.concatenate([t.losses for t in self.trials[name][:_FIRST]])
            for name in names
        }
        best = min(names, key=lambda name: losses[name].mean())
        weights = self._weights(self._members(names), slice(_FIRST))

        def stays(name: str) -> bool:
            gaps = losses[name] - losses[best]
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            used = weights.get(name, 0.0) >= _USED
            return used or bool(gaps.mean() <= _CLEARLY * error)

        return [name for name in names if stays(name)]

    def _members(self, names: list[str]) -> list[str]:
        """Those of the contenders that can be blended, if there are several."""
        own = [name for name in names if self.trials[name][0].answers]
        return own if len(own) > 1 else []

    def _answers(self, members: list[str], some: slice) -> list[Any]:
        """Soft predictions of all members, and y, by fold and version of its rows."""
        by_fold = zip(*(self.trials[name][some] for name in members), strict=True)
        by_version = [zip(*(t.answers for t in of), strict=True) for of in by_fold]
        return [
            [(np.stack([found for found, _ in pairs]), pairs[0][1]) for pairs in fold]
            for fold in by_version
        ]

    def _weights(self, members: list[str], some: slice) -> dict[str, float]:
        """Members that a blend is made of, with their weights; none if it is one."""
        if not members:
            return {}
        weights = weights_on(self._answers(members, some), self.classes)
        kept = {m: float(w) for m, w in zip(members, weights, strict=True) if w > 0}
        return kept if len(kept) > 1 else {}

    def summed_up(self, k: int, level: float, metric: str, n_rows: int) -> Contest:
        """The contest, with a blend if there is one."""
        names = [name for name in self.contenders if name not in self.failed]
        trials = [self.trials[name] for name in names]
        clean, damaged = np.full((2, len(names), k), np.nan)
        for i, own in enumerate(trials):
            clean[i, : len(own)] = [trial.clean for trial in own]
            damaged[i, : len(own)] = [trial.damaged for trial in own]
        asked = [sum(t.predict_seconds for t in own) for own in trials]
        result = Contest(
            *(tuple(names), clean, damaged),
            np.array([np.mean([t.fit_seconds for t in own]) for own in trials]),
            1000 * np.array(asked) / [sum(t.rows for t in own) for own in trials],
            {name: ": ".join(reason) for name, reason in self.failed.items()},
            *(_expected(trials[0][0].label, level), metric, n_rows),
        )
        whole = [name for name in names if len(self.trials[name]) == k]
        return self._with_blend(result, self._members(whole))

    def _with_blend(self, judged: Contest, members: list[str]) -> Contest:
        """The contest with one contender more, the blend of those tried."""
        weights = self._weights(members, slice(None))
        if not weights:
            return judged
        folds = self._answers(members, slice(None))
        scores = []  # of each fold: rows as they are, and damaged
        for fold in folds:
            others = [other for other in folds if other is not fold] or [fold]
            shares = weights_on(others, self.classes)
            blended = ((np.tensordot(shares, all_of, 1), y) for all_of, y in fold)
            clean, *damaged = (
                self.score(stored(mean, self.classes), np.empty((len(y), 0)), y)
                for mean, y in blended
            )
            scores.append((clean, np.mean(damaged)))
        taken = [judged.contenders.index(name) for name in weights]
        clean, damaged = np.transpose(scores)
        return replace(
            judged,
            contenders=(*judged.contenders, BLEND),
            clean=np.vstack([judged.clean, clean]),
            damaged=np.vstack([judged.damaged, damaged]),
            fit_seconds=_with_sum(judged.fit_seconds, taken),
            predict_seconds=_with_sum(judged.predict_seconds, taken),
            weights=weights,
        )


def _means(scores: Scores) -> Scores:
    """Means over the folds that there were."""
    return np.asarray(np.nanmean(scores, axis=1))


def _with_sum(seconds: Scores, of: list[int]) -> Scores:
    """Times of all contenders, and of a blend of these."""
    return np.append(seconds, seconds[of].sum())
