"""Noise that strikes a group of features as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from noiseproof._rows import Array, shared_draws, stored_features
from noiseproof.groups import Groups
from noiseproof.noise.base import Noise


class GroupedNoise(Noise):
    """A feature is struck with some probability, and with it the rest of its group."""

    level_name = "rate"
    rate: Any
    groups: Any = None  # also of noises saved before there were groups

    def _struck(self, x: Array, chances: Array) -> Array:
        """Noisy entries, each struck if its chance is below the rate."""
        raise NotImplementedError

    def on(self, features: Sequence[Any]) -> Self:
        """The noise with a label per feature, and one rate, or a rate per feature."""
        if self.groups is None:
            return self
        groups, d = Groups.read(self.groups, features), len(features)
        labels, rate, name = groups.labels(d), self.level, type(self).__name__
        if isinstance(rate, np.ndarray) and rate.shape == (len(groups),) != (d,):
            if labels.max(initial=0) >= len(groups):
                raise ValueError(
                    f"{name}.rate has one value per group, but feature "
                    f"{features[int(labels.argmax())]!r} is in none; give one rate per "
                    "feature."
                )
            rate = rate[labels]
        found: Self = clone(self).set_params(rate=rate, groups=labels)
        Noise.check(found, d)
        _, first = np.unique(labels, return_index=True)
        each = np.broadcast_to(rate, d)
        if np.any(each != each[first][labels]):
            raise ValueError(f"{name}.rate must be the same for all of a group.")
        return found

    def group_labels(self, n_features: int) -> NDArray[np.intp] | None:
        if self.groups is None:
            return None
        labels: NDArray[np.intp] = self.on(range(n_features)).groups
        return labels if labels.max(initial=0) + 1 < n_features else None

    def at(self, level: Any) -> Self:
        return clone(self).set_params(rate=level)

    def take(self, columns: NDArray[Any]) -> Self:
        level = self.level
        if isinstance(level, float):
            return self
        return type(self)(level[columns])

    def _sample_values(self, X: Any, x: Array, rng: np.random.Generator) -> Array:
        chances = shared_draws(X, self.group_labels(X.shape[-1]), rng)
        return self.take(stored_features(X))._struck(x, chances)

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        noise = self if n_features is None else self.on(range(n_features))
        # how many rates there must be depends on the features
        width = None if self.groups is not None else n_features
        super(GroupedNoise, noise).check(width, minimum)
