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
) -> Array:  # fmt: skip
    """Show rows of X, as read, in the given order; changes the state.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows; what is missing in them is left out.
    signs : array of shape (k, n)
        Labels in ±1 for each of k learners.
    order : array of int
        Which rows, in which order.
    values, budget, margin, C : array of shape (d,) and floats
        v, N, γ and the radius of the box.
    step : float
        τ, or not positive: then C √((d + 1) / (2 t)) at row t.
    seen : int
        Rows shown before.
    fit_intercept : bool
        Whether the intercept learns too.
    state : array of shape (2, k, d + 1)
        The hypotheses, intercepts last, and their drift: after t rows
        state[0] - state[1] / t is the mean of the hypotheses that met them.

    Returns
    -------
    losses : array of shape (k,)
        Sum of the losses met, one for each learner.
    """
    # Numba is imported here, at the first pass, to keep the import light
    from noiseproof._deletion.kernels import learn

    price = margin / (values.sum() - budget)
    limit = effective_budget(budget, values)
    losses = np.zeros(len(signs))
    size = max(1, _BLOCK // max(1, X.shape[1]))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        losses += learn(
            *unsigned(stored_rows(X[chosen]).astype(np.float64, copy=False)),
            signs.take(chosen, axis=1), values, limit, price, price * values.sum(),
            float(C), float(step), seen + start, fit_intercept, *state,
        )  # fmt: skip
    return losses
