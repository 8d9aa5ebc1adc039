"""Compiled loops over the entries of rows.

Each loop works on the rows `lo` to `hi` and the classes `k_lo` to `k_hi`, so that
threads can share a pass. It handles one or four classes at once, depending on `width`.
The numbers it needs for a feature are side by side in a table, which is filled anew for
each pass, so that an entry costs one or two cache lines. Index arrays should be
unsigned: Numba tests signed ones for negative values, which doubles the cost of a
gather. For a dense matrix, `indices` holds the columns of one row, which all rows
share, and `repeated` is 1; otherwise `repeated` is 0.

The variance of a score is v = Σ_j x_j W_j s_j. If each feature has noise of its own,
s_j = x_j S_j (or S_j, if the variance is not `squared` in x). If features have groups,
given by `labels`, s_j is the sum of x S over the group of feature j, and each row is
read once more to compute the sums. Without groups, `labels` and `sums` are None, and
Numba leaves out the code that only groups need.
"""

from __future__ import annotations

import numba

from noiseproof._rows.compiling import compiled_in_any_order
from noiseproof._rows.lanes import column, lanes, put_column, put_lanes, zero


@compiled_in_any_order
def _fill(table, k, k_hi, width, arrays, columns):
    """Fill the table with the lanes of each array for each feature, then zeros.

    If there are fewer classes than lanes, the last class is repeated.
    """
    for j in range(len(table) // columns):
        for a in range(len(arrays)):
            put_lanes(table, columns * j + a, column(arrays[a], j, k, k_hi, width))
        for a in range(len(arrays), columns):
            put_lanes(table, columns * j + a, zero(width))


@compiled_in_any_order
def _collect(table, k, k_hi, width, columns, a, out):
    """Add column `a` of the table to the rows of `out`."""
    for c in range(min(len(width), k_hi - k)):
        for j in range(len(table) // columns):
            out[k + c, j] += table[columns * j + a, c]


@compiled_in_any_order
def _sum_groups(row, labels, table, columns, a, sums, n_sums, to, width):
    """Add x times column `a` of its feature to a sum of its group, for a row."""
    indices, data, start, stop, offset = row
    for t in range(start, stop):
        j = indices[t - offset]
        x, group = numba.float64(data[t]), n_sums * labels[j] + to
        total = lanes(sums, group, width) + x * lanes(table, columns * j + a, width)
        put_lanes(sums, group, total)


@compiled_in_any_order
def _clear_groups(row, labels, sums, n_sums, width):
    """Reset the sums of the row's groups to zero."""
    indices, _, start, stop, offset = row
    for t in range(start, stop):
        group = n_sums * labels[indices[t - offset]]
        for to in range(n_sums):
            put_lanes(sums, group + to, zero(width))


@compiled_in_any_order
def _times_s(c, x, squared, table, place, labels, sums, n_sums, to, j, width):
    """Compute c * s_j from S in the table, or from the sums over groups."""
    if labels is None:
        return (x * c if squared else c) * lanes(table, place, width)
    return c * lanes(sums, n_sums * labels[j] + to, width)


@compiled_in_any_order
def moments(
    indptr, indices, data, repeated, lo, hi, k_lo, k_hi, width, table, labels, sums,
    W, S, squared, m, v,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (W, S), 2)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            offset = start * repeated
            mean = zero(width)
            variance = zero(width)
            if labels is not None:
                row = indices, data, start, stop, offset
                _sum_groups(row, labels, table, 2, 1, sums, 1, 0, width)
            for t in range(start, stop):
                j = indices[t - offset]
                x = numba.float64(data[t])
                xw = x * lanes(table, 2 * j, width)
                mean = mean + xw
                variance = variance + _times_s(
                    xw, x, squared, table, 2 * j + 1, labels, sums, 1, 0, j, width
                )
            if labels is not None:
                _clear_groups(row, labels, sums, 1, width)
            put_column(m, i, k, k_hi, mean)
            put_column(v, i, k, k_hi, variance)


@compiled_in_any_order
def directions(
    indptr, indices, data, repeated, lo, hi, k_lo, k_hi, width, table, labels, sums,
    P, S, T, squared, a, e, u,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (P, S, T), 3)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            offset = start * repeated
            mean = zero(width)
            cross = zero(width)
            own = zero(width)
            if labels is not None:
                row = indices, data, start, stop, offset
                _sum_groups(row, labels, table, 3, 1, sums, 2, 0, width)
                _sum_groups(row, labels, table, 3, 2, sums, 2, 1, width)
            for t in range(start, stop):
                j = indices[t - offset]
                x = numba.float64(data[t])
                xp = x * lanes(table, 3 * j, width)
                mean = mean + xp
                cross = cross + _times_s(
                    xp, x, squared, table, 3 * j + 1, labels, sums, 2, 0, j, width
                )
                own = own + _times_s(
                    xp, x, squared, table, 3 * j + 2, labels, sums, 2, 1, j, width
                )
            if labels is not None:
                _clear_groups(row, labels, sums, 2, width)
            put_column(a, i, k, k_hi, mean)
            put_column(e, i, k, k_hi, 2.0 * cross)
            put_column(u, i, k, k_hi, own)


@compiled_in_any_order
def pullback(
    indptr, indices, data, repeated, lo, hi, k_lo, k_hi, width, table, labels, sums,
    A, B, S, squared, out,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (S,), 2)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            offset = start * repeated
            a = column(A, i, k, k_hi, width)
            b = 2.0 * column(B, i, k, k_hi, width)
            if labels is not None:
                row = indices, data, start, stop, offset
                _sum_groups(row, labels, table, 2, 0, sums, 1, 0, width)
            for t in range(start, stop):
                j = indices[t - offset]
                x = numba.float64(data[t])
                bs = _times_s(b, x, squared, table, 2 * j, labels, sums, 1, 0, j, width)
                o = lanes(table, 2 * j + 1, width) + x * (a + bs)
                put_lanes(table, 2 * j + 1, o)
            if labels is not None:
                _clear_groups(row, labels, sums, 1, width)
        _collect(table, k, k_hi, width, 2, 1, out)


@compiled_in_any_order
def diagonal(
    indptr, indices, data, repeated, lo, hi, k_lo, k_hi, width, table, labels, sums,
    mm, mv, vv, hv, S, squared, out, out_v,
):  # fmt: skip
    for k in range(k_lo, k_hi, len(width)):
        _fill(table, k, k_hi, width, (S,), 3)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            offset = start * repeated
            a = column(mm, i, k, k_hi, width)
            b = 4.0 * column(mv, i, k, k_hi, width)
            c = 4.0 * column(vv, i, k, k_hi, width)
            d = 2.0 * column(hv, i, k, k_hi, width)
            if labels is not None:
                row = indices, data, start, stop, offset
                _sum_groups(row, labels, table, 3, 0, sums, 1, 0, width)
            for t in range(start, stop):
                j = indices[t - offset]
                x = numba.float64(data[t])
                cs = _times_s(c, x, squared, table, 3 * j, labels, sums, 1, 0, j, width)
                bends = _times_s(
                    b + cs, x, squared, table, 3 * j, labels, sums, 1, 0, j, width
                )
                o = lanes(table, 3 * j + 1, width) + (x * x) * (a + bends)
                put_lanes(table, 3 * j + 1, o)
                o = lanes(table, 3 * j + 2, width) + (x * x if squared else x) * d
                put_lanes(table, 3 * j + 2, o)
            if labels is not None:
                _clear_groups(row, labels, sums, 1, width)
        _collect(table, k, k_hi, width, 3, 1, out)
        _collect(table, k, k_hi, width, 3, 2, out_v)


@compiled_in_any_order
def _scatter(row, labels, table, columns, sums, pulls, squared, width):
    """Add a row's part of a product to the last column of the table."""
    indices, data, start, stop, offset = row
    pull_m, pull_v, own = pulls
    for t in range(start, stop):
        j = indices[t - offset]
        x = numba.float64(data[t])
        pull = pull_m + _times_s(
            *(pull_v, x, squared, table, columns * j + 1, labels, sums, 2, 0, j, width)
        )
        if labels is not None:
            pull = pull + own * lanes(sums, 2 * labels[j] + 1, width)
        place = columns * j + columns - 1
        put_lanes(table, place, lanes(table, place, width) + x * pull)


@compiled_in_any_order
def product(
    indptr, indices, data, repeated, lo, hi, k_lo, k_hi, width, table, labels, sums,
    P, S, T, mm, mv, vv, hv, constants, squared, out, totals,
):  # fmt: skip
    # groups need another column, for the off-diagonal part of their shared noise
    columns = 3 if labels is None else 4
    for k in range(k_lo, k_hi, len(width)):
        if labels is None:
            _fill(table, k, k_hi, width, (P, S), 3)
        else:
            _fill(table, k, k_hi, width, (P, S, T), 4)
        a0 = column(constants, 0, k, k_hi, width)
        e0 = column(constants, 1, k, k_hi, width)
        sum_m, sum_v = zero(width), zero(width)
        for i in range(lo, hi):
            start, stop = indptr[i], indptr[i + 1]
            offset = start * repeated
            a, e = a0, zero(width)
            row = indices, data, start, stop, offset
            if labels is not None:
                _sum_groups(row, labels, table, 4, 1, sums, 2, 0, width)
                _sum_groups(row, labels, table, 4, 2, sums, 2, 1, width)
            for t in range(start, stop):
                j = indices[t - offset]
                x = numba.float64(data[t])
                xp = x * lanes(table, columns * j, width)
                a = a + xp
                e = e + _times_s(
                    *(xp, x, squared, table, columns * j + 1),
                    *(labels, sums, 2, 0, j, width),
                )
            e = 2.0 * e + e0
            h = column(mv, i, k, k_hi, width)
            pull_m = column(mm, i, k, k_hi, width) * a + h * e
            pull_v = h * a + column(vv, i, k, k_hi, width) * e
            sum_m = sum_m + pull_m
            sum_v = sum_v + pull_v
            own = 2.0 * column(hv, i, k, k_hi, width)
            pulls = pull_m, 2.0 * pull_v, own
            _scatter(row, labels, table, columns, sums, pulls, squared, width)
            if labels is not None:
                _clear_groups(row, labels, sums, 2, width)
        _collect(table, k, k_hi, width, columns, columns - 1, out)
        put_column(totals, 0, k, k_hi, sum_m)
        put_column(totals, 1, k, k_hi, sum_v)


@compiled_in_any_order
def group_totals(indptr, indices, labels, sums, entries, out):
    """Compute the sum over its group in its row, for each entry of a CSR matrix."""
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            sums[labels[indices[t]]] += entries[t]
        for t in range(indptr[i], indptr[i + 1]):
            out[t] = sums[labels[indices[t]]]
        for t in range(indptr[i], indptr[i + 1]):
            sums[labels[indices[t]]] = 0.0
