"""What may happen to the features of any model, linear or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noiseproof._rows import Container
from noiseproof.evaluation import Perturbation


class DeleteGroups(Perturbation):
    """Neighbouring features die together: each group of a row with probability `level`.

    Parameters
    ----------
    size : int
        Features in a group.
    """

    label = "share of groups deleted"

    def __init__(self, size: int):
        self.size = size

    def draw(
        self, rows: Container, seed: np.random.SeedSequence
    ) -> Callable[[float], Any]:
        n, d = rows.shape
        group = np.arange(d) // self.size
        chance = np.random.default_rng(seed).random((n, int(group[-1]) + 1))
        return lambda level: rows.without((chance < level)[:, group])


class Greedy(Perturbation):
    """An adversary who asks the model and changes `level` features of a row, in turn.

    Each time he changes the feature that costs the right class most, and stops when
    nothing costs it anything. For a linear model of two classes this is the worst that
    `level` changes can do. It works for any model, by asking for the score of every
    possible change.

    Parameters
    ----------
    factors : sequence of float
        What a feature may be multiplied with; (0,) deletes, (0.5, 2) scales.
    absent : float
        What 0 times a feature is: 0, or NaN for models that know missing values.
    target : tuple, default=None
        Model and labels; set by `against`.
    """

    label = "features changed per row"
    is_random = False
    white_box = True

    def __init__(
        self, factors: Sequence[float], absent: float = 0.0, target: Any = None
    ):
        self.factors = factors
        self.absent = absent
        self.target = target

    def against(self, model: Any, y: Any) -> Perturbation:
        sign = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
        return Greedy(self.factors, self.absent, (model, sign))

    def draw(
        self, rows: Container, seed: np.random.SeedSequence
    ) -> Callable[[float], Any]:
        X = rows.numbers()

        def at(level: float) -> Any:
            changed, free = X.copy(), np.ones(X.shape, dtype=bool)
            for _ in range(int(level)):
                self._change_one(changed, free)
            return rows.like(changed)

        return at

    def _change_one(self, X: Any, free: Any) -> None:
        """Make the worst change to each row, in place; a feature changes once."""
        n, d = X.shape
        model, sign = self.target
        best, worst = np.full(n, -1), sign * score(model, X)
        value = np.zeros(n)
        for factor in self.factors:
            new = X * factor if factor else np.full(X.shape, self.absent)
            trial = np.repeat(X[:, None], d, axis=1)  # a copy of a row for each feature
            trial[:, np.arange(d), np.arange(d)] = new
            margins = (
                score(model, trial.reshape(n * d, d)).reshape(n, d) * sign[:, None]
            )
            margins = np.where(free, margins, np.inf)
            feature = margins.argmin(axis=1)
            margin = margins[np.arange(n), feature]
            better = margin < worst
            best[better], worst[better] = feature[better], margin[better]
            value[better] = new[better, feature[better]]
        hit = np.flatnonzero(best >= 0)
        X[hit, best[hit]] = value[hit]
        free[hit, best[hit]] = False


def score(model: Any, X: Any) -> Any:
    """How much a model of two classes is for the second one."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return np.asarray(model.predict_proba(X)[:, 1] - 0.5)
