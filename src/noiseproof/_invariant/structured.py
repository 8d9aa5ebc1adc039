"""Structured outputs: the problems that `StructuredSVM` solves, and their interface.

A problem defines the score w·Φ(x, y) of an input x and an output y for a weight vector
w, the loss of a wrong output, and which output scores best, with and without an
adversary who may change x. To write one, derive from `StructuredProblem` and implement
`prepare` and the five methods after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from noiseproof._docs import shared_docs
from noiseproof._invariant.loss import Index
from noiseproof._invariant.risk import Cuts, LinearRisk
from noiseproof._rows import Array, as_dense
from noiseproof.attacks import Attack


@shared_docs
class StructuredProblem(ABC, BaseEstimator):
    """Inputs, outputs, joint features Φ and loss Δ.

    See Also
    --------
    LinearChain : Sequences of labels.
    Multiclass : Classes.

    {References: Teo 2008}
    """

    # whether inputs are the rows of a table and outputs are classes
    tabular: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, X: Any, Y: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        """Check training data and set `n_weights_`, and other attributes if needed.

        Returns
        -------
        inputs, outputs : sequences
            In the form that the other methods expect, with labels as indices.
        """

    @abstractmethod
    def read(self, X: Any) -> Sequence[Any]:
        """Check new inputs."""

    @abstractmethod
    def features(self, x: Any, y: Any) -> Array:
        """Compute the joint features Φ(x, y), as many as there are weights."""

    @abstractmethod
    def loss(self, y: Any, other: Any) -> float:
        """Return Δ(y, other), the cost of predicting `other` if y is right."""

    @abstractmethod
    def argmax(self, x: Any, w: Array) -> Any:
        """Return the output with the highest score w·Φ(x, y)."""

    @abstractmethod
    def loss_augmented_argmax(
        self, x: Any, y: Any, w: Array, attack: Any = None
    ) -> tuple[Any, Any]:
        """Return the attacked input s and the output y' with the highest loss.

        The loss is w·Φ(s, y') - w·Φ(s, y) + Δ(y, y'), over all that the attack may make
        of x and over all outputs. Raises a TypeError if the problem does not support
        the attack.
        """

    def answer(self, outputs: Sequence[Any]) -> Any:
        """Convert predicted outputs to the form that users expect."""
        return outputs

    def accuracy(self, Y: Sequence[Any], predicted: Sequence[Any]) -> float:
        """Return the share of correct outputs; both are in the form of users."""
        pairs = zip(Y, predicted, strict=True)
        return float(np.mean([np.array_equal(*pair) for pair in pairs]))


class StructuredRisk(LinearRisk):
    """R(w) of a prepared problem, which is called for one example at a time."""

    def __init__(
        self, problem: StructuredProblem, X: Sequence[Any], Y: Sequence[Any],
        attack: Any, mass: Array, alpha: float,
    ):  # fmt: skip
        self.problem, self.X, self.Y, self.attack = problem, X, Y, attack
        floor = np.array([problem.loss(y, y) for y in Y])
        super().__init__(mass, floor, alpha, problem.n_weights_)

    def worst(self, w: Array, rows: Index | None = None) -> Cuts:
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

    def _cut(self, i: int, w: Array) -> tuple[Index, Array, float]:
        y = self.Y[i]
        s, other = self.problem.loss_augmented_argmax(self.X[i], y, w, self.attack)
        psi = self.problem.features(s, other) - self.problem.features(s, y)
        if np.shape(psi) != (self.n_weights,):
            raise ValueError(
                f"{type(self.problem).__name__}.features must return an array of shape "
                f"(n_weights_,) = ({self.n_weights},); got {np.shape(psi)}."
            )
        stored = np.flatnonzero(psi)
        return stored, psi[stored], self.problem.loss(y, other)


@shared_docs
class Multiclass(StructuredProblem):
    """One of k classes for a row x: Φ(x, y) is x in the block of class y, Δ = [y' ≠ y].

    With it, `StructuredSVM` is equivalent to a linear `InvariantSVC`, but slower.

    See Also
    --------
    LinearChain : Sequences of labels.
    noiseproof.InvariantSVC : The same, faster.

    {References: Teo 2008}

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
        return _DenseRows(X)

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
        W, ways = self._weights(w), x[None]
        if attack is not None and attack.is_finite:
            ways = np.atleast_2d(attack.candidates(x))
        elif attack is not None:
            ways = np.asarray(attack.worst(ways, [y], W))
        scores = ways @ W.T
        losses = scores - scores[:, [y]] + 1.0
        losses[:, y] = 0.0
        way, rival = np.unravel_index(losses.argmax(), losses.shape)
        return ways[way], int(rival)

    def _weights(self, w: Array) -> Array:
        return w.reshape(len(self.classes_), -1)

    def answer(self, outputs: Sequence[int]) -> Any:
        return self.classes_[np.asarray(outputs, dtype=np.intp)]


class _DenseRows:
    """Rows of a table, made dense one at a time."""

    def __init__(self, X: Any):
        self.X = X

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, i: int) -> Array:
        return np.asarray(as_dense(self.X[i : i + 1])[0], dtype=np.float64)


