"""Compiled online updates; each touches only the stored entries of its row."""

from __future__ import annotations

import math

import numba

from noiseproof._rows.compiling import compiled


@compiled
def loss_slope_curvature(hinge, y, m):
    """Return loss, slope and curvature in the score (0 for the hinge's curvature)."""
    z = y * m
    if hinge:
        return (1.0 - z, -y, 0.0) if z < 1.0 else (0.0, 0.0, 0.0)
    e = math.exp(-abs(z))
    wrong = e / (1.0 + e) if z > 0 else 1.0 / (1.0 + e)  # 1 - p(y)
    return math.log1p(e) + max(0.0, -z), -y * wrong, wrong * (1.0 - wrong)


@compiled
def epoch(
    indptr, indices, data, order, labels, weights, k,
    rate, hinge, adagrad, intercept,
    w, b, scale_w, scale_b, lag_w, lag_b, t,
):  # fmt: skip
    """Update class `k` on the rows in `order`; return the steps done and the loss.

    `w` and `b` are the weights and `scale_*` the accumulated diagonal. `lag_*` gives
    the running average: the mean of w after steps 1..t is w - lag / t.
    """
    total = 0.0
    for i in order:
        y = 1.0 if labels[i] == k else -1.0
        s = weights[i]
        m = b[0]
        for e in range(indptr[i], indptr[i + 1]):
            m += numba.float64(data[e]) * w[indices[e]]
        loss, slope, curvature = loss_slope_curvature(hinge, y, m)
        total += s * loss
        slope *= s
        # Fisher information: the Hessian where there is one, else the squared slope
        bend = slope * slope if (adagrad or hinge) else s * curvature
        if slope != 0.0:
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                x = numba.float64(data[e])
                scale_w[j] += bend * x * x
                h = math.sqrt(scale_w[j]) if adagrad else scale_w[j]
                step = -rate[j] * slope * x / h
                w[j] += step
                lag_w[j] += t * step
            if intercept:
                scale_b[0] += bend
                h = math.sqrt(scale_b[0]) if adagrad else scale_b[0]
                step = -slope / h
                b[0] += step
                lag_b[0] += t * step
        t += 1
    return t, total
