"""Compiled choice of what to delete, row by row over stored entries.

The adversary's problem for one row is a knapsack: each feature j has a gain g_j (what
its deletion takes from the margin) and a value v_j (what that costs of the budget N).
Features of positive gain are candidates, and zeros gain nothing, so only stored entries
matter. `fill` solves the fractional knapsack by weighted selection in linear time.
Index arrays must be unsigned: Numba tests signed ones for negative values.
"""

from __future__ import annotations

import numpy as np

from noiseproof._rows.compiling import compiled


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
def _round_down(gain, value, ids, count, budget, full):
    """Whole features only: the relaxation's, then what still fits, best bargain first.

    Or the single largest gain, where that is more: at least half of the optimum then.
    Chosen ids come first; returns their number.
    """
    left = budget
    got = 0.0
    for t in range(full):
        left -= value[ids[t]]
        got += gain[ids[t]]
    fitting = full
    for t in range(full, count):
        if value[ids[t]] <= left:
            ids[t], ids[fitting] = ids[fitting], ids[t]
            fitting += 1
    if fitting > full:
        rest = ids[full:fitting].copy()
        # value 0 never comes here: `fill` takes free features whole
        for j in rest[np.argsort(-gain[rest] / value[rest])]:
            if value[j] <= left:
                left -= value[j]
                got += gain[j]
                ids[full] = j
                full += 1
    single = count
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
    full = 0
    left = budget
    candidates = ids[:count].copy()
    for j in candidates[np.argsort(-gain[candidates])]:
        if value[j] <= left:
            left -= value[j]
            ids[full] = j
            full += 1
    return full


@compiled
def _sum(gain, ids, count):
    total = 0.0
    for t in range(count):
        total += gain[ids[t]]
    return total


@compiled
def _attack_rival(
    indices, data, start, size, own, other, values, budget, greedy, gain, value, ids
):
    """What deletion takes from the lead over one rival class.

    Returns that lead, the drop that no deletion exceeds, the drop attained, and the
    number of ids that are deleted for it.
    """
    lead = 0.0
    count = 0
    for t in range(size):
        j = indices[start + t]
        value[t] = values[j]
        gain[t] = (own[j] - other[j]) * data[start + t]
        lead += gain[t]
        if gain[t] > 0:
            ids[count] = t
            count += 1
    if greedy:
        full = _largest_gains(gain, value, ids, count, budget)
        attained = _sum(gain, ids, full)
        return lead, attained, attained, full
    full, part = fill(gain, value, ids, count, budget)
    bound = _sum(gain, ids, full)
    if full < count:
        bound += part * gain[ids[full]]
    full = _round_down(gain, value, ids, count, budget, full)
    return lead, bound, _sum(gain, ids, full), full


@compiled
def delete(
    indptr, indices, data, label, coef, intercept, values, budget, greedy, deleted
):
    """Attack every row; the worst of all rival classes counts.

    Marks in `deleted` the entries that go. Returns the drop of the margin that no
    deletion exceeds, and the drop that the marked deletion attains.
    """
    n, (k, d) = len(label), coef.shape
    bound, attained = np.empty(n), np.empty(n)
    gain, value = np.empty(d), np.empty(d)
    ids, marked = np.empty(d, np.uintp), np.empty(d, np.uintp)
    for i in range(n):
        own, start = label[i], indptr[i]
        size = indptr[i + 1] - start
        clean = lowest_bound = lowest = np.inf
        n_marked = 0
        for rival in range(k):
            if rival == own:
                continue
            lead, at_most, got, full = _attack_rival(
                indices, data, start, size, coef[own], coef[rival], values,
                budget, greedy, gain, value, ids,
            )  # fmt: skip
            lead += intercept[own] - intercept[rival]
            clean = min(clean, lead)
            lowest_bound = min(lowest_bound, lead - at_most)
            if lead - got < lowest:
                lowest = lead - got
                n_marked = full
                marked[:full] = ids[:full]
        for t in range(n_marked):
            deleted[start + marked[t]] = True
        bound[i] = clean - lowest_bound
        attained[i] = clean - lowest
    return bound, attained
