"""Compiled pass of the robust Perceptron."""

from __future__ import annotations

import numpy as np

from noiseproof._deletion.hinge_kernels import row_excess
from noiseproof._rows.compiling import compiled


@compiled
def _move(w, drift, j, change, C, t):
    """Change a weight within the box, and remember when."""
    moved = min(C, max(-C, w[j] + change))
    drift[j] += t * (moved - w[j])
    w[j] = moved


@compiled
def learn(
    indptr, indices, data, order, signs, values, budget, price, base, C, step, seen,
    with_intercept, W, drift,
):  # fmt: skip
    """Show the rows in `order` to one online learner per row of `signs`.

    `W` (k, d + 1) holds the hypotheses, intercepts last. `drift` collects each change
    times the number of rows before it, so that after t rows W - drift / t is the mean
    of the hypotheses that met them: only what a row touches is touched. `step` <= 0
    asks for C √((d + 1) / (2 t)). Returns the sum of the losses met, one per learner.
    """
    k, d = W.shape[0], W.shape[1] - 1
    gain, value, keep = np.empty(d), np.empty(d), np.empty(d)
    ids = np.empty(d, np.uintp)
    losses = np.zeros(k)
    for place in range(len(order)):
        i = order[place]
        start = indptr[i]
        size = indptr[i + 1] - start
        t = seen + place + 1.0
        tau = step if step > 0 else C * np.sqrt((d + 1) / (2 * t))
        for c in range(k):
            w, y = W[c], signs[c, i]
            loss = base - y * w[d] + row_excess(
                indices, data, start, size, y, w, values, budget, price,
                gain, value, ids, keep,
            )  # fmt: skip
            if loss <= 0:
                continue
            losses[c] += loss
            for e in range(size):
                j = indices[start + e]
                _move(w, drift[c], j, tau * y * keep[e] * data[start + e], C, t)
            if with_intercept:
                _move(w, drift[c], d, tau * y, C, t)
    return losses
