"""Classes as the simplest structured outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from noiseproof._invariant.structured.base import Array, StructuredProblem


class Multiclass(StructuredProblem):
    """One of k classes for a row x: Φ(x, y) is x in the block of class y, Δ = [y' ≠ y].

    With it `StructuredSVM` is `InvariantSVC` with a linear kernel, only slower.

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.structured import Multiclass
    >>> problem = Multiclass()
    >>> _ = problem.prepare(np.eye(2), ["a", "b"])
    >>> problem.features(np.array([1.0, 2.0]), 1)
    array([0., 0., 1., 2.])
    """

    tabular = True

    def prepare(self, X: Any, Y: Any) -> tuple[Any, Sequence[Any]]:
        self.classes_, labels = np.unique(Y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "Multiclass needs at least 2 classes, but y has only 1 class: "
                f"{self.classes_[0]}."
            )
        self.n_weights_ = len(self.classes_) * X.shape[1]
        return self.read(X), list(labels)

    def read(self, X: Any) -> Any:
        return _Rows(X)

    def features(self, x: Array, y: int) -> Array:
        features = np.zeros((len(self.classes_), len(x)))
        features[y] = x
        return features.ravel()

    def loss(self, y: int, other: int) -> float:
        return float(y != other)

    def argmax(self, x: Array, w: Array) -> int:
        return int((self._weights(w) @ x).argmax())

    def loss_augmented_argmax(
        self, x: Array, y: int, w: Array, attack: Any = None
    ) -> tuple[Array, int]:
        W = self._weights(w)
        ways = _ways(x, y, W, attack)
        scores = ways @ W.T
        losses = scores - scores[:, [y]] + 1.0
        losses[:, y] = 0.0
        way, rival = np.unravel_index(losses.argmax(), losses.shape)
        return ways[way], int(rival)

    def _weights(self, w: Array) -> Array:
        return w.reshape(len(self.classes_), -1)

    def answer(self, outputs: Sequence[int]) -> Any:
        return self.classes_[np.asarray(outputs, dtype=np.intp)]


def _ways(x: Array, y: int, W: Array, attack: Any) -> Array:
    """What x may become, as far as it matters."""
    if attack is None:
        return x[None]
    if attack.is_finite:
        return np.atleast_2d(attack.candidates(x))
    return np.asarray(attack.worst(x[None], [y], W))


class _Rows:
    """Rows of a table, dense one at a time."""

    def __init__(self, X: Any):
        self.X = X

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, i: int) -> Array:
        if i >= len(self):
            raise IndexError(i)  # ends a loop over the rows
        if sp.issparse(self.X):
            return np.asarray(self.X[[i]].toarray()[0], dtype=np.float64)
        return np.asarray(self.X[i], dtype=np.float64)
