"""Compiled loops: ascent of the dual, block by block, and the best path of a chain.

A block holds the cuts of one row (or, in the bundle method, of all rows): slots
0 ... size - 1 with weights β, whose sum never changes, and Gram matrix Q of the cuts.
Slot 0 is the null cut ψ = 0. A change of β changes the values g of the block's cuts by
-Q Δβ / α.
"""

from __future__ import annotations

import numpy as np

# sums in any order let dot products use vector instructions
from noiseproof._rows.compiling import compiled, compiled_in_any_order


@compiled
def excess(g, beta, size):
    """Compute Σ_z β_z (max g - g_z), the block's part of the primal-dual gap."""
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
    """Find a slot for each new cut.

    It is the slot of the cut that has been without weight for longest, or a free one.
    Returns False, without placing anything, if a block is full.
    """
    taken = size.copy()
    for c in range(len(owner)):
        i, oldest = owner[c], 0
        for z in range(1, size[i]):
            if age[i, z] > max(patience, age[i, oldest]):
                oldest = z
        if oldest > 0:
            slots[c] = oldest
            age[i, oldest] = 0  # so that it is not taken twice
        elif taken[i] < beta.shape[1]:
            slots[c] = taken[i]
            taken[i] += 1
        else:
            return False
    size[:] = taken
    return True


@compiled
def drop_idle(size, beta, delta, age, cut, Q):
    """Drop cuts that had no weight for a round; the last of a block fills the gap."""
    for i in range(len(size)):
        for z in range(size[i] - 1, 0, -1):
            if beta[i, z] > 0 or age[i, z] == 0:
                continue
            last = size[i] - 1
            beta[i, z], delta[i, z] = beta[i, last], delta[i, last]
            age[i, z], cut[i, z] = age[i, last], cut[i, last]
            for other in range(last):
                Q[i, z, other] = Q[i, other, z] = Q[i, last, other]
            Q[i, z, z] = Q[i, last, last]
            beta[i, last], cut[i, last] = 0.0, 0
            size[i] = last


@compiled_in_any_order
def _dot(indptr, indices, data, row, w):
    total = 0.0
    for t in range(indptr[row], indptr[row + 1]):
        total += data[t] * w[indices[t]]
    return total


@compiled
def linear_gram(indptr, indices, data, owner, slots, cut, size, Q, scratch):
    """Compute inner products of new cuts with all cuts of their blocks.

    `scratch` must be zero, and is zero again afterwards.
    """
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
    """Do one pass over the blocks in `order`, with w = -Σ β ψ / α kept up to date.

    Blocks with an excess of at most `goal` are skipped and moved to the end of `order`.
    Returns the total excess, and the number of skipped blocks.
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
    """Compute inner products of new cuts with all cuts of their blocks.

    A cut is Γ [φ(s, rival) - φ(s, own)], with the same own class within a block.
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
    """Do the same as `linear_sweep`, for f given by coefficients A (points, classes).

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


@compiled
def viterbi(kept, blank, transition, budget):
    """Find the best labels of a chain with up to `budget` tokens blanked out.

    `kept` and `blank` (T, L) score label l of token t with and without its features,
    `transition` (L, L) scores label l after label m at [m, l]. The best path to label
    l of token t with b blanks so far comes from a label m with b or b - 1 of them.
    Returns the labels, and which tokens are blank.
    """
    T, L = kept.shape
    B = min(budget, T) + 1
    best = np.full((L, B), -np.inf)
    back = np.zeros((T, L, B), np.int32)  # label before
    gone = np.zeros((T, L, B), np.bool_)
    for l in range(L):
        best[l, 0] = kept[0, l]
        if B > 1:
            best[l, 1] = blank[0, l]
            gone[0, l, 1] = True
    for t in range(1, T):
        reach = np.full((L, B), -np.inf)  # best way into label l, before token t scores
        for l in range(L):
            for b in range(B):
                for m in range(L):
                    score = best[m, b] + transition[m, l]
                    if score > reach[l, b]:
                        reach[l, b] = score
                        back[t, l, b] = m
        ways = back[t].copy()
        for l in range(L):
            for b in range(B):
                best[l, b] = reach[l, b] + kept[t, l]
                if b > 0 and reach[l, b - 1] + blank[t, l] > best[l, b]:
                    best[l, b] = reach[l, b - 1] + blank[t, l]
                    back[t, l, b] = ways[l, b - 1]
                    gone[t, l, b] = True
    return _trace(best, back, gone)


@compiled
def _trace(best, back, gone):
    """Follow the best path back to its start."""
    T, L, B = back.shape
    labels, blanks = np.empty(T, np.int64), np.zeros(T, np.bool_)
    l, b = 0, 0
    for m in range(L):
        for c in range(B):
            if best[m, c] > best[l, b]:
                l, b = m, c
    for t in range(T - 1, -1, -1):
        labels[t], blanks[t] = l, gone[t, l, b]
        l = back[t, l, b]
        if blanks[t]:
            b -= 1
    return labels, blanks
