"""Compiled choice of what to delete or to scale, row by row over stored entries.

The *lead* of a row over a rival class is the score of its own class minus that of the
rival, a sum over entries. Both attacks change it entry by entry. Zeros contribute
nothing, so only stored entries matter. Index arrays must be unsigned, since Numba tests
signed ones for negative values.

Deletion is a knapsack problem: each feature j has a gain g_j (how much its deletion
lowers the lead) and a value v_j (what it costs of the budget N). Features with a
positive gain are candidates. `fill` solves the fractional knapsack problem by weighted
selection in linear time.

Scaling takes the k largest gains. They are represented by the threshold that they
exceed (the *bar*), so that loops over entries have no branches and can use vector
instructions.

With several rivals, the one whose lead is lowest after the attack counts. The drop of
the margin is the decrease of the lead over that rival, minus how far that lead was
above the lowest lead before. It is never computed as a difference of sums, so a small
drop of a large lead is accurate.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from noiseproof._rows.compiling import compiled

# without NaN and -0, and with sums in any order, loops use vector instructions
_compiled_fast = partial(compiled, fastmath={"nnan", "nsz", "reassoc"})

_TOP = np.finfo(np.float64).max
_NEAR = 0.1  # neighbouring rows differ about so much
_GUESSES = 10  # after so many, halving is the safer way


@compiled
def _before(g, v, h, u):
    """Whether gain g at value v is a better bargain than h at u; value 0 is free."""
    return g * u > h * v


@compiled
def _pivot(gain, value, ids, lo, hi):
    """The middle one of the first, the last and the central bargain."""
    a, b, c = ids[lo], ids[(lo + hi) // 2], ids[hi - 1]
    if _before(gain[a], value[a], gain[b], value[b]):
        a, b = b, a
    if _before(gain[b], value[b], gain[c], value[c]):
        return a if _before(gain[a], value[a], gain[c], value[c]) else c
    return b


@compiled
def _partition(gain, value, ids, lo, hi):
    """Better bargains than a pivot first, worse ones last, equal ones between.

    Returns where the equal ones start and stop, and the values of better and equal.
    """
    pivot = _pivot(gain, value, ids, lo, hi)
    g, v = gain[pivot], value[pivot]
    start, stop, here = lo, hi, lo
    better = same = 0.0
    while here < stop:
        j = ids[here]
        if _before(gain[j], value[j], g, v):
            better += value[j]
            ids[here], ids[start] = ids[start], j
            start += 1
            here += 1
        elif _before(g, v, gain[j], value[j]):
            stop -= 1
            ids[here], ids[stop] = ids[stop], j
        else:
            same += value[j]
            here += 1
    return start, stop, better, same


@compiled
def fill(gain, value, ids, count, budget):
    """Fractional knapsack: reorder ids[:count] so that the best bargains come first.

    Returns (full, part): ids[:full] are deleted whole, then ids[full] to the fraction
    `part`. Quickselect on gain / value, never a sort.
    """
    lo, hi, left = 0, count, budget
    while lo < hi:
        start, stop, better, same = _partition(gain, value, ids, lo, hi)
        if better > left:
            hi = start
            continue
        left -= better
        if same > left:
            while start < stop and value[ids[start]] <= left:
                left -= value[ids[start]]
                start += 1
            if start < stop:  # else all fits after all, by a rounding of the sums
                return start, left / value[ids[start]]
        else:
            left -= same
        lo = stop
    return lo, 0.0


@compiled
def _total(gain, ids, count):
    total = 0.0
    for t in range(count):
        total += gain[ids[t]]
    return total


@compiled
def _fit(wanted, value, left, ids, full):
    """Append to ids[:full] what is wanted, in its order, and fits; the new number."""
    for j in wanted:
        if value[j] <= left:
            left -= value[j]
            ids[full] = j
            full += 1
    return full


@compiled
def _round_down(gain, value, ids, count, budget, full):
    """Whole features only: the relaxation's, then what still fits, best bargain first.

    Or the single largest gain, where that is more: at least half of the optimum then.
    Chosen ids come first; returns their number.
    """
    left = budget
    for t in range(full):
        left -= value[ids[t]]
    fitting = full
    for t in range(full, count):
        if value[ids[t]] <= left:
            ids[t], ids[fitting] = ids[fitting], ids[t]
            fitting += 1
    if fitting > full:
        rest = ids[full:fitting].copy()
        # value 0 never comes here: `fill` takes free features whole
        full = _fit(rest[np.argsort(-gain[rest] / value[rest])], value, left, ids, full)
    single, got = count, _total(gain, ids, full)
    for t in range(full, count):
        if value[ids[t]] <= budget and gain[ids[t]] > got:
            got, single = gain[ids[t]], t
    if single < count:
        ids[0] = ids[single]
        return 1
    return full


@compiled
def _largest_gains(gain, value, ids, count, budget):
    """Dekel and Shamir's greedy adversary: largest gain first, whatever still fits."""
    candidates = ids[:count].copy()
    return _fit(candidates[np.argsort(-gain[candidates])], value, budget, ids, 0)


