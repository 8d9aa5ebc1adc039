"""Compiled ascent of the dual, block by block.

A block holds the cuts of one row (or, in the bundle method, of all rows): slots
0 ... size - 1 with weights β, whose sum never changes, and Gram matrix Q of the cuts.
Slot 0 is the null cut ψ = 0. A change of β changes the values g of the block's cuts by
-Q Δβ / α.
"""

from __future__ import annotations

import numpy as np

from noiseproof._rows.compiling import compiled, compiled_in_any_order

# sums may be taken in any order: that lets dot products use vector instructions


@compiled
def excess(g, beta, size):
    """Σ_z β_z (max g - g_z): what the block adds to the primal-dual gap."""
    top = g[0]
    for z in range(1, size):
        top = max(top, g[z])
    total = 0.0
    for z in range(size):
        total += beta[z] * (top - g[z])
    return total


@compiled
def balance(Q, g, beta, size, alpha, goal, max_steps):
    """Move weight from the worst to the best cut until the excess is below `goal`.

    Changes `g` and `beta` in place; returns the number of moves.
    """
    for step in range(max_steps):
        up, down = 0, -1
        for z in range(size):
            if g[z] > g[up]:
                up = z
            if beta[z] > 0 and (down < 0 or g[z] < g[down]):
                down = z
        if down < 0 or g[up] <= g[down] or excess(g, beta, size) <= goal:
            return step
        curvature = (Q[up, up] + Q[down, down] - 2 * Q[up, down]) / alpha
        move = beta[down]
        if curvature * move > g[up] - g[down]:
            move = (g[up] - g[down]) / curvature
        beta[up] += move
        beta[down] = beta[down] - move if move < beta[down] else 0.0
        for z in range(size):
            g[z] -= move * (Q[z, up] - Q[z, down]) / alpha
    return max_steps


@compiled
def place(owner, size, beta, age, patience, slots):
    """A slot for each new cut: that of the cut longest without weight, or a free one.

    Returns False, with nothing placed, if some block is full.
    """
    taken = size.copy()
    for c in range(len(owner)):
        i, oldest = owner[c], 0
        for z in range(1, size[i]):
            if age[i, z] > max(patience, age[i, oldest]):
                oldest = z
        if oldest > 0:
            slots[c] = oldest
            age[i, oldest] = 0  # not to be given away twice
        elif taken[i] < beta.shape[1]:
            slots[c] = taken[i]
            taken[i] += 1
        else:
            return False
    size[:] = taken
    return True


@compiled_in_any_order
def _dot(indptr, indices, data, row, w):
    total = 0.0
    for t in range(indptr[row], indptr[row + 1]):
        total += data[t] * w[indices[t]]
    return total


@compiled
def linear_gram(indptr, indices, data, owner, slots, cut, size, Q, scratch):
    """Inner products of new cuts with all of their blocks; `scratch` is zero again."""
    for c in range(len(owner)):
        i, z = owner[c], slots[c]
        row = cut[i, z]
        for t in range(indptr[row], indptr[row + 1]):
            scratch[indices[t]] += data[t]
        Q[i, 0, z] = Q[i, z, 0] = 0.0
        for other in range(1, size[i]):
            value = _dot(indptr, indices, data, cut[i, other], scratch)
            Q[i, z, other] = Q[i, other, z] = value
        for t in range(indptr[row], indptr[row + 1]):
            scratch[indices[t]] = 0.0


@compiled_in_any_order
def _add(indptr, indices, data, row, amount, w):
    for t in range(indptr[row], indptr[row + 1]):
        w[indices[t]] += amount * data[t]


@compiled
def linear_sweep(
    indptr, indices, data, order, cut, size, delta, Q, beta, alpha, goal, max_steps, w
):
    """One pass over the blocks in `order`, with w = -Σ β ψ / α kept up to date.

    `goal` is the excess that a block may keep. Returns the excess found, and moves
    blocks that had none to the end of `order`; their number comes second.
    """
    g, before = np.empty(beta.shape[1]), np.empty(beta.shape[1])
    total, last = 0.0, len(order)
    here = 0
    while here < last:
        i = order[here]
        g[0] = delta[i, 0]
        for z in range(1, size[i]):
            g[z] = delta[i, z] + _dot(indptr, indices, data, cut[i, z], w)
        found = excess(g, beta[i], size[i])
        total += found
        if found <= goal:
            last -= 1
            order[here], order[last] = order[last], i
            continue
        before[:] = beta[i]
        balance(Q[i], g, beta[i], size[i], alpha, 0.1 * goal, max_steps)
        for z in range(1, size[i]):
            if beta[i, z] != before[z]:
                amount = (before[z] - beta[i, z]) / alpha
                _add(indptr, indices, data, cut[i, z], amount, w)
        here += 1
    return total, len(order) - last


@compiled
def kernel_gram(K, owner, slots, point, rival, scale, size, Q):
    """Inner products of new cuts with all of their blocks.

    A cut is Γ [φ(s, rival) - φ(s, own)], and a block has one own class.
    """
    for c in range(len(owner)):
        i, z = owner[c], slots[c]
        Q[i, 0, z] = Q[i, z, 0] = 0.0
        for other in range(1, size[i]):
            value = scale[i, z] * scale[i, other] * K[point[i, z], point[i, other]]
            if rival[i, z] == rival[i, other]:
                value *= 2.0
            Q[i, z, other] = Q[i, other, z] = value


@compiled_in_any_order
def _add_row(K, row, amount, scores, count):
    for t in range(count):
        scores[t] += amount * K[row, t]


@compiled
def kernel_sweep(
    K, count, order, own, point, rival, scale, size, delta, Q, beta, alpha, goal,
    max_steps, F, A,
):  # fmt: skip
    """As `linear_sweep`, for f given by coefficients A (points, classes).

    F (classes, points) are the scores of the first `count` points, K their kernel.
    """
    g, before = np.empty(beta.shape[1]), np.empty(beta.shape[1])
    total, last = 0.0, len(order)
    here = 0
    while here < last:
        i = order[here]
        y = own[i]
        g[0] = delta[i, 0]
        for z in range(1, size[i]):
            p = point[i, z]
            g[z] = delta[i, z] + scale[i, z] * (F[rival[i, z], p] - F[y, p])
        found = excess(g, beta[i], size[i])
        total += found
        if found <= goal:
            last -= 1
            order[here], order[last] = order[last], i
            continue
        before[:] = beta[i]
        balance(Q[i], g, beta[i], size[i], alpha, 0.1 * goal, max_steps)
        for z in range(1, size[i]):
            if beta[i, z] != before[z]:
                amount = (before[z] - beta[i, z]) / alpha * scale[i, z]
                p, r = point[i, z], rival[i, z]
                A[p, r] += amount
                A[p, y] -= amount
                _add_row(K, p, amount, F[r], count)
                _add_row(K, p, -amount, F[y], count)
        here += 1
    return total, len(order) - last
