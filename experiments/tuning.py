"""Choose constants on training data only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from noiseproof.evaluation import robustness_curve

Score = Callable[[Any, Any, Any], float]


class Chosen(NamedTuple):
    """The best candidate, fitted to all training rows, and its held-out score."""

    model: Any
    score: float
    constants: str

    def test(self, X: Any, y: Any) -> dict[str, Any]:
        """What a row of results says of it, after its one look at the test rows."""
        return {
            "error": 1 - accuracy(self.model, X, y),
            "validation_error": 1 - self.score,
            "constants": self.constants,
        }


def accuracy(model: Any, X: Any, y: Any) -> float:
    """Share of rows that a model gets right."""
    predicted = model.predict(X)
    if hasattr(predicted, "cpu"):  # of a model on a GPU
        predicted = predicted.cpu().numpy()
    return float(np.mean(predicted == y))


def cross_validated(
    model: Any,
    grid: Mapping[str, Sequence[Any]],
    X: Any,
    y: Any,
    *,
    folds: int,
    score: Score = accuracy,
    **fit_params: Any,
) -> Chosen:
    """The point of the grid with the best mean score over held-out folds.

    `fit_params` go to every fit whole (unlabelled rows, which have no folds).
    """
    points = list(ParameterGrid(grid))
    parts = list(StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y))
    scores = [
        [score(one, X[b], y[b]) for one in _path(model, points, X[a], y[a], fit_params)]
        for a, b in parts
    ]
    means = np.mean(scores, axis=0)
    best = int(np.argmax(means))
    fitted = clone(model).set_params(**points[best]).fit(X, y, **fit_params)
    return Chosen(fitted, float(means[best]), _text(points[best]))


def held_out_walk(
    model: Any,
    grid: Mapping[str, Sequence[Any]],
    penalties: Sequence[float],
    X: Any,
    y: Any,
) -> Chosen:
    """The best point of the grid, and C, on a held-out fifth of the rows.

    At each point C grows until that does worse: what lies beyond takes longest to fit.
    """
    a, b = next(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    rows, held_out, best = (X[a], y[a]), (X[b], y[b]), (-np.inf, dict[str, Any]())
    for point in ParameterGrid(grid):
        last = -np.inf
        points = [{**point, "C": C} for C in sorted(penalties)]
        for at, one in zip(points, _path(model, points, *rows, {}), strict=True):
            score = accuracy(one, *held_out)
            best = max(best, (score, at), key=itemgetter(0))
            if score < last:
                break
            last = score
    final = clone(model).set_params(**best[1]).fit(X, y)
    return Chosen(final, best[0], _text(best[1]))


def fitted(
    model: Any, grid: Mapping[str, Sequence[Any]], X: Any, y: Any
) -> dict[str, Any]:
    """The model at each point of the grid, fitted, by its constants."""
    points = list(ParameterGrid(grid))
    path = _path(model, points, X, y, {})
    return {
        _text(point): deepcopy(one) for point, one in zip(points, path, strict=True)
    }


def tuned_curve(
    models: Mapping[str, Any],
    validation: tuple[Any, Any],
    test: tuple[Any, Any],
    perturb: Any,
    levels: Sequence[float],
    *,
    seed: int,
    n_repeats: int = 1,
    refit: tuple[Any, Any] | None = None,
    deleted_as: str = "zero",
    name: str = "level",
) -> Iterator[dict[str, Any]]:
    """At each level, the model that is best on validation rows, on the test rows.

    Both suffer the same perturbation; only the chosen models see the test rows, after
    they were fitted again to the rows `refit`, if those are given. `name` is what the
    results call the level.
    """
    curve = partial(
        robustness_curve,
        perturb=perturb,
        levels=levels,
        n_repeats=n_repeats,
        deleted_as=deleted_as,
        progress=False,
    )
    held_out = curve(models, *validation, random_state=seed).mean
    best = [list(models)[row] for row in held_out.argmax(axis=0)]
    chosen = {constants: models[constants] for constants in dict.fromkeys(best)}
    if refit is not None:
        chosen = {key: deepcopy(model).fit(*refit) for key, model in chosen.items()}
    scores = curve(chosen, *test, random_state=seed + 1).mean
    for column, (level, constants) in enumerate(zip(levels, best, strict=True)):
        yield {
            name: level,
            "error": 1 - float(scores[list(chosen).index(constants), column]),
            "validation_error": 1 - float(held_out[:, column].max()),
            "constants": constants,
        }


def _path(
    model: Any, points: Sequence[Any], X: Any, y: Any, fit_params: Any
) -> Iterator[Any]:
    """One model, fitted at each point in turn: `warm_start` starts at the last."""
    model = clone(model)
    for point in points:
        yield model.set_params(**point).fit(X, y, **fit_params)


def _text(point: Mapping[str, Any]) -> str:
    """Constants in words; arrays are not constants that a reader could use."""
    plain = {k: v for k, v in sorted(point.items()) if not isinstance(v, np.ndarray)}
    return ", ".join(f"{name} = {value}" for name, value in plain.items())
