"""Predict for rows with missing values if training rows had missing values, too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from noiseproof._blending import blend_weights
from noiseproof._pipelines import takes_nan, unwrap
from noiseproof._private import _safe_indexing
from noiseproof._rows import naming_times
from noiseproof.conditionals import Cells, Donors, Draws, first_best, holes
from noiseproof.estimators.averaging import TINY, best_classes, shares

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
Weights = dict[str, float]  # positive weights of members, which sum to one
# weights for patterns as in training, weights for other patterns, and the name of the
# member that predicts for complete rows
Verdict = tuple[Weights, Weights, str]
# takes a fitted model, a conditional and complete rows, and returns a model that
# averages
Average = Callable[[Any, Any, Any], Any]

TREE_MODULES = ("sklearn.ensemble", "sklearn.tree", "xgboost", "lightgbm", "catboost")
_FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
OWN, AVERAGED, INDICATED = "own NaN", "averaged", "averaged with indicators"

_FITS = 3  # fits of a tree, each on rows completed by another draw
# copies of an incomplete row for estimators other than trees, and the maximum number of
# rows in all copies
_COPIES, _ROWS = 5, 100_000
_DONORS = 2_000  # donor rows that complete the training rows
_BLOCK = 2**19  # numbers in the draws that are made at once
_OFTEN = 5  # a column with at least so many missing values gets an indicator
_PARTS = 3  # folds of the rows, one of which is held out at a time
_TAUGHT_BY = 6_000  # rows that are split into folds
_JUDGED = 300  # held-out rows that are masked at each rate
_RATES = (0.2, 0.5, 0.8)  # share of values masked in held-out rows
_UNLIKELY = 1e-6  # probabilities are clipped here, since log-loss has no bound
_SMALL = 0.1  # members of a smaller weight are left out, to save time
_MANY = 1_000  # with folds of at least this size, a single one is held out
_ENOUGH = 50  # so many incomplete held-out rows suffice to choose weights
_PATTERNS = 2_000  # patterns of training rows that new rows are compared with
_NEAR = 0.95  # quantile of the distances between patterns of training rows


class Treatments:
    """A blend of several models for rows with missing values.

    Missing values of training rows may be informative, and a model that accepts NaN has
    learned from them. So there are up to three members. "own NaN" uses the model's own
    handling of NaN, and only averages over columns that were never missing in training.
    "averaged" averages a model that was fitted on completed rows. "averaged with
    indicators" does the same with additional indicator columns for missing values.
    Their predictions are averaged with the weights that are best on held-out training
    rows, by log-loss or squared error. There are separate weights for rows whose
    missing values resemble those of training rows.

    Parameters
    ----------
    members : dict of str to fitted model
        The members by name.
    seen, new : dict of str to float
        Weights of the members for rows with missing values as in training, and for
        other rows.
    patterns : array of bool of shape (n_patterns, n_columns)
        Patterns of missing values of training rows.
    reach : float
        Maximum number of columns in which a pattern may differ from the nearest pattern
        of the training rows to count as seen in training.
    complete : str
        The member that is best for complete rows.
    """

    def __init__(
        self,
        members: dict[str, Any],
        seen: Weights,
        new: Weights,
        patterns: Mask,
        reach: float,
        complete: str,
    ):
        self.members = members
        self.seen, self.new = seen, new
        self.patterns, self.reach = patterns, reach
        self.complete = complete

    def __str__(self) -> str:
        seen, new = _in_words(self.seen), _in_words(self.new)
        if seen == new:
            return seen
        return f"{seen} where values are missing as in training; otherwise {new}"

    @property
    def verdict(self) -> Verdict:
        """The chosen weights, to pass on to another model of the same kind."""
        return self.seen, self.new, self.complete

    def answer(self, method: str, X: Any) -> Any:
        """Predictions of a method of the estimator for rows with missing values."""
        first = next(iter(self.members.values()))
        if not is_classifier(first):
            return self._mixed(X, lambda model, rows: model.predict(rows))
        if hasattr(first, "predict_proba"):
            found = self._mixed(X, lambda model, rows: model.predict_proba(rows))
            if method == "decision_function":
                return _log_odds(found)
        else:
            found = self._mixed(X, lambda model, rows: model.decision_function(rows))
        return best_classes(first, found) if method == "predict" else found

    def behind_indicators(self) -> Any:
        """A model of the original columns: adds indicators, and then predicts."""
        (_, indicators), (_, averaged) = self.members[INDICATED].steps
        model = averaged.estimator_.estimator
        return Pipeline([("indicators", indicators), ("model", model)])

    def spreads(self, X: Any) -> Array:
        """Standard deviations of predictions over draws and members."""

        def moments(model: Any, rows: Any) -> Array:
            mean, std = model.predict(rows, return_std=True)
            return np.stack([mean, mean**2 + std**2], axis=-1)

        mean, square = np.moveaxis(self._mixed(X, moments), -1, 0)
        return np.sqrt(np.maximum(square - mean**2, 0.0))

    def _mixed(self, X: Any, ask: Callable[[Any, Any], Any]) -> Any:
        """Weighted means of the members' predictions."""
        seen = _distances(holes(X), self.patterns).min(axis=1) <= self.reach
        parts: list[Any] = []
        places: list[Rows] = []
        for rows, weights in (seen, self.seen), (~seen, self.new):
            if not rows.any():
                continue
            places.append(np.flatnonzero(rows))
            some = _safe_indexing(X, places[-1])
            answers = (w * ask(self.members[n], some) for n, w in weights.items())
            parts.append(sum(answers))
        return np.concatenate(parts)[np.argsort(np.concatenate(places))]


