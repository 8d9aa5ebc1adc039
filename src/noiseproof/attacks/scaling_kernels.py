"""Compiled choice of what to scale, row by row over stored entries.

Scaling changes the lead of the own class entry by entry, so the worst that k entries
can do is the sum of the k largest gains. Zeros gain nothing. Index arrays must be
unsigned: Numba tests signed ones for negative values.
"""

from __future__ import annotations

import numba
import numpy as np

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")


@_compile
def _above(gain, size, bar):
    count = 0
    for t in range(size):
        count += gain[t] > bar
    return count


@numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest(gain, size):
    """The largest gain; only without NaN and -0 is this done in vector instructions."""
    largest = 0.0
    for t in range(size):
        largest = max(largest, gain[t])
    return largest


@_compile
def _select(gain, size, k, ids):
    """The k largest of the positive gains, or all of them; of equal ones the first.

    Their places go to `ids`; returns their number. The bar that k gains exceed is found
    by bisection: a step counts without branches, in vector instructions, so that a
    dozen of them are cheaper than one partition of the gains.
    """
    low = bar = 0.0
    above = _above(gain, size, bar)
    if above > k:
        above, bar = 0, _largest(gain, size)
        while above < k:
            middle = (low + bar) / 2
            if middle <= low or middle >= bar:
                break  # more than one gain is as large as the bar
            count = _above(gain, size, middle)
            if count > k:
                low = middle
            else:
                above, bar = count, middle
    chosen = 0
    for t in range(size):
        ids[chosen] = t
        chosen += gain[t] > bar
    for t in range(size):
        if chosen >= k or bar == 0:
            break
        if gain[t] == bar:
            ids[chosen] = t
            chosen += 1
    return chosen


@_compile
def _scaling_gains(columns, entries, own, other, low, high, gain):
    """What scaling each entry takes from the lead over a rival; zero if nothing."""
    for t in range(len(columns)):
        lead = (own[columns[t]] - other[columns[t]]) * entries[t]
        down, up = lead * (1 - low), lead * (1 - high)
        best = down if down > up else up
        gain[t] = best if best > 0 else 0.0  # also where the entry is missing


@_compile
def scale(indptr, indices, data, label, coef, leads, k, low, high, out):
    """Scale features of every row; the worst of all rival classes counts.

    Writes the scaled entries to `out` unless that is empty. `indices` may be those of a
    single row that all rows share. Returns the drops of the margins.
    """
    n, (n_classes, d) = len(label), coef.shape
    drop, gain = np.empty(n), np.empty(d)
    ids, marked = np.empty(d, np.uintp), np.empty(d, np.uintp)
    for i in range(n):
        own, start, stop = label[i], indptr[i], indptr[i + 1]
        columns = indices[start:stop] if stop <= len(indices) else indices
        entries = data[start:stop]
        clean = lowest = np.inf
        n_marked = nearest = 0
        for rival in range(n_classes):
            if rival == own:
                continue
            _scaling_gains(columns, entries, coef[own], coef[rival], low, high, gain)
            chosen = _select(gain, len(columns), k, ids)
            attacked = leads[i, rival] - gain[ids[:chosen]].sum()
            clean = min(clean, leads[i, rival])
            if attacked < lowest:
                lowest, nearest, n_marked = attacked, rival, chosen
                marked[:chosen] = ids[:chosen]
        drop[i] = clean - lowest
        if len(out):
            scaled = out[start:stop]
            scaled[:] = entries
            for s in range(n_marked):
                t = marked[s]
                lead = (coef[own, columns[t]] - coef[nearest, columns[t]]) * entries[t]
                # adding zero turns -0 into 0
                scaled[t] = entries[t] * (low if lead > 0 else high) + 0.0
    return drop
