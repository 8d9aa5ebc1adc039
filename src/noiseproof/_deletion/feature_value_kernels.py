"""Compiled search for the most telling threshold of each feature."""

from __future__ import annotations

import numpy as np

from noiseproof._rows.compiling import compiled


@compiled
def _information(left, totals, total):
    """Mutual information, in nats, of a split whose left part holds `left`."""
    below = left.sum()
    above = total - below
    if below <= 0 or above <= 0:
        return 0.0
    gained = 0.0
    for c in range(len(totals)):
        here, there = left[c], totals[c] - left[c]
        if here > 0:
            gained += here * np.log(here * total / (below * totals[c]))
        if there > 0:
            gained += there * np.log(there * total / (above * totals[c]))
    return max(0.0, gained / total)


@compiled
def best_thresholds(data, indices, indptr, label, weights, totals, out):
    """Largest information of a threshold, column by column of a CSC matrix.

    Entries that are not stored, or NaN, are a block of zeros in the sorted order.
    """
    total = totals.sum()
    left = np.empty(len(totals))
    zeros = np.empty(len(totals))
    for j in range(len(out)):
        start, stop = indptr[j], indptr[j + 1]
        x = data[start:stop].copy()
        zeros[:] = totals
        for t in range(len(x)):
            if np.isnan(x[t]):
                x[t] = 0.0
            i = indices[start + t]
            zeros[label[i]] -= weights[i]
        order = np.argsort(x)
        left[:] = 0.0
        best = 0.0
        passed = False
        for k in range(len(order)):
            value = x[order[k]]
            if not passed and value >= 0:
                best = max(best, _information(left, totals, total))
                left += zeros
                passed = True
                if value > 0:
                    best = max(best, _information(left, totals, total))
            i = indices[start + order[k]]
            left[label[i]] += weights[i]
            if k + 1 == len(order) or x[order[k + 1]] != value:
                best = max(best, _information(left, totals, total))
        out[j] = best
