"""Rounding that makes results independent of the last bits of a number.

The last bits of sums depend on the processor and on how many rows are computed at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_BITS = 40  # bits that are kept of a number as large as its column's scale
_EQUAL = 1e-9  # relative difference up to which losses count as equal


def exponent(numbers: Array) -> Array:
    """Exponents e with |x| < 2^e, with a small margin above powers of two."""
    return np.asarray(np.frexp(np.multiply(numbers, 1 + 1e-6))[1])


def steps_of(scales: Array) -> Array:
    """Powers of two, about 2^-40 times the scales."""
    return np.asarray(2.0 ** (exponent(scales) - _BITS))


def rounded(numbers: Array, scales: Array) -> Array:
    """Round numbers to multiples of a power of two, about 2^-40 times their scale.

    This happens in place. Halves, which are common thresholds of trees, are such
    multiples.
    """
    steps = steps_of(scales)
    numbers /= steps
    np.rint(numbers, out=numbers)
    numbers *= steps
    return numbers


def first_best(losses: Array) -> Array:
    """Index of the first loss that is the minimum, up to rounding errors."""
    least = np.min(losses, axis=-1, keepdims=True)
    return np.asarray((losses <= least + _EQUAL * np.abs(least)).argmax(axis=-1))
