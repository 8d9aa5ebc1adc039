"""Scaling of a few features of each row, such as words used more or less often."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof._rows import Workers, entries, values, with_values, without_zeros
from noiseproof.attacks.base import Array, Attack, LinearMargins

_WORTH_THREADS = 2**19  # with more entries than this, several threads are faster


@shared_docs
class FeatureScaling(Attack):
    """Multiply at most k features of each row by factors between low and high.

    With B_j = (w_y - w_r)_j x_j, for one rival class r, scaling feature j lowers the
    margin by

        max(B_j (1 - low), B_j (1 - high)),

    and the adversary takes the k largest of these gains (FSCALE: Teo et al. 2008,
    eq. 10). Features whose gain is not positive are left alone, since scaling is
    allowed but not required. (Algorithm 3 of the paper lacks this check.) With low = 0
    and high = 1 this is `FeatureDeletion(k)`. Zeros and missing values stay as they
    are.

    Parameters
    ----------
    k : int, default=1
        Maximum number of features of a row that are scaled. A float is accepted if it
        is a whole number.
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
        """Drops of the margins. Writes scaled entries to `out` unless it is empty."""
        # Numba is imported at the first attack, so that `import noiseproof` stays fast
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
        """The smallest and the largest factor, validated."""
        if not (np.isfinite([self.low, self.high]).all() and self.low <= self.high):
            raise ValueError(
                "FeatureScaling.low and high must be finite, and low must not exceed "
                f"high; got {self.low!r} and {self.high!r}."
            )
        return float(self.low), float(self.high)