@shared_docs
class LinearChain(StructuredProblem):
    """Labels y_1 ... y_T of the tokens of a sequence x, an array of shape (T, d).

    Scores are sums over tokens and over neighbours,

        w·Φ(x, y) = Σ_t u_{y_t}·x_t + Σ_t v_{y_t, y_{t+1}},

    and Δ counts the wrong labels (Hamming loss). The Viterbi algorithm finds the best
    labels. Against `TokenDeletion` it has one more dimension, the number of tokens
    deleted so far. It is still exact, since deleting a token removes its u·x_t from
    both scores. Any attack with a `token_budget` and a method `delete` is supported.

    See Also
    --------
    Multiclass : Classes as structured outputs.
    TokenDeletion : An attack on sequences.
    noiseproof.StructuredSVM : Learns the chain.

    {References: Teo 2008}

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

    def prepare(self, X: Any, Y: Any) -> tuple[Sequence[Array], Sequence[Index]]:
        if len(X) == 0:
            raise ValueError("X holds no sequence; at least one is needed.")
        self.n_features_ = np.shape(X[0])[-1] if np.ndim(X[0]) == 2 else 0
        X = self.read(X)
        _check_lengths(Y, X)
        self.labels_, flat = np.unique(np.concatenate(Y), return_inverse=True)
        k = len(self.labels_)
        self.n_weights_ = k * self.n_features_ + k * k
        return X, np.split(flat, np.cumsum([len(x) for x in X])[:-1])

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

    def features(self, x: Array, y: Index) -> Array:
        emission = np.zeros((len(self.labels_), self.n_features_))
        np.add.at(emission, y, x)
        transition = np.zeros((len(self.labels_),) * 2)
        np.add.at(transition, (y[:-1], y[1:]), 1.0)
        return np.concatenate([emission.ravel(), transition.ravel()])

    def loss(self, y: Index, other: Index) -> float:
        return float(np.sum(y != other))

    def argmax(self, x: Array, w: Array) -> Index:
        from noiseproof._invariant.kernels import viterbi

        U, V = self._emission_and_transition(w)
        scores = x @ U.T
        return viterbi(scores, scores, V, 0)[0]

    def loss_augmented_argmax(
        self, x: Array, y: Index, w: Array, attack: Any = None
    ) -> tuple[Array, Index]:
        from noiseproof._invariant.kernels import viterbi

        budget = 0 if attack is None else getattr(attack, "token_budget", None)
        if budget is None:
            raise TypeError(
                "LinearChain supports only attacks that delete tokens, such "
                f"as TokenDeletion; {type(attack).__name__} has no token_budget."
            )
        U, V = self._emission_and_transition(w)
        scores, here = x @ U.T, np.arange(len(y))
        wrong = np.ones_like(scores)
        wrong[here, y] = 0.0
        kept = scores - scores[here, y][:, None] + wrong
        labels, deleted = viterbi(kept, wrong, V, budget)
        return (x if attack is None else attack.delete(x, deleted)), labels

    def _emission_and_transition(self, w: Array) -> tuple[Array, Array]:
        """Weights of shape (labels, d) and (labels, labels)."""
        k = len(self.labels_)
        cut = k * self.n_features_
        return w[:cut].reshape(k, -1), w[cut:].reshape(k, k)

    def answer(self, outputs: Sequence[Index]) -> list[NDArray[Any]]:
        return [self.labels_[y] for y in outputs]

    def accuracy(self, Y: Sequence[Any], predicted: Sequence[Any]) -> float:
        """Return the share of tokens with the right label."""
        _check_lengths(Y, predicted)
        return float(np.mean(np.concatenate(Y) == np.concatenate(predicted)))


def _check_lengths(Y: Sequence[Any], X: Sequence[Any]) -> None:
    if [np.shape(y) for y in Y] != [(len(x),) for x in X]:
        raise ValueError("y must hold one label for each token of each sequence.")


@shared_docs
class TokenDeletion(Attack):
    """Blank out the features of some tokens of each sequence.

    This attack is for `LinearChain`, which finds the worst deletion. Sequences are
    arrays of shape (length, n_features).

    Parameters
    ----------
    budget : int, default=1
        Maximum number of tokens of each sequence that may be blanked out.

    See Also
    --------
    LinearChain : The problem it attacks.

    {References: Teo 2008}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.structured import TokenDeletion
    >>> TokenDeletion(1).sample([np.ones((3, 1))], np.random.default_rng(0))[0].ravel()
    array([1., 1., 0.])
    """

    def __init__(self, budget: int = 1):
        self.budget = budget

    @property
    def token_budget(self) -> int:
        """The budget, checked to be a whole number that is not negative."""
        if self.budget < 0 or int(self.budget) != self.budget:
            raise ValueError(
                "TokenDeletion.budget must be a whole number, not negative; got "
                f"{self.budget!r}."
            )
        return int(self.budget)

    def worst(self, X: Any, y: Any, coef: Any, intercept: Any = None) -> Any:
        """Raise an error, since the rows of a table have no tokens."""
        raise TypeError(
            "TokenDeletion deletes tokens of sequences, and the rows of a table have "
            "none: use FeatureDeletion, or StructuredSVM with a LinearChain."
        )

    def delete(self, x: NDArray[Any], tokens: Any) -> NDArray[Any]:
        """Return a copy of the sequence x without the features of some tokens."""
        x = np.array(x)
        x[tokens] = 0.0
        return x

    def sample(self, X: Any, rng: np.random.Generator) -> list[NDArray[Any]]:
        """Delete as many tokens of each sequence as allowed, chosen at random."""
        budget = self.token_budget
        return [
            self.delete(x, rng.permutation(len(x))[: min(budget, len(x))]) for x in X
        ]


PROBLEMS: dict[str, type[StructuredProblem]] = {
    "multiclass": Multiclass,
    "linear-chain": LinearChain,
}
