"""Ways to answer rows with missing values, where training rows had some as well."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from noiseproof._blending import blend_weights
from noiseproof._pipelines import unwrap
from noiseproof._private import _safe_indexing
from noiseproof._rows import naming_times
from noiseproof.conditionals import Cells, Donors, Draws, first_best, holes
from noiseproof.estimators.averaging import TINY, best_classes, shares

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
Weights = dict[str, float]  # of members; they sum to one, and none is zero
# weights for holes as in training and for others, and who answers complete rows
Verdict = tuple[Weights, Weights, str]
# of a fitted model, a conditional and complete rows: a model that averages
Average = Callable[[Any, Any, Any], Any]

TREE_MODULES = ("sklearn.ensemble", "sklearn.tree", "xgboost", "lightgbm", "catboost")
OWN, AVERAGED, INDICATED = "own NaN", "averaged", "averaged with indicators"

_FITS = 3  # of trees, each on rows that are completed by another draw
_COPIES, _ROWS = 5, 100_000  # of a row with holes for others, and rows in all copies
_DONORS = 2_000  # rows that complete the training rows
_BLOCK = 2**19  # numbers in the draws that complete some of them
_OFTEN = 5  # missing values of a column that gets an indicator
_PARTS = 3  # of the rows, one of which is held out at a time
_TAUGHT_BY = 6_000  # rows from which the parts are taken
_JUDGED = 300  # rows that are masked at each rate
_RATES = (0.2, 0.5, 0.8)  # of cells masked in rows held out
_UNLIKELY = 1e-6  # log-loss has no bound
_SMALL = 0.1  # weight that is not worth to ask another model
_MANY = 1_000  # rows of a part after which no other is held out
_ENOUGH = 50  # held-out rows that have holes of their own
_PATTERNS = 2_000  # of training rows, to compare others with
_NEAR = 0.95  # share of training rows that are as near to another one


class Treatments:
    """Ways to answer rows with missing values, and the weight of each.

    Holes of training rows may mean something, and a model that accepts NaN has learned
    from them. So there are up to three members: the model's own handling of NaN, which
    averages only over values of columns that were never missing in training; averages
    of a model that was fitted on completed rows; and the same with indicator columns
    for what is missing. Their answers are averaged with the weights that suit held-out
    training rows best, by log-loss or squared error. Rows whose holes resemble those of
    training rows have weights of their own.

    Parameters
    ----------
    members : dict of str to fitted model
    seen, new : dict of str to float
        Weights of members for rows with holes as in training, and for others.
    patterns : array of bool of shape (n_patterns, n_columns)
        What is missing in training rows.
    reach : float
        Number of cells by which a pattern may differ from those of training.
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
        return f"{seen} where holes are like those of training; otherwise {new}"

    @property
    def verdict(self) -> Verdict:
        """What was found, for another model of the same kind."""
        return self.seen, self.new, self.complete

    def answer(self, method: str, X: Any) -> Any:
        """What a method of the estimator predicts for rows with missing values."""
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
        """The estimator fitted with indicator columns, as a model of the other ones."""
        (_, indicators), (_, averaged) = self.members[INDICATED].steps
        model = averaged.estimator_.estimator
        return Pipeline([("indicators", indicators), ("model", model)])

    def spreads(self, X: Any) -> Array:
        """Standard deviations of predictions, over draws and over members."""

        def moments(model: Any, rows: Any) -> Array:
            mean, std = model.predict(rows, return_std=True)
            return np.stack([mean, mean**2 + std**2], axis=-1)

        mean, square = np.moveaxis(self._mixed(X, moments), -1, 0)
        return np.sqrt(np.maximum(square - mean**2, 0.0))

    def _mixed(self, X: Any, ask: Callable[[Any, Any], Any]) -> Any:
        """Weighted means of what the members answer."""
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
    """The heaviest first: averaged (70%), own NaN (30%)."""
    if len(weights) == 1:
        return next(iter(weights))
    order = sorted(weights, key=lambda name: -weights[name])
    return ", ".join(f"{name} ({weights[name]:.0%})" for name in order)


