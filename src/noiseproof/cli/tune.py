"""Choosing noise, C and budget by cross-validation, for the noise to come."""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

_RATES = (0.05, 0.1, 0.3, 0.5, 0.7)
_SCALES = (0.1, 0.3, 1.0)
_WEIGHTS = (0.01, 0.1, 1.0, 10.0)
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # of all features or groups, as budgets
_ROWS = 20_000  # that models are judged on, if there are more

Grid = dict[str, list[Any]]


def judged(
    contenders: Any,
    X: Any,
    y: Any,
    happening: Any,
    folds: int,
    seed: int,
    quiet: bool,
    sensors: Any = None,
) -> Any:
    """A contest between pipelines on the table, or on a sample of its rows.

    Cells of the table itself are missing or deleted; noise and attacks act on what the
    last step gets, where numbers are scaled and words are numbers. Each fold has its
    own groups of features for the sensors, since it may not have met all words of a
    column.
    """
    import warnings

    from noiseproof._private import _safe_indexing
    from noiseproof.cli.files import InGroups
    from noiseproof.evaluation import as_perturbation, contest

    by_group = sensors is not None and as_perturbation(happening[0]).takes_groups
    if sensors is not None:
        contenders = {
            name: InGroups(model.steps, sensors) if hasattr(model, "steps") else model
            for name, model in contenders.items()
        }
    if len(y) > _ROWS:
        rows = np.random.default_rng(seed).permutation(len(y))[:_ROWS]
        X, y = _safe_indexing(X, rows), y[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all rows will tell
        return contest(
            *(contenders, X, y, *happening),
            cv=folds,
            n_repeats=2,
            random_state=seed,
            space=space_of(happening[0]),
            groups=sensors if by_group else None,
            progress=False if quiet else None,
        )


def space_of(perturb: Any) -> str:
    """Where it happens: to the table, or to what the last step of a pipeline gets."""
    return "input" if isinstance(perturb, str) else "model"


def tune(pipeline: Any, grid: Grid, X: Any, y: Any, *how: Any) -> tuple[Any, Any]:
    """The best parameters of the last step, and the contest between all; see above."""
    from sklearn.base import clone
    from sklearn.model_selection import ParameterGrid

    candidates = list(ParameterGrid(grid))
    contenders = {}
    for number, parameters in enumerate(candidates):
        contender = clone(pipeline)
        contender[-1].set_params(**parameters)
        contenders[str(number)] = contender
    found = judged(contenders, X, y, *how)
    return candidates[int(found.best)], found


def choices(pipeline: Any, X: Any, fixed: set[str]) -> Grid:
    """What to try for each parameter that the last step has and nobody has fixed."""
    from sklearn.base import clone

    from noiseproof.noise import as_noise

    parameters = pipeline[-1].get_params(deep=False)
    grid: Grid = {}
    if "noise" in parameters and "noise" not in fixed:
        noise = as_noise(parameters["noise"])
        levels = _RATES if noise.level_name == "rate" else _SCALES
        grid["noise"] = [None, *(noise.at(level) for level in levels)]
    if "C" in parameters and "C" not in fixed:
        grid["C"] = list(_WEIGHTS)
    if "budget" in parameters and "budget" not in fixed:
        d = clone(pipeline[:-1]).fit(X).transform(X[:1]).shape[1]
        grid["budget"] = [share * d for share in _SHARES]
    if not grid:
        raise typer.BadParameter("--tune has nothing left to choose.")
    return grid
