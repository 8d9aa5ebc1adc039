"""Cross-validate models for raw tables, on a sample of the rows."""

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
from noiseproof.evaluation import Contest, as_perturbation, contest

# parameters that `train` and `recommend` share
LEGAL: dict[str, list[Any]] = {
    "level": [Real, None],
    "task": [StrOptions({"classification", "regression"}), None],
    "encoder": [HasMethods(["fit", "transform"]), None],
    "max_rows": [Interval(Integral, 2, None, closed="left")],
    "random_state": ["random_state"],
}
_SMALL = 500_000  # values, up to which one thread is fastest
_QUICK = 50_000  # values per class, below which starting processes does not pay
_LEVEL = 0.3  # of the perturbation, unless it is given


def sample(X: Any, y: Any, max_rows: int, random_state: Any) -> tuple[Any, Any]:
    """All rows, or a random sample of `max_rows` of them."""
    if len(y) <= max_rows:
        return X, y
    options = {"n_samples": max_rows, "random_state": random_state}
    X, y = resample(X, y, replace=False, **options)
    return X, y


def level_of(perturb: Any, level: float | None) -> float:
    """The level that was given, or else the object's own, or else the default."""
    own = None if isinstance(perturb, str) else as_perturbation(perturb).own_level
    return level if level is not None else _LEVEL if own is None else own


def judge(
    contenders: dict[str, Any],
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    groups: Any = None,
    space: str | None = None,
    **options: Any,
) -> Contest:
    """Run a contest, with the perturbation where it belongs and without warnings."""
    options |= place(perturb, groups, space)
    with warnings.catch_warnings(), threads_for(X):
        warnings.simplefilter("ignore")  # the scores show how each model did
        return contest(contenders, X, y, perturb, level, **options)


def place(perturb: Any, groups: Any, space: str | None) -> dict[str, Any]:
    """Options that say where the perturbation acts, and on which groups.

    Values go missing or are deleted in the table itself. Other noise and attacks act on
    the input of the last step of a pipeline.
    """
    perturbation = as_perturbation(perturb)
    if space is None:
        space = "input" if perturbation.in_table else "model"
    return {"space": space, "groups": groups if perturbation.takes_groups else None}


def jobs_for(X: Any, classes: int) -> int | None:
    """How many folds to run in parallel; None if a `joblib.parallel_config` says it."""
    if effective_n_jobs(None) > 1 or np.prod(np.shape(X)) * classes < _QUICK:
        return None
    return available_threads()


def threads_for(X: Any) -> Any:
    """A context that limits small data to one thread, as more would be slower."""
    return threadpool_limits(1 if np.prod(np.shape(X)) <= _SMALL else None)
