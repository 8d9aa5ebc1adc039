"""Equal rows counted once, so that a weight means exactly as many copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]


def merge_equal_rows(
    X: Any, labels: NDArray[np.intp], weights: Array
) -> tuple[NDArray[np.intp], Array]:
    """Distinct rows, in an order that depends on content only.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows without missing entries.
    labels : array of int of shape (n,)
        Rows are equal if their labels are, too.
    weights : array of shape (n,)
        Weights, which add up where rows are equal.

    Returns
    -------
    rows : array of int of shape (m,)
        The first of each group of equal rows.
    weights : array of shape (m,)
        The weight of each group.
    """
    keys = _keys(X)
    order = np.lexsort((labels, keys))
    same = (np.diff(keys[order]) == 0) & (np.diff(labels[order]) == 0)
    # a key is almost a proof, and equal ones are few
    for t in np.flatnonzero(same):
        same[t] = _equal(X, order[t], order[t + 1])
    group = np.concatenate([[0], np.cumsum(~same)])
    total: Array = np.bincount(group, weights[order])  # type: ignore[assignment]
    return order[np.r_[True, ~same]], total


def _keys(X: Any) -> Array:
    """A number for each row that depends on nothing but its content."""
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    if sp.issparse(X):
        return np.asarray(X @ direction)
    return np.asarray((X * direction).sum(axis=1))


def _equal(X: Any, i: int, j: int) -> bool:
    if not sp.issparse(X):
        return bool(np.array_equal(X[i], X[j]))
    one, other = (slice(X.indptr[t], X.indptr[t + 1]) for t in (i, j))
    return bool(
        np.array_equal(X.indices[one], X.indices[other])
        and np.array_equal(X.data[one], X.data[other])
    )
