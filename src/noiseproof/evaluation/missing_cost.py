"""What the missing values of a batch of rows cost, estimated without labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.utils import check_random_state

from noiseproof._charts import Chart, Line, Series
from noiseproof._conformal import missing_values
from noiseproof._docs import shared_docs
from noiseproof._private import _safe_indexing
from noiseproof.evaluation.averaged import Averaged, codes_of
from noiseproof.evaluation.corrections import (
    WIDTH,
    Labelled,
    today_risks,
)
from noiseproof.evaluation.part_costs import Expected, PartCosts
from noiseproof.evaluation.results import Result
from noiseproof.evaluation.signs import warning_signs
from noiseproof.groups import Groups

Array = NDArray[np.float64]
Columns = NDArray[np.intp]

_HARDLY_ANY = 0.1  # of the columns
_ENOUGH = 50  # rows that tell which columns are alike
_ALIKE = 0.6  # mean correlation of columns that stand for each other
# The rows kept aside judge another fit of the model, which was fitted on three times as
# many rows or more: their variance grows by the quotient (Nadeau and Bengio 2003).
_REFITTED = 4 / 3
_PERIODS = 40  # of a series, at most
_ENDS = ("low", "high")
_DAY = re.compile(r"\d{4}-\d\d-\d\d([ T]00:00(:00(\.0+)?)?([+-]\d\d:\d\d)?)?")
_MINUTE = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d):00(\.0+)?")
_NAMES = {
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "squared_error": "squared error",
}


class Estimate(NamedTuple):
    """An estimate with its 95 % interval.

    Parameters
    ----------
    value : float
        The estimate.
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.

    See Also
    --------
    missing_cost : Returns estimates.
    """

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        """Format as "0.82 (0.79 to 0.85)", and NaN as "unknown"."""
        if np.isnan(self.value):
            return "unknown"
        value, low, high = (format(float(part), spec or ".3f") for part in self)
        return f"{value} ({low} to {high})"


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class MissingCost(Result):
    """Cost of the missing values of one batch, as `missing_cost` returns it.

    Parameters
    ----------
    scoring : {"accuracy", "log_loss", "squared_error"}
        Name of the metric.
    score : Estimate
        Estimated score of the predictions for these rows.
    complete_score : Estimate
        Estimated score if nothing were missing.
    cost : Estimate
        Difference of the two. It is positive if missing values make the score worse.
    by_column : dict of str to Estimate
        Cost of the missing values of each column: how much better the score of the
        batch would be if these values were known, and no others. The most costly column
        comes first.
    missing : dict of str to float
        Share of missing values, by column.
    n_rows : int
        Number of rows.
    by_group : dict of str to Estimate
        Cost of the missing values of each group of columns.
    missing_before : dict of str to float
        Share of missing values, by column, in the labelled rows by which the estimates
        were corrected. Empty if there are none.
    warnings : tuple of str
        Reasons why the estimates may be wrong, a sentence each.
    groups : dict of str to list of str
        Columns of each group.

    {See Also: missing_cost, MissingCostDisplay}
    """

    scoring: str
    score: Estimate
    complete_score: Estimate
    cost: Estimate
    by_column: dict[str, Estimate]
    missing: dict[str, float]
    n_rows: int
    by_group: dict[str, Estimate] = field(default_factory=dict)
    missing_before: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    groups: dict[str, list[str]] = field(default_factory=dict)

    @property
    def worth(self) -> dict[str, float]:
        """Mean gain from knowing one missing value, by column."""
        return {
            name: one.value / self.missing[name] for name, one in self.by_column.items()
        }

    @property
    def verdict(self) -> str:
        """The result in a few words."""
        name, costs = _NAMES[self.scoring], self.cost.value
        if not self.by_column:
            return f"No value is missing in {_rows(self.n_rows)}."
        unit = (
            "" if self.scoring != "accuracy" else f" of {self.complete_score.value:.3f}"
        )
        told = f"Missing values cost {costs:.3f}{unit} {name}."
        first, one = next(iter(self.by_column.items()))
        if self.by_group and (best := max(self.by_group.items(), key=_size))[1] > one:
            first, one = f"the group {_listed(self.groups[best[0]])}", best[1]
        if costs > 0 and round(one.value, 3) > 0:
            told += f" Those of {first} cost most: {one.value:.3f}."
        if self.by_group and self._is_noise:
            told += (
                " Hardly any column costs something for certain, so their order is "
                "mostly noise. Columns may stand in for each other: see the costs of "
                "groups."
            )
        doubt = " The estimate is doubtful; see the warnings." if self.warnings else ""
        return f"{told}{doubt}"

    @property
    def _is_noise(self) -> bool:
        """Whether the order of the columns is: hardly any cost is above zero."""
        certain = [one.low > 0 for one in self.by_column.values()]
        return len(certain) > 1 and sum(certain) <= _HARDLY_ANY * len(certain)

    @property
    def summary(self) -> str:
        """The estimated scores and their difference, with intervals, in one line."""
        name = _NAMES[self.scoring]
        return (
            f"Estimated {name} of {_rows(self.n_rows)}: {self.score:.3f}; with nothing "
            f"missing {self.complete_score:.3f}; cost {self.cost:.3f}"
        )

    def _title(self) -> str:
        return self.summary

    def _columns(self) -> dict[str, Any]:
        columns = self.by_column
        found: dict[str, Any] = {
            "column": list(columns),
            "missing": [self.missing[name] for name in columns],
        }
        if self.missing_before:
            found["in labelled rows"] = [self.missing_before[name] for name in columns]
        ends = np.array(list(columns.values())).reshape(-1, 3).T
        found |= dict(zip(("cost", "low", "high"), ends, strict=True))
        return found | {"worth": list(self.worth.values())}


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class MissingCostSeries(Result):
    """Costs of the missing values of several batches, as `missing_cost` returns them.

    Parameters
    ----------
    batches : dict of str to MissingCost
        The result for each batch, in their order.

    {See Also: missing_cost, MissingCostDisplay}
    """

    batches: dict[str, MissingCost]

    def _title(self) -> str:
        first = next(iter(self.batches.values()))
        return f"Estimated {_NAMES[first.scoring]} of {len(self.batches)} batches"

    def _columns(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "batch": list(self.batches),
            "rows": [one.n_rows for one in self.batches.values()],
        }
        for name in ("score", "complete_score", "cost"):
            ends = np.array([getattr(one, name) for one in self.batches.values()]).T
            titles = (name, *("_".join((name, end)) for end in _ENDS))
            found |= dict(zip(titles, ends, strict=True))
        found["costliest"] = [
            next(iter(one.by_column), "") for one in self.batches.values()
        ]
        found["warnings"] = [len(one.warnings) for one in self.batches.values()]
        return found

    def _overview(self) -> dict[str, Any]:
        shown = ("batch", "rows", "score", "complete_score", "cost", "costliest")
        found = self._columns()
        return {name: found[name] for name in (*shown, "warnings")}

    def _chart(self) -> Chart:
        table, x = self._columns(), tuple(range(len(self.batches)))
        shown = ("rows as they are", "score"), ("nothing missing", "complete_score")
        lines = []
        for i, (title, name) in enumerate(shown):
            names = (name, *("_".join((name, end)) for end in _ENDS))
            lines.append(Line(title, Series(x, *(tuple(table[n]) for n in names)), i))
        first = next(iter(self.batches.values()))
        return Chart(lines, "batch", f"estimated {_NAMES[first.scoring]}")


@shared_docs
def missing_cost(
    model: Any,
    X: Any,
    *,
    scoring: str | None = None,
    groups: Any = None,
    by: Any = None,
    calibration: tuple[Any, Any] | None = None,
    max_rows: int = 1000,
    random_state: Any = 0,
) -> MissingCost | MissingCostSeries:
    """Estimate how much missing values lower the score of a batch, without labels.

    Use it in production, where labels come late or never, to see whether missing values
    are a problem today, and which columns cause it.

    A model that averages over missing values gives a probability for each prediction,
    and also one for each draw of the missing values. From these the function
    estimates the score of the predictions, the score if nothing were missing, and the
    cost of each column.

    Models are often too sure, or not sure enough. To correct for this,
    `AverageOverMissing` holds out some training rows. The values that today's rows miss
    are removed from them, and a model fitted without them predicts them. A straight
    line then maps expected losses to actual losses. Its uncertainty is part of the
    intervals.

    The intervals are for the score that these rows would have if their labels were
    known. They hold if the rows follow the same distribution as the training rows, and
    if the observed values explain which values are missing. `warnings` says where this
    does not seem to be the case. The page on promises of the documentation says what
    the warnings cannot see.

    Parameters
    ----------
    model : estimator
        A fitted `AverageOverMissing`, a pipeline that ends with one, or a vote of such
        models, as `recommend` finds them.
    X : array, data frame or dict of str to such tables
        Rows with missing values. Pass a dictionary for several batches, or use `by`.
    scoring : {"accuracy", "log_loss", "squared_error"}, default=None
        The metric. None means "accuracy" for a classifier and "squared_error" for a
        regressor.
    groups : mapping, list of lists or array-like of labels, default=None
        Groups of columns, such as those of a sensor, whose joint cost is estimated in
        addition. None makes groups of correlated columns, which can replace each
        other.
    by : str or array-like of shape (n_samples,), default=None
        How to split X into a series of batches: the name of a column of a data frame,
        such as a date, which is not passed to the model; or a label for each row.
        Numbers and dates are sorted as such. If there are more than 40 different
        labels, they are merged into 40 periods.
    calibration : tuple of X and y, default=None
        Labelled rows on which the model was not trained. None means the training rows
        that the model has held out.
    max_rows : int, default=1000
        Maximum number of rows from which costs are estimated, drawn at random. The
        score is always estimated from all rows.
    {any random_state}

    Returns
    -------
    cost : MissingCost or MissingCostSeries
        Estimates with intervals, or a series of them for several batches.

    {See Also: value_of_cells, feature_fragility, MissingCostDisplay}

    {References: Nadeau 2003}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from noiseproof import AverageOverMissing
    >>> from noiseproof.evaluation import missing_cost
    >>> from noiseproof.noise import Missing
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> model = AverageOverMissing(forest, "donors", random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> found = missing_cost(model, Missing(0.8).sample(X[300:], rng=0))
    >>> found.complete_score.value > found.score.value > 0.9
    True
    >>> found.cost.low < found.complete_score.value - found.score.value
    True
    """
    if not isinstance(max_rows, Integral) or max_rows < 1:
        raise ValueError(
            f"max_rows must be a whole number of at least 1; got {max_rows!r}."
        )
    batches = _batches(model, X, by)
    if batches is not None:
        if not batches:
            raise ValueError("X has no batches; pass at least one table with rows.")
        options = {"scoring": scoring, "groups": groups, "calibration": calibration}
        options |= {"max_rows": max_rows, "random_state": random_state}
        found: Any = {n: missing_cost(model, part, **options) for n, part in batches}
        return MissingCostSeries(found)
    averaged = Averaged.of(model)
    scoring = averaged.scoring(scoring)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    if not averaged.read(X).shape[0]:
        raise ValueError("X has no rows; pass at least one.")
    names, known = averaged.names(X), _known(averaged, calibration)
    if known is not None:
        averaged = known.averaged
    rows = averaged.read(X)
    if known is not None and known.X.shape[1] != rows.shape[1]:
        raise ValueError(
            f"calibration must have the {rows.shape[1]} columns of X; got "
            f"{known.X.shape[1]}."
        )
    return _Batch(averaged, rows, names, scoring, rng, max_rows).cost(groups, known)


class _Known(NamedTuple):
    """A model, labelled rows that it was not fitted on, and their targets.

    The variance that is due to these rows counts `refitted` times.
    """

    averaged: Averaged
    X: Any
    y: Any
    refitted: float


def _known(averaged: Averaged, calibration: Any) -> _Known | None:
    """The labelled rows that the user passed, or those that the model has held out.

    In the second case everything is estimated for the model that was fitted without
    these rows. The probabilities of the other model may be too high, or too low, in
    another way, which these rows cannot tell.
    """
    if calibration is not None:
        if not isinstance(calibration, tuple | list) or len(calibration) != 2:
            raise TypeError(
                "calibration must be a pair: labelled rows and their targets, (X, y)."
            )
        X, y = averaged.read(calibration[0]), averaged.targets(calibration[1])
        if not len(y):
            raise ValueError("calibration has no rows; pass some, or leave it out.")
        if len(y) != X.shape[0]:
            raise ValueError(
                "calibration must have one target for each row; got "
                f"{X.shape[0]} rows and {len(y)} targets."
            )
        return _Known(averaged, X, y, 1.0)
    found = averaged.kept_aside()
    return None if found is None else _Known(*found, _REFITTED)


class _Batch:
    """One batch of rows, with everything that is computed from it once."""

    def __init__(
        self,
        averaged: Averaged,
        X: Any,
        names: list[str],
        scoring: str,
        rng: Any,
        max_rows: int,
    ):
        self.averaged, self.X, self.scoring, self.rng = averaged, X, scoring, rng
        self.names = names
        self.gone = missing_values(X)
        self.n = len(self.gone)
        order = rng.permutation(self.n)[:max_rows]
        self.some = np.sort(order)
        self.sample = _safe_indexing(X, self.some)
        self.today = Expected(averaged, self.sample, scoring, rng)
        self.drawn, self.risks = self.today.drawn, self.today.risks
        self.refitted = 1.0

    def cost(self, groups: Any, known: _Known | None) -> MissingCost:
        """Estimate all costs."""
        labelled, before, signs = None, {}, []
        if known is not None:
            self.refitted = known.refitted
            labelled = Labelled.of(
                *(known.averaged, known.X, known.y),
                *(self.gone, self.scoring, self.rng),
            )
            rates = missing_values(known.X).mean(axis=0).tolist()
            before = dict(zip(self.names, rates, strict=True))
            signs = warning_signs(
                known.averaged.law, self.X, self.names, known.X, self.rng
            )
        score, complete, cost = self._scores(labelled)
        masked = None if labelled is None else labelled.masked
        costs = PartCosts(self.today, self.gone, masked, self.refitted)
        holes = np.flatnonzero(self.gone.any(axis=0))
        columns = self._costs(costs, {self.names[j]: np.array([j]) for j in holes})
        if groups is None:
            groups = self._alike(known)
        members = self._members(groups)
        share = self.gone.mean(axis=0)
        return MissingCost(
            self.scoring,
            *(score, complete, cost, columns),
            {name: float(share[self.names.index(name)]) for name in columns},
            self.n,
            self._costs(costs, members),
            before,
            (*_signs(labelled), *signs),
            {name: [self.names[j] for j in part] for name, part in members.items()},
        )

    def _scores(self, labelled: Labelled | None) -> tuple[Estimate, Estimate, Estimate]:
        """Score, complete score and cost, with their intervals."""
        answers = self.averaged.answers(self.X)
        if self.scoring == "squared_error":
            now = self.risks[0]
        else:
            now = today_risks(self.averaged, self.X, answers, self.scoring)
        gap = now[self.some] - self.risks[1] if len(now) == self.n else now
        today = float(now.mean())
        complete = today - float(gap.mean())
        sampled = np.array([0.0, *[gap.var() / len(gap)] * 2])
        if len(self.some) == self.n:
            sampled[:] = 0.0
        elif self.scoring == "squared_error":
            sampled[0] = sampled[1]
        if labelled is None:
            values = np.array([today, complete, today - complete])
            spread = now.var() / len(now), self.risks[1].var() / len(gap)
            variance = sampled + np.array([*spread, gap.var() / len(gap)])
            if self.scoring == "squared_error":
                values[:2] = np.nan  # the noise of the target is not known
        else:
            values, by_labels, by_row = labelled.estimates(today, complete)
            variance = sampled + self.refitted * by_labels + by_row / self.n
        reach = WIDTH * np.sqrt(variance)
        if not self.gone.any():
            values[2], reach[2] = 0.0, 0.0
            values[1], reach[1] = values[0], reach[0]
        ends = np.stack([values, values - reach, values + reach], axis=1)
        ends[:2] = np.clip(ends[:2], 0.0, 1.0 if self.scoring == "accuracy" else None)
        if not np.isnan(values[0]):  # the cost is the difference of what is shown
            ends[2, 0] = ends[0, 0] - ends[1, 0]
            ends[2, 1:] = np.fmin(ends[2, 0], ends[2, 1]), np.fmax(*ends[2, ::2])
        if self.scoring == "accuracy":
            ends[:2] = 1.0 - ends[:2][:, [0, 2, 1]]
        score, full, cost = (Estimate(*row) for row in ends.tolist())
        return score, full, cost

    def _costs(
        self, costs: PartCosts, parts: dict[str, Columns]
    ) -> dict[str, Estimate]:
        """Cost of the missing values of each part, the most costly first."""
        member = np.zeros((len(parts), self.gone.shape[1]), dtype=bool)
        for row, columns in zip(member, parts.values(), strict=True):
            row[columns] = True
        ends = costs.of(member).tolist() if len(parts) else []
        found = {name: Estimate(*row) for name, row in zip(parts, ends, strict=True)}
        return dict(sorted(found.items(), key=lambda item: -item[1].value))

    def _alike(self, known: _Known | None) -> list[list[int]]:
        """Groups of correlated columns, which can replace each other.

        Correlations are those of labelled rows, or else of today's rows with drawn
        values.
        """
        law, codes = self.averaged.law, self.drawn.codes[:, 0]
        if known is not None:
            codes = codes_of(law, law.draws(known.X, 1).rows)
        if len(codes) < _ENOUGH:
            return []
        spread = np.ptp(codes, axis=0)  # exactly zero for constants
        gone = self.gone.any(axis=0)
        usable = np.flatnonzero((spread > 0) & self.drawn.is_number & gone)
        if len(usable) < 2:
            return []
        away = 1.0 - np.abs(np.corrcoef(codes[:, usable].T))
        np.fill_diagonal(away, 0.0)
        tree = linkage(squareform(np.maximum(away, 0), checks=False), "average")
        label = fcluster(tree, 1.0 - _ALIKE, "distance")
        parts = [usable[label == one] for one in np.unique(label)]
        return [part.tolist() for part in parts if len(part) > 1]

    def _members(self, groups: Any) -> dict[str, Columns]:
        """Columns of each group of which something is missing.

        Groups without a name are named after their first column, or after all of them
        if that name is taken.
        """
        if isinstance(groups, Sequence) and not len(groups):
            return {}
        found = Groups.read(groups, self.names)
        unnamed = isinstance(groups, Sequence) and not isinstance(groups[0], str)
        unnamed = unnamed and np.ndim(groups[0]) == 1
        parts: dict[str, Columns] = {}
        for i, label in enumerate(found.names):
            columns = [self.names[j] for j in found[i]]
            name = _listed(columns, 1) if unnamed else str(label)
            if unnamed and name in parts:
                name = ", ".join(columns)
            if not self.gone[:, found[i]].any():
                continue
            if name in parts:
                raise ValueError(f"Two groups have the name {name!r}; rename one.")
            parts[name] = found[i]
        return parts


def _signs(labelled: Labelled | None) -> list[str]:
    """What is wrong with the correction."""
    if labelled is None:
        return [
            "Not calibrated: the model has held out no training rows, so nothing "
            "corrects probabilities that are too high or too low. Pass labelled "
            "rows as calibration."
        ]
    if labelled.cost is None:
        return [
            "Hardly any labelled row is complete, so the score with nothing missing is "
            "an extrapolation."
        ]
    return []


def _size(item: tuple[str, Estimate]) -> float:
    return item[1].value


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


def _listed(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _batches(model: Any, X: Any, by: Any) -> list[tuple[str, Any]] | None:
    """Names and tables of several batches; None if there is only one."""
    if isinstance(X, Mapping):
        return _named_batches(X, by)
    if by is None:
        return None
    if isinstance(by, str):
        if not hasattr(X, "columns") or by not in X.columns:
            raise ValueError(f"by={by!r} is not a column of X.")
        if by in getattr(model, "feature_names_in_", ()):
            raise ValueError(
                f"by={by!r} is also a column of the model; copy it under another name, "
                "and pass that name."
            )
        labels = np.asarray(X[by])
        X = X.drop(by) if hasattr(X, "iter_columns") else X.drop(columns=by)
    else:
        labels = np.asarray(by)
    if labels.shape != (X.shape[0],):
        raise ValueError(
            f"by must have one label for each of the {X.shape[0]} rows; got the shape "
            f"{labels.shape}."
        )
    if missing := sum(map(_is_missing, labels)):
        raise ValueError(
            f"by has no label for {missing:,} of {len(labels):,} rows; fill in their "
            "labels, or leave these rows out."
        )
    kinds, which = np.unique(labels, return_inverse=True)
    if len(kinds) > _PERIODS:
        which = which * _PERIODS // len(kinds)
    parts = [np.flatnonzero(which == i) for i in np.unique(which)]
    names = _names(min(labels[rows]) for rows in parts)
    return [
        (name, _safe_indexing(X, rows)) for name, rows in zip(names, parts, strict=True)
    ]


def _named_batches(X: Mapping[Any, Any], by: Any) -> list[tuple[str, Any]]:
    if by is not None:
        raise ValueError(
            "by splits one table, but X is a dictionary of batches; leave out by."
        )
    words = all(isinstance(name, str) for name in X)
    found = dict(zip(X if words else _names(X), X.values(), strict=True))
    if len(found) < len(X):
        raise ValueError(
            f"X has batches of the same name: {', '.join(map(repr, X))}; rename them."
        )
    for name, part in found.items():
        if not len(part):
            raise ValueError(f"The batch {name} has no rows; leave it out.")
    return list(found.items())


def _is_missing(label: Any) -> bool:
    return not isinstance(label, str) and str(label) in ("None", "nan", "NaT", "<NA>")


def _names(labels: Iterable[Any]) -> list[str]:
    """Labels as text; times without what is zero for all: seconds, or the time."""
    names = list(map(str, labels))
    if all(map(_DAY.fullmatch, names)):
        return [name[:10] for name in names]
    if all(map(_MINUTE.fullmatch, names)):
        return [name[:16] for name in names]
    return names