def _in_words(weights: Weights) -> str:
    """Weights in words, the largest first, as in "averaged (70%), own NaN (30%)"."""
    if len(weights) == 1:
        return next(iter(weights))
    order = sorted(weights, key=lambda name: -weights[name])
    return ", ".join(f"{name} ({weights[name]:.0%})" for name in order)


def _log_odds(probabilities: Array) -> Array:
    """Scores for these probabilities: one for two classes, otherwise one per class."""
    if probabilities.shape[1] == 2:
        return np.asarray(logit(np.clip(probabilities[:, 1], TINY, 1 - 2**-53)))
    return np.log(np.maximum(probabilities, TINY))


def _distances(missing: Mask, patterns: Mask) -> NDArray[Any]:
    """Numbers of columns that are missing in one of two rows only, (n, n_patterns)."""
    M, P = missing.astype(np.float32), patterns.astype(np.float32)
    apart = M @ P.T  # may be large, so all is computed in place
    apart *= -2
    apart += M.sum(axis=1)[:, None]
    apart += P.sum(axis=1)
    return apart


def _patterns(missing: Mask) -> tuple[Mask, float]:
    """Patterns of missing values, and how far others may be from the nearest one."""
    missing = missing[missing.any(axis=1)][:_PATTERNS]
    apart = _distances(missing, missing)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1, initial=missing.shape[1])
    return np.unique(missing, axis=0), float(np.quantile(nearest, _NEAR))


