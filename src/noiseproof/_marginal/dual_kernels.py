"""Compiled loops for the dual of the hinge loss without noise.

The data are the three arrays of CSR. For a dense matrix, `indices` holds the columns of
one row, which all rows share, and `repeated` is 1; otherwise `repeated` is 0.
"""

from __future__ import annotations

import numba
import numpy as np

from noiseproof._rows.compiling import compiled_in_any_order


@compiled_in_any_order
def sweep(
    indptr,
    indices,
    data,
    repeated,
    y,
    upper,
    squares,
    constants,
    order,
    alpha,
    w,
    state,
):
    """Minimise over one α after another: coordinate descent with shrinking.

    `constants` holds margin and pull. `state` holds b, the number of active α, and the
    largest and the smallest projected gradient of the last sweep. An α at a bound whose
    gradient points outwards by more than that becomes inactive: it moves to the end of
    `order` and is skipped (Hsieh et al. 2008).
    """
    margin, pull = constants[0], constants[1]
    b, n_active, high_before, low_before = state[0], int(state[1]), state[2], state[3]
    high, low = -np.inf, np.inf
    s = 0
    while s < n_active:
        i = order[s]
        start, stop = indptr[i], indptr[i + 1]
        offset = start * repeated
        score = b
        for t in range(start, stop):
            score += numba.float64(data[t]) * w[indices[t - offset]]
        slope = y[i] * score - margin
        at_bound = False
        if (alpha[i] <= 0.0 and slope >= 0.0) or (alpha[i] >= upper[i] and slope <= 0):
            at_bound = True
            if slope > high_before or slope < low_before:
                n_active -= 1
                order[s], order[n_active] = order[n_active], i
                continue
        off = 0.0 if at_bound else slope
        high, low = max(high, off), min(low, off)
        if not at_bound:
            new = min(max(alpha[i] - slope / squares[i], 0.0), upper[i])
            change = (new - alpha[i]) * y[i]
            alpha[i] = new
            b += change * pull
            for t in range(start, stop):
                w[indices[t - offset]] += change * numba.float64(data[t])
        s += 1
    state[0], state[1] = b, n_active
    state[2] = high if high > 0.0 else np.inf
    state[3] = low if low < 0.0 else -np.inf


@compiled_in_any_order
def scores(indptr, indices, data, repeated, rows, w, out):
    """Compute x·w for some rows."""
    for s in range(len(rows)):
        start, stop = indptr[rows[s]], indptr[rows[s] + 1]
        offset = start * repeated
        score = 0.0
        for t in range(start, stop):
            score += numba.float64(data[t]) * w[indices[t - offset]]
        out[s] = score


@compiled_in_any_order
def add_rows(indptr, indices, data, repeated, rows, coefficients, w):
    """Add some rows, times their coefficients, to w."""
    for s in range(len(rows)):
        start, stop = indptr[rows[s]], indptr[rows[s] + 1]
        offset = start * repeated
        for t in range(start, stop):
            w[indices[t - offset]] += coefficients[s] * numba.float64(data[t])


@compiled_in_any_order
def face_step(
    indptr, indices, data, repeated, rows, y, inverse, n_iter, constants,
    residual, step, direction, signed, product, w,
):  # fmt: skip
    """Add an approximation of (U Uᵀ + pull y yᵀ)⁻¹ residual to `step`.

    U is the matrix of the rows times y. Conjugate gradients run until the residual has
    fallen by the factor `accuracy`, in the norm of `inverse`. `constants` holds pull
    and accuracy. `residual` is updated in place; the arguments after `step` are work
    arrays.
    """
    pull, accuracy = constants[0], constants[1]
    norm2 = 0.0
    for s in range(len(rows)):
        direction[s] = inverse[s] * residual[s]
        norm2 += residual[s] * direction[s]
    goal = accuracy * accuracy * norm2
    for _ in range(n_iter):
        if norm2 <= goal:
            break
        total = 0.0
        for s in range(len(rows)):
            signed[s] = y[s] * direction[s]
            total += signed[s]
        for j in range(len(w)):
            w[j] = 0.0
        add_rows(indptr, indices, data, repeated, rows, signed, w)
        scores(indptr, indices, data, repeated, rows, w, product)
        bend = 0.0
        for s in range(len(rows)):
            product[s] = y[s] * (product[s] + pull * total)
            bend += direction[s] * product[s]
        if not bend > 0.0:
            break
        length, before, norm2 = norm2 / bend, norm2, 0.0
        for s in range(len(rows)):
            step[s] += length * direction[s]
            residual[s] -= length * product[s]
            norm2 += inverse[s] * residual[s] * residual[s]
        for s in range(len(rows)):
            turned = inverse[s] * residual[s]
            direction[s] = turned + norm2 / before * direction[s]
