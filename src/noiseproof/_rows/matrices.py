"""Functions on data matrices that work alike for dense and CSR.

A matrix is a NumPy array or a SciPy CSR matrix of float32 or float64, as `readable`
returns it. NaN, stored or not, means that an entry is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._rows import foreign
from noiseproof._rows.arrays import DeviceArray, is_foreign

Mask = NDArray[np.bool_]

_BLOCK_ROWS = 4096  # rows of a dense matrix that are converted to CSR at a time


def readable(X: Any) -> Any:
    """Convert X to a float array or a canonical CSR matrix, for compiled loops."""
    if sp.issparse(X):
        X = canonical(X)
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions; got {X.ndim}.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def canonical(X: Any) -> Any:
    """Return X as it is if dense, else as CSR with valid indices and no duplicates."""
    if not sp.issparse(X):
        return X
    check_indices(X)
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_indices(X: Any) -> None:
    """Raise an error if the indices of a sparse matrix are out of bounds."""
    if not sp.issparse(X) or X.format not in ("csr", "csc", "coo"):
        return  # Python code converts the other formats, and checks their indices
    if X.format == "coo":
        parts = dict(zip(("row", "column"), X.coords, strict=True))
        whole = all(len(part) == len(X.data) for part in parts.values())
    else:
        parts = {"column" if X.format == "csr" else "row": X.indices}
        ends, lines = X.indptr, X.shape[X.format == "csc"]
        whole = (
            len(ends) == lines + 1 and ends[0] == 0 and len(X.indices) == X.data.size
        )
        whole = whole and ends[-1] <= X.data.size and not np.any(np.diff(ends) < 0)
    for axis, part in parts.items():
        size = X.shape[axis == "column"]
        # as an unsigned number, a negative index is huge
        if part.view(f"u{part.itemsize}").max(initial=0) >= max(size, 1):
            raise ValueError(
                f"X is not a valid {X.format.upper()} matrix: it has a {axis} index "
                f"outside 0 to {size - 1}; build it again from rows and columns."
            )
    if not whole:
        raise ValueError(
            f"X is not a valid {X.format.upper()} matrix: its index arrays do not fit "
            "each other; build it again from rows and columns."
        )


def unsigned(X: Any) -> tuple[Any, Any, Any]:
    """Return the three arrays of a CSR matrix, with unsigned indices.

    Numba tests signed indices for negative values, which doubles the cost of a gather.
    """
    indptr = X.indptr.view(f"u{X.indptr.itemsize}")
    return indptr, X.indices.view(f"u{X.indices.itemsize}"), X.data


def entries(X: Any) -> tuple[Any, Any, Any]:
    """Return the arrays of CSR, unsigned; if X is dense, with `indices` of one row."""
    if sp.issparse(X):
        return unsigned(X)
    n, d = X.shape
    indptr = np.arange(n + 1, dtype=np.uint64) * np.uint64(d)
    return indptr, np.arange(d, dtype=np.uint64), np.ascontiguousarray(X).ravel()


def values(X: Any) -> NDArray[Any]:
    """Return the stored entries, which are all entries if X is dense."""
    return X.data if sp.issparse(X) else X


def stored_features(X: Any) -> Any:
    """Return the feature of each stored entry, as an index into arrays of features."""
    return X.indices if sp.issparse(X) else slice(None)


def shared_draws(X: Any, labels: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a number in [0, 1) per stored entry, shared by each group within a row.

    `labels` is the group of each feature; None means that each feature is alone.
    """
    if labels is None:
        return rng.random(values(X).shape)
    n_groups = int(labels.max(initial=-1)) + 1
    if not sp.issparse(X):
        return rng.random((*X.shape[:-1], n_groups))[..., labels]
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    _, place = np.unique(row * n_groups + labels[X.indices], return_inverse=True)
    return rng.random(place.max(initial=-1) + 1)[place]