@compiled
def _delete_against(columns, entries, pair, values, budget, greedy, gain, value, ids):
    """What deletion takes from the lead over one rival class.

    Returns the drop that no deletion exceeds, the drop attained, and the number of ids
    that are deleted for it.
    """
    own, other = pair
    count = 0
    for t in range(len(columns)):
        j = columns[t]
        value[t] = values[j]
        gain[t] = (own[j] - other[j]) * entries[t]
        if gain[t] > 0:
            ids[count] = t
            count += 1
    if greedy:
        full = _largest_gains(gain, value, ids, count, budget)
        attained = _total(gain, ids, full)
        return attained, attained, full
    full, part = fill(gain, value, ids, count, budget)
    bound = _total(gain, ids, full)
    if full < count:
        bound += part * gain[ids[full]]
    full = _round_down(gain, value, ids, count, budget, full)
    attained = _total(gain, ids, full)
    # values that differ much may fit by rounding where the relaxation saw no room
    return max(bound, attained), attained, full


@compiled
def delete(indptr, indices, data, label, coef, leads, values, budget, greedy, deleted):
    """Delete features of every row; the worst of all rival classes counts.

    Marks in `deleted` the entries that go. Returns the drop of the margin that no
    deletion exceeds, and the drop that the marked deletion attains.
    """
    n, (k, d) = len(label), coef.shape
    bound, attained = np.full(n, -1.0), np.full(n, -1.0)
    gain, value = np.empty(d), np.empty(d)
    ids, marked = np.empty(d, np.uintp), np.empty(d, np.uintp)
    for i in range(n):
        own, start, stop = label[i], indptr[i], indptr[i + 1]
        columns, entries = indices[start:stop], data[start:stop]
        nearest = leads[i].min()
        n_marked = 0
        for rival in range(k):
            if rival == own:
                continue
            at_most, got, full = _delete_against(
                columns, entries, (coef[own], coef[rival]), values, budget, greedy,
                gain, value, ids,
            )  # fmt: skip
            behind = leads[i, rival] - nearest
            bound[i] = max(bound[i], at_most - behind)
            if got - behind > attained[i]:
                attained[i] = got - behind
                n_marked = full
                for t in range(full):  # a slice takes 3 s more to compile
                    marked[t] = ids[t]
        for t in range(n_marked):
            deleted[start + marked[t]] = True
    return bound, attained


@compiled
def _count(gain, bar):
    count = 0
    for t in range(len(gain)):
        count += gain[t] > bar
    return count


@_compiled_fast
def _largest(gain):
    largest = 0.0
    for t in range(len(gain)):
        largest = max(largest, gain[t])
    return largest


@_compiled_fast
def _total_above(gain, bar):
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
        nearest, most = leads[i].min(), -1.0
        worst = n_equal = 0
        for rival in range(n_classes):
            if rival == own:
                continue
            lead, gain = tried[0, :size], tried[1, :size]
            _leads_and_gains(
                columns, entries, coef[own], coef[rival], low, high, lead, gain
            )
            bar, equal = _bar(gain, k, bars[own, rival])
            bars[own, rival] = bar
            behind = leads[i, rival] - nearest
            got = _total_above(gain, bar) + equal * bar - behind
            if got > most:
                most, worst, n_equal = got, rival, equal
                tried, kept = kept, tried
        drop[i] = most
        if len(out):
            lead, gain = kept[0, :size], kept[1, :size]
            bar = bars[own, worst]
            _apply(entries, lead, gain, bar, n_equal, low, high, out[start:stop])
    return drop
