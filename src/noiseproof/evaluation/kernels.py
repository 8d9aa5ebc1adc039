"""Compiled search for the cheapest change of a row that changes its class.

The class holds as long as its lead over each rival r, a sum over the features,

    b_own - b_r + Σ_j g_j,   g_j = (w_own - w_r)_j x_j,

is above zero (or at zero, if the own class comes first and wins the tie). Changing
feature j leaves a_j of g_j: nothing if it is deleted. An adversary who changes all
features with a_j < g_j brings the lead down to -capacity. What he may spare of that is
a knapsack:

    max Σ_{j spared} v_j   subject to   Σ_{j spared} (g_j - a_j) <= capacity.

Equal values: he spares the smallest differences, by selection (`fill`). Other values:
branch and bound. Sums differ in their last digits with the order of adding, so each
term is taken at the least that rounding can make of it: a certificate errs on the safe
side. A second sum, of terms at their most, tells whether the change found is certain.
Index arrays must be unsigned: Numba tests signed ones for negative values.
"""

from __future__ import annotations

import numpy as np

from noiseproof._rows.compiling import compiled
from noiseproof.attacks.kernels import fill


@compiled
def _relaxed(weight, value, order, here, got, room, whole):
    """The most value that can be had from position `here` on, with parts of features.

    Whole values add up to a whole number, so the bound may be cut to one.
    """
    for t in range(here, len(order)):
        j = order[t]
        if weight[j] > room:
            got += value[j] * room / weight[j]
            break
        room -= weight[j]
        got += value[j]
    return np.floor(got + 1e-9) if whole else got


@compiled
def _branch_and_bound(weight, value, order, capacity, whole, limit, spared):
    """Spare the most value within the capacity, depth first.

    `order` has the most value per weight first; its spared positions are marked.
    Returns the value spared and True, or a bound on it and False after `limit` steps.
    """
    count = len(order)
    chosen = np.zeros(count, np.bool_)
    room, got = np.empty(count + 1), np.empty(count + 1)
    room[0], got[0] = capacity, 0.0
    best, here = -1.0, 0
    for _ in range(limit):
        bound = _relaxed(weight, value, order, here, got[here], room[here], whole)
        if bound > best:
            fits = True
            while fits and here < count:
                j = order[here]
                fits = weight[j] <= room[here]
                chosen[here] = fits
                room[here + 1] = room[here] - weight[j] if fits else room[here]
                got[here + 1] = got[here] + value[j] if fits else got[here]
                here += 1
            if here < count:
                continue
            if got[count] > best:
                best = got[count]
                for t in range(count):
                    spared[t] = chosen[t]
        here -= 1
        while here >= 0 and not chosen[here]:
            here -= 1
        if here < 0:
            return best, True
        chosen[here] = False  # the other branch
        room[here + 1], got[here + 1] = room[here], got[here]
        here += 1
    return _relaxed(weight, value, order, 0, 0.0, capacity, whole), False


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
    cost = 0.0
    for t in range(spared, count):
        cost += value[ids[t]]
    if plain or spared == count:
        return cost, spared, True
    bound = cost - part * value[ids[spared]]
    if bound >= at_most:
        return bound, spared, False
    order, marks = np.empty(count, np.uintp), np.zeros(count, np.bool_)
    bargain, total = np.empty(len(value)), 0.0
    for t in range(count):
        j = order[t] = ids[t]
        bargain[j] = value[j] / weight[j]
        total += value[j]
    _sort(order, bargain)
    most, done = _branch_and_bound(weight, value, order, capacity, whole, limit, marks)
    spared, last = 0, count
    for t in range(count):
        if marks[t]:
            ids[spared] = order[t]
            spared += 1
        else:
            last -= 1
            ids[last] = order[t]
    return max(total - most, 0.0), spared, done


@compiled
def _terms(own, rival, x, factors, unit):
    """A feature's part of the lead, and what the worst change leaves of it.

    Both at their least, then both at their most; `unit` is the relative rounding.
    """
    low, high = factors
    gain = (own - rival) * x
    doubt = unit * (abs(own) + abs(rival)) * abs(x)
    least = min(low * gain - abs(low) * doubt, high * gain - abs(high) * doubt)
    most = min(low * gain + abs(low) * doubt, high * gain + abs(high) * doubt)
    return gain - doubt, least, gain + doubt, most


