"""Compiled passes over the stored entries: losses, Newton steps, learning, values.

Index arrays are unsigned: Numba tests signed ones for negative values.
"""

from __future__ import annotations

import numpy as np

from noiseproof._deletion.interior import BETA, MU, XI, H, P, Q, R, S, T, Z
from noiseproof._rows.compiling import compiled, compiled_in_any_order
from noiseproof.attacks.kernels import fill

# The worst-case loss, see `DeletionHinge`


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
        keep[t] = 1.0
        value[t] = values[j]
        gain[t] = pull - price * values[j]
        if gain[t] > 0:
            ids[count] = t
            count += 1
        else:
            phi -= pull
    full, part = fill(gain, value, ids, count, budget)
    # what goes is never added: a large entry would take the digits of the others
    for t in range(count):
        at = ids[t]
        if t <= full:
            keep[at] = 0.0 if t < full else 1.0 - part
        phi -= price * value[at] + keep[at] * gain[at]
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


# The interior-point method, in the notation of `interior`; `a` is y_i x_ij


@compiled_in_any_order
def condense(
    indptr, indices, a, weights, v, N, row, entry, inv, pull, push, block, dg, kept
):
    """Eliminate what belongs to one row; what is left are two rank-one terms a row.

    Fills inv = 1/D, pull = g', push = c and block = (1/A, 1/E, f); adds the diagonal
    term Σ s a²/D to dg and Σ s a z to kept.
    """
    for i in range(len(weights)):
        vv = vb = bb = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value = v[indices[k]]
            B = entry[BETA, k] / entry[Z, k]
            slope = entry[T, k] / entry[Q, k]
            inv[k] = 1.0 / (slope + B)
            vv += value * value * inv[k]
            vb += value * B * inv[k]
            bb += B * slope * inv[k]
        E = row[H, i] / row[MU, i] + vv
        f = vb - N
        A = row[XI, i] / row[R, i] + row[S, i] / row[P, i] + bb + f * f / E
        block[0, i], block[1, i], block[2, i] = 1.0 / A, 1.0 / E, f
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            aD = a[k] * inv[k]
            push[k] = v[j] * aD
            pull[k] = aD * (entry[T, k] / entry[Q, k]) + f / E * push[k]
            dg[j] += weights[i] * a[k] * aD
            kept[j] += weights[i] * a[k] * entry[Z, k]


@compiled_in_any_order
def gram(indptr, indices, pull, push, by_pull, by_push, out):
    """Add Σ_i by_pull_i g'g'ᵀ - by_push_i ccᵀ to the lower triangle of `out`."""
    for i in range(len(by_pull)):
        for k in range(indptr[i], indptr[i + 1]):
            line = out[indices[k]]
            g, c = by_pull[i] * pull[k], by_push[i] * push[k]
            for l in range(indptr[i], k + 1):
                line[indices[l]] += g * pull[l] - c * push[l]


@compiled_in_any_order
def right_hand_side(
    indptr, indices, a, weights, y, v, row, entry, inv, pull, push, block,
    d_row, d_entry, target, second, e, kb, k_row, out,
):  # fmt: skip
    """What the products of pairs should gain, pulled back to (w, b).

    Each product is to become `target`; `second` (0 or 1) switches the correction by
    the products of an earlier direction. Fills e, kb = k_β/z, k_row = (ρ, κ, k_ξ/r)
    and adds to out, whose last place is that of b.
    """
    b = 0.0
    for i in range(len(weights)):
        kx = target - row[XI, i] * row[R, i] - second * d_row[XI, i] * d_row[R, i]
        km = target - row[MU, i] * row[H, i] - second * d_row[MU, i] * d_row[H, i]
        ks = target - row[S, i] * row[P, i] - second * d_row[S, i] * d_row[P, i]
        kx /= row[R, i]
        kappa = km / row[MU, i]
        rho = ks / row[P, i] - kx
        for k in range(indptr[i], indptr[i + 1]):
            q, z, t, beta = entry[Q, k], entry[Z, k], entry[T, k], entry[BETA, k]
            kt = target - q * t - second * d_entry[Q, k] * d_entry[T, k]
            kz = target - z * beta - second * d_entry[Z, k] * d_entry[BETA, k]
            kb[k] = kz / z
            e[k] = kt / q - kb[k]
            kappa += v[indices[k]] * e[k] * inv[k]
            rho += kb[k] + beta / z * e[k] * inv[k]
        iA, iE, f = block[0, i], block[1, i], block[2, i]
        rho -= f * kappa * iE
        k_row[0, i], k_row[1, i], k_row[2, i] = rho, kappa, kx
        b += weights[i] * y[i] * rho * iA
        for k in range(indptr[i], indptr[i + 1]):
            own = pull[k] * rho * iA - a[k] * inv[k] * e[k] + push[k] * kappa * iE
            out[indices[k]] += weights[i] * own
    out[-1] += b


