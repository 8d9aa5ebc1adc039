"""A compiled sweep of dual coordinate descent for the hinge loss without noise."""

from __future__ import annotations

import numba
import numpy as np

from noiseproof._rows.compiling import compiled_in_any_order


@compiled_in_any_order
def sweep(
    indptr, indices, data, dense, y, upper, margin, squares, pull,
    order, n_active, limits, alpha, w, b,
):  # fmt: skip
    """Minimise over one α after the other; returns how many stay in work, and b.

    Those that sit at a bound, and would by more than any α of the last sweep was off
    (`limits`), go to the end of `order` and are not looked at (Hsieh et al. 2008).
    """
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
            if slope > limits[0] or slope < limits[1]:
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
    limits[0] = high if high > 0.0 else np.inf
    limits[1] = low if low < 0.0 else -np.inf
    return n_active, b