def _log_odds(probabilities: Array) -> Array:
    """Scores that have these probabilities: of two classes one, else one each."""
    if probabilities.shape[1] == 2:
        return np.asarray(logit(np.clip(probabilities[:, 1], TINY, 1 - 2**-53)))
    return np.log(np.maximum(probabilities, TINY))


def _distances(missing: Mask, patterns: Mask) -> Array:
    """Numbers of cells that are missing in one of two rows only, (n, n_patterns)."""
    M, P = missing.astype(np.float32), patterns.astype(np.float32)
    return M.sum(axis=1)[:, None] + P.sum(axis=1) - 2 * M @ P.T


def _patterns(missing: Mask) -> tuple[Mask, float]:
    """What is missing in some rows, and how far another row may be from them."""
    missing = missing[missing.any(axis=1)][:_PATTERNS]
    apart = _distances(missing, missing)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1, initial=missing.shape[1])
    return np.unique(missing, axis=0), float(np.quantile(nearest, _NEAR))


class Leaving(BaseEstimator):
    """A conditional that leaves missing values of some columns missing.

    Parameters
    ----------
    conditional : Conditional
        Draws the other missing values.
    columns : array of int
        Columns whose missing values stay.
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
        """Draw rows; one that misses nothing else is its own only draw."""
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
    """Appends columns that say where values of other columns are missing.

    Parameters
    ----------
    columns : array of int
        Columns that get an indicator.
    """

    def __init__(self, columns: Rows):
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing to learn."""
        return self

    def transform(self, X: Any) -> Any:
        """The table with one more column, of zeros and ones, for each of `columns`."""
        missing = holes(X)[:, self.columns]
        if not hasattr(X, "columns"):
            wide = np.empty((len(X), X.shape[1] + missing.shape[1]), X.dtype)
            wide[:, : X.shape[1]], wide[:, X.shape[1] :] = X, missing
            return wide
        names = [X.columns[column] for column in self.columns]
        if all(isinstance(name, str) for name in X.columns):
            names = [f"{name} is missing" for name in names]
        else:
            names = [X.shape[1] + j for j in range(len(names))]
        new = type(X)(dict(zip(names, missing.T.astype(np.float64), strict=True)))
        if hasattr(X, "hstack"):  # polars
            return X.hstack(new)
        return X.join(new.set_index(X.index))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags


