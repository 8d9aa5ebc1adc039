"""Attacks that move rows within a convex set: a norm ball or an ellipsoid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import as_container, incomplete_rows
from noiseproof.attacks.base import Array, Attack, LinearMargins


class Translation(Attack):
    """Base class of attacks x + δ, where δ is in a fixed convex set around zero.

    Missing values (NaN) stay missing. For a sparse matrix `worst` returns a sparse
    matrix that stores every entry that moves, and `margin_drop` needs no such matrix.
    """

    def moves(self, directions: Array) -> Array:
        """The allowed δ with the largest u·δ for each row u; zero where u is zero."""
        raise NotImplementedError

    def check(self, n_features: int) -> None:
        """Raise an error if the set does not suit rows with so many features."""
        raise NotImplementedError

    def _worst(self, X: Any, model: LinearMargins) -> Any:
        own, k = model.label.astype(np.intp), len(model.coef)
        rival = self._attacked(X, model).argmin(axis=1)
        pairs, pair = np.unique(own * k + rival, return_inverse=True)
        moves = [self.moves(model.coef[pairs // k] - model.coef[pairs % k])]
        for i, seen in incomplete_rows(X):
            pair[i] = sum(map(len, moves))
            u = (model.coef[own[i]] - model.coef[rival[i]]) * seen
            moves.append(self.moves(u[None]))
        return X - as_container(np.vstack(moves).astype(X.dtype), X)[pair]

    def _drop(self, X: Any, model: LinearMargins) -> Array:
        lowest = self._attacked(X, model).min(axis=1)
        return model.margins(X, model.label) - lowest

    def _attacked(self, X: Any, model: LinearMargins) -> Array:
        """Leads over each rival after the worst move against that one."""
        self.check(X.shape[1])
        leads = model.leads(X, model.label)
        drops = np.stack([self._drops(own - model.coef) for own in model.coef])
        drops = drops[model.label]
        for i, seen in incomplete_rows(X):
            drops[i] = self._drops((model.coef[model.label[i]] - model.coef) * seen)
        return leads - drops

    def _drops(self, directions: Array) -> Array:
        return np.einsum("md,md->m", directions, self.moves(directions))


@shared_docs
class NormBall(Translation):
    """Add to each row the worst δ with ‖δ‖ <= radius, in the norm of order `ord`.

    The margin against a rival class r drops by radius ‖w_y - w_r‖_*, where ‖·‖_* is the
    dual norm, of order 1/(1 - 1/ord). For order 1 a single entry of each row moves, so
    a sparse matrix stays sparse. For the other orders `worst` stores every entry whose
    weight is not zero.

    Parameters
    ----------
    radius : float, default=1.0
        Maximum norm of δ.
    ord : {1, 2, inf}, default=2
        Order of the norm.

    {See Also: Ellipsoid}

    {References: Teo 2008}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.attacks import NormBall
    >>> X, y, coef = [[1.0, 1.0]], [1], [3.0, -4.0]
    >>> NormBall(radius=0.5).margin_drop(X, y, coef)
    array([2.5])
    >>> NormBall(radius=0.5).worst(X, y, coef)
    array([[0.7, 1.4]])
    >>> NormBall(radius=0.5, ord=np.inf).worst(X, y, coef)
    array([[0.5, 1.5]])
    >>> NormBall(radius=0.5, ord=1).worst(X, y, coef)
    array([[1. , 1.5]])
    """

    level_name = "radius"
    smallest_change = "norm"

    def __init__(self, radius: float = 1.0, ord: float = 2):
        self.radius = radius
        self.ord = ord

    def moves(self, directions: Array) -> Array:
        if self.ord == np.inf:
            return self.radius * np.sign(directions)
        if self.ord == 2:
            length = np.linalg.norm(directions, axis=1, keepdims=True)
            return self.radius * directions / np.where(length > 0, length, 1)
        rows, top = np.arange(len(directions)), np.abs(directions).argmax(axis=1)
        moves = np.zeros_like(directions)
        moves[rows, top] = self.radius * np.sign(directions[rows, top])
        return moves

    def check(self, n_features: int) -> None:
        self._legal(self.radius)
        if self.ord not in (1, 2, np.inf):
            raise ValueError(f"NormBall.ord must be 1, 2 or inf; got {self.ord!r}.")


@shared_docs
class Ellipsoid(Translation):
    """Add to each row the worst δ with δᵀ S⁻¹ δ <= 1.

    The margin against a rival class r drops by √(uᵀ S u), where u = w_y - w_r. Training
    against this attack is the second-order cone program of Teo et al. 2008, section 4.
    If S is singular, δ stays in the range of S.

    Parameters
    ----------
    covariance : float, array-like of shape (d,) or (d, d), default=None
        The matrix S, symmetric and positive semidefinite. A number means that multiple
        of the identity, and an array of shape (d,) is the diagonal. None means the
        identity.

    {See Also: NormBall}

    {References: Teo 2008}

    Examples
    --------
    >>> from noiseproof.attacks import Ellipsoid
    >>> X, y, coef = [[1.0, 1.0]], [1], [3.0, 4.0]
    >>> Ellipsoid().margin_drop(X, y, coef)
    array([5.])
    >>> Ellipsoid([1.0, 0.0]).worst(X, y, coef)
    array([[0., 1.]])
    """

    def __init__(self, covariance: ArrayLike | None = None):
        self.covariance = covariance

    def moves(self, directions: Array) -> Array:
        S = self._matrix()
        ahead = directions @ S if S.ndim == 2 else directions * S
        square = np.einsum("md,md->m", directions, ahead)[:, None]
        return ahead / np.sqrt(np.where(square > 0, square, 1))

    def check(self, n_features: int) -> None:
        S, d = self._matrix(), n_features
        if S.shape not in ((), (d,), (d, d)) or not np.all(np.isfinite(S)):
            raise ValueError(
                f"Ellipsoid.covariance must be a number, {d} numbers or a ({d}, {d}) "
                f"matrix for X with {d} features, all finite; got shape {S.shape}."
            )
        rounding = 1e-9 * np.abs(S).max(initial=0.0)
        symmetric = S.ndim < 2 or np.allclose(S, S.T, rtol=0, atol=rounding)
        spectrum = S if S.ndim < 2 else np.linalg.eigvalsh(S)
        if not symmetric or spectrum.min(initial=0.0) < -rounding:
            raise ValueError(
                "Ellipsoid.covariance must be symmetric and positive semidefinite."
            )

    def _matrix(self) -> Array:
        S = 1.0 if self.covariance is None else self.covariance
        return np.asarray(S, dtype=np.float64)
