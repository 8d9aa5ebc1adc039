"""Compiled passes over the stored entries: losses, Newton steps, learning, values.

Index arrays are unsigned: Numba tests signed ones for negative values.
"""

from __future__ import annotations

import numpy as np

from noiseproof._deletion.interior import BETA, MU, XI, H, P, Q, R, S, T, Z
from noiseproof._rows.compiling import compiled, compiled_in_any_order
from noiseproof.attacks.kernels import fill

# From weights to the scores of pairs and back, see `DeletionProgram`


@compiled_in_any_order
def add_up(indices, data, place, w, z):
    """Add w_j x_ij to the score of the pair that each stored entry belongs to."""
    for e in range(len(data)):
        z[e if place is None else place[e]] += data[e] * w[indices[e]]


@compiled_in_any_order
def pull_back(indices, data, place, pulls, sums):
    """The transpose: add x_ij times what pulls at its pair to the sum of its column."""
    for e in range(len(data)):
        sums[indices[e]] += data[e] * pulls[e if place is None else place[e]]


# The worst-case loss


@compiled
def row_excess(z, values, slope, budget, price, gain, ids, keep):
    """Compute φ - (h - a b), and in `keep` what is left of each pair of the row."""
    phi = 0.0
    count = 0
    for t in range(len(z)):
        pull = slope * z[t]
        keep[t] = 1.0
        gain[t] = pull - price * values[t]
        if gain[t] > 0:
            ids[count] = t
            count += 1
        else:
            phi -= pull
    full, part = fill(gain, values, ids, count, budget)
    # deleted entries are never added, as a large one would cost digits of the others
    for t in range(count):
        at = ids[t]
        if t <= full:
            keep[at] = 0.0 if t < full else 1.0 - part
        phi -= price * values[at] + keep[at] * gain[at]
    return phi


@compiled
def excess(indptr, z, values, slopes, budget, price, phi):
    """Compute `row_excess` for each side of each row."""
    most = np.intp(0)
    for i in range(phi.shape[1]):
        most = max(most, np.intp(indptr[i + 1] - indptr[i]))
    gain, keep, ids = np.empty(most), np.empty(most), np.empty(most, np.uintp)
    for i in range(phi.shape[1]):
        start, stop = indptr[i], indptr[i + 1]
        for k in range(len(phi)):
            phi[k, i] = row_excess(
                z[start:stop], values[start:stop], slopes[k, i], budget, price,
                gain, ids, keep,
            )  # fmt: skip


@compiled
def dual_pulls(indptr, values, slopes, weights, p, q, budget, pulls):
    """Make q feasible for each side of each row; return Σ s_i v_g q_ikg.

    q is clipped to [0, p] and scaled down where it exceeds the budget. Also adds
    s_i a_ik (p_ik - q_ikg) to `pulls`.
    """
    spent = 0.0
    for i in range(len(weights)):
        for k in range(len(p)):
            used = 0.0
            for t in range(indptr[i], indptr[i + 1]):
                used += values[t] * min(max(q[k, t], 0.0), p[k, i])
            limit = budget * p[k, i]
            scale = limit / used if used > limit else 1.0
            for t in range(indptr[i], indptr[i + 1]):
                mass = min(max(q[k, t], 0.0), p[k, i])
                if values[t] > 0:
                    mass *= scale
                spent += weights[i] * values[t] * mass
                pulls[t] += weights[i] * slopes[k, i] * (p[k, i] - mass)
    return spent


# The interior-point method, in the notation of `interior`


