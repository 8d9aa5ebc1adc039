"""Orders and random numbers that depend on the values of rows, not on positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def order_by_values(columns: Iterable[Array]) -> NDArray[np.intp]:
    """Put rows in a random order that depends on their values only.

    Each row has a key, a hash of its values, and each column has a key, a hash of its
    values and of the keys of the rows. Hashes use the ranks of values. So the result
    depends neither on units nor on the order of the rows and columns. The key of a
    repeated row also depends on how many equal rows come before it, so that the first
    rows in this order are a random sample.
    """
    ranks = [np.unique(x, return_inverse=True)[1].astype(np.uint32) for x in columns]
    keys = [np.sum(hashed(x)) for x in ranks]
    for _ in range(2):
        rows = np.zeros(len(ranks[0]), dtype=np.uint64)
        for x, key in zip(ranks, keys, strict=True):
            rows += hashed(x + key)
        keys = [np.sum(hashed(x + rows)) for x in ranks]
    order = np.argsort(rows, kind="stable")
    met = np.arange(len(rows)) - np.searchsorted(rows, rows, sorter=order)[order]
    rows[order] += hashed(met.astype(np.uint64))  # zero for the first
    return np.argsort(rows, kind="stable")


def hashed(numbers: Array) -> NDArray[np.uint64]:
    """Hashes of integers (SplitMix64)."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
