"""Choosing noise, C and budget by cross-validation, for the noise to come."""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

from noiseproof.cli.output import progress

_RATES = (0.05, 0.1, 0.3, 0.5, 0.7)
_SCALES = (0.1, 0.3, 1.0)
_WEIGHTS = (0.01, 0.1, 1.0, 10.0)
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # of all features or groups, as budgets

Grid = dict[str, list[Any]]


def tune(
    pipeline: Any,
    grid: Grid,
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    *,
    sensors: Any = None,
    folds: int = 5,
    seed: int | None = None,
) -> tuple[dict[str, Any], float]:
    """The best parameters of the last step, and their score on rows held out.

    The rows held out are perturbed behind the encoder, where a feature that is deleted
    is zero, and one that is missing NaN; the rows trained on stay as they are. Each
    fold is encoded once, for all candidates, and has its own groups of features, since
    it may not have met all words of a column. Rows are dealt out at random, or in
    their order if there is no seed.
    """
    from sklearn.base import clone, is_regressor
    from sklearn.model_selection import ParameterGrid
    from sklearn.pipeline import Pipeline

    from noiseproof._pipelines import unwrap
    from noiseproof._sklearn import _safe_indexing
    from noiseproof.cli.files import give_groups, groups_behind
    from noiseproof.evaluation import as_perturbation, perturbed_scorer

    steps, estimator = unwrap(pipeline)
    encoder = Pipeline(steps or [("all", "passthrough")])
    scoring = "r2" if is_regressor(estimator) else "accuracy"
    score = perturbed_scorer(perturb, level, scoring, random_state=seed or 0)
    in_groups = as_perturbation(perturb).takes_groups
    candidates = list(ParameterGrid(grid))
    splits = list(_folds(y, is_regressor(estimator), folds, seed).split(X, y))
    scores = np.zeros((len(splits), len(candidates)))
    with progress("Cross-validation", scores.size) as tick:
        for i, (train, test) in enumerate(splits):
            fitted = clone(encoder).fit(_safe_indexing(X, train))
            known, held_out = (
                fitted.transform(_safe_indexing(X, rows)) for rows in (train, test)
            )
            groups = None
            if sensors is not None:
                whole = Pipeline([*fitted.steps, ("model", estimator)])
                groups = groups_behind(whole, X, known.shape[1], sensors)
                score.groups = groups if in_groups else None
            for j, parameters in enumerate(candidates):
                model = clone(estimator).set_params(**parameters)
                if groups is not None:
                    give_groups(model, groups)
                model.fit(known, y[train])
                scores[i, j] = score(model, held_out, y[test])
                tick()
    best = int(scores.mean(axis=0).argmax())
    return candidates[best], float(scores[:, best].mean())


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
        groups = parameters.get("groups") or ()
        d = clone(pipeline[:-1]).fit(X).transform(X[:1]).shape[1]
        grid["budget"] = [share * (len(groups) or d) for share in _SHARES]
    if not grid:
        raise typer.BadParameter("--tune has nothing left to choose.")
    return grid


def _folds(y: Any, regression: bool, folds: int, seed: int | None) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    order: dict[str, Any] = {"shuffle": seed is not None, "random_state": seed}
    if regression:
        return KFold(min(folds, len(y)), **order)
    rarest = int(np.unique(y, return_counts=True)[1].min())
    if rarest < 2:
        raise ValueError(
            "--tune needs at least 2 rows of each class, but some class has one."
        )
    return StratifiedKFold(min(folds, rarest), **order)