@compiled_in_any_order
def condense(
    indptr, v, weights, slopes, N, row, side, pair,
    inv, pull, push, block, curve, kept,
):  # fmt: skip
    """Eliminate the variables of each row, which leaves two rank-one terms per side.

    Fills inv = 1/D, pull = g', push = c and block = (1/A, 1/E, f, l, a'); adds s a²/D
    to `curve` and s a z to `kept`.
    """
    for i in range(len(weights)):
        # ξ ties the sides of a row together: D + tie 1 1ᵀ, factorised as L A Lᵀ
        tie = row[XI, i] / row[R, i]
        before = slope_before = 0.0
        for k in range(len(slopes)):
            vv = vb = bb = 0.0
            for t in range(indptr[i], indptr[i + 1]):
                B = pair[BETA, k, t] / pair[Z, k, t]
                ratio = pair[T, k, t] / pair[Q, k, t]
                inv[k, t] = 1.0 / (ratio + B)
                vv += v[t] * v[t] * inv[k, t]
                vb += v[t] * B * inv[k, t]
                bb += B * ratio * inv[k, t]
            a = slopes[k, i]
            E = side[H, k, i] / side[MU, k, i] + vv
            f = vb - N
            own = side[S, k, i] / side[P, k, i] + bb + f * f / E
            A = tie + own
            block[0, k, i], block[1, k, i], block[2, k, i] = 1.0 / A, 1.0 / E, f
            slope_before = a - before * slope_before
            block[4, k, i] = slope_before
            for t in range(indptr[i], indptr[i + 1]):
                aD = a * inv[k, t]
                push[k, t] = v[t] * aD
                pull[k, t] = aD * (pair[T, k, t] / pair[Q, k, t]) + f / E * push[k, t]
                if k > 0:
                    pull[k, t] -= before * pull[k - 1, t]
                curve[t] += weights[i] * a * aD
                kept[t] += weights[i] * a * pair[Z, k, t]
            before = tie / A
            block[3, k, i] = before
            tie *= own / A


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
    indptr, v, weights, slopes, row, side, pair, inv, pull, push, block,
    d_row, d_side, d_pair, target, second, e, kb, k_row, k_side, out,
):  # fmt: skip
    """Compute the change that all products should undergo, pulled back to (z, b).

    Each product is to become `target`; `second` (0 or 1) switches the correction by
    the products of an earlier direction. Fills e, kb = k_β/z, k_row = k_ξ/r and
    k_side = (ρ', κ), adds to out, and returns what is pulled back to b.
    """
    b = 0.0
    for i in range(len(weights)):
        kx = target - row[XI, i] * row[R, i] - second * d_row[XI, i] * d_row[R, i]
        kx /= row[R, i]
        k_row[i] = kx
        before = 0.0
        for k in range(len(slopes)):
            km = target - side[MU, k, i] * side[H, k, i]
            km -= second * d_side[MU, k, i] * d_side[H, k, i]
            ks = target - side[S, k, i] * side[P, k, i]
            ks -= second * d_side[S, k, i] * d_side[P, k, i]
            kappa = km / side[MU, k, i]
            rho = ks / side[P, k, i] - kx
            for t in range(indptr[i], indptr[i + 1]):
                q, z = pair[Q, k, t], pair[Z, k, t]
                beta = pair[BETA, k, t]
                kt = (
                    target
                    - q * pair[T, k, t]
                    - second * d_pair[Q, k, t] * d_pair[T, k, t]
                )
                kz = target - z * beta - second * d_pair[Z, k, t] * d_pair[BETA, k, t]
                kb[k, t] = kz / z
                e[k, t] = kt / q - kb[k, t]
                kappa += v[t] * e[k, t] * inv[k, t]
                rho += kb[k, t] + beta / z * e[k, t] * inv[k, t]
            iA, iE, f = block[0, k, i], block[1, k, i], block[2, k, i]
            rho -= f * kappa * iE + before
            before = block[3, k, i] * rho
            k_side[0, k, i], k_side[1, k, i] = rho, kappa
            b += weights[i] * block[4, k, i] * rho * iA
            for t in range(indptr[i], indptr[i + 1]):
                own = pull[k, t] * rho * iA - slopes[k, i] * inv[k, t] * e[k, t]
                out[t] += weights[i] * (own + push[k, t] * kappa * iE)
    return b


@compiled_in_any_order
def _room(value, change, step):
    """Return the step, or a shorter one if `value` would become negative."""
    return -value / change if value + step * change < 0 else step


@compiled_in_any_order
def expand(
    indptr, v, slopes, N, row, side, pair, inv, pull, push, block,
    e, kb, k_row, k_side, dz, db, d_row, d_side, d_pair,
):  # fmt: skip
    """Compute all changes from (Δz, Δb); return the longest primal and dual steps."""
    primal = dual = 1.0
    for i in range(len(k_row)):
        total = dp = 0.0
        for k in range(len(slopes) - 1, -1, -1):  # back through the factors L'
            fall = k_side[0, k, i] - block[4, k, i] * db
            for t in range(indptr[i], indptr[i + 1]):
                fall -= pull[k, t] * dz[t]
            dp = fall * block[0, k, i] - block[3, k, i] * dp
            d_side[P, k, i] = dp
            total += dp
        dx = k_row[i] + row[XI, i] / row[R, i] * total
        d_row[R, i], d_row[XI, i] = -total, dx
        dual = _room(row[R, i], -total, dual)
        primal = _room(row[XI, i], dx, primal)
        for k in range(len(slopes)):
            a, dp, dm = slopes[k, i], d_side[P, k, i], k_side[1, k, i]
            for t in range(indptr[i], indptr[i + 1]):
                dm += push[k, t] * dz[t]
            dm = (dm + block[2, k, i] * dp) * block[1, k, i]
            ds, dh = dx + a * db - N * dm, N * dp
            for t in range(indptr[i], indptr[i + 1]):
                B = pair[BETA, k, t] / pair[Z, k, t]
                move = a * dz[t] - v[t] * dm
                dq = (e[k, t] + B * dp + move) * inv[k, t]
                dd = dp - dq
                dbeta = kb[k, t] - B * dd
                dt = dbeta - move
                ds += a * dz[t] - dbeta
                dh -= v[t] * dq
                d_pair[Q, k, t], d_pair[Z, k, t] = dq, dd
                d_pair[T, k, t], d_pair[BETA, k, t] = dt, dbeta
                dual = _room(pair[Q, k, t], dq, _room(pair[Z, k, t], dd, dual))
                primal = _room(pair[T, k, t], dt, primal)
                primal = _room(pair[BETA, k, t], dbeta, primal)
            d_side[H, k, i], d_side[S, k, i], d_side[MU, k, i] = dh, ds, dm
            dual = _room(side[P, k, i], dp, _room(side[H, k, i], dh, dual))
            primal = _room(side[S, k, i], ds, _room(side[MU, k, i], dm, primal))
    return primal, dual


