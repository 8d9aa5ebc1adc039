"""Compare models by cross-validation under a perturbation, and choose one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
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
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from noiseproof._charts import dot_strip, swatch
from noiseproof._docs import shared_docs
from noiseproof._numbers import as_duration, as_printed, as_score
from noiseproof._private import _safe_indexing
from noiseproof._rows import canonical, contain, stacked
from noiseproof.evaluation.blending import BLEND, soft_predictions, stored, weights_on
from noiseproof.evaluation.curves import seeds_of, stages_of
from noiseproof.evaluation.linear import check_fate, check_space
from noiseproof.evaluation.models import as_scorer, score_name
from noiseproof.evaluation.perturbations import Perturbation, as_perturbation
from noiseproof.evaluation.progress import progress_bar
from noiseproof.evaluation.results import Result
from noiseproof.groups import Groups, feature_names

Scores = NDArray[np.float64]

_FIRST = 2  # folds after which contenders that are clearly behind are dropped
_CLEARLY = 3.0  # standard errors of the differences between two models, row by row
_USED = 0.1  # a contender with this weight in the blend of these folds is kept


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class Contest(Result):
    """What `contest` returns: the scores of each contender by fold, and its run times.

    Parameters
    ----------
    contenders : tuple of str
        Names, in the order given.
    clean, perturbed : array of shape (n_contenders, n_folds)
        Scores on the held-out rows before and after the perturbation. NaN in the folds
        that a contender did not run in because it was dropped.
    fit_seconds, predict_seconds : array of shape (n_contenders,)
        Mean time of a fit, and of predictions for 1,000 perturbed rows. In `recommend`
        several contenders may share a fit; its time counts for the first of them.
    failed : dict of str to str
        Contenders that raised an error, with its message.
    expected : str
        The perturbation of the held-out rows, in words.
    metric : str
        Name of the score.
    n_rows : int
        Number of rows in all folds together.
    weights : dict of str to float
        Contenders that are part of the blend, with their weights. Empty if there is no
        blend.
    sampled_from : int, default=None
        Number of rows of the whole table, if the folds were made from a sample of it.
    notes : tuple of str
        Further remarks, such as columns that were left out.
    left_out : dict of str to str
        Models of `recommend` that were not tried, with the reason.

    {See Also: contest, recommend}
    """

    contenders: tuple[str, ...]
    clean: Scores
    perturbed: Scores
    fit_seconds: Scores
    predict_seconds: Scores
    failed: Mapping[str, str]
    expected: str
    metric: str
    n_rows: int
    weights: Mapping[str, float] = field(default_factory=dict)
    sampled_from: int | None = None
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def means(self) -> dict[str, tuple[float, float]]:
        """Mean scores of each contender, on perturbed rows and on clean rows."""
        both = _means(self.perturbed).tolist(), _means(self.clean).tolist()
        return dict(zip(self.contenders, zip(*both, strict=True), strict=True))

    @property
    def dropped(self) -> list[str]:
        """Contenders that were clearly behind after two folds, and were dropped."""
        gone = np.flatnonzero(np.isnan(self.perturbed).any(axis=1))
        return [self.contenders[i] for i in gone]

    @property
    def best(self) -> str:
        """The contender with the highest mean score on perturbed rows of all folds."""
        return self.contenders[int(np.nanargmax(self.perturbed.mean(axis=1)))]

    @property
    def choice(self) -> str:
        """The recommended contender.

        This is the blend if it is within one standard error of the best contender, and
        otherwise the best contender. Which of many contenders comes out best is partly
        chance; a blend depends less on it.
        """
        close = self.weights and BLEND in self.within_one_error
        return BLEND if close else self.best

    @property
    def within_one_error(self) -> list[str]:
        """Contenders at most one standard error behind the best, best scores first.

        The rounded numbers that are printed are compared: a contender is listed if its
        score is at least that of the best minus the standard error of the best.
        """
        best = self.contenders.index(self.best)
        scores = as_printed(_means(self.perturbed))
        errors = as_printed(self._standard_error())
        least = scores[best] - errors[best] - 1e-9
        order = np.argsort(-_means(self.perturbed), kind="stable").tolist()
        names = [self.contenders[i] for i in order if scores[i] >= least and i != best]
        return [name for name in names if name not in self.dropped]

    @property
    def verdict(self) -> str:
        """The outcome in a few sentences."""
        name, best = self.choice, self.best
        perturbed, clean = self.means[name]
        score = f"{self.metric} {as_score(perturbed)}, {as_score(clean)} on clean rows"
        if name == best:
            told = [f"{name} is best under {self.expected}: {score}."]
        else:
            top = self._scored([best])
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
                f"Clearly behind after two folds (*): {self._scored(self.dropped)}."
            )
        if self.failed:
            why = {name: _brief(reason) for name, reason in self.failed.items()}
            told.append(f"Failed: {_with_reasons(why)}.")
        if self.left_out:
            told.append(f"Not tried: {_with_reasons(self.left_out)}.")
        return " ".join([*told, *self.notes])

    def _scored(self, names: list[str]) -> str:
        """Names with their scores on perturbed rows, best first."""
        order = sorted(names, key=lambda name: -self.means[name][0])
        return ", ".join(f"{n} ({as_score(self.means[n][0])})" for n in order)

    @property
    def shares(self) -> str:
        """The members of the blend and their weights; empty if there is no blend."""
        shares = sorted(self.weights.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} ({share:.0%})" for name, share in shares)

    def _title(self) -> str:
        return f"{self.metric} under {self.expected},\n{self.folds}"

    @property
    def folds(self) -> str:
        """Number of folds and of rows, in words."""
        whole = f" of {self.sampled_from:,}" if self.sampled_from else ""
        return f"{self.perturbed.shape[1]} folds of {self.n_rows:,}{whole} rows"

    def _columns(self) -> dict[str, Any]:
        return {
            "contender": self.contenders,
            "perturbed": _means(self.perturbed),
            "± s.e.": self._standard_error(),
            "clean": _means(self.clean),
            "folds": np.sum(~np.isnan(self.perturbed), axis=1),
            "fit s": self.fit_seconds,
            "ms/row": self.predict_seconds,
        }

    def _standard_error(self) -> Scores:
        """Standard errors of the mean scores on perturbed rows, from their spread."""
        k = np.sum(~np.isnan(self.perturbed), axis=1)
        apart = np.nansum((self.perturbed.T - _means(self.perturbed)) ** 2, axis=0)
        with np.errstate(invalid="ignore"):  # one fold has no standard error
            return np.asarray(np.sqrt(apart / (k - 1) / k))

    @property
    def printed(self) -> dict[str, list[str]]:
        """The table as it is printed, best scores first.

        A contender that was dropped after two folds is marked with an asterisk: its
        numbers are means over these two folds.
        """
        order = np.argsort(-_means(self.perturbed), kind="stable")
        names, gone = self.contenders, self.dropped
        columns = self._columns()
        shown = {"contender": [f"{n} *" if n in gone else n for n in names]}
        for name in ("perturbed", "± s.e.", "clean"):
            shown[name] = [as_score(score) for score in columns[name]]
        for name in ("fit s", "ms/row"):
            shown[name] = [as_duration(time) for time in columns[name]]
        return {name: [cells[i] for i in order] for name, cells in shown.items()}

    def _overview(self) -> dict[str, Any]:
        return dict(self.printed)

    def _strips(self) -> list[str]:
        """Both scores of each contender, and the standard error on perturbed rows."""
        shown = {
            name: [*map(float, c)]
            for name, c in self._overview().items()
            if name != "contender"
        }
        pairs = [*zip(shown["perturbed"], shown["clean"], strict=True)]
        ends = min(0.0, *map(min, pairs)), max(*map(max, pairs), 1e-9)
        return [
            dot_strip(dict(enumerate(pair)), *ends, ("perturbed", "clean"), error)
            for pair, error in zip(pairs, shown["± s.e."], strict=True)
        ]

    def _below(self) -> str:
        """A legend of the strips, and the verdict."""
        marks = f"{swatch(0)} perturbed, ± s.e. &emsp; {swatch(1)} clean"
        return f"<p>{marks}</p><p>{escape(self.verdict)}</p>"


@shared_docs
def contest(
    contenders: Mapping[str, Any],
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    n_repeats: int = 3,
    random_state: Any = 0,
    progress: Any = None,
    blend: Collection[str] = (),
    drop: bool = False,
    deleted_as: str = "zero",
    space: str = "input",
    n_jobs: int | None = None,
) -> Contest:
    """Cross-validate models under a perturbation of their features.

    Every contender is fitted on the training rows of each fold as they are. It is
    scored on the held-out rows twice: before and after the perturbation. The random
    perturbation is the same for all contenders, and is drawn anew for each fold. A
    contender that raises an error is left out, with the error message in `failed`.

    Parameters
    ----------
    contenders : dict of str to estimator
        Unfitted estimators that accept X as it is.
    {X, y, perturb, level, groups, scoring, cv, n_repeats}
    {seed random_state, progress}
    blend : collection of str, default=()
        Contenders to blend. The weighted mean of their predictions competes as one
        more contender, "blend". For each fold the weights are chosen on the perturbed
        rows of the other folds. Classifiers are blended by their probabilities, and
        those without `predict_proba` are left out, and so are weights below 0.07. There
        is no blend if one contender would get all the weight.
    drop : bool, default=False
        Whether to drop contenders that are clearly behind the best after two folds.
        That is the case if the mean difference of their errors, row by row, exceeds
        three standard errors. A contender with a weight of at least 0.1 in the blend is
        kept. This works for the default scores only, accuracy and R².
    {deleted_as, space}
    n_jobs : int or None, default=None
        Number of folds to run in parallel. None means 1, or what a
        `joblib.parallel_config` says; its backend "dask" distributes them over the
        workers of a cluster. The scores do not depend on it.

    Returns
    -------
    contest : Contest
        Scores, run times, the best contender and a verdict.

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
    if not isinstance(random_state, Integral):  # one seed for all contenders
        random_state = int(check_random_state(random_state).randint(2**31))
    classify = bool(is_classifier(next(iter(contenders.values()))))
    labels = np.asarray(y)
    classes = np.unique(labels) if classify else None
    where = {"groups": groups, "deleted_as": deleted_as, "space": space}
    perturb = checked(perturb, level, X, labels, **where)
    folds = _folds(cv, X, labels, classify, random_state)
    own = None if scoring is None else as_scorer(scoring)
    name = score_name(scoring or ("accuracy" if classify else "r2"))
    # each fold has draws of its own: whole columns are missing in all rows of a draw
    seeds = seeds_of(random_state, len(folds) * n_repeats)
    folds = [(*fold, seeds[i :: len(folds)]) for i, fold in enumerate(folds)]
    held_out = partial(_HeldOut, perturb=perturb, level=level, **where)
    race = _Race(dict(contenders), set(blend), own, classes, drop and own is None)
    with progress_bar(progress, len(folds) * len(contenders)) as tick:
        judge = partial(race.judge, X=X, y=labels, held_out=held_out)
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
        raise ValueError(f"No contender could be evaluated: {first}")
    n_rows = len(np.unique(np.concatenate([test for _, test, _ in folds])))
    expected = _expected(perturb.label_if(perturb.deleted_as or deleted_as), level)
    return race.summed_up(len(folds), expected, name, n_rows)