@compiled
def _differences(columns, x, own, rival, values, factors, unit, work):
    """What each change takes from the lead.

    Returns the number of features worth changing, the sum that is left of the lead when
    they all are, and whether it has any term but zeros.
    """
    weight, value, ids = work
    count, rest, left = 0, 0.0, False
    for t in range(len(x)):
        j = columns[t]
        kept, changed, _, _ = _terms(own[j], rival[j], x[t], factors, unit)
        weight[t], value[t] = kept - changed, values[j]
        if kept > changed:
            ids[count] = t
            count += 1
        rest += min(kept, changed)
        left = left or min(kept, changed) != 0.0
    return count, rest, left


@compiled
def _overtake(row, lead, ties_hold, values, factors, search, at_most, work):
    """The cheapest change of a row that lets one rival win.

    Returns its total value, whether that is the optimum (a lower bound if not), and how
    many of the `count` ids are spared.
    """
    columns, x, own, rival, unit = row
    head, doubt, rounding = lead
    weight, value, ids = work
    count, rest, left = _differences(
        columns, x, own, rival, values, factors, unit, work
    )
    slack = doubt - head - rest
    if ties_hold:
        slack = np.nextafter(slack, -np.inf)
    if slack + rounding < 0:
        return np.inf, True, 0, 0
    cost, spared, done = _cheapest(
        weight, value, ids, count, slack + rounding, search, at_most
    )
    if spared == 0 and not left and slack < 0:  # nothing is added, nothing is rounded
        return np.inf, True, 0, 0
    if spared == count:  # the class hangs on rounding: any change may do
        cheapest = np.inf
        for t in range(len(x)):
            cheapest = min(cheapest, value[t])
        return cheapest, False, count, count
    return cost, done, spared, count


@compiled
def _is_certain(row, lead, ties_hold, factors, marks):
    """Whether the rival wins after the marked changes, all terms at their most."""
    columns, x, own, rival, unit = row
    most, doubt, rounding = lead
    most += doubt
    left = False
    for t in range(len(x)):
        j = columns[t]
        _, _, kept, changed = _terms(own[j], rival[j], x[t], factors, unit)
        term = changed if marks[t] else kept
        most += term
        left = left or term != 0.0
    if left:
        most += rounding
    return most < 0 if ties_hold else most <= 0


@compiled
def cheapest_changes(
    indptr, indices, data, own, model, values, factors, precision, search, changed
):
    """The least total value of features whose change takes the class from each row.

    Parameters
    ----------
    indptr, indices, data, own : arrays
        Rows as CSR, and the index of the class of each.
    model : (coef, intercepts, doubts)
        Weights (k, d), intercepts (n, k) and how far these may be wrong (k,).
    values : array of shape (d,)
        What changing a feature costs.
    factors : (low, high)
        What a changed feature is multiplied by, one of the two.
    precision : (eps, terms)
        Relative rounding of one number, and the least number of terms in a score.
    search : (plain, whole, limit)
        Whether all values are 0 or 1, whether they are whole numbers, and how many
        branches to search where they are not 0 or 1.
    changed : array of bool
        Marks the entries whose change does it.

    Returns
    -------
    budget, exact : arrays of shape (n,)
        That value, or a lower bound of it where it is not exact.
    """
    n, (coef, intercepts, doubts), (eps, terms) = len(own), model, precision
    k, d = coef.shape
    budget, exact = np.empty(n), np.empty(n, np.bool_)
    work = (np.empty(d), np.empty(d), np.empty(d, np.uintp))
    for i in range(n):
        a, start, stop = own[i], indptr[i], indptr[i + 1]
        budget[i], exact[i] = np.inf, True
        marks = changed[start:stop]
        unit = eps * (max(stop - start, terms) + 8)
        for r in range(k):
            if r == a:
                continue
            row = (indices[start:stop], data[start:stop], coef[a], coef[r], unit)
            rounding = 4 * eps * (abs(intercepts[i, a]) + abs(intercepts[i, r]))
            head = intercepts[i, a] - intercepts[i, r]
            lead = (head, doubts[a] + doubts[r], rounding)
            cost, done, spared, count = _overtake(
                row, lead, a < r, values, factors, search, budget[i], work
            )
            if cost > budget[i] or (cost == budget[i] and exact[i]):
                continue
            for t in range(len(marks)):
                marks[t] = False
            for t in range(spared, count):
                marks[work[2][t]] = True
            budget[i] = cost
            exact[i] = done and _is_certain(row, lead, a < r, factors, marks)
    return budget, exact
