"""Compiled row losses under the worst deletion."""

from __future__ import annotations

import numpy as np

from noiseproof._rows.compiling import compiled
from noiseproof.attacks.kernels import fill


@compiled
def row_excess(
    indices, data, start, size, y, w, values, budget, price, gain, value, ids, keep
):
    """φ_i less γ V/P - y_i b, and in `keep` what is left of each stored entry."""
    phi = 0.0
    count = 0
    for t in range(size):
        j = indices[start + t]
        pull = y * w[j] * data[start + t]
        phi -= pull
        keep[t] = 1.0
        value[t] = values[j]
        gain[t] = pull - price * values[j]
        if gain[t] > 0:
            ids[count] = t
            count += 1
    full, part = fill(gain, value, ids, count, budget)
    for t in range(full):
        phi += gain[ids[t]]
        keep[ids[t]] = 0.0
    if full < count:
        phi += part * gain[ids[full]]
        keep[ids[full]] = 1.0 - part
    return phi


@compiled
def excess(indptr, indices, data, y, w, b, values, budget, price, base, phi):
    """φ_i, the row loss before its hinge: see `DeletionHinge`."""
    d = len(w)
    gain, value, keep = np.empty(d), np.empty(d), np.empty(d)
    ids = np.empty(d, np.uintp)
    for i in range(len(y)):
        start = indptr[i]
        phi[i] = base - y[i] * b + row_excess(
            indices, data, start, indptr[i + 1] - start, y[i], w, values, budget,
            price, gain, value, ids, keep,
        )  # fmt: skip


@compiled
def dual_sums(indptr, indices, data, y, weights, p, q, values, budget, sums):
    """Make (p, q) feasible row by row and add up what the dual value needs.

    q is clipped to [0, p] and scaled down where it exceeds the budget. Adds
    Σ_i s_i y_i x_ij (p_i - q_ij) to `sums` and returns Σ_i s_i Σ_j v_j q_ij.
    """
    spent = 0.0
    for i in range(len(y)):
        used = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            used += values[indices[t]] * min(max(q[t], 0.0), p[i])
        limit = budget * p[i]
        scale = limit / used if used > limit else 1.0
        for t in range(indptr[i], indptr[i + 1]):
            j = indices[t]
            mass = min(max(q[t], 0.0), p[i])
            if values[j] > 0:
                mass *= scale
            spent += weights[i] * values[j] * mass
            sums[j] += weights[i] * y[i] * data[t] * (p[i] - mass)
    return spent