def with_values(X: Any, new: NDArray[Any]) -> Any:
    """Return a matrix with `new` values for the stored entries, in the same shape."""
    if not sp.issparse(X):
        return new.reshape(X.shape)
    return type(X)((new, X.indices.copy(), X.indptr.copy()), shape=X.shape)


def n_stored(X: Any) -> int:
    """Return the number of stored entries."""
    return int(values(X).size)


def density(X: Any) -> float | None:
    """Return the share of the entries that are stored, or None for a dense matrix."""
    return X.nnz / max(1, X.shape[0] * X.shape[1]) if sp.issparse(X) else None


def as_dense(X: Any) -> Any:
    """Convert X to an array; meant for few rows or few columns."""
    if sp.issparse(X):
        return X.toarray()
    return X if isinstance(X, DeviceArray) else np.asarray(X)


def column_squares(X: Any) -> Any:
    """Compute Σ_i x_ij² of each column."""
    if isinstance(X, DeviceArray):
        return (X * X).sum(axis=0)
    return np.asarray(with_values(X, values(X) ** 2).sum(axis=0)).ravel()


def dense_rows(X: Any) -> Iterator[NDArray[Any]]:
    """Yield the rows as arrays of shape (d,)."""
    for i in range(X.shape[0]):
        yield as_dense(X[[i]])[0]


def as_container(rows: Any, X: Any) -> Any:
    """Convert rows to the kind of container that X is."""
    return type(X)(rows) if sp.issparse(X) and not isinstance(rows, type(X)) else rows


def stack(parts: list[Any]) -> Any:
    """Stack matrices vertically; the result is CSR if they are sparse."""
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)


def assemble(parts: list[tuple[NDArray[Any], Any]], X: Any) -> Any:
    """Assemble a matrix like X from parts, each given with the indices of its rows."""
    if not parts:
        return X.copy()
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    return stack([part for _, part in parts])[order]


def is_stored(X: NDArray[Any]) -> Mask:
    """Mark the entries that an attack can change: neither zero nor missing."""
    return (X != 0) & (X == X)


def stored_rows(X: Any) -> Any:
    """Convert X to CSR; if it is dense, without entries that are zero or missing."""
    if sp.issparse(X):
        return zero_missing(X)
    mask = is_stored(X)
    indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    small = np.int32 if indptr[-1] < 2**31 else np.int64
    columns = np.broadcast_to(np.arange(X.shape[1], dtype=small), X.shape)[mask]
    return sp.csr_array((X[mask], columns, indptr.astype(small)), shape=X.shape)


def group_rows(rows: Any, labels: NDArray[np.intp]) -> tuple[Any, Any, Any]:
    """Find the pairs of a row and a group that occur in a CSR matrix.

    Returns a CSR matrix of ones with one column per pair, in the order of the rows; the
    group of each pair; and the pair of each entry.
    """
    n_groups = int(labels.max(initial=-1)) + 1
    n = rows.shape[0]
    row = np.repeat(np.arange(n), np.diff(rows.indptr))
    keys, place = np.unique(row * n_groups + labels[rows.indices], return_inverse=True)
    # indices of the same type as in `rows`, for which loops are compiled already
    ends = np.searchsorted(keys, np.arange(n + 1) * n_groups)
    ends, pairs = ends.astype(rows.indptr.dtype), np.arange(len(keys))
    pairs = pairs.astype(rows.indices.dtype)
    matrix = sp.csr_array((np.ones(len(keys)), pairs, ends), shape=(n, len(keys)))
    return matrix, keys % max(n_groups, 1), place


def group_weights(rows: Any, place: NDArray[np.intp], coef: NDArray[Any]) -> Any:
    """Compute Σ coef_j x_j over each pair that `group_rows` found, per class."""
    size = int(place.max(initial=-1)) + 1
    found = [np.bincount(place, w[rows.indices] * rows.data, size) for w in coef]
    return np.array(found).reshape(len(coef), size)


