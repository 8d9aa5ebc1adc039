"""Compiled loops over the stored entries of a CSR matrix.

Each kernel works on the rows `lo` to `hi` and the classes `k_lo` to `k_hi`, so that
threads can share a pass, and on one or four classes at once, as `width` says. What it
must know of a feature lies side by side in a table, filled anew for each pass: an entry
costs a cache line or two. Index arrays must be unsigned: Numba tests signed ones for
negative values, which doubles the cost of a gather.
"""

from __future__ import annotations

import numba
import numpy as np

from noiseproof._rows.compiling import compiled_in_any_order
from noiseproof._rows.lanes import column, lanes, put_column, put_lanes, zero


@compiled_in_any_order
def _fill(table, k, k_hi, width, arrays):
    """Lanes of each array for each feature, then zeros.

    Where the classes end before the lanes do, the last class is repeated.

    Number by number: Numba's code for slices takes longer to load than to run.
    """
    for j in range(len(table)):
        at = 0
        for a in range(len(arrays)):
            for c in range(len(width)):
                table[j, at] = arrays[a][min(k + c, k_hi - 1), j]
                at += 1
        for rest in range(at, table.shape[1]):
            table[j, rest] = 0.0


@compiled_in_any_order
def _collect(table, k, k_hi, width, at, out):
    """Add the lanes from `at` on to the rows of `out`."""
    for c in range(min(len(width), k_hi - k)):
        for j in range(len(table)):
            out[k + c, j] += table[j, at + c]


@compiled_in_any_order
def moments(indptr, indices, data, lo, hi, k_lo, k_hi, width, W, S, squared, m, v):
    n_lanes = len(width)
    table = np.empty((W.shape[1], 2 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (W, S))
        for i in range(lo, hi):
            mean = zero(width)
            variance = zero(width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                w = lanes(table, j, 0, width)
                mean = mean + x * w
                variance = variance + xq * (w * lanes(table, j, n_lanes, width))
            put_column(m, i, k, k_hi, mean)
            put_column(v, i, k, k_hi, variance)


@compiled_in_any_order
def directions(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, P, S, T, squared, a, e, u
):
    n_lanes = len(width)
    table = np.empty((P.shape[1], 3 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (P, S, T))
        for i in range(lo, hi):
            mean = zero(width)
            cross = zero(width)
            own = zero(width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                p = lanes(table, j, 0, width)
                xqp = (x * x if squared else x) * p
                mean = mean + x * p
                cross = cross + xqp * lanes(table, j, n_lanes, width)
                own = own + xqp * lanes(table, j, 2 * n_lanes, width)
            put_column(a, i, k, k_hi, mean)
            put_column(e, i, k, k_hi, 2.0 * cross)
            put_column(u, i, k, k_hi, own)


@compiled_in_any_order
def pullback(indptr, indices, data, lo, hi, k_lo, k_hi, width, A, B, S, squared, out):
    n_lanes = len(width)
    table = np.empty((S.shape[1], 2 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (S,))
        for i in range(lo, hi):
            a = column(A, i, k, k_hi, width)
            b = 2.0 * column(B, i, k, k_hi, width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                o = lanes(table, j, n_lanes, width)
                o = o + x * a + xq * (b * lanes(table, j, 0, width))
                put_lanes(table, j, n_lanes, o)
        _collect(table, k, k_hi, width, n_lanes, out)


@compiled_in_any_order
def diagonal(
    indptr, indices, data, lo, hi, k_lo, k_hi, width,
    mm, mv, vv, hv, S, squared, out, out_v,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((S.shape[1], 3 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (S,))
        for i in range(lo, hi):
            a = column(mm, i, k, k_hi, width)
            b = 4.0 * column(mv, i, k, k_hi, width)
            c = 4.0 * column(vv, i, k, k_hi, width)
            d = 2.0 * column(hv, i, k, k_hi, width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                xs = xq * lanes(table, j, 0, width)
                o = lanes(table, j, n_lanes, width)
                o = o + (x * x) * a + xs * (x * b + c * xs)
                ov = lanes(table, j, 2 * n_lanes, width) + xq * d
                put_lanes(table, j, n_lanes, o)
                put_lanes(table, j, 2 * n_lanes, ov)
        _collect(table, k, k_hi, width, n_lanes, out)
        _collect(table, k, k_hi, width, 2 * n_lanes, out_v)


@compiled_in_any_order
def product(
    indptr, indices, data, lo, hi, k_lo, k_hi, width,
    P, S, mm, mv, vv, constants, squared, out, sums,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((P.shape[1], 3 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, k_hi, width, (P, S))
        a0 = column(constants, 0, k, k_hi, width)
        e0 = column(constants, 1, k, k_hi, width)
        sum_m, sum_v = zero(width), zero(width)
        for i in range(lo, hi):
            a = zero(width)
            e = zero(width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                p = lanes(table, j, 0, width)
                a = a + x * p
                e = e + xq * (p * lanes(table, j, n_lanes, width))
            a = a + a0
            e = 2.0 * e + e0
            h = column(mv, i, k, k_hi, width)
            pull_m = column(mm, i, k, k_hi, width) * a + h * e
            pull_v = h * a + column(vv, i, k, k_hi, width) * e
            sum_m = sum_m + pull_m
            sum_v = sum_v + pull_v
            pull_v = 2.0 * pull_v
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                o = lanes(table, j, 2 * n_lanes, width) + x * pull_m
                o = o + xq * (pull_v * lanes(table, j, n_lanes, width))
                put_lanes(table, j, 2 * n_lanes, o)
        _collect(table, k, k_hi, width, 2 * n_lanes, out)
        put_column(sums, 0, k, k_hi, sum_m)
        put_column(sums, 1, k, k_hi, sum_v)