@compiled_in_any_order
def _room(value, change, step):
    """The step, or less where `value` would become negative."""
    return -value / change if value + step * change < 0 else step


@compiled_in_any_order
def expand(
    indptr, indices, a, y, v, N, row, entry, inv, pull, push, block,
    e, kb, k_row, dw, db, d_row, d_entry,
):  # fmt: skip
    """From (Δw, Δb) to all other changes; the longest primal and dual steps."""
    primal = dual = 1.0
    for i in range(len(y)):
        iA, iE, f = block[0, i], block[1, i], block[2, i]
        dp = k_row[0, i] - y[i] * db
        dm = k_row[1, i]
        for k in range(indptr[i], indptr[i + 1]):
            dp -= pull[k] * dw[indices[k]]
            dm += push[k] * dw[indices[k]]
        dp *= iA
        dm = (dm + f * dp) * iE
        dx = k_row[2, i] + row[XI, i] / row[R, i] * dp
        ds = dx + y[i] * db - N * dm
        dh = N * dp
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            B = entry[BETA, k] / entry[Z, k]
            move = a[k] * dw[j] - v[j] * dm
            dq = (e[k] + B * dp + move) * inv[k]
            dz = dp - dq
            dbeta = kb[k] - B * dz
            dt = dbeta - move
            ds += a[k] * dw[j] - dbeta
            dh -= v[j] * dq
            d_entry[Q, k], d_entry[Z, k] = dq, dz
            d_entry[T, k], d_entry[BETA, k] = dt, dbeta
            dual = _room(entry[Q, k], dq, _room(entry[Z, k], dz, dual))
            primal = _room(entry[T, k], dt, _room(entry[BETA, k], dbeta, primal))
        d_row[P, i], d_row[R, i], d_row[H, i] = dp, -dp, dh
        d_row[S, i], d_row[XI, i], d_row[MU, i] = ds, dx, dm
        for c in range(3):
            dual = _room(row[c, i], d_row[c, i], dual)
            primal = _room(row[3 + c, i], d_row[3 + c, i], primal)
    return primal, dual


@compiled_in_any_order
def products(indptr, weights, row, entry, d_row, d_entry, primal, dual):
    """Weighted sum of all products after steps of the given lengths."""
    total = 0.0
    for i in range(len(weights)):
        own = 0.0
        for d, x in ((P, S), (R, XI), (H, MU)):
            own += (row[d, i] + dual * d_row[d, i]) * (row[x, i] + primal * d_row[x, i])
        for k in range(indptr[i], indptr[i + 1]):
            q = entry[Q, k] + dual * d_entry[Q, k]
            z = entry[Z, k] + dual * d_entry[Z, k]
            t = entry[T, k] + primal * d_entry[T, k]
            own += q * t + z * (entry[BETA, k] + primal * d_entry[BETA, k])
        total += weights[i] * own
    return total


@compiled_in_any_order
def slacks(indptr, indices, a, y, v, w, b, N, price, base, row, entry):
    """s, t, h, r and z from the other variables, exactly feasible."""
    for i in range(len(y)):
        s = row[XI, i] - base + y[i] * b - N * row[MU, i]
        h = N * row[P, i]
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            pulled = a[k] * w[j]
            entry[T, k] = entry[BETA, k] - pulled + v[j] * (price + row[MU, i])
            entry[Z, k] = row[P, i] - entry[Q, k]
            s += pulled - entry[BETA, k]
            h -= v[j] * entry[Q, k]
        row[S, i], row[H, i], row[R, i] = s, h, 1.0 - row[P, i]


# The robust Perceptron


@compiled
def _move(w, drift, j, change, C, t):
    """Change a weight within the box, and remember when."""
    moved = min(C, max(-C, w[j] + change))
    drift[j] += t * (moved - w[j])
    w[j] = moved


