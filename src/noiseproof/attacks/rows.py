"""Rows as their stored entries, which are all that deletion can touch."""

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
        return X
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
        if not np.isnan(X.data).any():
            return X
        return type(X)((np.nan_to_num(X.data, nan=0.0), X.indices, X.indptr), X.shape)
    mask = is_stored(X)
    indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    small = np.int32 if indptr[-1] < 2**31 else np.int64
    columns = np.broadcast_to(np.arange(X.shape[1], dtype=small), X.shape)[mask]
    return sp.csr_array((X[mask], columns, indptr.astype(small)), shape=X.shape)


def unsigned(rows: Any) -> tuple[Any, Any, Any]:
    """The three arrays of a CSR matrix as compiled loops want them."""
    indptr = rows.indptr.view(f"u{rows.indptr.itemsize}")
    return indptr, rows.indices.view(f"u{rows.indices.itemsize}"), rows.data
