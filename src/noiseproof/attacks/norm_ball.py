"""Every feature moves a little, all of them within a norm ball."""

from __future__ import annotations

import numpy as np

from noiseproof.attacks.base import Array
from noiseproof.attacks.translation import Translation


class NormBall(Translation):
    """Add to each row any δ with ‖δ‖ <= radius in the norm of order `ord`.

    The margin against a rival class r drops by radius ‖w_y - w_r‖_*, in the dual norm:
    that of order 1/(1 - 1/ord). For order 1 a single entry of each row moves, so a
    sparse matrix stays sparse; for the others `worst` stores every entry that has a
    weight.

    Parameters
    ----------
    radius : float, default=1.0
        The largest norm of δ.
    ord : {1, 2, inf}, default=2
        Which norm.

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
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise ValueError(
                f"NormBall.radius must be finite and not negative; got {self.radius!r}."
            )
        if self.ord not in (1, 2, np.inf):
            raise ValueError(f"NormBall.ord must be 1, 2 or inf; got {self.ord!r}.")
