"""Rows of data: reading, their stored entries, and putting rows together again."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def readable(X: Any) -> Any:
    """X as a float array or a canonical CSR matrix."""
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X if X.dtype.kind == "f" else X.astype(np.float64)
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions; got {X.ndim}.")
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def is_stored(X: NDArray[Any]) -> NDArray[np.bool_]:
    """Entries that an attack can do anything to: neither zero nor missing."""
    return (X != 0) & (X == X)


def stored_rows(X: Any) -> Any:
    """X as CSR, of a dense one what is neither zero nor missing."""
    if sp.issparse(X):
        return zero_missing(X)
    mask = is_stored(X)
    indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    small = np.int32 if indptr[-1] < 2**31 else np.int64
    columns = np.broadcast_to(np.arange(X.shape[1], dtype=small), X.shape)[mask]
    return sp.csr_array((X[mask], columns, indptr.astype(small)), shape=X.shape)


def zero_missing(X: Any) -> Any:
    """X with zeros where entries are missing, in place of NaN."""
    if not sp.issparse(X):
        return np.nan_to_num(X, nan=0.0) if np.isnan(X).any() else X
    if not np.isnan(X.data).any():
        return X
    return type(X)((np.nan_to_num(X.data, nan=0.0), X.indices, X.indptr), X.shape)


def as_container(rows: Any, X: Any) -> Any:
    """Attacked rows in the container that the clean ones came in."""
    return type(X)(rows) if sp.issparse(X) and not isinstance(rows, type(X)) else rows


def assemble(parts: list[tuple[NDArray[Any], Any]], X: Any) -> Any:
    """Rows of the shape of X from parts, each given with the places of its rows."""
    if not parts:
        return X.copy()
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    return stack([part for _, part in parts])[order]


def stack(parts: list[Any]) -> Any:
    """Rows one under another: CSR if the parts are sparse."""
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)


def entries(X: Any) -> tuple[Any, Any, Any]:
    """The three arrays of CSR, unsigned; `indices` of one row only if X is dense."""
    if sp.issparse(X):
        return unsigned(X)
    n, d = X.shape
    indptr = np.arange(n + 1, dtype=np.uint64) * np.uint64(d)
    return indptr, np.arange(d, dtype=np.uint64), np.ascontiguousarray(X).ravel()


def unsigned(rows: Any) -> tuple[Any, Any, Any]:
    """The three arrays of a CSR matrix as compiled loops want them."""
    indptr = rows.indptr.view(f"u{rows.indptr.itemsize}")
    return indptr, rows.indices.view(f"u{rows.indices.itemsize}"), rows.data
