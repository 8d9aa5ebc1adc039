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
def _sum_up(row, table, at, sums, to, width):
    """Add x times the lanes of its feature to the sums of its group, for a row."""
    indices, data, labels, start, stop, shift = row
    for t in range(start, stop):
        j = indices[t - shift]
        x = numba.float64(data[t])
        total = lanes(sums, labels[j], to, width) + x * lanes(table, j, at, width)
        put_lanes(sums, labels[j], to, total)


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
        _fill(table, k, k_hi, width, (W, S))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            mean = zero(width)
            variance = zero(width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, n_lanes, sums, 0, width)
            for t in range(start, stop):
                j = indices[t - shift]
                xw = numba.float64(data[t]) * lanes(table, j, 0, width)
                mean = mean + xw
                variance = variance + xw * lanes(sums, labels[j], 0, width)
            _clear(sums, indices, labels, start, stop, shift, width)
            put_column(m, i, k, k_hi, mean)
            put_column(v, i, k, k_hi, variance)


@compiled_in_any_order
def directions(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    P, S, T, a, e, u,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((P.shape[1], 3 * n_lanes))
    sums = np.zeros((n_groups, 2 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (P, S, T))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            mean = zero(width)
            cross = zero(width)
            own = zero(width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, n_lanes, sums, 0, width)
            _sum_up(row, table, 2 * n_lanes, sums, n_lanes, width)
            for t in range(start, stop):
                j = indices[t - shift]
                g = labels[j]
                xp = numba.float64(data[t]) * lanes(table, j, 0, width)
                mean = mean + xp
                cross = cross + xp * lanes(sums, g, 0, width)
                own = own + xp * lanes(sums, g, n_lanes, width)
            _clear(sums, indices, labels, start, stop, shift, width)
            put_column(a, i, k, k_hi, mean)
            put_column(e, i, k, k_hi, 2.0 * cross)
            put_column(u, i, k, k_hi, own)


@compiled_in_any_order
def pullback(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    A, B, S, out,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((S.shape[1], 2 * n_lanes))
    sums = np.zeros((n_groups, n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (S,))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a = column(A, i, k, k_hi, width)
            b = 2.0 * column(B, i, k, k_hi, width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, 0, sums, 0, width)
            for t in range(start, stop):
                j = indices[t - shift]
                x = numba.float64(data[t])
                o = lanes(table, j, n_lanes, width)
                o = o + x * (a + b * lanes(sums, labels[j], 0, width))
                put_lanes(table, j, n_lanes, o)
            _clear(sums, indices, labels, start, stop, shift, width)
        _collect(table, k, k_hi, width, n_lanes, out)


@compiled_in_any_order
def diagonal(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    mm, mv, vv, hv, S, out, out_v,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((S.shape[1], 3 * n_lanes))
    sums = np.zeros((n_groups, n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (S,))
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a = column(mm, i, k, k_hi, width)
            b = 4.0 * column(mv, i, k, k_hi, width)
            c = 4.0 * column(vv, i, k, k_hi, width)
            d = 2.0 * column(hv, i, k, k_hi, width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, 0, sums, 0, width)
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
        _collect(table, k, k_hi, width, n_lanes, out)
        _collect(table, k, k_hi, width, 2 * n_lanes, out_v)


@compiled_in_any_order
def product(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, labels, n_groups, dense,
    P, S, T, mm, mv, vv, hv, constants, out, sums_mv,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((P.shape[1], 4 * n_lanes))
    sums = np.zeros((n_groups, 2 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (P, S, T))
        a0 = column(constants, 0, k, k_hi, width)
        e0 = column(constants, 1, k, k_hi, width)
        sum_m, sum_v = zero(width), zero(width)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a, e = zero(width), zero(width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, n_lanes, sums, 0, width)
            _sum_up(row, table, 2 * n_lanes, sums, n_lanes, width)
            for t in range(start, stop):
                j = indices[t - shift]
                xp = numba.float64(data[t]) * lanes(table, j, 0, width)
                a = a + xp
                e = e + xp * lanes(sums, labels[j], 0, width)
            a = a + a0
            e = 2.0 * e + e0
            h = column(mv, i, k, k_hi, width)
            own = 2.0 * column(hv, i, k, k_hi, width)
            pull_m = column(mm, i, k, k_hi, width) * a + h * e
            pull_v = h * a + column(vv, i, k, k_hi, width) * e
            sum_m = sum_m + pull_m
            sum_v = sum_v + pull_v
            for t in range(start, stop):
                j = indices[t - shift]
                g = labels[j]
                pull = pull_m + 2.0 * (pull_v * lanes(sums, g, 0, width))
                pull = pull + own * lanes(sums, g, n_lanes, width)
                o = lanes(table, j, 3 * n_lanes, width)
                put_lanes(table, j, 3 * n_lanes, o + numba.float64(data[t]) * pull)
            _clear(sums, indices, labels, start, stop, shift, width)
        _collect(table, k, k_hi, width, 3 * n_lanes, out)
        put_column(sums_mv, 0, k, k_hi, sum_m)
        put_column(sums_mv, 1, k, k_hi, sum_v)


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
