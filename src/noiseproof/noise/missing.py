"""Holes: a cell goes missing, and one knows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noiseproof._rows import Array
from noiseproof.noise.base import Cumulants, Noise, VarianceLaw


class Missing(Noise):
    """Each feature is NaN with probability q, else as it is; nothing is rescaled.

    For `CorruptedCopies` around models that take NaN, such as boosted trees, which so
    learn where rows with holes belong. It has no mean and no variance, so the Dropout
    estimators refuse it: to them a missing feature adds nothing, which is what
    `Dropout` trains for. It is in no registry of noises for that reason.

    Parameters
    ----------
    rate : float or array of shape (n_features,), default=0.5
        Probability q, in [0, 1]. With groups one for each feature must be the same
        within a group.
    groups : array-like of shape (n_features,) or list of lists of int, default=None
        Features that go missing together: a label for each feature, or the features of
        each group; those in no list go alone.

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.noise import Missing
    >>> Missing(0.5, groups=["a", "a", "b"]).sample(np.ones((3, 3)), rng=0)
    array([[ 1.,  1., nan],
           [nan, nan, nan],
           [ 1.,  1.,  1.]])
    """

    level_name = "rate"
    is_additive = True  # as additive noise, it would fill the zeros of a sparse matrix

    def __init__(self, rate: float | ArrayLike = 0.5, groups: Any = None):
        self.rate = rate
        self.groups = groups

    def variance_law(self) -> VarianceLaw:
        raise TypeError(_NO_MOMENTS)

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        raise TypeError(_NO_MOMENTS)

    def _sample_entries(self, x: Array, rng: np.random.Generator) -> Array:
        members = self._members(x.shape[-1])
        chances = rng.random((*x.shape[:-1], members.max(initial=0) + 1))
        return np.where(chances[..., members] < self.level, np.nan, x)

    def _members(self, n_features: int) -> NDArray[np.intp]:
        """Number of each feature's group."""
        if self.groups is None:
            return np.arange(n_features)
        if _is_lists(self.groups):
            members = np.arange(n_features)  # alone, unless a list says otherwise
            for features in self.groups:
                members[np.asarray(features, dtype=np.intp)] = min(features)
            return np.unique(members, return_inverse=True)[1]
        labels = np.asarray([str(label) for label in self.groups])
        return np.unique(labels, return_inverse=True)[1]

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        super().check(n_features, minimum)
        if np.any(np.asarray(self.level) > 1):
            raise ValueError(f"Missing.rate must be in [0, 1]; got {self.rate!r}.")
        if self.groups is None or n_features is None:
            return
        if not _is_lists(self.groups):
            if len(self.groups) != n_features:
                raise ValueError(
                    f"Missing.groups must have a label for each of the {n_features} "
                    f"features; got {len(self.groups)}."
                )
        else:
            named = [j for features in self.groups for j in features]
            wrong = [j for j in named if not 0 <= j < n_features]
            if wrong or len(set(named)) < len(named):
                raise ValueError(
                    "Missing.groups must name each feature at most once, by a number "
                    f"from 0 to {n_features - 1}; got {self.groups!r}."
                )
        level = np.broadcast_to(self.level, n_features)
        members = self._members(n_features)
        _, first = np.unique(members, return_index=True)
        if np.any(level != level[first][members]):
            raise ValueError("Missing.rate must be the same for all of a group.")


_NO_MOMENTS = (
    "Missing writes NaN, which has no mean to train with; use it with CorruptedCopies, "
    "or Dropout here: to this estimator a missing feature adds nothing."
)


def _is_lists(groups: Any) -> bool:
    first = next(iter(groups), None)
    return isinstance(first, Sequence | np.ndarray | set) and not isinstance(first, str)
