"""Attacks that move every row within the same convex set around it.

The worst move against one rival class is the one that goes furthest along the
difference u of the two weight vectors, and the drop of the margin is the support
function of the set at u. Neither depends on the row, so there is one move per pair of
classes, however many rows there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from noiseproof.attacks.base import Array, Attack, LinearModel
from noiseproof.attacks.rows import as_container, readable


class Translation(Attack):
    """Base of the attacks x + δ with δ in a fixed convex set around zero.

    Missing entries (NaN) stay missing and cannot be moved. `margin_drop` never fills a
    sparse matrix; `worst` gives back a sparse matrix for a sparse one, in which every
    entry that moves is stored.
    """

    def moves(self, directions: Array) -> Array:
        """The allowed δ with the largest u·δ for each row u of `directions`.

        Parameters
        ----------
        directions : array of shape (m, d)
            Differences of weight vectors.

        Returns
        -------
        moves : array of shape (m, d)
            Zero where u is zero.
        """
        raise NotImplementedError

    def check(self, n_features: int) -> None:
        """Raise one clear sentence if the set does not suit rows of such a length.

        Parameters
        ----------
        n_features : int
            Length of a row.
        """
        raise NotImplementedError

    def worst(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Any:
        given, X = X, readable(X)
        self.check(X.shape[1])
        model = LinearModel(X, y, coef, intercept)
        own = model.label.astype(np.intp)
        rival = self._attacked(X, model).argmin(axis=1)
        pairs, pair = np.unique(own * len(model.coef) + rival, return_inverse=True)
        first, second = np.divmod(pairs, len(model.coef))
        moves = [self.moves(model.coef[first] - model.coef[second])]
        for i, seen in _incomplete(X):
            pair[i] = sum(map(len, moves))
            u = (model.coef[own[i]] - model.coef[rival[i]]) * seen
            moves.append(self.moves(u[None]))
        table = np.vstack(moves).astype(X.dtype)
        if sp.issparse(X):
            return as_container(X - type(X)(table)[pair], given)
        return X - table[pair]

    def margin_drop(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Array:
        X = readable(X)
        self.check(X.shape[1])
        model = LinearModel(X, y, coef, intercept)
        lowest = self._attacked(X, model).min(axis=1)
        return model.margins(X, model.label) - lowest

    def _attacked(self, X: Any, model: LinearModel) -> Array:
        """Leads over each rival after the worst move against that one."""
        leads = model.leads(X, model.label)
        drops = np.stack([self._drops(own - model.coef) for own in model.coef])
        drops = drops[model.label]
        for i, seen in _incomplete(X):
            drops[i] = self._drops((model.coef[model.label[i]] - model.coef) * seen)
        return leads - drops

    def _drops(self, directions: Array) -> Array:
        return np.einsum("md,md->m", directions, self.moves(directions))


def _incomplete(X: Any) -> list[tuple[int, NDArray[np.bool_]]]:
    """Rows with missing entries, and which of their entries are there."""
    if not sp.issparse(X):
        missing = np.isnan(X)
        return [(i, ~missing[i]) for i in np.flatnonzero(missing.any(axis=1)).tolist()]
    if not np.isnan(X.data).any():
        return []
    holes = sp.csr_array((np.isnan(X.data), X.indices, X.indptr), shape=X.shape)
    return [
        (i, holes[[i]].toarray()[0] == 0)
        for i in np.flatnonzero(holes.sum(axis=1)).tolist()
    ]
