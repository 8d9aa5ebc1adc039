"""A compiled sweep of dual coordinate descent for the hinge loss without noise."""

from __future__ import annotations

import numba
import numpy as np

from noiseproof._rows.compiling import standalone


@standalone
def sweep(
    indptr, indices, data, dense, y, upper, squares, constants, order, alpha, w, state
):
    """Minimise over one α after the other.

    `constants` are margin and pull; `state` has b, how many α are in work, and the most
    that any of the last sweep was off, above and below. Those that sit at a bound, and
    would by more than that, go to the end of `order` and are not looked at (Hsieh et
    al. 2008).
    """
    margin, pull = constants[0], constants[1]
    b, n_active, high_before, low_before = state[0], int(state[1]), state[2], state[3]
    high, low = -np.inf, np.inf
    s = 0
    while s < n_active:
        i = order[s]
        start, stop = indptr[i], indptr[i + 1]
        shift = start if dense else start - start
        score = b
        for t in range(start, stop):
            score += numba.float64(data[t]) * w[indices[t - shift]]
        slope = y[i] * score - margin
        at_bound = False
        if (alpha[i] <= 0.0 and slope >= 0.0) or (alpha[i] >= upper[i] and slope <= 0):
            at_bound = True
            if slope > high_before or slope < low_before:
                n_active -= 1
                order[s], order[n_active] = order[n_active], i
                continue
        off = 0.0 if at_bound else slope
        high, low = max(high, off), min(low, off)
        if not at_bound:
            new = min(max(alpha[i] - slope / squares[i], 0.0), upper[i])
            change = (new - alpha[i]) * y[i]
            alpha[i] = new
            b += change * pull
            for t in range(start, stop):
                w[indices[t - shift]] += change * numba.float64(data[t])
        s += 1
    state[0], state[1] = b, n_active
    state[2] = high if high > 0.0 else np.inf
    state[3] = low if low < 0.0 else -np.inf