@compiled_in_any_order
def products(indptr, weights, row, side, pair, d_row, d_side, d_pair, primal, dual):
    """Compute the weighted sum of all products after steps of the given lengths."""
    total = 0.0
    for i in range(len(weights)):
        own = row[R, i] + dual * d_row[R, i]
        own *= row[XI, i] + primal * d_row[XI, i]
        for k in range(side.shape[1]):
            for d, x in ((P, S), (H, MU)):
                held = side[d, k, i] + dual * d_side[d, k, i]
                own += held * (side[x, k, i] + primal * d_side[x, k, i])
            for t in range(indptr[i], indptr[i + 1]):
                q = pair[Q, k, t] + dual * d_pair[Q, k, t]
                z = pair[Z, k, t] + dual * d_pair[Z, k, t]
                own += q * (pair[T, k, t] + primal * d_pair[T, k, t])
                own += z * (pair[BETA, k, t] + primal * d_pair[BETA, k, t])
        total += weights[i] * own
    return total


# The robust Perceptron


@compiled
def _move(w, drift, j, change, C, t):
    """Change a weight within the box, and record the change in `drift`."""
    moved = min(C, max(-C, w[j] + change))
    drift[j] += t * (moved - w[j])
    w[j] = moved


@compiled
def _groups_met(labels, columns, met, place):
    """Number the groups in which a row has entries; return how many there are."""
    count = 0
    for j in columns:
        g = labels[j]
        if place[g] < 0:
            met[count] = g
            place[g] = count
            count += 1
    return count


@compiled
def _pair_of(e, j, labels, place):
    """Return which pair of its row the entry number e, of feature j, belongs to."""
    if labels is None:
        return np.intp(e)
    return np.intp(place[labels[j]])


@compiled
def _score(indices, data, labels, place, w, z):
    """Compute the contribution of each pair of a row to its score."""
    if labels is None:
        for e in range(len(data)):
            z[e] = w[indices[e]] * data[e]
        return
    for p in range(len(z)):
        z[p] = 0.0
    for e in range(len(data)):
        z[place[labels[indices[e]]]] += w[indices[e]] * data[e]


@compiled
def learn(
    indptr, indices, data, labels, signs, values, budget, price, base, C, step, seen,
    with_intercept, W, drift,
):  # fmt: skip
    """Train one online learner per row of `signs` on the rows.

    `W` (k, d + 1) holds the weights of the learners, intercepts last. `drift` collects
    each change times the number of rows before it, so that after t rows W - drift / t
    is the mean of the weights before each row. So an update touches only the features
    of its row. If `step` <= 0, the step is C √((d + 1) / (2 t)). `labels` is the group
    of each feature, or None. Returns the sum of the losses of each learner.
    """
    k, d, n_values = W.shape[0], W.shape[1] - 1, len(values)
    gain, value, keep = np.empty(n_values), np.empty(n_values), np.empty(n_values)
    ids, losses, z = np.empty(n_values, np.uintp), np.zeros(k), np.empty(n_values)
    met, place = np.empty(n_values, np.uint32), np.full(n_values, -1)
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        t = seen + i + 1.0
        tau = step if step > 0 else C * np.sqrt((d + 1) / (2 * t))
        count = np.intp(stop - start)
        if labels is not None:
            count = _groups_met(labels, indices[start:stop], met, place)
        for e in range(start, stop):
            j = indices[e]
            cost = values[j] if labels is None else values[labels[j]]
            value[_pair_of(e - start, j, labels, place)] = cost
        for c in range(k):
            w, y = W[c], signs[c, i]
            _score(indices[start:stop], data[start:stop], labels, place, w, z[:count])
            loss = (
                base
                - y * w[d]
                + row_excess(
                    z[:count], value[:count], y, budget, price, gain, ids, keep
                )
            )
            if loss <= 0:
                continue
            losses[c] += loss
            for e in range(start, stop):
                j = indices[e]
                left = keep[_pair_of(e - start, j, labels, place)]
                _move(w, drift[c], j, tau * y * left * data[e], C, t)
            if with_intercept:
                _move(w, drift[c], d, tau * y, C, t)
        if labels is not None:
            place[met[:count]] = -1
    return losses


# The most informative threshold of each feature


@compiled
def _information(left, totals, total):
    """Compute the mutual information, in nats, of a split with `left` on the left."""
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
    """Find the largest information of a threshold, for each column of a CSC matrix.

    Entries that are NaN or not stored count as zeros.
    """
    total = totals.sum()
    left = np.empty(len(totals))
    zeros = np.empty(len(totals))
    for j in range(len(out)):
        start, stop = indptr[j], indptr[j + 1]
        x = data[start:stop].copy()
        for c in range(len(totals)):  # a loop: array expressions compile 4 s longer
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
