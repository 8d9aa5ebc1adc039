"""Relevance of each column for the target, independent of any model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import Container

Codes = NDArray[np.intp]

_DISTINCT = 30  # numbers; more are a quantity, which is cut into parts
_PARTS = 10  # of equal size
_DIGITS = 9  # the last bits depend on the processor


def relevance(rows: Container, y: Any) -> NDArray[np.float64]:
    """Mutual information of each column and the target, in nats.

    It is estimated from counts. A column of numbers with more than 30 distinct values
    is divided into ten bins with equal numbers of rows, and missing values are a bin of
    their own. Chance alone raises the estimate by (k - 1)(l - 1) / 2n for n rows and k
    and l bins (Miller and Madow), which is subtracted.
    """
    target = np.asarray(y)
    words = target.dtype.kind not in "buif"
    of_y = np.unique(target, return_inverse=True)[1] if words else _cut(target)
    found = [
        _shared(_whole(x) if is_words else _cut(x), of_y)
        for x, is_words in rows.columns()
    ]
    return np.round(found, _DIGITS)


def _whole(x: NDArray[Any]) -> Codes:
    """A code for each distinct value, and one for all missing values."""
    return np.asarray(np.unique(x, return_inverse=True)[1], dtype=np.intp)


def _cut(x: NDArray[Any]) -> Codes:
    """The same, with quantities divided into bins with equal numbers of rows."""
    x = np.asarray(x, dtype=np.float64)
    known = x[x == x]
    if len(np.unique(known)) <= _DISTINCT:
        return _whole(x)
    limits = np.unique(np.quantile(known, np.arange(1, _PARTS) / _PARTS))
    part = np.searchsorted(limits, x, side="right")
    return np.where(x == x, part, len(limits) + 1)


def _shared(a: Codes, b: Codes) -> float:
    """Mutual information of two codes, less the value expected by chance."""
    table = np.zeros((int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1))
    np.add.at(table, (a, b), 1.0)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    n, of_a, of_b = len(a), table.sum(axis=1), table.sum(axis=0)
    chance = np.outer(of_a, of_b) / n
    logs = np.log(np.where(table > 0, table / chance, 1.0))
    extra = (len(of_a) - 1) * (len(of_b) - 1) / (2 * n)
    return float((table * logs).sum() / n - extra)
