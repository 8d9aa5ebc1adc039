"""Compiled search for the cheapest change of a row that changes its class.

The class holds as long as its lead over each rival r, a sum over the features,

    b_own - b_r + Σ_j g_j,   g_j = (w_own - w_r)_j x_j,

is above zero (or at zero, if the own class wins the tie). Changing feature j leaves a_j
of g_j: nothing if it is deleted. An adversary that changes all features with a_j < g_j
brings the lead down to -capacity. What it may spare of that is a knapsack:

    min Σ_{j not spared} v_j   subject to   Σ_{j spared} (g_j - a_j) <= capacity.

Equal values: it spares the smallest differences, by selection (`fill`). Other values:
branch and bound. Sums differ in their last digits with the order of adding, so each
term is taken at the least that rounding can make of it: a certificate errs on the safe
side. A second sum, of terms at their most, tells whether the change found is certain.
Costs are sums of what is changed: a difference of sums would lose their last digits.
Index arrays must be unsigned: Numba tests signed ones for negative values.
"""

from __future__ import annotations

import numpy as np

from noiseproof._rows.compiling import compiled
from noiseproof.attacks.kernels import fill

_EPS = 2.0**-52
_NEGLIGIBLE = 1e-30  # share of all differences; what is less counts as changed
_TINY = 1e-150  # differences whose products with values could underflow


@compiled
def _relaxed(weight, value, order, tail, here, paid, room, whole):
    """The least cost of all from position `here` on, where parts may be spared.

    `tail` has the cost of all from a position on. Whole values add up to a whole
    number, so the bound may be raised to one.
    """
    for t in range(here, len(order)):
        j = order[t]
        if weight[j] > room:
            paid += value[j] * ((weight[j] - room) / weight[j]) + tail[t + 1]
            return np.ceil(paid * (1 - 8 * _EPS) - 1e-9) if whole else paid
        room -= weight[j]
    return paid


@compiled
def _branch_and_bound(weight, value, order, capacity, whole, limit, spared):
    """Spare within the capacity so that the rest costs least, depth first.

    `order` has the most value per weight first; its spared positions are marked.
    Returns the cost and True, or a bound on it and False after `limit` steps.
    """
    count = len(order)
    chosen = np.zeros(count, np.bool_)
    room, paid, tail = np.empty(count + 1), np.empty(count + 1), np.zeros(count + 1)
    for t in range(count - 1, -1, -1):
        tail[t] = tail[t + 1] + value[order[t]]
    room[0], paid[0] = capacity, 0.0
    best, here = np.inf, 0
    for _ in range(limit):
        bound = _relaxed(
            weight, value, order, tail, here, paid[here], room[here], whole
        )
        if bound < best:
            fits = True
            while fits and here < count:
                j = order[here]
                fits = weight[j] <= room[here]
                chosen[here] = fits
                room[here + 1] = room[here] - weight[j] if fits else room[here]
                paid[here + 1] = paid[here] if fits else paid[here] + value[j]
                here += 1
            if here < count:
                continue
            if paid[count] < best:
                best = paid[count]
                for t in range(count):
                    spared[t] = chosen[t]
        here -= 1
        while here >= 0 and not chosen[here]:
            here -= 1
        if here < 0:
            return best, True
        chosen[here] = False  # the other branch
        room[here + 1], paid[here + 1] = room[here], paid[here] + value[order[here]]
        here += 1
    return _relaxed(weight, value, order, tail, 0, 0.0, capacity, whole), False


@compiled
def _sift(order, key, root, stop):
    """Let the key at `root` sink until both its children are larger."""
    while 2 * root + 1 < stop:
        child = 2 * root + 1
        if child + 1 < stop and key[order[child + 1]] < key[order[child]]:
            child += 1
        if key[order[root]] <= key[order[child]]:
            return
        order[root], order[child] = order[child], order[root]
        root = child


