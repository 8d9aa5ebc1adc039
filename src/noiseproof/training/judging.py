"""Contests between models for raw tables, on a sample of the rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import resample
from threadpoolctl import threadpool_limits

from noiseproof._private import HasMethods, Interval, StrOptions
from noiseproof._rows import available_threads
from noiseproof.evaluation import Contest, as_perturbation, checked, contest

# what `train` and `recommend` both take
LEGAL: dict[str, list[Any]] = {
    "level": [Real, None],
    "task": [StrOptions({"classification", "regression"}), None],
    "encoder": [HasMethods(["fit", "transform"]), None],
    "max_rows": [Interval(Integral, 2, None, closed="left")],
    "random_state": ["random_state"],
}
_SMALL = 500_000  # cells
_QUICK = 50_000  # cells, for each class: not worth the start of processes
_LEVEL = 0.3  # of what is expected, if nobody says


def sample(X: Any, y: Any, max_rows: int, random_state: Any) -> tuple[Any, Any]:
    """All rows, or so many of them at random."""
    if len(y) <= max_rows:
        return X, y
    options = {"n_samples": max_rows, "random_state": random_state}
    X, y = resample(X, y, replace=False, **options)
    return X, y


def level_of(perturb: Any, level: float | None) -> float:
    """The level that is given, or that of the object, or the usual one."""
    own = None if isinstance(perturb, str) else as_perturbation(perturb).own_level
    return level if level is not None else _LEVEL if own is None else own


def judge(
    contenders: dict[str, Any],
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    groups: Any = None,
    **options: Any,
) -> Contest:
    """Hold a contest where the perturbation acts."""
    options |= _place(perturb, groups, options)
    with warnings.catch_warnings(), threads_for(X):
        warnings.simplefilter("ignore")  # the scores tell how well each has done
        return contest(contenders, X, y, perturb, level, **options)


def refuse(X: Any, y: Any, perturb: Any, level: float, groups: Any, **how: Any) -> None:
    """Refuse, before any work, a perturbation by which nothing could be judged."""
    checked(perturb, level, X, y, **{**how, **_place(perturb, groups, how)})


def _place(perturb: Any, groups: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Where the perturbation acts, and by which groups.

    Missing and deleted values are those of the table itself; other noise and attacks
    act on what the last step of a pipeline gets.
    """
    perturbation = as_perturbation(perturb)
    found = {"space": "input" if perturbation.in_table else "model"} | options
    place = {"space": found["space"]}
    return place | ({"groups": groups} if perturbation.takes_groups else {})


def jobs_for(X: Any, classes: int) -> int | None:
    """How many folds to judge at a time, unless a `joblib.parallel_config` says it."""
    if effective_n_jobs(None) > 1 or np.prod(np.shape(X)) * classes < _QUICK:
        return None
    return available_threads()


def threads_for(X: Any) -> Any:
    """A context with one thread for small data, where more wait for each other."""
    return threadpool_limits(1 if np.prod(np.shape(X)) <= _SMALL else None)
