"""Roundings after which the last bits of a number decide nothing.

The last bits of sums depend on the processor and on how many rows are computed at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_BITS = 40  # kept of a number as large as its column's scale
_EQUAL = 1e-9  # relative difference


def exponent(numbers: Array) -> Array:
    """Exponents e with |x| < 2^e, with some room above powers of two."""
    return np.asarray(np.frexp(np.multiply(numbers, 1 + 1e-6))[1])


def steps_of(scales: Array) -> Array:
    """Powers of two, some 2^-40 of the scales."""
    return np.asarray(2.0 ** (exponent(scales) - _BITS))


def rounded(numbers: Array, scales: Array) -> Array:
    """Numbers as multiples of a power of two, some 2^-40 of their scale; in place.

    Halves, which trees like for their thresholds, are such multiples.
    """
    steps = steps_of(scales)
    numbers /= steps
    np.rint(numbers, out=numbers)
    numbers *= steps
    return numbers


def first_best(losses: Array) -> Array:
    """Places of the first losses that are least, or equal to that but for rounding."""
    least = np.min(losses, axis=-1, keepdims=True)
    return np.asarray((losses <= least + _EQUAL * np.abs(least)).argmax(axis=-1))
