"""Support vector machines in a graph, in double precision.

ONNX has an operator for them, but in single precision. Votes for pairs of classes
change where a score is zero, so this would not be exact enough for averages of votes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from noiseproof._private import kernel_width
from noiseproof.serving.onnx.answers import Answer
from noiseproof.serving.onnx.graph import Tensor, exp
from noiseproof.serving.onnx.rows import Rows

Array = NDArray[np.float64]


def machine(model: Any, rows: Rows, method: str) -> Answer | None:
    """Σ a_i K(x_i, x) + b of SVC, NuSVC, SVR and NuSVR, except probabilities."""
    if method == "predict_proba" or model.kernel not in _KERNELS:
        return None
    vectors, dual = (
        _dense(part) for part in (model.support_vectors_, model.dual_coef_)
    )
    kernel = _KERNELS[model.kernel](model, rows.matrix().double(), vectors)
    if is_classifier(model) and len(model.classes_) > 2:
        return _by_pairs(model, kernel, dual)
    scores = kernel @ dual.T + model.intercept_
    if not is_classifier(model):
        return Answer(scores)
    return Answer(scores, (scores >= 0.0).cast(np.int64).squeeze(1))


def _by_pairs(model: Any, kernel: Tensor, dual: Array) -> Answer:
    """Votes of all pairs of classes; sums of scores decide between equal votes."""
    if model.decision_function_shape != "ovr":
        raise TypeError(
            f"{type(model).__name__} with decision_function_shape='ovo' has scores of "
            "pairs of classes, not of classes; set 'ovr'."
        )
    classes, owner = (
        np.arange(len(dual) + 1),
        np.repeat(np.arange(len(dual) + 1), model.n_support_),
    )
    i, j = (places[:, None] for places in np.triu_indices(len(classes), 1))
    weights = np.where(owner == i, dual[j[:, 0] - 1], 0.0)
    weights += np.where(owner == j, dual[i[:, 0]], 0.0)
    scores = kernel @ weights.T + model.intercept_
    first, second = (1.0 * (places == classes) for places in (i, j))
    won = (scores >= 0.0).double()
    votes = won @ first + (1.0 - won) @ second
    sums = scores @ (first - second)
    ranked = votes + sums / ((sums.op("Abs") + 1.0) * 3.0)
    return Answer(ranked, (ranked if model.break_ties else votes).first_largest())


def _radial(model: Any, X: Tensor, vectors: Array) -> Tensor:
    squares = (X * X).sum(1) - (X @ vectors.T) * 2.0 + (vectors**2).sum(axis=1)
    return exp(squares.at_least(0.0) * -kernel_width(model))


def _affine(model: Any, X: Tensor, vectors: Array) -> Tensor:
    return X @ (kernel_width(model) * vectors.T) + model.coef0


def _polynomial(model: Any, X: Tensor, vectors: Array) -> Tensor:
    degree = X.graph.constant(float(model.degree))
    return _affine(model, X, vectors).op("Pow", degree)


_KERNELS: dict[Any, Callable[[Any, Tensor, Array], Tensor]] = {
    "linear": lambda model, X, vectors: X @ vectors.T,
    "rbf": _radial,
    "poly": _polynomial,
    "sigmoid": lambda model, X, vectors: _affine(model, X, vectors).op("Tanh"),
}


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)