def sparse_blocks(X: Any, order: NDArray[np.int64]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the rows in `order` as blocks of CSR.

    Each item has the rows of a block, their order within it, and the block. A CSR
    matrix is a single block; a dense matrix is converted some rows at a time.
    """
    if sp.issparse(X):
        yield slice(None), order, X
        return
    for start in range(0, len(order), _BLOCK_ROWS):
        rows = order[start : start + _BLOCK_ROWS]
        yield rows, np.arange(len(rows)), sp.csr_array(X[rows])


def without(X: Any, deleted: Mask) -> Any:
    """Return X without the marked entries; the mask is over `stored_rows(X)`."""
    if not sp.issparse(X):
        places = np.flatnonzero(is_stored(X))
        rest = X.copy()
        rest.ravel()[places[deleted]] = 0.0
        return rest
    kept = ~deleted
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(X.indptr.dtype)
    return type(X)((X.data[kept], X.indices[kept], ends), shape=X.shape)


def without_zeros(X: Any, *, copy: bool = True) -> Any:
    """Return X without stored zeros; a dense X is returned as it is."""
    if not sp.issparse(X) or (copy and X.data.all()):
        return X
    X = X.copy() if copy else X
    X.eliminate_zeros()
    return X


def column_blocks(X: Any, size: int) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of columns as CSC, with about `size` entries if X is dense."""
    n, d = X.shape
    width = max(1, min(d, size // max(n, 1)))
    if sp.issparse(X):
        X = sp.csc_array(X)
    for start in range(0, d, width):
        columns = slice(start, min(d, start + width))
        yield columns, sp.csc_array(X[:, columns], dtype=np.float64)


def has_missing(X: Any) -> bool:
    """Return whether an entry is NaN, in one pass without a temporary array."""
    with np.errstate(all="ignore"):  # a sum with a NaN is NaN, but so is inf - inf
        return bool(np.isnan(np.sum(values(X)))) and bool(np.isnan(values(X)).any())


def missing_entries(X: Any) -> Any:
    """Return a matrix like X that is 1.0 where an entry is missing."""
    return with_values(X, np.isnan(values(X)).astype(np.float64))


def missing_features(X: Any) -> Mask | None:
    """Mark features with missing entries (NaN); return None if there are none."""
    if is_foreign(X):
        return foreign.missing_features(X)
    if not has_missing(X):
        return None
    if not sp.issparse(X):
        return np.asarray(np.isnan(X).any(axis=0))
    missing = np.zeros(X.shape[1], dtype=bool)
    missing[X.indices[np.isnan(X.data)]] = True
    return missing


def incomplete_rows(X: Any) -> Iterator[tuple[int, Mask]]:
    """Yield the index of each row with missing entries, and a mask of the others."""
    if not has_missing(X):
        return
    holes = missing_entries(X)
    for i in np.flatnonzero(np.asarray(holes.sum(axis=1))).tolist():
        yield i, as_dense(holes[[i]])[0] == 0


def zero_missing(X: Any) -> Any:
    """Replace missing entries (NaN) by zeros."""
    if is_foreign(X):
        return foreign.zero_missing(X)
    if not has_missing(X):
        return X
    return with_values(X, np.nan_to_num(values(X), nan=0.0))


def linear_scores(X: Any, coef: Any, intercept: Any) -> Any:
    """Compute w·x + b for each row and class, (n, k)."""
    if is_foreign(X):
        return foreign.scores(X, coef, intercept)
    return np.asarray(X @ np.atleast_2d(coef).T) + np.atleast_1d(intercept)


def row_products(X: Any, w: NDArray[Any]) -> NDArray[Any]:
    """Compute X @ w, bitwise equal for equal rows, which BLAS does not guarantee."""
    return np.asarray(X @ w if sp.issparse(X) else (X * w).sum(axis=1))
