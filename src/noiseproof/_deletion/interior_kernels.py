"""Compiled passes of the interior-point method over the stored entries.

Notation of `interior`; arrays of rows and of entries come stacked, see `point`. `a` is
y_i x_ij.
"""

from __future__ import annotations

from noiseproof._deletion.point import BETA, MU, XI, H, P, Q, R, S, T, Z
from noiseproof._rows.compiling import compiled_in_any_order


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
