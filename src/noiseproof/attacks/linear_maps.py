"""Attacks whose every way to change a row is a linear map of it.

Moving, turning or resizing an image with interpolation is one: each new pixel is a
weighted mean of old ones. A linear model then need not see the changed rows to know
their scores, since w·(M x) = (Mᵀ w)·x, and a sparse row stays sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from noiseproof.attacks.base import Array, Attack, LinearModel, score_leads
from noiseproof.attacks.rows import as_container, assemble, readable, zero_missing


class LinearMaps(Attack):
    """A finite attack: a row stays as it is or becomes M x, for each M of `maps`.

    Missing entries (NaN) of a row that is changed count as zero.
    """

    def maps(self, n_features: int) -> list[Any]:
        """Sparse matrices of shape (d, d), without the identity.

        Parameters
        ----------
        n_features : int
            Length of a row.

        Returns
        -------
        maps : list of CSR arrays of shape (n_features, n_features)
            One per way to change a row.
        """
        raise NotImplementedError

    def candidates(self, x: ArrayLike) -> Array:
        return self.all_candidates(np.reshape(np.asarray(x), (1, -1)))[0]

    def all_candidates(self, X: Any) -> Array:
        X = readable(X)
        maps = self.maps(X.shape[1])
        ways = np.empty((X.shape[0], len(maps) + 1, X.shape[1]))
        ways[:, 0] = X.toarray() if sp.issparse(X) else X
        clean = np.ascontiguousarray(np.nan_to_num(ways[:, 0], nan=0.0).T)
        for j, M in enumerate(maps, start=1):
            ways[:, j] = (M @ clean).T
        return ways

    def worst(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Any:
        given, X = X, readable(X)
        choice = self._margins(X, y, coef, intercept).argmin(axis=1)
        clean, maps = zero_missing(X), self.maps(X.shape[1])
        parts = []
        for j in np.unique(choice):
            rows = np.flatnonzero(choice == j)
            part = X[rows] if j == 0 else clean[rows] @ maps[j - 1].T
            parts.append((rows, part.astype(X.dtype, copy=False)))
        return as_container(assemble(parts, X), given)

    def margin_drop(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Array:
        margins = self._margins(readable(X), y, coef, intercept)
        return margins[:, 0] - margins.min(axis=1)

    def _margins(self, X: Any, y: Any, coef: Any, intercept: Any) -> NDArray[Any]:
        """Margins of all candidates of all rows, without making them: (n, c)."""
        model = LinearModel(X, y, coef, intercept)
        seen = [model.coef, *((M.T @ model.coef.T).T for M in self.maps(X.shape[1]))]
        scores = np.asarray(zero_missing(X) @ np.vstack(seen).T)
        scores = scores.reshape(-1, len(seen), len(model.coef)) + model.intercept
        return score_leads(scores, model.label).min(axis=2)
