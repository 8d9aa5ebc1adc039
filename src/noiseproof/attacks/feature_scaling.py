"""Scaling of a few features of each row: words used more often, or less."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof._rows import Workers, entries, values, with_values, without_zeros
from noiseproof.attacks.base import Array, Attack, LinearMargins

_WORTH_THREADS = 2**19  # entries


@shared_docs
class FeatureScaling(Attack):
    """Multiply at most k features of each row by factors between low and high.

    With B_j = (w_y - w_r)_j x_j, for one rival class r, scaling feature j takes

        max(B_j (1 - low), B_j (1 - high))

    from the margin, and the adversary takes the k largest of these gains (FSCALE: Teo
    et al. 2008, eq. 10). Their algorithm 3 lacks a stop: scaling is allowed, not
    forced, so it leaves features alone that gain nothing. With low = 0 and high = 1
    this is `FeatureDeletion(k)`. Zeros and missing entries stay as they are.

    Parameters
    ----------
    k : int, default=1
        How many features of a row may be scaled; a whole float will do.
    low, high : float, default=0.0 and 1.0
        The smallest and the largest factor.

    {See Also: FeatureDeletion}

    {References: Teo 2008}

    Examples
    --------
    >>> from noiseproof.attacks import FeatureScaling
    >>> X, y, coef = [[1.0, 1.0, 1.0]], [1], [3.0, -1.0, 0.5]
    >>> FeatureScaling(k=2, low=0.5, high=4.0).worst(X, y, coef)
    array([[0.5, 4. , 1. ]])
    >>> FeatureScaling(k=2, low=0.5, high=4.0).margin_drop(X, y, coef)
    array([4.5])
    """

    level_name = "k"
    level_is_count = True
    smallest_change = "deletion"
    _levels = ()

    def __init__(self, k: float = 1, low: float = 0.0, high: float = 1.0):
        self.k = k
        self.low = low
        self.high = high

    def _worst(self, X: Any, model: LinearMargins) -> Any:
        data = np.empty(values(X).shape, dtype=X.dtype)
        self._attack(X, model, data.ravel())
        worst = with_values(X, data)
        return without_zeros(worst, copy=False) if 0 in (self.low, self.high) else worst

    def _drop(self, X: Any, model: LinearMargins) -> Array:
        return self._attack(X, model, np.empty(0, dtype=X.dtype))

    def _attack(self, X: Any, model: LinearMargins, out: Any) -> Array:
        """Drops of the margins; the scaled entries go to `out` where it has room."""
        # Numba is imported here, at the first attack, to keep the import light
        from noiseproof.attacks.kernels import scale

        leads = model.rival_leads(X)
        indptr, indices, data = entries(X)
        k = min(int(self._legal(self.k)), X.shape[1])
        low, high = self.certificate_factors

        def work(rows: slice) -> Array:
            ends = indptr[rows.start : rows.stop + 1]
            of_rows = model.label[rows], model.coef, leads[rows]
            return scale(ends, indices, data, *of_rows, k, low, high, out)

        if data.size <= _WORTH_THREADS:
            return work(slice(0, X.shape[0]))
        workers = Workers(blas=False)
        bounds = np.linspace(0, X.shape[0], workers.count + 1).astype(int)
        parts = [slice(a, b) for a, b in pairwise(bounds.tolist())]
        return np.concatenate(workers.map(work, parts))

    @property
    def certificate_factors(self) -> tuple[float, float]:
        """The smallest and the largest factor, checked."""
        if not (np.isfinite([self.low, self.high]).all() and self.low <= self.high):
            raise ValueError(
                "FeatureScaling.low and high must be finite, low not above high; "
                f"got {self.low!r} and {self.high!r}."
            )
        return float(self.low), float(self.high)