@dataclass(frozen=True)
class Training:
    """Rows, targets (None for a frozen model), weights, and random numbers.

    `chances`, of shape (n_samples, n_copies), are from 0 to 1 and choose the draws that
    complete each row.
    """

    X: Any
    y: Any
    weights: Any
    chances: Array

    @classmethod
    def of(cls, X: Any, y: Any, weights: Any, order: Rows, rng: Any) -> Training:
        """All training rows; `order` is one that depends on what they hold."""
        n_copies = int(np.clip(_ROWS // len(order), 1, _COPIES))
        return cls(X, y, weights, rng.random((len(order), n_copies))[np.argsort(order)])

    def take(self, rows: Rows) -> Training:
        """Some of the rows, to be completed once."""
        y, weights = (None if of is None else of[rows] for of in (self.y, self.weights))
        return Training(
            _safe_indexing(self.X, rows), y, weights, self.chances[rows, :1]
        )


def completed_fits(base: Any, training: Training, tables: list[Any]) -> list[Any]:
    """An estimator, fitted on completed rows.

    Copies of a row that differ in a few values make trees too sure of themselves, so
    one is fitted on each of the first tables. Any other estimator is fitted once on all
    of them, as copies that share the weight of a row, or on the first one if it takes
    no weights.
    """
    y, weights = training.y, training.weights
    if is_tree(base) and y.ndim == 1:
        return [fitted(base, table, y, weights) for table in tables[:_FITS]]
    if len(tables) == 1 or not has_fit_parameter(base, "sample_weight"):
        return [fitted(base, tables[0], y, weights)]
    weights = np.ones(len(y)) if weights is None else weights
    gaps = np.flatnonzero(holes(training.X).any(axis=1))
    shared = weights[gaps] / len(tables)
    weights = weights.copy()
    weights[gaps] = shared
    copies = [_safe_indexing(table, gaps) for table in tables[1:]]
    return [
        fitted(
            base,
            _stacked([tables[0], *copies]),
            np.concatenate([y, *[y[gaps]] * len(copies)]),
            np.concatenate([weights, *[shared] * len(copies)]),
        )
    ]


def fitted(base: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """A fitted clone of an estimator."""
    options = {} if sample_weight is None else {"sample_weight": sample_weight}
    with naming_times(X):
        return clone(base).fit(X, y, **options)


def is_tree(base: Any) -> bool:
    """Whether an estimator is a tree or an ensemble of trees with an average."""
    last = unwrap(base)[1]
    averages = hasattr(last, "predict_proba") or not is_classifier(base)
    return averages and type(last).__module__.startswith(TREE_MODULES)


def completed(law: Any, X: Any, chances: Array) -> list[Any]:
    """Tables in which missing values are filled by draws at random.

    There is one for each column of `chances`.
    """
    if isinstance(law, Donors):  # these are in random order
        law = copy(law)
        law.rows_ = law.rows_[:_DONORS]
    step = max(1, _BLOCK // (Donors.n_default * X.shape[1]))
    tables: list[list[Any]] = [[] for _ in chances.T]
    for start in range(0, len(chances), step):
        part = np.arange(start, min(start + step, len(chances)))
        rows, weights, origin = law.draws(_safe_indexing(X, part), Donors.n_default)
        # the weights of row i sum to one, and so those of all rows end at i + 1
        points = np.arange(len(part))[:, None] + chances[part].clip(1e-9, 1 - 1e-9)
        places = np.searchsorted(np.cumsum(weights), points)
        first = np.searchsorted(origin, np.arange(len(part)))[:, None]
        last = np.searchsorted(origin, np.arange(len(part)), side="right")[:, None] - 1
        places = np.clip(places, first, last)
        for parts, place in zip(tables, places.T, strict=True):
            parts.append(_safe_indexing(rows, place))
    return [_stacked(parts) for parts in tables]


def _stacked(tables: list[Any]) -> Any:
    """Rows of several arrays or data frames in one; the list is empty afterwards."""
    first = tables[0]
    if len(tables) == 1:
        return first
    if hasattr(first, "vstack"):  # polars
        for table in tables[1:]:
            first = first.vstack(table)
        return first
    if hasattr(first, "columns"):
        import pandas as pd

        return pd.concat(tables)
    rows = np.empty((sum(map(len, tables)), first.shape[1]), first.dtype)
    end = len(rows)
    while tables:  # each is freed when it has been copied
        part = tables.pop()
        rows[end - len(part) : end] = part
        end -= len(part)
    return rows


def mean_of(models: list[Any], X: Any, y: Any) -> Any:
    """A model that answers with the mean over several fitted ones."""
    if len(models) == 1:
        return models[0]
    members = [(str(k), FrozenEstimator(model)) for k, model in enumerate(models)]
    if is_classifier(models[0]):
        return VotingClassifier(members, voting="soft").fit(X, y)
    return VotingRegressor(members).fit(X, y)


class Treating:
    """Fits the members of `Treatments`, and judges them on rows held out.

    Parameters
    ----------
    base : estimator
        Unfitted, or frozen.
    law : Conditional
        The one to average with, of which clones are fitted.
    average : callable
        Makes a model that averages.
    """

    def __init__(self, base: Any, law: Any, average: Average):
        self.base, self.law, self.average = base, law, average
        self.frozen = isinstance(base, FrozenEstimator)
        self.takes_holes = bool(get_tags(base).input_tags.allow_nan)

    def fit(
        self,
        training: Training,
        order: Rows,
        own: Any,
        known: Verdict | None = None,
    ) -> Treatments | None:
        """Fit the members on all rows; None if there is only one way.

        `order` is one that depends on what rows hold, `own` the estimator fitted on the
        rows as they are, and `known` is what was found before.
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
        """Names of the members that these training rows allow."""
        found = [OWN, AVERAGED] if self.takes_holes else [AVERAGED]
        often = holes(X).sum(axis=0) >= _OFTEN
        return found if self.frozen or not often.any() else [*found, INDICATED]

    def _members(
        self, training: Training, wanted: Collection[str], own: Any = None
    ) -> dict[str, Any]:
        """Fitted models that answer rows with missing values, by name."""
        X, found = training.X, {}
        often = holes(X).sum(axis=0)
        tables = completed(Donors().fit(X), X, training.chances)
        if OWN in wanted:
            law = Leaving(self.law, np.flatnonzero(often))
            if own is None:
                own = fitted(self.base, X, training.y, training.weights)
            found[OWN] = self.average(own, law, self._some(training, tables))
        if AVERAGED in wanted:
            found[AVERAGED] = self._averaged(training, tables)
        del tables  # which may be large
        if INDICATED in wanted and (often >= _OFTEN).any():
            indicators = Indicators(np.flatnonzero(often >= _OFTEN))
            X = indicators.transform(X)
            tables = completed(Donors().fit(X), X, training.chances)
            averaged = self._averaged(training, tables)
            steps = [("indicators", indicators), ("averaged", averaged)]
            found[INDICATED] = Pipeline(steps)
        return found

    def _averaged(self, training: Training, tables: list[Any]) -> Any:
        """Averages of a model that was fitted on completed rows."""
        model = self.base
        if not self.frozen:
            models = completed_fits(self.base, training, tables)
            model = mean_of(models, tables[0], training.y)
        return self.average(model, self.law, self._some(training, tables))

    def _some(self, training: Training, tables: list[Any]) -> Any:
        """Completed rows for a conditional, as many as it keeps, by their hashes."""
        most = getattr(self.law, "max_rows", Donors().max_rows)
        rows = np.sort(np.argsort(training.chances[:, 0], kind="stable")[:most])
        return _safe_indexing(tables[0], rows)

    def _judged(self, training: Training, order: Rows, names: list[str]) -> Verdict:
        """Weights of members by their answers for held-out rows.

        They suit rows that have holes of their own, and rows with more values masked;
        complete rows are answered by the first member unless another one is clearly
        better. A frozen model without targets is compared with what it predicts for
        complete rows.
        """
        X, y, rows = training.X, training.y, order
        usual = {names[0]: 1.0}, {AVERAGED: 1.0}, names[0]
        if y is None:
            rows = rows[~holes(_safe_indexing(X, rows)).any(axis=1)]
            said = np.asarray(self.base.predict(_safe_indexing(X, rows)))
            y = np.empty(len(order), dtype=said.dtype)
            y[rows] = said
        if (y.ndim > 1 and is_classifier(self.base)) or len(rows) < 5 * _PARTS:
            return usual
        classes = np.unique(y[rows]) if is_classifier(self.base) else None
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
                # too few rows with holes or of a class, or one column too many
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
        if self.takes_holes and is_tree(self.base):  # what learned from NaN stays
            return seen, new, names[0]
        return seen, new, _best(none, names, classes)


def _holed(X: Any, held: Rows) -> Iterator[tuple[int, Any, Rows]]:
    """Held-out rows: 0 for own holes, 1 for masked values, 2 for complete ones."""
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
    """Predictions of quantities; probabilities of all classes, or shares of scores."""
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
    """The member to ask about complete rows: the first, or one that is clearly better.

    That is by more than the standard error of the difference of their losses.
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
    """Weights of members by their answers, and the targets of these rows."""
    soft, y = zip(*answers, strict=True)
    stacked, targets = np.concatenate(soft, axis=1), np.concatenate(y)
    if classes is None:  # of several outputs
        stacked, targets = stacked.reshape(len(names), -1), targets.ravel()
    weights = blend_weights(stacked, targets, classes, _SMALL)
    return {name: float(w) for name, w in zip(names, weights, strict=True) if w > 0}
