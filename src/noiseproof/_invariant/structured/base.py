"""What `StructuredSVM` asks of a problem, and how to write one's own.

A problem says how an input x, an output y and a weight vector w meet in a score
w·Φ(x, y), how bad a wrong output is, and which output scores best, with and without an
adversary who may change x. To write one, derive from `StructuredProblem` and give
`prepare` and the five methods after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

Array = NDArray[np.float64]


class StructuredProblem(ABC, BaseEstimator):
    """Inputs, outputs, joint features Φ and loss Δ."""

    # whether inputs are the rows of a table and outputs are classes
    tabular: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, X: Any, Y: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        """Check training data and learn what depends on them, at least `n_weights_`.

        Returns
        -------
        inputs, outputs : sequences
            In the form that the other methods take: outputs with labels as indices.
        """

    @abstractmethod
    def read(self, X: Any) -> Sequence[Any]:
        """Check new inputs."""

    @abstractmethod
    def features(self, x: Any, y: Any) -> Array:
        """Φ(x, y), of shape (n_weights_,)."""

    @abstractmethod
    def loss(self, y: Any, other: Any) -> float:
        """Δ(y, other): what answering `other` costs where y is right."""

    @abstractmethod
    def argmax(self, x: Any, w: Array) -> Any:
        """The output with the highest score w·Φ(x, y)."""

    @abstractmethod
    def loss_augmented_argmax(
        self, x: Any, y: Any, w: Array, attack: Any = None
    ) -> tuple[Any, Any]:
        """The attacked input s and output y' of the highest loss.

        That is w·Φ(s, y') - w·Φ(s, y) + Δ(y, y'), over all that the attack may make of
        x and over all outputs.
        """

    def answer(self, outputs: Sequence[Any]) -> Any:
        """Predicted outputs as a user wants them."""
        return outputs

    def accuracy(self, Y: Sequence[Any], predicted: Sequence[Any]) -> float:
        """Share of outputs that are right, both as a user sees them."""
        pairs = zip(Y, predicted, strict=True)
        return float(np.mean([np.array_equal(*pair) for pair in pairs]))
