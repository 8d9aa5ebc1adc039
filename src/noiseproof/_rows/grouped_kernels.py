"""Compiled loops over entries whose features belong to groups.

As in `kernels`, with two differences. The variance of a score is a sum over groups,
v = Σ_g (Σ_{j in g} x_j S_j) (Σ_{j in g} x_j W_j), so a row is read twice, first to sum
within its groups, which `labels` gives, then to use the sums. And a matrix may be
dense: then `indices` are those of one row.
"""

from __future__ import annotations

import numba

from noiseproof._rows.compiling import standalone
from noiseproof._rows.kernels import _collect, _fill
from noiseproof._rows.lanes import column, lanes, put_column, put_lanes, zero


@standalone
def _sum_up(row, table, columns, a, sums, n_sums, to, width):
    """Add x times column `a` of its feature to a sum of its group, for a row."""
    indices, data, labels, start, stop, shift = row
    for t in range(start, stop):
        j = indices[t - shift]
        x, group = numba.float64(data[t]), n_sums * labels[j] + to
        total = lanes(sums, group, width) + x * lanes(table, columns * j + a, width)
        put_lanes(sums, group, total)


@standalone
def _clear(row, sums, n_sums, width):
    """Zeros in place of the sums of the row's groups."""
    indices, _, labels, start, stop, shift = row
    for t in range(start, stop):
        group = n_sums * labels[indices[t - shift]]
        for to in range(n_sums):
            put_lanes(sums, group + to, zero(width))


@standalone
def moments(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table, labels, sums, dense,
    W, S, m, v,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (W, S), 2)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            mean = zero(width)
            variance = zero(width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, 2, 1, sums, 1, 0, width)
            for t in range(start, stop):
                j = indices[t - shift]
                xw = numba.float64(data[t]) * lanes(table, 2 * j, width)
                mean = mean + xw
                variance = variance + xw * lanes(sums, labels[j], width)
            _clear(row, sums, 1, width)
            put_column(m, i, k, k_hi, mean)
            put_column(v, i, k, k_hi, variance)


@standalone
def directions(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table, labels, sums, dense,
    P, S, T, a, e, u,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (P, S, T), 3)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            mean = zero(width)
            cross = zero(width)
            own = zero(width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, 3, 1, sums, 2, 0, width)
            _sum_up(row, table, 3, 2, sums, 2, 1, width)
            for t in range(start, stop):
                j = indices[t - shift]
                g = labels[j]
                xp = numba.float64(data[t]) * lanes(table, 3 * j, width)
                mean = mean + xp
                cross = cross + xp * lanes(sums, 2 * g, width)
                own = own + xp * lanes(sums, 2 * g + 1, width)
            _clear(row, sums, 2, width)
            put_column(a, i, k, k_hi, mean)
            put_column(e, i, k, k_hi, 2.0 * cross)
            put_column(u, i, k, k_hi, own)


@standalone
def pullback(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table, labels, sums, dense,
    A, B, S, out,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (S,), 2)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a = column(A, i, k, k_hi, width)
            b = 2.0 * column(B, i, k, k_hi, width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, 2, 0, sums, 1, 0, width)
            for t in range(start, stop):
                j = indices[t - shift]
                x = numba.float64(data[t])
                o = lanes(table, 2 * j + 1, width)
                o = o + x * (a + b * lanes(sums, labels[j], width))
                put_lanes(table, 2 * j + 1, o)
            _clear(row, sums, 1, width)
        _collect(table, k, k_hi, width, 2, 1, out)


@standalone
def diagonal(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table, labels, sums, dense,
    mm, mv, vv, hv, S, out, out_v,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (S,), 3)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a = column(mm, i, k, k_hi, width)
            b = 4.0 * column(mv, i, k, k_hi, width)
            c = 4.0 * column(vv, i, k, k_hi, width)
            d = 2.0 * column(hv, i, k, k_hi, width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, 3, 0, sums, 1, 0, width)
            for t in range(start, stop):
                j = indices[t - shift]
                x = numba.float64(data[t])
                xx = x * x
                s = lanes(sums, labels[j], width)
                o = lanes(table, 3 * j + 1, width) + xx * (a + s * (b + c * s))
                put_lanes(table, 3 * j + 1, o)
                o = lanes(table, 3 * j + 2, width) + xx * d
                put_lanes(table, 3 * j + 2, o)
            _clear(row, sums, 1, width)
        _collect(table, k, k_hi, width, 3, 1, out)
        _collect(table, k, k_hi, width, 3, 2, out_v)


@standalone
def product(
    indptr, indices, data, lo, hi, k_lo, k_hi, width, table, labels, sums, dense,
    P, S, T, mm, mv, vv, hv, constants, out, sums_mv,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (P, S, T), 4)
        a0 = column(constants, 0, k, k_hi, width)
        e0 = column(constants, 1, k, k_hi, width)
        sum_m, sum_v = zero(width), zero(width)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            shift = start if dense else start - start
            a, e = zero(width), zero(width)
            row = indices, data, labels, start, stop, shift
            _sum_up(row, table, 4, 1, sums, 2, 0, width)
            _sum_up(row, table, 4, 2, sums, 2, 1, width)
            for t in range(start, stop):
                j = indices[t - shift]
                xp = numba.float64(data[t]) * lanes(table, 4 * j, width)
                a = a + xp
                e = e + xp * lanes(sums, 2 * labels[j], width)
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
                pull = pull_m + 2.0 * (pull_v * lanes(sums, 2 * g, width))
                pull = pull + own * lanes(sums, 2 * g + 1, width)
                o = lanes(table, 4 * j + 3, width)
                put_lanes(table, 4 * j + 3, o + numba.float64(data[t]) * pull)
            _clear(row, sums, 2, width)
        _collect(table, k, k_hi, width, 4, 3, out)
        put_column(sums_mv, 0, k, k_hi, sum_m)
        put_column(sums_mv, 1, k, k_hi, sum_v)


@standalone
def totals(indptr, indices, labels, sums, dense, entries, out):
    """The sum of its group in its row, at each entry."""
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        shift = start if dense else start - start
        for t in range(start, stop):
            sums[labels[indices[t - shift]]] += entries[t]
        for t in range(start, stop):
            out[t] = sums[labels[indices[t - shift]]]
        for t in range(start, stop):
            sums[labels[indices[t - shift]]] = 0.0
