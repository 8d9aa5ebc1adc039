"""An approximate inverse of the curvature, for conjugate gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from noiseproof.design import Array

_FLAT = 1e-8  # keeps the intercept's share positive where a kinked loss is flat


class Preconditioner:
    """(diag(D) + Uᵀ U)⁻¹ for each class; just 1 / D where a class has no stiff rows.

    Near a kink a few rows have a curvature far above all others. Each puts an
    eigenvalue of its own into the Hessian, and conjugate gradients would need an
    iteration for it; put into `U` they are inverted exactly (Woodbury's identity, or
    directly where there are more of them than features).

    Parameters
    ----------
    diagonal : array of shape (k, d + 1)
        Diagonal of the whole curvature, stiff rows included.
    stiff : sequence of k matrices of shape (rows, d + 1), or None
        The rows times the root of their curvature.
    """

    def __init__(self, diagonal: Array, stiff: Sequence[Any]):
        typical = np.abs(diagonal).mean(axis=1, keepdims=True)
        positive = np.maximum(diagonal, _FLAT * np.maximum(typical, 1e-300))
        self._inverse = 1 / positive
        self._corrections = [
            None if U is None else _Correction(positive[k], U)
            for k, U in enumerate(stiff)
        ]

    def solve(self, R: Array) -> Array:
        """Approximate H⁻¹ r for each class."""
        Z = R * self._inverse
        for k, correction in enumerate(self._corrections):
            if correction is not None:
                Z[k] = correction.solve(R[k])
        return Z

    def restrict(self, classes: Any) -> Preconditioner:
        """The preconditioners of some classes only."""
        part = object.__new__(Preconditioner)
        part._inverse = self._inverse[classes]
        kept = np.arange(len(self._corrections))[classes]
        part._corrections = [self._corrections[k] for k in kept]
        return part


class _Correction:
    """(diag(D) + Uᵀ U)⁻¹ for one class, with D what the stiff rows leave of it."""

    def __init__(self, diagonal: Array, U: Any):
        squares = U.multiply(U) if sp.issparse(U) else U * U
        own = np.asarray(squares.sum(axis=0)).ravel()
        self.U = U
        self.D = np.maximum(diagonal - own, 1e-6 * diagonal)
        self.direct = U.shape[0] > U.shape[1]
        if self.direct:
            matrix = _dense(U.T @ U) + np.diag(self.D)
        else:
            scaled = U / np.sqrt(self.D)
            matrix = _dense(scaled @ scaled.T) + np.eye(U.shape[0])
        self.factor = cho_factor(matrix, overwrite_a=True)

    def solve(self, r: Array) -> Array:
        if self.direct:
            return np.asarray(cho_solve(self.factor, r))
        z = r / self.D
        return np.asarray(z - (self.U.T @ cho_solve(self.factor, self.U @ z)) / self.D)


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
