"""The invariant risk of a structured problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._invariant.risk import Array, Cuts, LinearRisk
from noiseproof._invariant.structured.base import StructuredProblem


class StructuredRisk(LinearRisk):
    """R(w) with the problem's joint features, one example asked at a time.

    Parameters
    ----------
    problem : StructuredProblem
        Prepared.
    X, Y : sequences of length n
        Inputs and outputs.
    attack : object
        What the problem's `loss_augmented_argmax` takes.
    mass, alpha : array of shape (n,) and float
        As in `LinearRisk`.
    """

    def __init__(
        self, problem: StructuredProblem, X: Sequence[Any], Y: Sequence[Any],
        attack: Any, mass: Array, alpha: float,
    ):  # fmt: skip
        self.problem, self.X, self.Y, self.attack = problem, X, Y, attack
        floor = np.array([problem.loss(y, y) for y in Y])
        super().__init__(mass, floor, alpha, problem.n_weights_)

    def worst(self, w: Array, rows: NDArray[np.intp] | None = None) -> Cuts:
        chosen = range(len(self.X)) if rows is None else rows
        cuts = [self._cut(i, w) for i in chosen]
        indices, data, delta = zip(*cuts, strict=True)
        indptr = np.concatenate([[0], np.cumsum([len(part) for part in indices])])
        psi = sp.csr_array(
            (np.concatenate(data), np.concatenate(indices), indptr),
            shape=(len(delta), self.n_weights),
        )
        heights = np.array(delta)
        return Cuts(psi, heights, heights + psi @ w)

    def _cut(self, i: int, w: Array) -> tuple[NDArray[np.intp], Array, float]:
        y = self.Y[i]
        s, other = self.problem.loss_augmented_argmax(self.X[i], y, w, self.attack)
        psi = self.problem.features(s, other) - self.problem.features(s, y)
        stored = np.flatnonzero(psi)
        return stored, psi[stored], self.problem.loss(y, other)
