"""Compiled search for the best path through a chain."""

from __future__ import annotations

import numpy as np

from noiseproof._rows.compiling import compiled


@compiled
def viterbi(kept, blank, transition, budget):
    """The best labels of a chain of which up to `budget` tokens may be blanked out.

    `kept` and `blank` (T, L) score label l of token t with and without its features,
    `transition` (L, L) scores label l after label m at [m, l]. The best path to label
    l of token t with b blanks so far comes from a label m with b or b - 1 of them.
    Returns the labels, and which tokens are blank.
    """
    T, L = kept.shape
    B = min(budget, T) + 1
    best = np.full((L, B), -np.inf)
    back = np.zeros((T, L, B), np.int32)  # label before
    gone = np.zeros((T, L, B), np.bool_)
    for l in range(L):
        best[l, 0] = kept[0, l]
        if B > 1:
            best[l, 1] = blank[0, l]
            gone[0, l, 1] = True
    for t in range(1, T):
        reach = np.full((L, B), -np.inf)  # best way into label l, before token t scores
        for l in range(L):
            for b in range(B):
                for m in range(L):
                    score = best[m, b] + transition[m, l]
                    if score > reach[l, b]:
                        reach[l, b] = score
                        back[t, l, b] = m
        ways = back[t].copy()
        for l in range(L):
            for b in range(B):
                best[l, b] = reach[l, b] + kept[t, l]
                if b > 0 and reach[l, b - 1] + blank[t, l] > best[l, b]:
                    best[l, b] = reach[l, b - 1] + blank[t, l]
                    back[t, l, b] = ways[l, b - 1]
                    gone[t, l, b] = True
    return _trace(best, back, gone)


@compiled
def _trace(best, back, gone):
    """Follow the best path back to its start."""
    T, L, B = back.shape
    labels, blanks = np.empty(T, np.int64), np.zeros(T, np.bool_)
    l, b = 0, 0
    for m in range(L):
        for c in range(B):
            if best[m, c] > best[l, b]:
                l, b = m, c
    for t in range(T - 1, -1, -1):
        labels[t], blanks[t] = l, gone[t, l, b]
        l = back[t, l, b]
        if blanks[t]:
            b -= 1
    return labels, blanks