def checked(
    perturb: Any,
    level: float,
    X: Any,
    y: Any,
    *,
    space: str = "input",
    deleted_as: str = "zero",
    groups: Any = None,
) -> Perturbation:
    """The perturbation, checked before any work.

    Whatever it learns from X and y is learned here once, so that all folds agree.
    """
    check_space(space)
    check_fate(deleted_as)
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
    """Pairs of training rows and held-out rows."""
    if isinstance(cv, Integral):
        most = np.unique(y, return_counts=True)[1].max() if classify else len(y)
        if min(int(cv), most) < 2:
            raise ValueError(
                f"A contest needs at least 2 folds and 2 rows{' of a class' * classify}"
                f"; got cv={cv} and {len(y)} rows."
            )
        deal = StratifiedKFold if classify else KFold
        cv = deal(int(min(cv, most)), shuffle=True, random_state=seed)
    with warnings.catch_warnings():  # about classes with fewer rows than folds
        warnings.simplefilter("ignore", UserWarning)
        return list(check_cv(cv, y, classifier=classify).split(X, y))


def _expected(label: str, level: float) -> str:
    """The perturbation in words, such as "30% of values missing (NaN)"."""
    share = label.removeprefix("share ")
    return f"{label} = {level:g}" if share == label else f"{100 * level:g}% {share}"


