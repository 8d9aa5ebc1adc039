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

    The `state` (2, k, d + 1), hypotheses and their drift, is changed; `seen` rows were
    shown before. The loop `learn` says what the arguments mean.
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