@compiled
def _sort(order, key):
    """Heapsort, largest key first: NumPy's sort takes seconds to compile."""
    count = len(order)
    for root in range(count // 2 - 1, -1, -1):
        _sift(order, key, root, count)
    for stop in range(count - 1, 0, -1):
        order[0], order[stop] = order[stop], order[0]
        _sift(order, key, 0, stop)


@compiled
def _cheapest(weight, value, ids, count, capacity, search, at_most):
    """The least total value of features to change.

    Reorders ids[:count]: what is spared comes first. Returns that value, the number
    spared and whether it is the optimum; a lower bound if not. There is no search where
    the relaxation already reaches `at_most`.
    """
    plain, whole, limit = search
    spared, part = fill(value, weight, ids, count, capacity)
    if spared == count:
        return 0.0, spared, True
    cost = 0.0
    for t in range(spared + 1, count):
        cost += value[ids[t]]
    if plain:
        return cost + value[ids[spared]], spared, True
    bound = cost + value[ids[spared]] * max(1 - part - 4 * _EPS, 0.0)
    if bound >= at_most:
        return bound, spared, False
    order, marks = np.empty(count, np.uintp), np.zeros(count, np.bool_)
    bargain = np.empty(len(value))
    for t in range(count):
        j = order[t] = ids[t]
        bargain[j] = value[j] / weight[j]
    _sort(order, bargain)
    cost, done = _branch_and_bound(weight, value, order, capacity, whole, limit, marks)
    spared, last = 0, count
    for t in range(count):
        if marks[t]:
            ids[spared] = order[t]
            spared += 1
        else:
            last -= 1
            ids[last] = order[t]
    return cost, spared, done


@compiled
def _terms(own, rival, size, x, factors, unit):
    """A feature's part of the lead, and what the worst change leaves of it.

    Both at their least, then both at their most; `unit` is the rounding relative to the
    size of what is rounded.
    """
    low, high = factors
    gain, doubt = (own - rival) * x, unit * size
    least = min(low * gain - abs(low) * doubt, high * gain - abs(high) * doubt)
    most = min(low * gain + abs(low) * doubt, high * gain + abs(high) * doubt)
    return gain - doubt, least, gain + doubt, most


@compiled
def _differences(row, values, factors, work):
    """What each change takes from the lead.

    Returns the number of features worth changing, the sum of all terms before any
    change and after all of these, whether that has any term but zeros, and the size of
    what is added up before.
    """
    columns, x, own, rival, own_size, rival_size, unit = row
    weight, value, ids = work
    count, before, after, left, total = 0, 0.0, 0.0, False, 0.0
    for t in range(len(x)):
        j = columns[t]
        size = (abs(own_size[j]) + abs(rival_size[j])) * abs(x[t])
        kept, changed, _, _ = _terms(own[j], rival[j], size, x[t], factors, unit)
        weight[t], value[t] = kept - changed, values[j]
        if kept > changed:
            ids[count] = t
            count += 1
        before += kept
        after += min(kept, changed)
        left = left or min(kept, changed) != 0.0
        total += size
    return count, before, after, left, total


@compiled
def _without_negligible(weight, ids, count):
    """Features that take next to nothing from the lead come last and are not counted.

    Returns the number of the others, and what all take together.
    """
    total = 0.0
    for t in range(count):
        total += weight[ids[t]]
    t = 0
    while t < count:
        if weight[ids[t]] < _NEGLIGIBLE * total:
            count -= 1
            ids[t], ids[count] = ids[count], ids[t]
        else:
            t += 1
    return count, total


@compiled
def _overtake(row, lead, holds, values, factors, search, at_most, work):
    """The cheapest change of a row that lets one rival win.

    Returns its total value, whether that is the optimum (a lower bound if not), and how
    many of the `count` ids are spared.
    """
    head, doubt, rounding, huge = lead
    weight, value, ids = work
    count, before, after, left, size = _differences(row, values, factors, work)
    if size == 0.0:  # nothing is added, nothing is rounded
        rounding = 0.0
    alone = head - doubt - rounding + before
    if not (size < huge and (alone > 0 or (holds and alone == 0))):
        return 0.0, False, 0, 0  # the class hangs on rounding
    slack = doubt - head - after
    if holds:
        slack = np.nextafter(slack, -np.inf)
    if slack + rounding < 0:
        return np.inf, True, 0, 0
    if not search[0]:
        count, total = _without_negligible(weight, ids, count)
        if total < _TINY:
            return 0.0, False, 0, 0
    cost, spared, done = _cheapest(
        weight, value, ids, count, slack + rounding, search, at_most
    )
    if done and spared == 0 and not left and slack < 0:
        return np.inf, True, 0, 0
    if spared == count:
        return 0.0, False, 0, 0
    return cost, done, spared, count


@compiled
def _is_certain(row, lead, falls, factors, marks):
    """Whether the rival wins after the marked changes, all terms at their most."""
    columns, x, own, rival, own_size, rival_size, unit = row
    head, doubt, rounding, _ = lead
    most, left = head + doubt, False
    for t in range(len(x)):
        j = columns[t]
        size = (abs(own_size[j]) + abs(rival_size[j])) * abs(x[t])
        _, _, kept, changed = _terms(own[j], rival[j], size, x[t], factors, unit)
        term = changed if marks[t] else kept
        most += term
        left = left or term != 0.0
    if left:
        most += rounding
    return most < 0 or (falls and most == 0)


@compiled
def cheapest_changes(
    indptr, indices, data, own, model, values, factors, precision, search, changed
):
    """The least total value of features whose change takes the class from each row.

    `own` is the index of the class of each row. `model` has weights (k, d), the sizes
    of the numbers behind them (k, d), intercepts (n, k), how far these may be wrong
    (n, k), and who wins a tie: the lowest rank (k,). A changed feature is multiplied by
    one of the two `factors`. `precision` has the relative rounding of one number, the
    least number of terms in a score and how many come on top, the relative rounding of
    a feature before that, the least and the largest number to calculate with. `search`
    says whether all values are 0 or 1, whether they are whole numbers, and how many
    branches to search where they are not 0 or 1. The entries whose change does it are
    marked in `changed`. Returns that value, or a lower bound of it, and whether it is
    exact, for each row.
    """
    coef, sizes, intercepts, doubts, rank = model
    eps, terms, more, unit, tiny, huge = precision
    n, (k, d) = len(own), coef.shape
    budget, exact = np.empty(n), np.empty(n, np.bool_)
    work = (np.empty(d), np.empty(d), np.empty(d, np.uintp))
    for i in range(n):
        a, start, stop = own[i], indptr[i], indptr[i + 1]
        budget[i], exact[i] = np.inf, True
        marks = changed[start:stop]
        n_terms = max(stop - start, terms) + more + 4
        relative, underflow = 2 * eps * n_terms + unit, tiny * n_terms
        for r in range(k):
            if r == a:
                continue
            row = (
                *(indices[start:stop], data[start:stop], coef[a], coef[r]),
                *(sizes[a], sizes[r], relative),
            )
            b, c = intercepts[i, a], intercepts[i, r]
            rounding = 4 * eps * (abs(b) + abs(c)) + underflow
            lead = (b - c, doubts[i, a] + doubts[i, r], rounding, huge)
            cost, done, spared, count = _overtake(
                row, lead, rank[a] < rank[r], values, factors, search, budget[i], work
            )
            if cost > budget[i] or (cost == budget[i] and exact[i]):
                continue
            for t in range(len(marks)):
                marks[t] = False
            for t in range(spared, count):
                marks[work[2][t]] = True
            budget[i] = cost
            falls = rank[a] > rank[r]
            exact[i] = done and _is_certain(row, lead, falls, factors, marks)
        if not (search[0] or search[1]):  # sums of other values are rounded, too
            budget[i] *= 1 - 4 * (stop - start + 1) * _EPS
    return budget, exact


@compiled
def extreme_changes(indptr, indices, changes, values, budget, search):
    """How far a sum can fall and rise if terms are changed that cost up to the budget.

    `changes` are those of the single terms. What a change costs is the weight of a
    knapsack, which holds the budget: what is "spared" of `_cheapest` is changed here.
    Returns the lowest and the highest sum of changes of each row, or bounds on them.
    """
    n, d = len(indptr) - 1, len(values)
    extremes = np.zeros((2, n))
    gain, cost, ids = np.empty(d), np.empty(d), np.empty(d, np.uintp)
    for i in range(n):
        start, stop = indptr[i], indptr[i + 1]
        for side in range(2):
            sign, count, total = 2.0 * side - 1.0, 0, 0.0
            for t in range(start, stop):
                at = t - start
                gain[at], cost[at] = sign * changes[t], values[indices[t]]
                if gain[at] > 0:
                    ids[count] = at
                    count += 1
                    total += gain[at]
            left, taken, done = _cheapest(
                cost, gain, ids, count, budget, search, np.inf
            )
            most = 0.0
            for t in range(taken):
                most += gain[ids[t]]
            if not done:  # a bound; at least what whole changes reach
                most = max(most, (total - left) * (1 + 4 * (count + 1) * _EPS))
            extremes[side, i] = sign * most + 0.0  # not -0
    return extremes[0], extremes[1]
