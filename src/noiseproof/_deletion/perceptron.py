"""The robust Perceptron's pass over rows, a few at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from noiseproof._deletion.hinge import Array
from noiseproof._rows import stored_rows, unsigned
from noiseproof.attacks import effective_budget

_BLOCK = 1 << 20  # entries of X that are read at a time


def learn_rows(
    X: Any, signs: Array, order: Any, values: Array, budget: float, margin: float,
    C: float, step: float, seen: int, fit_intercept: bool, state: Array,
    labels: Any = None,
) -> Array:  # fmt: skip
    """Show rows of X, as read, in the given order; the sum of losses of each learner.

    `signs` (k, n) are the labels in ±1 for each of k learners; a `step` that is not
    positive asks for C √((d + 1) / (2 t)) at row t; `seen` rows were shown before. The
    `state` (2, k, d + 1) is changed: hypotheses, intercepts last, and their drift, so
    that after t rows state[0] - state[1] / t is the mean of those that met them. With
    `labels`, the group of each feature, whole groups are deleted, and `values` is one
    for each.
    """
    # Numba is imported here, at the first pass, to keep the import light
    from noiseproof._deletion.kernels import learn

    labels = None if labels is None else labels.astype(np.uint32)
    price = margin / (values.sum() - budget)
    limit = effective_budget(budget, values)
    losses = np.zeros(len(signs))
    size = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        rows = unsigned(stored_rows(X[chosen]).astype(np.float64, copy=False))
        losses += learn(
            *rows, labels, signs.take(chosen, axis=1), values, limit, price,
            price * values.sum(), float(C), float(step), seen + start, fit_intercept,
            *state,
        )  # fmt: skip
    return losses