class Leaving(BaseEstimator):
    """A conditional that leaves missing values in some columns as they are.

    Parameters
    ----------
    conditional : Conditional
        The conditional that draws the missing values of the other columns.
    columns : array of int
        Columns in which missing values stay missing.
    """

    keeps_rows = True

    def __init__(self, conditional: Any, columns: Rows):
        self.conditional = conditional
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from complete rows."""
        self.conditional_ = clone(self.conditional).fit(X)
        return self

    def draws(self, X: Any, n_draws: int | None = None, **options: Any) -> Draws:
        """Draw rows. A row without other missing values is its own only draw."""
        cells = self.conditional_.cells_
        codes = np.asarray(cells.codes(X))
        stays = np.zeros(codes.shape, dtype=bool)
        stays[:, self.columns] = np.isnan(codes[:, self.columns])
        drawn = (np.isnan(codes) & ~stays).any(axis=1)
        others, rows = np.flatnonzero(~drawn), np.flatnonzero(drawn)
        some = self.conditional_.draws(_safe_indexing(X, rows), n_draws, **options)
        origin = np.concatenate([others, rows[some.origin]])
        weights = np.concatenate([np.ones(len(others)), some.weights])
        filled = np.concatenate([codes[others], cells.codes(some.rows)])
        place = np.argsort(origin, kind="stable")
        origin, weights = origin[place], weights[place]
        filled = np.where(stays[origin], np.nan, filled[place])
        return Draws(cells.table(filled, X, origin), weights, origin)


class Indicators(TransformerMixin, BaseEstimator):
    """Append indicator columns for the missing values of other columns.

    Parameters
    ----------
    columns : array of int
        Columns that get an indicator.
    """

    adds_indicators = True  # its columns are no features that could be lost

    def __init__(self, columns: Rows):
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: there is nothing to learn."""
        return self

    def transform(self, X: Any) -> Any:
        """Append a column of zeros and ones for each of `columns`."""
        return self.appended(X, holes(X))

    def appended(self, X: Any, missing: Mask) -> Any:
        """Append the columns that tell what was `missing` to rows, completed or not."""
        missing = missing[:, self.columns]
        if not hasattr(X, "columns"):
            wide = np.empty((len(X), X.shape[1] + missing.shape[1]), X.dtype)
            wide[:, : X.shape[1]], wide[:, X.shape[1] :] = X, missing
            return wide
        new = dict(zip(self._names(X), missing.T.astype(np.float64), strict=True))
        if hasattr(X, "hstack"):  # polars
            return X.hstack(type(X)(new))
        import pandas as pd

        # not a join, which would multiply rows whose index labels are equal
        return pd.concat([X, type(X)(new, index=X.index)], axis=1)

    def _names(self, X: Any) -> list[Any]:
        """Names of the indicators, other than those of the columns."""
        taken = set(X.columns)
        if not all(isinstance(name, str) for name in taken):
            numbers = [int(name) for name in taken if isinstance(name, Integral)]
            first = 1 + max(numbers, default=-1)
            return list(range(first, first + len(self.columns)))
        end = " is missing"
        while any(f"{name}{end}" in taken for name in taken):
            end += "_"
        return [f"{X.columns[column]}{end}" for column in self.columns]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags


