"""Fragility: how much the score falls when a feature or a group of them is lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from noiseproof._charts import dot_strip
from noiseproof._docs import shared_docs
from noiseproof._pipelines import unwrap
from noiseproof._private import _safe_indexing
from noiseproof._rows import Container, canonical, contain, density, stored_rows
from noiseproof.evaluation.linear import (
    BY_FEATURE,
    LinearView,
    check_fate,
    check_space,
    linear_view,
)
from noiseproof.evaluation.models import (
    as_scorer,
    last_step,
    refusing_holes,
    score_name,
    scoring_of,
)
from noiseproof.evaluation.progress import progress_bar
from noiseproof.evaluation.results import Result
from noiseproof.groups import Groups, column_groups, feature_names, features_behind

Array = NDArray[np.float64]
Columns = NDArray[np.intp]

_FATES = {
    "zero": "replaced by zero (the model is not told)",
    "nan": "missing (NaN)",
    "mean": "missing (mean imputation)",
}
_CHUNK = 2**20  # scores that are held at a time
_KINDS = (("feature", "pair of features"), ("group", "pair of groups"))


@shared_docs
def feature_fragility(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: Any = None,
    pairs: bool = False,
    scoring: Any = None,
    deleted_as: str = "nan",
    space: str = "input",
    n_jobs: int | None = None,
    progress: Any = None,
) -> Fragility:
    """Measure how much the score falls without each feature, or group of features.

    The feature is lost after training, so nothing is fitted again. The accuracy of a
    linear model is computed from its scores, which lose w_j x_j for the rows that have
    the feature. For other models and metrics the model predicts once for each feature
    or group.

    Parameters
    ----------
    model : model with `predict`
        A fitted model. It need not be linear.
    {held out X, true y, groups}
        None deletes each feature by itself. With space="model", all features that a
        pipeline derives from a column are deleted with it, and None deletes each of
        these features by itself.
    pairs : bool, default=False
        Whether to delete all pairs of features or groups, to see which two outages
        hurt most if they happen together.
    {scoring, deleted_as, space, n_jobs, progress}

    Returns
    -------
    fragility : Fragility
        Names and costs, the most costly first.

    {See Also: FragilityDisplay, certify}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from noiseproof.evaluation import feature_fragility
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> parts = {"sepal": X.columns[:2], "petal": X.columns[2:]}
    >>> feature_fragility(model, X, y, groups=parts)
    accuracy lost with each group missing (mean imputation), from 0.973 with all
    <BLANKLINE>
    group   cost
    petal  0.640
    sepal  0.000
    """
    check_space(space)
    check_fate(deleted_as)
    X, y = canonical(X), np.asarray(y)
    groups_of = Groups.read(groups, feature_names(model, X))
    if space == "model":
        groups_of = _behind(model, X, None if groups is None else groups_of)
    if pairs:
        groups_of = _pairs(groups_of)
    whole, rows = last_step(model, X) if space == "model" else (model, X)
    if deleted_as == "nan" and refusing_holes({"": whole}, rows):
        deleted_as = "mean"
    if scoring is None:
        scoring = scoring_of(model, y)
    if scoring == "accuracy" and (
        seen := _seen_as_linear(model, X, space, deleted_as, groups_of)
    ):
        score, scores = _by_update(*seen, y)
    else:
        metric = as_scorer(scoring)
        container = contain(rows, deleted_as)
        score = metric(whole, rows, y)
        scores = _by_predicting(
            lambda Z: metric(whole, Z, y), container, groups_of, n_jobs, progress
        )
    cost = score - scores
    order = np.argsort(-cost, kind="stable")
    return Fragility(
        tuple(str(groups_of.names[i]) for i in order),
        cost[order],
        score,
        score_name(scoring),
        _KINDS[groups is not None][pairs],
        _FATES[deleted_as],
    )


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class Fragility(Result):
    """How much the score falls without each feature, or group; the largest fall first.

    Parameters
    ----------
    names : tuple of str
        Names of the features or groups, by decreasing cost.
    cost : array of shape (n_names,)
        Score with all features minus the score without these.
    score : float
        Score with all features.
    scoring : str
        Name of the metric.
    kind : {"feature", "group", "pair of features", "pair of groups"}
        What the names stand for.
    lost_as : str
        What happens to a lost value: it is missing (NaN); it is replaced by the column
        mean, because the model refuses NaN; or it is replaced by zero.

    {See Also: feature_fragility, FragilityDisplay}
    """

    names: tuple[str, ...]
    cost: NDArray[np.float64]
    score: float
    scoring: str
    kind: str
    lost_as: str = "missing (NaN)"

    def _title(self) -> str:
        return (
            f"{self.scoring} lost with each {self.kind} {self.lost_as}, from "
            f"{self.score:.3f} with all"
        )

    def _columns(self) -> dict[str, Any]:
        return {self.kind: self.names, "cost": self.cost}

    def _strips(self) -> list[str]:
        low, high = min(0.0, self.cost.min()), max(1e-9, self.cost.max())
        return [dot_strip({0: cost}, low, high) for cost in self.cost.tolist()]


def _pairs(groups: Groups) -> Groups:
    """All pairs of groups, each as one."""
    if len(groups) < 2:
        raise ValueError(
            f"pairs=True needs at least two features or groups; got {len(groups)}."
        )
    return Groups.packed(
        {
            f"{groups.names[a]} + {groups.names[b]}": [*groups[a], *groups[b]]
            for a, b in combinations(range(len(groups)), 2)
        }
    )


def _seen_as_linear(
    model: Any, X: Any, space: str, deleted_as: str, groups: Groups
) -> tuple[LinearView, Any, NDArray[Any], Groups] | None:
    """View, rows, predictions and groups, if scores just lose the terms of a feature.

    This holds if a lost value becomes zero; if it becomes NaN, and the steps before the
    model pass NaN on; and if it becomes the column mean, after the rows are centred.
    """
    if density(X) is not None:
        deleted_as = "zero"
    if deleted_as == "nan":
        if not _lets_holes_pass(unwrap(model)[0]):
            return None
        if space == "input":
            groups, space = _behind(model, X, groups), "model"
    try:
        view = linear_view(model, space)
        if deleted_as == "nan":  # does a hole add nothing, as to our models?
            some = contain(_safe_indexing(X, np.arange(min(8, X.shape[0]))), "nan")
            holes = some.without(np.indices(some.shape).sum(axis=0) % 2 == 0)
            view.agreed(view.rows(holes), np.asarray(model.predict(holes)))
        rows, prediction = view.rows(X), np.asarray(model.predict(X))
        view.agreed(rows, prediction)
    except (TypeError, ValueError):  # not linear, or words in X
        return None
    if deleted_as == "mean":
        means = rows.mean(axis=0, dtype=np.float64)
        rows = rows - means
        view = replace(view, intercept=view.intercept + view.coef @ means)
    return view, rows, prediction, groups


def _lets_holes_pass(steps: Any) -> bool:
    """Whether these steps return NaN exactly where they are given NaN."""
    return all(
        isinstance(step, BY_FEATURE) or getattr(step, "lets_holes_pass", False)
        for _, step in steps
    )


def _behind(model: Any, X: Any, groups: Groups | None) -> Groups:
    """The same groups, of the features that the last step of a pipeline gets.

    None makes each of these features a group of its own.
    """
    columns = [str(name) for name in feature_names(model, X)]
    d = last_step(model, _safe_indexing(X, np.arange(1)))[1].shape[1]
    features = features_behind(model, columns, d)
    if groups is None:
        return Groups.read(None, [feature.name for feature in features])
    return column_groups(features, columns, groups, empty=True)


def _by_update(
    view: LinearView, rows: Any, prediction: NDArray[Any], groups: Groups, y: Any
) -> tuple[float, Array]:
    """Accuracy with all features and without each group, from linear scores."""
    right = prediction == y
    stored = stored_rows(rows).tocsc()
    stored.eliminate_zeros()
    before, alone = view.scores(rows), view.intercepts(rows)
    size = np.bincount(stored.indices, minlength=len(y))
    changes = np.zeros(len(groups))
    work = np.diff(stored.indptr) * len(view.classes)
    for chunk, columns, group in groups.chunks(work, _CHUNK):
        row, lost, n_lost, which = _terms(stored, columns, group, view.coef)
        scores = before[row] - lost
        bare = n_lost == size[row]  # no feature left: no rounding either
        scores[bare] = alone[row[bare]]
        now = view.classes[view.chosen(scores)] == y[row]
        step = now.astype(np.float64) - right[row]
        n = chunk.stop - chunk.start
        changes[chunk] = np.bincount(which, weights=step, minlength=n)
    accuracy = float(np.mean(right))
    return accuracy, accuracy + changes / len(y)


def _terms(
    stored: Any, columns: Columns, group: Columns, coef: Array
) -> tuple[Columns, Array, Columns, Columns]:
    """The terms that deleting groups of columns takes from the scores.

    Returns, for each pair of a group and a row with entries in it, the row, the terms
    (one per class), the number of entries and the group.
    """
    picked = stored[:, columns]
    entry = np.repeat(np.arange(len(columns)), np.diff(picked.indptr))
    pair = group[entry] * stored.shape[0] + picked.indices
    pairs, where, counts = np.unique(pair, return_inverse=True, return_counts=True)
    terms = picked.data[:, None] * coef.T[columns[entry]]
    summing = sp.csr_array(
        (np.ones(len(where)), (where, np.arange(len(where)))),
        shape=(len(pairs), len(where)),
    )
    which, row = np.divmod(pairs, stored.shape[0])
    return row, summing @ terms, counts, which


def _by_predicting(
    score: Any,
    rows: Container,
    groups: Groups,
    n_jobs: int | None,
    progress: Any,
) -> Array:
    """Scores without each group, by predicting once for each."""
    workers = min(effective_n_jobs(n_jobs), len(groups))
    with progress_bar(progress, len(groups)) as tick:

        def work(share: Any) -> list[float]:
            own, scores = rows.fork(), []
            for g in share:
                scores.append(score(own.without(own.of_columns(groups[g]))))
                tick()
            return scores

        shares = np.array_split(np.arange(len(groups)), workers)
        jobs = (delayed(work)(share) for share in shares)
        return np.concatenate(Parallel(n_jobs=workers, prefer="threads")(jobs))
