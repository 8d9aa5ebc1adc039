"""A recommendation after a contest between the models of a portfolio."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from noiseproof._contents import kept_rows
from noiseproof._docs import shared_docs
from noiseproof._private import Interval, validate_parameter_constraints
from noiseproof._rows import density
from noiseproof.conditionals import holes
from noiseproof.evaluation import Contest
from noiseproof.groups import feature_names
from noiseproof.training.judging import (
    LEGAL,
    jobs_for,
    judge,
    level_of,
    refuse,
    sample,
    threads_for,
)
from noiseproof.training.portfolios import BLENDED, is_known, portfolio, winner
from noiseproof.training.sharing import shared
from noiseproof.training.targets import read_target

_PREDICTIONS = 2_000  # of a contender on rows held out, at least
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
        The best contender, fitted on all rows; the blend if it is within one standard
        error of the best.
        If it predicts a quantity, it has `predict_interval`: some of the rows were kept
        aside to calibrate intervals, and the model was fitted once more without them.
    contest : Contest
        Scores and costs of all contenders.

    {See Also: recommend}
    """

    model: Any
    contest: Contest

    @property
    def keeps_rows(self) -> bool:
        """Whether rows of the training data are part of the model, to fill holes."""
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
    n_jobs: int | None = None,
    **options: Any,
) -> Recommendation:
    """Find the best model for a perturbation that is expected after training.

    A portfolio of linear models, boosted trees and forests is cross-validated under
    what is expected (see `noiseproof.evaluation.contest`): plain, behind imputers, and
    trained for dropout. If the model will know which values are missing, models that
    average over them, boosting trained on incomplete copies and, where patterns of
    missing columns are few, a model for each pattern take part, too, and so does a
    blend: the weighted mean of their answers. The best contender is fitted on all rows;
    it is the blend if that is within one standard error of the best. Contenders that
    are clearly behind after two folds are dropped. A column without any value counts as
    constant.

    Parameters
    ----------
    {raw X, raw y, perturb, level}
        None means the level of a noise object that makes values missing, such as
        `Missing(0.5)`, and else 0.3. Other noise and attacks act after the scaler,
        unless `space="input"` is given.
    {groups, task, encoder, max_rows}
        The best one is fitted on all rows, with constants that suit these.
    {any scoring, cv}
    n_repeats : int, default=None
        Draws of what is expected for each fold; None means 2, and up to 10 where rows
        are so few that it costs little.
    {seed random_state, progress}
    n_jobs : int, default=None
        Number of folds that are judged at the same time, in processes. None means what
        a `joblib.parallel_config` says; without one, as many as there are cores, and 1
        for small tables. The scores do not depend on it.
    **options : dict
        Other options of `noiseproof.evaluation.contest`.

    Returns
    -------
    recommendation : Recommendation
        The fitted model and the contest.

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
    known = is_known(perturb, options.get("deleted_as", "zero"))
    level = level_of(perturb, level)
    X, notes = _without_empty_columns(X)
    refuse(X, y, perturb, level, groups, **options)
    some = sample(X, y, max_rows, random_state)
    if n_repeats is None:
        n_repeats = int(np.clip(_PREDICTIONS // len(some[1]), 2, 10))
    prepared_for = "missing" if known and not is_known(perturb) else perturb
    if n_jobs is None:
        n_jobs = jobs_for(some[0], len(np.unique(y)) if task == "classification" else 1)
    with threads_for(X):
        contenders = portfolio(
            *(*some, prepared_for, level, groups, random_state),
            encoder=encoder,
            task=task,
        )
        result = judge(
            shared(contenders), *some, perturb, level, groups, scoring=scoring, cv=cv,
            n_repeats=n_repeats, random_state=random_state, progress=progress,
            blend=BLENDED, drop=True, n_jobs=n_jobs, **options,
        )  # fmt: skip
        total = len(y) if len(some[1]) < len(y) else None
        result = replace(result, sampled_from=total, notes=notes)
        model = winner(contenders, result, random_state)
        return Recommendation(model.fit(X, y), result)


def _without_empty_columns(X: Any) -> tuple[Any, tuple[str, ...]]:
    """The table with zeros in columns that hold nothing, and a note about them.

    So they are constant, and no model learns from them; rows that it is asked about
    later may have them or not.
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    if density(X) is not None or len(np.shape(X)) != 2:
        return X, ()
    empty = np.flatnonzero(holes(X).all(axis=0))
    if not len(empty) or len(empty) == X.shape[1]:
        return X, ()
    names = [list(feature_names(None, X))[j] for j in empty]
    if hasattr(X, "with_columns"):
        X = X.with_columns(**dict.fromkeys(names, 0.0))
    elif hasattr(X, "columns"):
        X = X.copy()
        X[X.columns[empty]] = 0.0
    else:
        X = np.array(X, dtype=float)
        X[:, empty] = 0.0
    told = ", ".join(map(str, names))
    return X, (f"Left out, since no row has a value there: {told}.",)