@dataclass(frozen=True)
class Training:
    """Training rows, targets (None for a frozen model), weights and random numbers.

    The random numbers `chances`, of shape (n_samples, n_copies), are between 0 and 1
    and choose the draws that complete each row.
    """

    X: Any
    y: Any
    weights: Any
    chances: Array

    @classmethod
    def of(cls, X: Any, y: Any, weights: Any, order: Rows, rng: Any) -> Training:
        """All training rows, in an `order` that depends on their values only."""
        n_copies = int(np.clip(_ROWS // len(order), 1, _COPIES))
        return cls(X, y, weights, rng.random((len(order), n_copies))[np.argsort(order)])

    def take(self, rows: Rows) -> Training:
        """Some of the rows, to be completed once."""
        y, weights = (None if of is None else of[rows] for of in (self.y, self.weights))
        return Training(
            _safe_indexing(self.X, rows), y, weights, self.chances[rows, :1]
        )


@dataclass(frozen=True)
class Completed:
    """Training rows whose missing values are filled by draws, once or several times.

    `rows` has all rows once, and then those with gaps once more for each other draw.
    """

    rows: Any
    gaps: Rows
    n_rows: int

    @property
    def n_copies(self) -> int:
        """How often missing values were drawn."""
        return 1 + (self.rows.shape[0] - self.n_rows) // max(len(self.gaps), 1)

    def copy(self, k: int) -> Any:
        """All rows once, filled by the k-th draw."""
        places = np.arange(self.n_rows)
        if k:
            first = self.n_rows + (k - 1) * len(self.gaps)
            places[self.gaps] = np.arange(first, first + len(self.gaps))
        elif len(self.rows) == self.n_rows:
            return self.rows
        return _safe_indexing(self.rows, places)


def completed_fits(base: Any, training: Training, done: Completed) -> list[Any]:
    """An estimator, fitted on completed rows.

    Copies of a row that differ in a few values make trees too sure of themselves, so
    one is fitted on each of the first copies. The trees of a forest are divided among
    these fits. Any other estimator is fitted once on all copies, where copies share the
    weight of a row, or on the first one if it takes no weights.
    """
    y, weights, k = training.y, training.weights, done.n_copies
    if is_tree(base) and y.ndim == 1:
        k = min(k, _FITS)
        parts = (_part_of_forest(base, i, k) for i in range(k))
        return [fitted(m, done.copy(i), y, weights) for i, m in enumerate(parts)]
    if k == 1 or not has_fit_parameter(base, "sample_weight"):
        return [fitted(base, done.copy(0), y, weights)]
    weights = np.ones(len(y)) if weights is None else weights.copy()
    weights[done.gaps] /= k
    again = np.concatenate([np.arange(len(y)), np.tile(done.gaps, k - 1)])
    return [fitted(base, done.rows, y[again], weights[again])]


def _part_of_forest(base: Any, i: int, k: int) -> Any:
    """The i-th of k estimators whose mean is as large a forest; others stay as is."""
    base = clone(base)
    last = unwrap(base)[1]
    if isinstance(last, _FORESTS):
        last.n_estimators = -(-last.n_estimators // k)
        if isinstance(last.random_state, Integral):
            last.random_state += i
    return base


def fitted(base: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """A fitted clone of an estimator."""
    options = {} if sample_weight is None else {"sample_weight": sample_weight}
    with naming_times(X):
        return clone(base).fit(X, y, **options)


def is_tree(base: Any) -> bool:
    """Whether an estimator is a tree-based model whose predictions can be averaged."""
    last = unwrap(base)[1]
    averages = hasattr(last, "predict_proba") or not is_classifier(base)
    return averages and type(last).__module__.startswith(TREE_MODULES)


def completed(
    law: Any, X: Any, chances: Array, indicators: Indicators | None = None
) -> Completed:
    """Fill missing values by draws at random, once for each column of `chances`.

    If there are `indicators`, `law` was fitted on rows with these columns, and the
    completed rows get them, too. To save memory, no more than a block of the incomplete
    rows has them at a time.
    """
    if isinstance(law, Donors):  # these are in random order
        law = copy(law)
        law.rows_ = law.rows_[:_DONORS]
    cells, (n, n_copies) = Cells(X), chances.shape
    missing, columns = holes(X), np.arange(X.shape[1])
    gaps = np.flatnonzero(missing.any(axis=1))
    origin = np.concatenate([np.arange(n), np.tile(gaps, n_copies - 1)])
    codes = cells.codes(X)[origin]
    places = np.stack(  # in `codes`, of each copy of a row with gaps
        [gaps, *np.arange(n, len(codes)).reshape(n_copies - 1, len(gaps))], axis=1
    )
    step = max(1, _BLOCK // (Donors.n_default * X.shape[1]))
    for start in range(0, len(gaps), step):
        part = gaps[start : start + step]
        some = _safe_indexing(X, part)
        if indicators is not None:
            some = indicators.transform(some)
        rows, weights, of = law.draws(some, Donors.n_default)
        # the weights of row i sum to one, and so those of all rows end at i + 1
        points = np.arange(len(part))[:, None] + chances[part].clip(1e-9, 1 - 1e-9)
        drawn = np.searchsorted(np.cumsum(weights), points)
        first = np.searchsorted(of, np.arange(len(part)))[:, None]
        last = np.searchsorted(of, np.arange(len(part)), side="right")[:, None] - 1
        rows = _safe_indexing(rows, np.clip(drawn, first, last).ravel())
        filled = cells.codes(_safe_indexing(rows, columns, axis=1))
        codes[places[start : start + step]] = filled.reshape(*drawn.shape, -1)
    table = cells.table(codes, X, origin)
    if indicators is not None:
        table = indicators.appended(table, missing[origin])
    return Completed(table, gaps, n)


def mean_of(models: list[Any], X: Any, y: Any) -> Any:
    """A model that predicts the mean over several fitted models."""
    if len(models) == 1:
        return models[0]
    members = [(str(k), FrozenEstimator(model)) for k, model in enumerate(models)]
    if is_classifier(models[0]):
        return VotingClassifier(members, voting="soft").fit(X, y)
    return VotingRegressor(members).fit(X, y)


class Treating:
    """Fit the members of `Treatments`, and choose their weights on held-out rows.

    Parameters
    ----------
    base : estimator
        The estimator, which is not fitted or is frozen.
    law : Conditional
        The conditional to average with. Clones of it are fitted.
    average : callable
        Returns a model that averages.
    """

    def __init__(self, base: Any, law: Any, average: Average):
        self.base, self.law, self.average = base, law, average
        self.frozen = isinstance(base, FrozenEstimator)
        self.takes_holes = takes_nan(base)

    def fit(
        self,
        training: Training,
        order: Rows,
        own: Any,
        known: Verdict | None = None,
    ) -> Treatments | None:
        """Fit the members on all rows. None if only one member is possible.

        `order` is an order of the rows that depends on their values only, `own` is the
        estimator fitted on the incomplete rows, and `known` are weights that another
        model has chosen.
        """
        possible = self._possible(training.X)
        if len(possible) < 2:
            return None
        if known is None or not {*known[0], *known[1], known[2]} <= {*possible}:
            known = self._judged(training, order, possible)
        seen, new, complete = known
        members = self._members(training, {*seen, *new, complete}, own)
        missing = holes(_safe_indexing(training.X, order))
        return Treatments(members, seen, new, *_patterns(missing), complete)

    def _possible(self, X: Any) -> list[str]:
        """Names of the members that are possible with these training rows."""
        found = [OWN, AVERAGED] if self.takes_holes else [AVERAGED]
        often = holes(X).sum(axis=0) >= _OFTEN
        return found if self.frozen or not often.any() else [*found, INDICATED]

    def _members(
        self, training: Training, wanted: Collection[str], own: Any = None
    ) -> dict[str, Any]:
        """Fitted members by name."""
        X, found = training.X, {}
        often = holes(X).sum(axis=0)
        if OWN in wanted or AVERAGED in wanted:
            done = completed(Donors().fit(X), X, training.chances)
            if OWN in wanted:
                law = Leaving(self.law, np.flatnonzero(often))
                if own is None:
                    own = fitted(self.base, X, training.y, training.weights)
                found[OWN] = self.average(own, law, self._some(training, done))
            if AVERAGED in wanted:
                found[AVERAGED] = self._averaged(training, done)
            del done  # it may be large
        if INDICATED in wanted and (often >= _OFTEN).any():
            indicators = Indicators(np.flatnonzero(often >= _OFTEN))
            donors = Donors().fit(indicators.transform(X))
            done = completed(donors, X, training.chances, indicators)
            del donors
            averaged = self._averaged(training, done)
            steps = [("indicators", indicators), ("averaged", averaged)]
            found[INDICATED] = Pipeline(steps)
        return found

    def _averaged(self, training: Training, done: Completed) -> Any:
        """A model that was fitted on completed rows, and that averages."""
        model = self.base
        if not self.frozen:
            models = completed_fits(self.base, training, done)
            model = mean_of(models, done.copy(0), training.y)
        return self.average(model, self.law, self._some(training, done))

    def _some(self, training: Training, done: Completed) -> Any:
        """A random sample of completed rows, as many as the conditional keeps."""
        most = getattr(self.law, "max_rows", Donors().max_rows)
        rows = np.sort(np.argsort(training.chances[:, 0], kind="stable")[:most])
        return _safe_indexing(done.copy(0), rows)

    def _judged(self, training: Training, order: Rows, names: list[str]) -> Verdict:
        """Choose the weights of the members by their predictions for held-out rows.

        One set of weights is chosen on rows with missing values, another one on rows in
        which more values are masked. The first member predicts for complete rows,
        unless another one is clearly better. For a frozen model without targets, its
        predictions for complete rows are used as targets.
        """
        X, y, rows = training.X, training.y, order
        usual = {names[0]: 1.0}, {AVERAGED: 1.0}, names[0]
        if y is None:
            rows = rows[~holes(_safe_indexing(X, rows)).any(axis=1)]
            said = np.asarray(self.base.predict(_safe_indexing(X, rows)))
            y = np.empty(len(order), dtype=said.dtype)
            y[rows] = said
        if len(rows) < 5 * _PARTS:
            return usual
        classes = None
        if is_classifier(self.base):  # a frozen one may know more classes
            known = getattr(self.base, "classes_", y[:0])
            classes = np.unique(np.concatenate([y[rows], known]))
        rows = rows[:_TAUGHT_BY]
        rows = rows[np.argsort(y[rows], kind="stable")] if y.ndim == 1 else rows
        part_of = np.arange(len(rows)) % _PARTS
        answers: list[list[Any]] = [[], [], []]  # for own holes, more, and none
        for part in range(_PARTS if len(rows) < _PARTS * _MANY else 1):
            held, others = rows[part_of == part], rows[part_of != part]
            try:
                models = self._members(training.take(others), names)
                asked = [models[name] for name in names]
            except (KeyError, ValueError):
                # too few incomplete rows or rows of a class, or too many columns
                fewer = [name for name in names if name != INDICATED]
                return usual if fewer == names else self._judged(training, order, fewer)
            for kind, some, places in _holed(X, held):
                soft = [_soft(model, some, classes) for model in asked]
                answers[kind].append((np.stack(soft), y[places]))
        own, more, none = answers
        new = _blended(more, names, classes)
        if training.y is None:
            return usual[0], new, names[0]
        enough = sum(len(targets) for _, targets in own) >= _ENOUGH
        seen = _blended(own if enough else own + more, names, classes)
        # trees that learned from NaN always predict for complete rows themselves
        if self.takes_holes and is_tree(self.base):
            return seen, new, names[0]
        return seen, new, _best(none, names, classes)


def _holed(X: Any, held: Rows) -> Iterator[tuple[int, Any, Rows]]:
    """Held-out rows: (0) incomplete ones, (1) rows with masked values, (2) complete."""
    rows = _safe_indexing(X, held)
    gaps = holes(rows).any(axis=1)
    for kind, some in (0, np.flatnonzero(gaps)), (2, np.flatnonzero(~gaps)):
        if len(some):
            yield kind, _safe_indexing(rows, some), held[some]
    cells, rng = Cells(X), np.random.default_rng(0)
    held = rng.permutation(held)[:_JUDGED]
    rows = _safe_indexing(X, held)
    codes = cells.codes(rows)
    for rate in _RATES:
        lost = cells.chances(len(codes), rng) < rate
        yield 1, cells.table(np.where(lost, np.nan, codes), rows), held


def _soft(model: Any, X: Any, classes: Any) -> Array:
    """Predictions of a regressor, or probabilities of all classes (or from scores)."""
    if classes is None:
        return np.asarray(model.predict(X), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        given = model.predict_proba(X)
    else:
        given = shares(np.asarray(model.decision_function(X)))
        if given.ndim == 1:
            given = np.column_stack([1.0 - given, given])
    found = np.zeros((len(given), len(classes)))
    found[:, np.searchsorted(classes, model.classes_)] = given
    return found


def _best(answers: list[Any], names: list[str], classes: Any) -> str:
    """The member for complete rows: the first one unless another is clearly better.

    Clearly better means by more than the standard error of the difference of losses.
    """
    parts = [np.zeros((len(names), 0))]
    for soft, y in answers:
        if classes is None:
            errors = (soft - y) ** 2
            parts.append(errors.reshape(*errors.shape[:2], -1).mean(axis=2))
        else:
            likely = soft[:, np.arange(len(y)), np.searchsorted(classes, y)]
            parts.append(-np.log(np.maximum(likely, _UNLIKELY)))
    losses = np.concatenate(parts, axis=1)
    n = losses.shape[1]
    if n < _ENOUGH:
        return names[0]
    gains = losses[0] - losses
    clear = gains.mean(axis=1) - gains.std(axis=1) / np.sqrt(n)
    return names[int(first_best(-clear))]


def _blended(answers: list[Any], names: list[str], classes: Any) -> Weights:
    """Choose weights of members from their predictions and the targets."""
    soft, y = zip(*answers, strict=True)
    stacked, targets = np.concatenate(soft, axis=1), np.concatenate(y)
    if classes is None:  # of several outputs
        stacked, targets = stacked.reshape(len(names), -1), targets.ravel()
    weights = blend_weights(stacked, targets, classes, _SMALL)
    return {name: float(w) for name, w in zip(names, weights, strict=True) if w > 0}
