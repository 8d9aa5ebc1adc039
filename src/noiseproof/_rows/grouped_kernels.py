"""Compiled loops over entries whose features belong to groups.

As in `kernels`, with two differences. The variance of a score is a sum over groups,
v = Σ_g (Σ_{j in g} x_j S_j) (Σ_{j in g} x_j W_j), so a row is read twice, first to sum
within its groups, which `labels` gives, then to use the sums. And a matrix may be
dense: then `indices` are those of one row.
"""

from __future__ import annotations

import numba
import numpy as np

from noiseproof._rows.compiling import compiled_in_any_order
from noiseproof._rows.kernels import _collect, _fill
from noiseproof._rows.lanes import column, lanes, put_column, put_lanes, zero


@compiled_in_any_order
def _clear(sums, indices, labels, start, stop, shift, width):
    """Zeros in place of the sums of the row's groups."""
    for t in range(start, stop):
        g = labels[indices[t - shift]]
        for c in range(sums.shape[1]):
            sums[g, c] = 0.0


@compiled_in_any_order
def moments(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    W, S, m, v,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((W.shape[1], 2 * n_lanes))
    sums = np.zeros((n_groups, n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (W, S))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            mean = zero(width)
            variance = zero(width)
            for t in range(start, stop):
                j = indices[t - shift]
                xs = numba.float64(data[t]) * lanes(table, j, n_lanes, width)
                put_lanes(sums, labels[j], 0, lanes(sums, labels[j], 0, width) + xs)
            for t in range(start, stop):
                j = indices[t - shift]
                xw = numba.float64(data[t]) * lanes(table, j, 0, width)
                mean = mean + xw
                variance = variance + xw * lanes(sums, labels[j], 0, width)
            _clear(sums, indices, labels, start, stop, shift, width)
            put_column(m, k, i, mean)
            put_column(v, k, i, variance)


@compiled_in_any_order
def directions(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    P, S, T, a, e, u,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((P.shape[1], 3 * n_lanes))
    sums = np.zeros((n_groups, 2 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (P, S, T))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            mean = zero(width)
            cross = zero(width)
            own = zero(width)
            for t in range(start, stop):
                j = indices[t - shift]
                g = labels[j]
                x = numba.float64(data[t])
                xs = x * lanes(table, j, n_lanes, width)
                xt = x * lanes(table, j, 2 * n_lanes, width)
                put_lanes(sums, g, 0, lanes(sums, g, 0, width) + xs)
                put_lanes(sums, g, n_lanes, lanes(sums, g, n_lanes, width) + xt)
            for t in range(start, stop):
                j = indices[t - shift]
                g = labels[j]
                xp = numba.float64(data[t]) * lanes(table, j, 0, width)
                mean = mean + xp
                cross = cross + xp * lanes(sums, g, 0, width)
                own = own + xp * lanes(sums, g, n_lanes, width)
            _clear(sums, indices, labels, start, stop, shift, width)
            put_column(a, k, i, mean)
            put_column(e, k, i, 2.0 * cross)
            put_column(u, k, i, own)


@compiled_in_any_order
def pullback(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    A, B, S, out,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((S.shape[1], 2 * n_lanes))
    sums = np.zeros((n_groups, n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (S,))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a = column(A, k, i, width)
            b = 2.0 * column(B, k, i, width)
            for t in range(start, stop):
                j = indices[t - shift]
                xs = numba.float64(data[t]) * lanes(table, j, 0, width)
                put_lanes(sums, labels[j], 0, lanes(sums, labels[j], 0, width) + xs)
            for t in range(start, stop):
                j = indices[t - shift]
                x = numba.float64(data[t])
                o = lanes(table, j, n_lanes, width)
                o = o + x * (a + b * lanes(sums, labels[j], 0, width))
                put_lanes(table, j, n_lanes, o)
            _clear(sums, indices, labels, start, stop, shift, width)
        _collect(table, k, width, n_lanes, out)


@compiled_in_any_order
def diagonal(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    mm, mv, vv, hv, S, out, out_v,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((S.shape[1], 3 * n_lanes))
    sums = np.zeros((n_groups, n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (S,))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a = column(mm, k, i, width)
            b = 4.0 * column(mv, k, i, width)
            c = 4.0 * column(vv, k, i, width)
            d = 2.0 * column(hv, k, i, width)
            for t in range(start, stop):
                j = indices[t - shift]
                xs = numba.float64(data[t]) * lanes(table, j, 0, width)
                put_lanes(sums, labels[j], 0, lanes(sums, labels[j], 0, width) + xs)
            for t in range(start, stop):
                j = indices[t - shift]
                x = numba.float64(data[t])
                xx = x * x
                s = lanes(sums, labels[j], 0, width)
                o = lanes(table, j, n_lanes, width) + xx * (a + s * (b + c * s))
                put_lanes(table, j, n_lanes, o)
                o = lanes(table, j, 2 * n_lanes, width) + xx * d
                put_lanes(table, j, 2 * n_lanes, o)
            _clear(sums, indices, labels, start, stop, shift, width)
        _collect(table, k, width, n_lanes, out)
        _collect(table, k, width, 2 * n_lanes, out_v)


@compiled_in_any_order
def product(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    P, S, T, mm, mv, vv, hv, a0, e0, out, sums_av,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((P.shape[1], 4 * n_lanes))
    sums = np.zeros((n_groups, 2 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (P, S, T))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a = zero(width)
            e = zero(width)
            for t in range(start, stop):
                j = indices[t - shift]
                g = labels[j]
                x = numba.float64(data[t])
                xs = x * lanes(table, j, n_lanes, width) + lanes(sums, g, 0, width)
                xt = x * lanes(table, j, 2 * n_lanes, width)
                put_lanes(sums, g, 0, xs)
                put_lanes(sums, g, n_lanes, lanes(sums, g, n_lanes, width) + xt)
            for t in range(start, stop):
                j = indices[t - shift]
                xp = numba.float64(data[t]) * lanes(table, j, 0, width)
                a = a + xp
                e = e + xp * lanes(sums, labels[j], 0, width)
            a = a + lanes(a0, 0, k, width)
            e = 2.0 * e + lanes(e0, 0, k, width)
            h = column(mv, k, i, width)
            own = 2.0 * column(hv, k, i, width)
            pull_m = column(mm, k, i, width) * a + h * e
            pull_v = h * a + column(vv, k, i, width) * e
            put_lanes(sums_av, 0, k, lanes(sums_av, 0, k, width) + pull_m)
            put_lanes(sums_av, 1, k, lanes(sums_av, 1, k, width) + pull_v)
            for t in range(start, stop):
                j = indices[t - shift]
                g = labels[j]
                pull = pull_m + 2.0 * (pull_v * lanes(sums, g, 0, width))
                pull = pull + own * lanes(sums, g, n_lanes, width)
                o = lanes(table, j, 3 * n_lanes, width)
                put_lanes(table, j, 3 * n_lanes, o + numba.float64(data[t]) * pull)
            _clear(sums, indices, labels, start, stop, shift, width)
        _collect(table, k, width, 3 * n_lanes, out)


@compiled_in_any_order
def totals(indptr, indices, labels, n_groups, dense, entries, out):
    """The sum of its group in its row, at each entry."""
    sums = np.zeros(n_groups)
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        shift = start if dense else start - start
        for t in range(start, stop):
            sums[labels[indices[t - shift]]] += entries[t]
        for t in range(start, stop):
            out[t] = sums[labels[indices[t - shift]]]
        for t in range(start, stop):
            sums[labels[indices[t - shift]]] = 0.0
