"""Compiled choice of what to scale, row by row over stored entries.

Scaling changes the lead of the own class entry by entry, so the worst that k entries
can do is the sum of the k largest gains. Zeros gain nothing. The choice is kept as the
bar that these gains exceed: all loops over entries are then without branches, which
lets them use vector instructions. Index arrays must be unsigned: Numba tests signed
ones for negative values.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from noiseproof._rows.compiling import compiled

# without NaN and -0, and with sums in any order, these too use vector instructions
_compile_fast = partial(compiled, fastmath=("nnan", "nsz", "reassoc"))

_TOP = np.finfo(np.float64).max
_NEAR = 0.1  # neighbouring rows differ about so much
_GUESSES = 10  # after so many, halving is the safer way


@compiled
def _count(gain, bar):
    count = 0
    for t in range(len(gain)):
        count += gain[t] > bar
    return count


@_compile_fast
def _largest(gain):
    largest = 0.0
    for t in range(len(gain)):
        largest = max(largest, gain[t])
    return largest


@_compile_fast
def _sum(gain, bar):
    total = 0.0
    for t in range(len(gain)):
        total += gain[t] if gain[t] > bar else 0.0
    return total


@compiled
def _bar(gain, k, guess):
    """The height that the k largest gains exceed, or all positive ones if fewer.

    Where several gains are at that height, less than k exceed it: how many of those to
    take comes second. A step counts the gains above some height, which costs far less
    than a partition of them. The first heights are near `guess`, the others as if the
    gains between the last two were evenly spread.
    """
    low, above_low = 0.0, _count(gain, 0.0)
    if above_low <= k:
        return 0.0, 0
    if k == 1:
        return _largest(gain), 1
    bar, above = _TOP, 0
    step = 0
    while above < k:
        if bar == _TOP and (step > 1 or guess == 0):
            bar = _largest(gain)
        if step > _GUESSES or not low < guess < bar:
            guess = (low + bar) / 2
            if not low < guess < bar:
                break
        count = _count(gain, guess)
        if count > k:
            low, above_low = guess, count
        else:
            bar, above = guess, count
        if step == 0:
            guess *= 1 + _NEAR if count > k else 1 - _NEAR
        else:
            guess = low + (bar - low) * (above_low - k + 0.5) / (above_low - above + 1)
        step += 1
    return bar, k - above


@compiled
def _gain(lead, low, high):
    """What scaling takes from a lead; zero if nothing, or if the entry is missing."""
    down, up = lead * (1 - low), lead * (1 - high)
    best = down if down > up else up
    return best if best > 0 else 0.0


@compiled
def _leads_and_gains(columns, entries, own, other, low, high, lead, gain):
    """What each entry gives to the lead over a rival, and what scaling takes of it."""
    if len(columns) == len(own):  # a full row needs no look at its columns
        for t in range(len(own)):
            lead[t] = (own[t] - other[t]) * entries[t]
            gain[t] = _gain(lead[t], low, high)
        return
    for t in range(len(columns)):
        j = columns[t]
        lead[t] = (own[j] - other[j]) * entries[t]
        gain[t] = _gain(lead[t], low, high)


@compiled
def _apply(entries, lead, gain, bar, n_equal, low, high, scaled):
    """Scale what gains more than the bar, and the first few that gain as much."""
    for t in range(len(entries)):
        # adding zero turns -0 into 0
        changed = entries[t] * (low if lead[t] > 0 else high) + 0.0
        scaled[t] = changed if gain[t] > bar else entries[t]
    for t in range(len(entries)):
        if n_equal == 0:
            break
        if gain[t] == bar:
            scaled[t] = entries[t] * (low if lead[t] > 0 else high) + 0.0
            n_equal -= 1


@compiled
def scale(indptr, indices, data, label, coef, leads, k, low, high, out):
    """Scale features of every row; the worst of all rival classes counts.

    Writes the scaled entries to `out` unless that is empty. `indices` may be those of a
    single row that all rows share. Returns the drops of the margins.
    """
    n, (n_classes, d) = len(label), coef.shape
    drop, tried, kept = np.empty(n), np.empty((2, d)), np.empty((2, d))
    bars = np.zeros((n_classes, n_classes))  # of the last row: the next is similar
    for i in range(n):
        own, start, stop = label[i], indptr[i], indptr[i + 1]
        columns = indices[start:stop] if stop <= len(indices) else indices
        entries, size = data[start:stop], len(columns)
        clean = lowest = np.inf
        nearest = n_equal = 0
        for rival in range(n_classes):
            if rival == own:
                continue
            lead, gain = tried[0, :size], tried[1, :size]
            _leads_and_gains(
                columns, entries, coef[own], coef[rival], low, high, lead, gain
            )
            bar, equal = _bar(gain, k, bars[own, rival])
            bars[own, rival] = bar
            attacked = leads[i, rival] - (_sum(gain, bar) + equal * bar)
            clean = min(clean, leads[i, rival])
            if attacked < lowest:
                lowest, nearest, n_equal = attacked, rival, equal
                tried, kept = kept, tried
        drop[i] = clean - lowest
        if len(out):
            lead, gain = kept[0, :size], kept[1, :size]
            bar = bars[own, nearest]
            _apply(entries, lead, gain, bar, n_equal, low, high, out[start:stop])
    return drop
