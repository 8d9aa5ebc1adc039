"""Holes: a cell goes missing, and one knows it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import Array
from noiseproof.noise.base import Cumulants, GroupedNoise, VarianceLaw


@shared_docs
class Missing(GroupedNoise):
    """Each feature is NaN with probability q, else as it is; nothing is rescaled.

    For `CorruptedCopies` around models that take NaN, such as boosted trees, which so
    learn where rows with holes belong. It has no mean and no variance, so the Dropout
    estimators refuse it: to them a missing feature adds nothing, which is what
    `Dropout` trains for. It is in no registry of noises for that reason.

    Parameters
    ----------
    rate : float or array of shape (n_features,) or (n_groups,), default=0.5
        Probability q, in [0, 1]. With groups there may be one for each group, if every
        feature is in one; one for each feature must be the same within a group.
    {groups}

    See Also
    --------
    Dropout : Zero in place of NaN.
    noiseproof.CorruptedCopies : Trains on copies with missing cells.

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.noise import Missing
    >>> Missing(0.5, groups=["a", "a", "b"]).sample(np.ones((3, 3)), rng=0)
    array([[ 1.,  1., nan],
           [nan, nan, nan],
           [ 1.,  1.,  1.]])
    """

    is_additive = True  # as additive noise, it would fill the zeros of a sparse matrix

    def __init__(self, rate: float | ArrayLike = 0.5, groups: Any = None):
        self.rate = rate
        self.groups = groups

    def variance_law(self) -> VarianceLaw:
        raise TypeError(_NO_MOMENTS)

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        raise TypeError(_NO_MOMENTS)

    def _struck(self, x: Array, chances: Array) -> Array:
        return np.where(chances < self.level, np.nan, x)

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        super().check(n_features, minimum)
        if np.any(np.asarray(self.level) > 1):
            raise ValueError(f"Missing.rate must be in [0, 1]; got {self.rate!r}.")


_NO_MOMENTS = (
    "Missing writes NaN, which has no mean to train with; use it with CorruptedCopies, "
    "or Dropout here: to this estimator a missing feature adds nothing."
)
