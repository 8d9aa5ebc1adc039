"""The invariant risk of linear multiclass models, f(x, y) = w_y·x.

Two classes need one vector v: of all pairs with the same difference w_1 - w_0, the pair
w_1 = -w_0 = v/√2 has the least norm, which is that of v.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._invariant.candidates import Candidates, Segments
from noiseproof._invariant.costs import Array, Costs
from noiseproof._invariant.risk import Cuts, LinearRisk

Labels = NDArray[np.intp]


def class_weights(w: Array, k: int) -> Array:
    """The weights of each class, (k, d), from the vector that solvers see."""
    if k == 2:
        return np.stack([-w, w]) / np.sqrt(2)
    return w.reshape(k, -1)


def class_scores(X: Any, w: Array, k: int) -> Array:
    """f(x, y) of each row for each class, (m, k)."""
    if k > 2:
        return np.asarray(X @ w.reshape(k, -1).T)
    scores = np.asarray(X @ w) / np.sqrt(2)
    return np.stack([-scores, scores], axis=1)


def joint_features(
    X: Any, own: Labels, rival: Labels, scale: Array, k: int
) -> sp.csr_array:
    """ψ of each row, so that ψ·w = Γ (w_rival - w_own)·x.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, d)
        Attacked rows.
    own, rival : arrays of int of shape (m,)
        y and y' of each row.
    scale : array of shape (m,)
        Γ of each row.
    k : int
        Number of classes.
    """
    X = sp.csr_array(X)
    d, counts = X.shape[1], np.diff(X.indptr)
    if k == 2:
        signed = np.sqrt(2) * scale * np.where(rival == 1, 1.0, -1.0)
        data = X.data * np.repeat(signed, counts)
        return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    # every row twice, one copy after the other, each in the block of its class
    first = np.arange(X.nnz) + np.repeat(X.indptr[:-1], counts)
    second = first + np.repeat(counts, counts)
    wide = np.int32 if k * d < 2**31 else np.int64
    indices, data = np.empty(2 * X.nnz, dtype=wide), np.empty(2 * X.nnz)
    scaled = X.data * np.repeat(scale, counts)
    for place, sign, block in ((first, 1.0, rival), (second, -1.0, own)):
        indices[place] = X.indices + np.repeat(block.astype(wide) * d, counts)
        data[place] = sign * scaled
    return sp.csr_array((data, indices, 2 * X.indptr), shape=(len(own), k * d))


class MulticlassRisk(LinearRisk):
    """R(w) for classes; subclasses know what rows may become.

    Parameters
    ----------
    own : array of int of shape (n,)
        Class of each row.
    costs : Costs
        Γ and Δ.
    mass, alpha : array of shape (n,) and float
        As in `LinearRisk`.
    n_features : int
        d.
    """

    def __init__(
        self, own: Labels, costs: Costs, mass: Array, alpha: float, n_features: int
    ):
        self.own, self.costs, self.k = own, costs, len(costs.scale)
        n_weights = n_features if self.k == 2 else self.k * n_features
        super().__init__(mass, costs.floor(own), alpha, n_weights)

    def worst(self, w: Array, rows: Labels | None = None) -> Cuts:
        W = class_weights(w, self.k)
        own = self.own if rows is None else self.own[rows]
        X, transform = self._attacked(W, own, rows)
        losses = self.costs.losses(class_scores(X, w, self.k), own, transform)
        rival, here = losses.argmax(axis=1), np.arange(len(own))
        delta = self.costs.delta(own, transform)[here, rival]
        psi = joint_features(X, own, rival, self.costs.scale[own, rival], self.k)
        return Cuts(psi, delta, losses[here, rival])

    @abstractmethod
    def _attacked(
        self, W: Array, own: Labels, rows: Labels | None
    ) -> tuple[Any, Labels]:
        """Each row under its worst transform, and the index of that."""


class AttackedRisk(MulticlassRisk):
    """Rows that an attack changes by its `worst`.

    For rows of class y the attack is shown a model with own weights w_y and rival
    weights w_y + Γ(y, y') (w_y' - w_y), and with Δ(y, ·) as intercepts: its lowest
    margin is then minus the loss, whatever Γ and Δ.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Clean rows without missing entries.
    attack : Attack
        With `worst(X, y, coef, intercept)`.
    own, costs, mass, alpha
        As in `MulticlassRisk`.
    """

    def __init__(
        self, X: Any, attack: Any, own: Labels, costs: Costs, mass: Array, alpha: float
    ):
        super().__init__(own, costs, mass, alpha, X.shape[1])
        self.X, self.attack = X, attack

    def _attacked(
        self, W: Array, own: Labels, rows: Labels | None
    ) -> tuple[Any, Labels]:
        X = self.X if rows is None else self.X[rows]
        first = np.zeros(len(own), dtype=np.intp)
        if self.costs.uniform:
            return self.attack.worst(X, own, W), first
        parts, order = [], []
        for y in np.unique(own):
            members = np.flatnonzero(own == y)
            coef = W[y] + self.costs.scale[y][:, None] * (W - W[y])
            intercept = self.costs.cost[y, :, 0].copy()
            coef[y], intercept[y] = W[y], 0.0
            parts.append(self.attack.worst(X[members], own[members], coef, intercept))
            order.append(members)
        stack = sp.vstack(parts, format="csr") if sp.issparse(X) else np.vstack(parts)
        return stack[np.argsort(np.concatenate(order))], first


class ListedRisk(MulticlassRisk):
    """Rows that may become any of their candidates.

    Parameters
    ----------
    candidates : Candidates
        What each row may become.
    own, costs, mass, alpha
        As in `MulticlassRisk`.
    """

    def __init__(
        self, candidates: Candidates, own: Labels, costs: Costs, mass: Array,
        alpha: float,
    ):  # fmt: skip
        super().__init__(own, costs, mass, alpha, candidates.X.shape[1])
        self.candidates = candidates

    def _attacked(
        self, W: Array, own: Labels, rows: Labels | None
    ) -> tuple[Any, Labels]:
        listed = self.candidates
        ids = np.arange(len(listed.owner)) if rows is None else listed.of(rows)
        X = listed.X if rows is None else listed.X[ids]
        if len(ids) == len(own):  # nothing to choose from
            return X, listed.rank[ids]
        mine = Segments(listed.counts if rows is None else listed.counts[rows])
        scores = np.asarray(X @ W.T)
        losses = self.costs.losses(scores, own[mine.owner], mine.rank)
        worst = mine.argmax(losses.max(axis=1))
        return X[worst], mine.rank[worst]