def _brief(reason: str) -> str:
    """The first sentence of an error message."""
    return reason.strip().splitlines()[0].split(". ")[0].rstrip(".")


def _with_reasons(names: Mapping[str, str]) -> str:
    """Names with their reasons in brackets, those with the same reason together."""
    same: dict[str, list[str]] = {}
    for name, reason in names.items():
        same.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(of)} ({reason})" for reason, of in same.items())


class _Trial(NamedTuple):
    """The scores and times of one contender on one fold."""

    clean: float
    perturbed: float
    fit_seconds: float
    predict_seconds: float
    rows: int  # number of predictions
    losses: Scores | None  # one per row, the mean over all draws of the perturbation
    answers: list[Any]  # to be blended: for the clean rows, then for each draw


class _HeldOut:
    """The held-out rows of a fold: as they are, and after each draw.

    All of them are stacked, so that each model predicts once. Contenders that see the
    same rows get the same object.
    """

    def __init__(
        self, X: Any, y: Any, seeds: Any, *, perturb: Any, level: float, **where: Any
    ):
        self.X = canonical(X if hasattr(X, "shape") else np.asarray(X))
        self.y, self.perturb, self.level = y, perturb, level
        self.seeds = seeds if perturb.is_random else seeds[:1]
        self.where = where
        self.shared = where["space"] == "input" and not perturb.white_box

    @property
    def n_versions(self) -> int:
        """Number of versions of each row: the clean one, and one for each draw."""
        return 1 + len(self.seeds)

    def seen_by(self, models: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
        """Models with the stacked rows that they see."""
        levels = [0.0, self.level]
        for stage in stages_of(
            models, self.X, self.y, self.perturb, levels, **self.where
        ):
            draws = (stage.draw(seed, self.level) for seed in self.seeds)
            yield stage.models, stacked([stage.draw(self.seeds[0], 0.0), *draws])

    def versions(self, of: Any) -> list[Any]:
        """Stacked rows, or what was predicted for them, by version."""
        n = len(self.y)
        return [of[i * n : (i + 1) * n] for i in range(self.n_versions)]


class _Race:
    """The contenders and their results so far, fold by fold."""

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
        self,
        names: list[str],
        train: Any,
        test: Any,
        seeds: Any,
        X: Any,
        y: Any,
        held_out: Any,
    ) -> dict[str, Any]:
        """Results of these contenders on one fold, or the errors that they raised."""
        known, held = ((_safe_indexing(X, part), y[part]) for part in (train, test))
        # copies, as contenders that share a fit must not share it with other folds
        contenders = deepcopy({name: self.contenders[name] for name in names})
        rows = held_out(*held, seeds)
        fitted: dict[str, Any] = {}
        seconds: dict[str, float] = {}
        found: dict[str, Any] = {}
        # one thread within a fold, so that forests add up their trees in order
        with parallel_config(backend="threading", n_jobs=1):
            for name, contender in contenders.items():
                start = time.perf_counter()
                with _keeping_errors([name], found):
                    fitted[name] = clone(contender).fit(*known)
                seconds[name] = time.perf_counter() - start
            alone = ({name: model} for name, model in fitted.items())
            for some in [fitted] if rows.shared else alone:
                with _keeping_errors(some, found):
                    for models, seen in rows.seen_by(some):
                        for name, model in models.items():
                            with _keeping_errors([name], found):
                                found[name] = self._trial(
                                    name, model, rows, seen, seconds[name]
                                )
        return found

    def _trial(
        self, name: str, model: Any, rows: _HeldOut, seen: Any, fit_seconds: float
    ) -> _Trial:
        """Scores of one contender, and its predictions if it is to be blended.

        `predict` or `predict_proba` is called once, unless the scorer is the user's.
        """
        start = time.perf_counter()
        losses, answers, models = None, [], [model] * rows.n_versions
        if name in self.blended:
            soft = soft_predictions(model, seen, self.classes)
            if soft is not None:
                answers = [(part, rows.y) for part in rows.versions(soft)]
                models = [stored(part, self.classes) for part, _ in answers]
                model = stored(soft, self.classes)
        if self.score is None:
            given = rows.versions(np.asarray(model.predict(seen)))
            scores = [self._usual_score(part, rows.y) for part in given]
            if self.drop:
                losses = np.mean([self._losses(part, rows.y) for part in given[1:]], 0)
        else:
            asked = zip(models, rows.versions(seen), strict=True)
            scores = [float(self.score(*pair, rows.y)) for pair in asked]
        took = time.perf_counter() - start
        n = len(rows.y) * rows.n_versions
        return _Trial(
            *(scores[0], float(np.mean(scores[1:])), fit_seconds, took, n),
            *(losses, answers),
        )

    def _losses(self, given: Any, y: Any) -> Scores:
        """Errors of a classifier, or squared errors, by row."""
        if self.classes is not None:
            return np.asarray(given != y, dtype=float)
        return np.asarray(np.square(given - y))

    def _score_of(self, soft: Any, y: Any) -> float:
        """The score of soft predictions."""
        model, nothing = stored(soft, self.classes), np.empty((len(y), 0))
        if self.score is None:
            return self._usual_score(model.predict(nothing), y)
        return self.score(model, nothing, y)

    def _usual_score(self, given: Any, y: Any) -> float:
        """Accuracy or R²."""
        if self.classes is not None:
            return float(np.mean(given == y))
        return float(r2_score(y, given))

    def add(self, found: dict[str, Any]) -> None:
        """Add the results of one fold."""
        for name, trial in found.items():
            if isinstance(trial, _Trial):
                self.trials[name].append(trial)
            else:
                self.failed.setdefault(name, trial)

    @property
    def running(self) -> list[str]:
        """Contenders that have neither failed nor been dropped."""
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
        """Contenders that can be blended; none if there is only one."""
        own = [name for name in names if self.trials[name][0].answers]
        return own if len(own) > 1 else []

    def _answers(self, members: list[str], some: slice) -> list[Any]:
        """Soft predictions of all members, and y, by fold; clean rows, then draws."""
        by_fold = zip(*(self.trials[name][some] for name in members), strict=True)
        by_version = [zip(*(t.answers for t in of), strict=True) for of in by_fold]
        return [
            [(np.stack([found for found, _ in pairs]), pairs[0][1]) for pairs in fold]
            for fold in by_version
        ]

    def _weights(self, members: list[str], some: slice) -> dict[str, float]:
        """Positive weights of the blend; empty if one member would get all of it."""
        if not members:
            return {}
        weights = weights_on(self._answers(members, some), self.classes)
        kept = {m: float(w) for m, w in zip(members, weights, strict=True) if w > 0}
        return kept if len(kept) > 1 else {}

    def summed_up(self, k: int, expected: str, metric: str, n_rows: int) -> Contest:
        """The results of all folds, with the blend if there is one."""
        names = [name for name in self.contenders if name not in self.failed]
        trials = [self.trials[name] for name in names]
        clean, perturbed = np.full((2, len(names), k), np.nan)
        for i, own in enumerate(trials):
            clean[i, : len(own)] = [trial.clean for trial in own]
            perturbed[i, : len(own)] = [trial.perturbed for trial in own]
        asked = [sum(t.predict_seconds for t in own) for own in trials]
        result = Contest(
            *(tuple(names), clean, perturbed),
            np.array([np.mean([t.fit_seconds for t in own]) for own in trials]),
            1000 * np.array(asked) / [sum(t.rows for t in own) for own in trials],
            {name: ": ".join(reason) for name, reason in self.failed.items()},
            *(expected, metric, n_rows),
        )
        whole = [name for name in names if len(self.trials[name]) == k]
        return self._with_blend(result, self._members(whole))

    def _with_blend(self, judged: Contest, members: list[str]) -> Contest:
        """The results with the blend as one more contender."""
        weights = self._weights(members, slice(None))
        if not weights:
            return judged
        folds = self._answers(members, slice(None))
        scores = []  # for each fold: on clean rows and on perturbed rows
        for fold in folds:
            others = [other for other in folds if other is not fold] or [fold]
            shares = weights_on(others, self.classes)
            blended = ((np.tensordot(shares, all_of, 1), y) for all_of, y in fold)
            clean, *perturbed = (self._score_of(mean, y) for mean, y in blended)
            scores.append((clean, float(np.mean(perturbed))))
        taken = [judged.contenders.index(name) for name in weights]
        clean, perturbed = np.transpose(scores)
        return replace(
            judged,
            contenders=(*judged.contenders, BLEND),
            clean=np.vstack([judged.clean, clean]),
            perturbed=np.vstack([judged.perturbed, perturbed]),
            fit_seconds=_with_sum(judged.fit_seconds, taken),
            predict_seconds=_with_sum(judged.predict_seconds, taken),
            weights=weights,
        )


@contextmanager
def _keeping_errors(names: Iterable[str], found: dict[str, Any]) -> Iterator[None]:
    """Note an error as the result of contenders: its kind and its message."""
    try:
        yield
    except Exception as error:  # a user's model may raise anything
        told = type(error).__name__, str(error)
        found.update({name: told for name in names if name not in found})


def _means(scores: Scores) -> Scores:
    """Means over the folds in which each contender ran."""
    return np.asarray(np.nanmean(scores, axis=1))


def _with_sum(seconds: Scores, of: list[int]) -> Scores:
    """Times of all contenders, and the sum of these for the blend."""
    return np.append(seconds, seconds[of].sum())
