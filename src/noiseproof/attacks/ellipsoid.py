"""Every row moves within an ellipsoid around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from noiseproof.attacks.base import Array
from noiseproof.attacks.translation import Translation


class Ellipsoid(Translation):
    """Add to each row any δ with δᵀ S⁻¹ δ <= 1.

    The margin against a rival class r drops by √(uᵀ S u), u = w_y - w_r. Training
    against it is the second-order cone program of Teo et al. 2008, section 4. Where S
    is singular, δ stays in its range.

    Parameters
    ----------
    covariance : float, array-like of shape (d,) or (d, d), default=None
        S: a number times the identity, its diagonal, or all of it, symmetric and
        positive semidefinite. None means the identity.

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
                f"Ellipsoid.covariance must be a finite number, {d} of them or a "
                f"({d}, {d}) matrix for X with {d} features; got shape {S.shape}."
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
