"""Compiled loops over the stored entries of a CSR matrix.

Each kernel works on the rows `lo` to `hi` and the classes `k_lo` to `k_hi`, so that
threads can share a pass, and on one or four classes at once, as `width` says. What it
must know of a feature lies side by side in a table, filled anew for each pass: an entry
costs a cache line or two. Index arrays should be unsigned: Numba tests signed ones for
negative values, which doubles the cost of a gather.
"""

from __future__ import annotations

import numba

from noiseproof._rows.compiling import standalone
from noiseproof._rows.lanes import column, lanes, put_column, put_lanes, zero


@standalone
def _fill(table, k, k_hi, width, arrays, columns):
    """Lanes of each array for each feature, then zeros.

    Where the classes end before the lanes do, the last class is repeated.
    """
    for j in range(len(table) // columns):
        for a in range(len(arrays)):
            put_lanes(table, columns * j + a, column(arrays[a], j, k, k_hi, width))
        for a in range(len(arrays), columns):
            put_lanes(table, columns * j + a, zero(width))


@standalone
def _collect(table, k, k_hi, width, columns, a, out):
    """Add one of the columns to the rows of `out`."""
    for c in range(min(len(width), k_hi - k)):
        for j in range(len(table) // columns):
            out[k + c, j] += table[columns * j + a, c]


@standalone
def moments(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table, W, S, squared, m, v
):
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (W, S), 2)
        for i in range(lo, hi):
            mean = zero(width)
            variance = zero(width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                w = lanes(table, 2 * j, width)
                mean = mean + x * w
                variance = variance + xq * (w * lanes(table, 2 * j + 1, width))
            put_column(m, i, k, k_hi, mean)
            put_column(v, i, k, k_hi, variance)


@standalone
def directions(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table, P, S, T, squared, a, e, u
):
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (P, S, T), 3)
        for i in range(lo, hi):
            mean = zero(width)
            cross = zero(width)
            own = zero(width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                p = lanes(table, 3 * j, width)
                xqp = (x * x if squared else x) * p
                mean = mean + x * p
                cross = cross + xqp * lanes(table, 3 * j + 1, width)
                own = own + xqp * lanes(table, 3 * j + 2, width)
            put_column(a, i, k, k_hi, mean)
            put_column(e, i, k, k_hi, 2.0 * cross)
            put_column(u, i, k, k_hi, own)


@standalone
def pullback(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table, A, B, S, squared, out
):
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (S,), 2)
        for i in range(lo, hi):
            a = column(A, i, k, k_hi, width)
            b = 2.0 * column(B, i, k, k_hi, width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                o = lanes(table, 2 * j + 1, width)
                o = o + x * a + xq * (b * lanes(table, 2 * j, width))
                put_lanes(table, 2 * j + 1, o)
        _collect(table, k, k_hi, width, 2, 1, out)


@standalone
def diagonal(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table,
    mm, mv, vv, hv, S, squared, out, out_v,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (S,), 3)
        for i in range(lo, hi):
            a = column(mm, i, k, k_hi, width)
            b = 4.0 * column(mv, i, k, k_hi, width)
            c = 4.0 * column(vv, i, k, k_hi, width)
            d = 2.0 * column(hv, i, k, k_hi, width)
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                x = numba.float64(data[t])
                xq = x * x if squared else x
                xs = xq * lanes(table, 3 * j, width)
                o = lanes(table, 3 * j + 1, width)
                o = o + (x * x) * a + xs * (x * b + c * xs)
                ov = lanes(table, 3 * j + 2, width) + xq * d
                put_lanes(table, 3 * j + 1, o)
                put_lanes(table, 3 * j + 2, ov)
        _collect(table, k, k_hi, width, 3, 1, out)
        _collect(table, k, k_hi, width, 3, 2, out_v)


@standalone
def product(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table,
    P, S, mm, mv, vv, constants, squared, out, sums,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (P, S), 3)
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
                p = lanes(table, 3 * j, width)
                a = a + x * p
                e = e + xq * (p * lanes(table, 3 * j + 1, width))
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
                o = lanes(table, 3 * j + 2, width) + x * pull_m
                o = o + xq * (pull_v * lanes(table, 3 * j + 1, width))
                put_lanes(table, 3 * j + 2, o)
        _collect(table, k, k_hi, width, 3, 2, out)
        put_column(sums, 0, k, k_hi, sum_m)
        put_column(sums, 1, k, k_hi, sum_v)
