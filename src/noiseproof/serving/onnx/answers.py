"""The answers of a model in a graph, and links from scores to answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noiseproof.serving.onnx.graph import Tensor, concat, exp, sigmoid, softmax
from noiseproof.serving.onnx.rows import Rows


@dataclass(frozen=True)
class Answer:
    """Values (n, c) that a method returns, and indices (n,) of predicted classes."""

    values: Tensor
    places: Tensor | None = None


# answers a method of a model about rows: `models.translate`
Ask = Callable[[Any, Rows, str], Answer]


def _one_against_rest(scores: Tensor) -> Tensor:
    shares = sigmoid(scores)
    return shares / shares.sum(-1).at_least(1e-300)


# functions of scores along the last axis; the first three are those of the estimators
LINKS: dict[str, Callable[[Tensor], Tensor]] = {
    "expit": lambda scores: concat([sigmoid(-scores), sigmoid(scores)], axis=-1),
    "softmax": softmax,
    "one-vs-rest": _one_against_rest,
    "identity": lambda scores: scores,
    "exp": exp,
}
