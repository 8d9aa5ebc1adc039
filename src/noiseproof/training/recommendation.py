"""Recommend a model: cross-validate a portfolio and fit the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from noiseproof._contents import kept_rows
from noiseproof._docs import shared_docs
from noiseproof._private import (
    Interval,
    _safe_indexing,
    validate_parameter_constraints,
)
from noiseproof._rows import density
from noiseproof.conditionals import holes
from noiseproof.evaluation import Contest, checked
from noiseproof.groups import feature_names
from noiseproof.training.judging import (
    LEGAL,
    jobs_for,
    judge,
    level_of,
    place,
    sample,
    threads_for,
)
from noiseproof.training.portfolios import (
    BLENDED,
    is_known,
    left_out,
    portfolio,
    winner,
)
from noiseproof.training.sharing import shared
from noiseproof.training.targets import read_target

_PREDICTIONS = 2_000  # of each contender on held-out rows, at least, over all draws
_HARDLY = 5  # values among the rows that are compared, below which a column is left out
_LEGAL: dict[str, list[Any]] = {
    **LEGAL,
    "n_repeats": [Interval(Integral, 1, None, closed="left"), None],
}


@shared_docs
@dataclass(frozen=True)
class Recommendation:
    """What `recommend` returns.

    Parameters
    ----------
    model : estimator
        The recommended model, fitted on all rows: the best contender, or the blend if
        that is within one standard error of the best. A regressor also has
        `predict_interval`. To calibrate the intervals, some rows were held out, and
        the model was fitted once more without them.
    contest : Contest
        Scores and costs of all contenders, and which models were left out.

    {See Also: recommend}
    """

    model: Any
    contest: Contest

    @property
    def keeps_rows(self) -> bool:
        """Whether the model contains training rows, for missing values or intervals."""
        return kept_rows(self.model) is not None

    def __repr__(self) -> str:
        return f"{self.contest!r}\n\n{self.contest.verdict}"

    def _repr_html_(self) -> str:
        return self.contest._repr_html_()


@shared_docs
def recommend(
    X: Any,
    y: Any,
    perturb: Any = "missing",
    level: float | None = None,
    *,
    groups: Any = None,
    task: str | None = None,
    encoder: Any = None,
    max_rows: int = 20_000,
    scoring: Any = None,
    cv: Any = 5,
    n_repeats: int | None = None,
    random_state: int = 0,
    progress: Any = None,
    deleted_as: str = "zero",
    space: str | None = None,
    n_jobs: int | None = None,
) -> Recommendation:
    """Find the best of up to 16 models, or a blend, for an expected perturbation.

    Linear models, boosted trees and forests are cross-validated under the perturbation
    (see `noiseproof.evaluation.contest`): as they are, behind imputers, and trained
    with dropout. If values become missing (NaN), more models compete: models that
    average over the missing values, boosting trained on incomplete copies of the rows,
    and a separate model for each pattern of missing columns if there are few patterns.
    Their predictions are also blended, that is, averaged with weights that are chosen
    by cross-validation.

    Contenders that are clearly behind after two folds are dropped. The best contender
    is fitted on all rows; the blend is preferred if it is within one standard error of
    the best. The verdict says which models were not tried, and why. Columns with hardly
    any value are ignored.

    Parameters
    ----------
    {raw X, raw y, perturb, level}
        None means the object's own level if it makes values missing, such as
        `Missing(0.5)`, and otherwise 0.3.
    {groups, task, encoder, max_rows}
        The recommended model is fitted on all rows, with hyperparameters that were
        chosen on the sample.
    {scoring, cv}
    n_repeats : int, default=None
        Number of random draws of the perturbation for each fold. None means 2, and up
        to 10 for small tables.
    {seed random_state, progress, deleted_as}
    space : {"input", "model"}, default=None
        Where the perturbation acts: "input" is the raw table, and "model" are the
        scaled features. None means "input" for values that are missing or deleted, and
        "model" for other noise and attacks.
    n_jobs : int, default=None
        Number of folds to run in parallel, in processes. None means what a
        `joblib.parallel_config` says. Without one, it means all cores, or 1 for small
        tables. The scores do not depend on it.

    Returns
    -------
    recommendation : Recommendation
        The fitted model, and the scores of all contenders.

    {See Also: contest, portfolio, perturbed_scorer}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import recommend
    >>> X, y = load_wine(return_X_y=True)
    >>> found = recommend(X, y, "missing", 0.5, cv=2, n_repeats=1)
    >>> found.model.predict(X[:3])
    array([0, 0, 0])
    """
    validate_parameter_constraints(_LEGAL, locals(), caller_name="recommend")
    y, task = read_target(X, y, task)
    known = is_known(perturb, deleted_as)
    level = level_of(perturb, level)
    X, notes = _without_empty_columns(X, max_rows)
    where = {"deleted_as": deleted_as, **place(perturb, groups, space)}
    checked(perturb, level, X, y, **where)  # before any work
    some = sample(X, y, max_rows, random_state)
    if n_repeats is None:
        n_repeats = int(np.clip(_PREDICTIONS // len(some[1]), 2, 10))
    prepared_for = "missing" if known and not is_known(perturb) else perturb
    if n_jobs is None:
        n_jobs = jobs_for(some[0], len(np.unique(y)) if task == "classification" else 1)
    with threads_for(X):
        contenders = portfolio(
            *(*some, prepared_for, level),
            groups=groups,
            task=task,
            encoder=encoder,
            random_state=random_state,
        )
        result = judge(
            shared(contenders) if known else contenders,
            *some, perturb, level, groups, scoring=scoring, cv=cv,
            n_repeats=n_repeats, random_state=random_state, progress=progress,
            blend=BLENDED, drop=True, n_jobs=n_jobs,
            deleted_as=deleted_as, space=space,
        )  # fmt: skip
        total = len(y) if len(some[1]) < len(y) else None
        others = left_out(contenders, some[0], known)
        result = replace(result, sampled_from=total, left_out=others, notes=notes)
        model = winner(contenders, result, random_state)
        return Recommendation(model.fit(X, y), result)


def _without_empty_columns(X: Any, max_rows: int) -> tuple[Any, tuple[str, ...]]:
    """The table with constants as almost empty columns, and a note that names them.

    In the training rows of a fold such a column could be empty, which many models
    refuse. None learns anything from a constant, and new rows may have values there.
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    if density(X) is not None or len(np.shape(X)) != 2:
        return X, ()
    present = (~holes(X)).mean(axis=0) * min(X.shape[0], max_rows)
    empty = np.flatnonzero(present < _HARDLY)
    if not len(empty) or len(empty) == X.shape[1]:
        return X, ()
    names = [list(feature_names(None, X))[j] for j in empty]
    constants = [_first_value(X, int(j)) for j in empty]
    if hasattr(X, "with_columns"):
        X = X.with_columns(**dict(zip(names, constants, strict=True)))
    elif hasattr(X, "columns"):
        X = X.copy()
        for column, constant in zip(X.columns[empty], constants, strict=True):
            X[column] = constant
    else:
        X = np.array(X, dtype=float)
        X[:, empty] = constants
    told = ", ".join(map(str, names))
    return X, (f"Columns left out, since hardly any row has a value there: {told}.",)


def _first_value(X: Any, j: int) -> Any:
    """The first value of a column; zero if there is none."""
    column = _safe_indexing(X, [j], axis=1)
    there = np.flatnonzero(~holes(column)[:, 0])
    return np.asarray(column)[there[0], 0] if len(there) else 0.0
