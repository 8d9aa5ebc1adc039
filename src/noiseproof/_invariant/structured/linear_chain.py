"""Sequences of labels, one a token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._invariant.structured.base import Array, StructuredProblem
from noiseproof._invariant.structured.token_deletion import TokenDeletion

Labels = NDArray[np.intp]


class LinearChain(StructuredProblem):
    """Labels y_1 ... y_T of the tokens of a sequence x, an array of shape (T, d).

    Scores are sums over tokens and over neighbours,

        w·Φ(x, y) = Σ_t u_{y_t}·x_t + Σ_t v_{y_t, y_{t+1}},

    and Δ counts the wrong labels (Hamming loss). The best labels are found by the
    Viterbi algorithm; against `TokenDeletion` with one more dimension, the tokens
    deleted so far, which is exact: deleting a token removes its u·x_t from both
    scores.

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof import StructuredSVM
    >>> from noiseproof.structured import LinearChain, TokenDeletion
    >>> rng = np.random.default_rng(0)
    >>> Y = [np.repeat(rng.permutation(3), 3) for _ in range(30)]  # runs of three
    >>> X = [np.eye(3)[y] + 0.3 * rng.normal(size=(9, 3)) for y in Y]
    >>> model = StructuredSVM(LinearChain(), TokenDeletion(2)).fit(X[:20], Y[:20])
    >>> model.score(TokenDeletion(2).sample(X[20:], rng), Y[20:]) > 0.8
    True
    """

    def prepare(self, X: Any, Y: Any) -> tuple[Sequence[Array], Sequence[Labels]]:
        if len(X) == 0:
            raise ValueError("X holds no sequence; at least one is needed.")
        self.n_features_ = np.shape(X[0])[-1] if np.ndim(X[0]) == 2 else 0
        X = self.read(X)
        lengths = [len(x) for x in X]
        if len(Y) != len(X) or [len(y) for y in Y] != lengths:
            raise ValueError("y must hold one label for each token of each sequence.")
        self.labels_, flat = np.unique(np.concatenate(Y), return_inverse=True)
        k = len(self.labels_)
        self.n_weights_ = k * self.n_features_ + k * k
        return X, np.split(flat, np.cumsum(lengths)[:-1])

    def read(self, X: Any) -> Sequence[Array]:
        arrays = [np.asarray(x, dtype=np.float64) for x in X]
        for i, x in enumerate(arrays):
            if x.ndim != 2 or x.shape[1] != self.n_features_ or len(x) == 0:
                raise ValueError(
                    "Every sequence must be an array of shape (length, "
                    f"{self.n_features_ or 'n_features'}) with at least one token; "
                    f"sequence {i} has shape {x.shape}."
                )
            if not np.isfinite(x).all():
                raise ValueError(f"Sequence {i} has entries that are not finite.")
        return arrays

    def features(self, x: Array, y: Labels) -> Array:
        emission = np.zeros((len(self.labels_), self.n_features_))
        np.add.at(emission, y, x)
        transition = np.zeros((len(self.labels_),) * 2)
        np.add.at(transition, (y[:-1], y[1:]), 1.0)
        return np.concatenate([emission.ravel(), transition.ravel()])

    def loss(self, y: Labels, other: Labels) -> float:
        return float(np.sum(y != other))

    def argmax(self, x: Array, w: Array) -> Labels:
        U, V = self._parts(w)
        return self._best(x @ U.T, V, None)[0]

    def loss_augmented_argmax(
        self, x: Array, y: Labels, w: Array, attack: Any = None
    ) -> tuple[Array, Labels]:
        if not isinstance(attack, TokenDeletion | None):
            raise TypeError(
                "LinearChain knows the worst of TokenDeletion only; got "
                f"{type(attack).__name__}."
            )
        U, V = self._parts(w)
        scores, here = x @ U.T, np.arange(len(y))
        wrong = np.ones_like(scores)
        wrong[here, y] = 0.0
        kept = scores - scores[here, y][:, None] + wrong
        labels, deleted = self._best(kept, V, attack, blank=wrong)
        return (x if attack is None else attack.delete(x, deleted)), labels

    @staticmethod
    def _best(
        kept: Array, V: Array, attack: TokenDeletion | None, blank: Array | None = None
    ) -> tuple[Labels, NDArray[np.bool_]]:
        from noiseproof._invariant.structured.kernels import viterbi

        budget = 0 if attack is None else attack.check()
        return viterbi(kept, kept if blank is None else blank, V, budget)

    def _parts(self, w: Array) -> tuple[Array, Array]:
        """Weights of emission (labels, d) and of transition (labels, labels)."""
        k = len(self.labels_)
        cut = k * self.n_features_
        return w[:cut].reshape(k, -1), w[cut:].reshape(k, k)

    def answer(self, outputs: Sequence[Labels]) -> list[NDArray[Any]]:
        return [self.labels_[y] for y in outputs]

    def accuracy(self, Y: Sequence[Any], predicted: Sequence[Any]) -> float:
        """Share of tokens with the right label."""
        return float(np.mean(np.concatenate(Y) == np.concatenate(predicted)))
