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
def _fill(table, k, width, arrays):
    """Lanes of each array for each feature, then zeros.

    Number by number: Numba's code for slices takes longer to load than to run.
    """
    for j in range(len(table)):
        at = 0
        for a in range(len(arrays)):
            for c in range(len(width)):
                table[j, at] = arrays[a][k + c, j]
                at += 1
        for rest in range(at, table.shape[1]):
            table[j, rest] = 0.0


@compiled_in_any_order
def _collect(table, k, width, at, out):
    """Add the lanes from `at` on to the rows of `out`."""
    for c in range(len(width)):
        for j in range(len(table)):
            out[k + c, j] += table[j, at + c]


@compiled_in_any_order
def moments(indptr, indices, data, lo, hi, k_lo, k_hi, width, W, S, squared, m, v):
    n_lanes = len(width)
    table = np.empty((W.shape[1], 2 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (W, S))
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
            put_column(m, k, i, mean)
            put_column(v, k, i, variance)


@compiled_in_any_order
def directions(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, P, S, T, squared, a, e, u
):
    n_lanes = len(width)
    table = np.empty((P.shape[1], 3 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (P, S, T))
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
            put_column(a, k, i, mean)
            put_column(e, k, i, 2.0 * cross)
            put_column(u, k, i, own)


@compiled_in_any_order
def pullback(indptr, indices, data, lo, hi, k_lo, k_hi, width, A, B, S, squared, out):
    n_lanes = len(width)
    table = np.empty((S.shape[1], 2 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (S,))
        for i in range(lo, hi):
            a = column(A, k, i, width)
            b = 2.0 * column(B, k, i, width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                o = lanes(table, j, n_lanes, width)
                o = o + x * a + xq * (b * lanes(table, j, 0, width))
                put_lanes(table, j, n_lanes, o)
        _collect(table, k, width, n_lanes, out)


@compiled_in_any_order
def diagonal(
    indptr, indices, data, lo, hi, k_lo, k_hi, width,
    mm, mv, vv, hv, S, squared, out, out_v,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((S.shape[1], 3 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (S,))
        for i in range(lo, hi):
            a = column(mm, k, i, width)
            b = 4.0 * column(mv, k, i, width)
            c = 4.0 * column(vv, k, i, width)
            d = 2.0 * column(hv, k, i, width)
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
        _collect(table, k, width, n_lanes, out)
        _collect(table, k, width, 2 * n_lanes, out_v)


@compiled_in_any_order
def product(
    indptr, indices, data, lo, hi, k_lo, k_hi, width,
    P, S, mm, mv, vv, a0, e0, squared, out, sums,
):  # fmt: skip
    n_lanes = len(width)
    table = np.empty((P.shape[1], 3 * n_lanes))
    for k in range(k_lo, k_hi, n_lanes):
        _fill(table, k, width, (P, S))
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
            a = a + lanes(a0, 0, k, width)
            e = 2.0 * e + lanes(e0, 0, k, width)
            h = column(mv, k, i, width)
            pull_m = column(mm, k, i, width) * a + h * e
            pull_v = h * a + column(vv, k, i, width) * e
            put_lanes(sums, 0, k, lanes(sums, 0, k, width) + pull_m)
            put_lanes(sums, 1, k, lanes(sums, 1, k, width) + pull_v)
            pull_v = 2.0 * pull_v
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                o = lanes(table, j, 2 * n_lanes, width) + x * pull_m
                o = o + xq * (pull_v * lanes(table, j, n_lanes, width))
                put_lanes(table, j, 2 * n_lanes, o)
        _collect(table, k, width, 2 * n_lanes, out)