@compiled
def _groups_met(labels, columns, met, place):
    """Number the groups that a row has entries of; how many there are."""
    count = 0
    for j in columns:
        g = labels[j]
        if place[g] < 0:
            met[count] = g
            place[g] = count
            count += 1
    return count


@compiled
def learn(
    indptr, indices, data, labels, signs, values, budget, price, base, C, step, seen,
    with_intercept, W, drift,
):  # fmt: skip
    """Show the rows to one online learner per row of `signs`.

    `W` (k, d + 1) holds the hypotheses, intercepts last. `drift` collects each change
    times the number of rows before it, so that after t rows W - drift / t is the mean
    of the hypotheses that met them: only what a row touches is touched. `step` <= 0
    asks for C √((d + 1) / (2 t)). `labels` is the group of each feature, or None: to
    `row_excess` a group is a feature whose weight is its score. Returns the sum of the
    losses met, one per learner.
    """
    k, d, n_values = W.shape[0], W.shape[1] - 1, len(values)
    gain, value, keep = np.empty(n_values), np.empty(n_values), np.empty(n_values)
    ids, losses = np.empty(n_values, np.uintp), np.zeros(k)
    score, ones = np.zeros(n_values), np.ones(n_values)
    met, place = np.empty(n_values, np.uint32), np.full(n_values, -1)
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        t = seen + i + 1.0
        tau = step if step > 0 else C * np.sqrt((d + 1) / (2 * t))
        count = 0
        if labels is not None:
            count = _groups_met(labels, indices[start:stop], met, place)
        for c in range(k):
            w, y = W[c], signs[c, i]
            if labels is None:
                loss = base - y * w[d] + row_excess(
                    indices, data, start, stop - start, y, w, values, budget, price,
                    gain, value, ids, keep,
                )  # fmt: skip
            else:
                score[met[:count]] = 0.0
                for e in range(start, stop):
                    score[labels[indices[e]]] += w[indices[e]] * data[e]
                loss = base - y * w[d] + row_excess(
                    met, ones, 0, count, y, score, values, budget, price,
                    gain, value, ids, keep,
                )  # fmt: skip
            if loss <= 0:
                continue
            losses[c] += loss
            for e in range(start, stop):
                j = indices[e]
                left = keep[e - start] if labels is None else keep[place[labels[j]]]
                _move(w, drift[c], j, tau * y * left * data[e], C, t)
            if with_intercept:
                _move(w, drift[c], d, tau * y, C, t)
        place[met[:count]] = -1
    return losses


# The most telling threshold of each feature


@compiled
def _information(left, totals, total):
    """Mutual information, in nats, of a split whose left part holds `left`."""
    below = left.sum()
    above = total - below
    if below <= 0 or above <= 0:
        return 0.0
    gained = 0.0
    for c in range(len(totals)):
        here, there = left[c], totals[c] - left[c]
        if here > 0:
            gained += here * np.log(here * total / (below * totals[c]))
        if there > 0:
            gained += there * np.log(there * total / (above * totals[c]))
    return max(0.0, gained / total)


@compiled
def best_thresholds(data, indices, indptr, label, weights, totals, out):
    """Largest information of a threshold, column by column of a CSC matrix.

    Entries that are not stored, or NaN, are a block of zeros in the sorted order.
    """
    total = totals.sum()
    left = np.empty(len(totals))
    zeros = np.empty(len(totals))
    for j in range(len(out)):
        start, stop = indptr[j], indptr[j + 1]
        x = data[start:stop].copy()
        for c in range(len(totals)):  # slices and sums of arrays: 4 s more to compile
            zeros[c] = totals[c]
            left[c] = 0.0
        for t in range(len(x)):
            if np.isnan(x[t]):
                x[t] = 0.0
            i = indices[start + t]
            zeros[label[i]] -= weights[i]
        order = np.argsort(x)
        best = 0.0
        passed = False
        for k in range(len(order)):
            value = x[order[k]]
            if not passed and value >= 0:
                best = max(best, _information(left, totals, total))
                for c in range(len(totals)):
                    left[c] += zeros[c]
                passed = True
                if value > 0:
                    best = max(best, _information(left, totals, total))
            i = indices[start + order[k]]
            left[label[i]] += weights[i]
            if k + 1 == len(order) or x[order[k + 1]] != value:
                best = max(best, _information(left, totals, total))
        out[j] = best
