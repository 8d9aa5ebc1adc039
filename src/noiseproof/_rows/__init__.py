"""Rows of data: the one place that knows how they are stored.

Others ask for what they need: `as_design` for passes over the data, the verbs of
`matrices` for rows that are changed, `contain` for rows as anybody's model gets them.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from noiseproof._rows.base import Array, Design, EntryBlock, RowCurvature
from noiseproof._rows.containers import Container, contain, n_missing
from noiseproof._rows.csr import CSRDesign
from noiseproof._rows.dense import DenseDesign
from noiseproof._rows.matrices import (
    as_container,
    as_dense,
    assemble,
    canonical,
    check_indices,
    column_blocks,
    dense_rows,
    density,
    entries,
    has_missing,
    incomplete_rows,
    is_stored,
    missing_entries,
    missing_features,
    n_stored,
    readable,
    row_products,
    stack,
    stored_rows,
    unsigned,
    values,
    with_values,
    without,
    without_zeros,
    zero_missing,
)
from noiseproof._rows.reading import (
    READ,
    check_missing,
    read_new,
    read_training,
    read_unlabeled,
    remember_missing,
)
from noiseproof._rows.threads import Workers, available_threads, one_blas_thread

DESIGNS: dict[str, type[DenseDesign | CSRDesign]] = {
    "dense": DenseDesign,
    "csr": CSRDesign,
}


def as_design(X: Any, has_missing: bool = False) -> Design:
    """The design that suits the storage of `X`: a NumPy array or a CSR matrix."""
    return DESIGNS["csr" if sp.issparse(X) else "dense"](X, has_missing)


__all__ = [
    "DESIGNS",
    "READ",
    "Array",
    "CSRDesign",
    "Container",
    "DenseDesign",
    "Design",
    "EntryBlock",
    "RowCurvature",
    "Workers",
    "as_container",
    "as_dense",
    "as_design",
    "assemble",
    "available_threads",
    "canonical",
    "check_indices",
    "check_missing",
    "column_blocks",
    "contain",
    "dense_rows",
    "density",
    "entries",
    "has_missing",
    "incomplete_rows",
    "is_stored",
    "missing_entries",
    "missing_features",
    "n_missing",
    "n_stored",
    "one_blas_thread",
    "read_new",
    "read_training",
    "read_unlabeled",
    "readable",
    "remember_missing",
    "row_products",
    "stack",
    "stored_rows",
    "unsigned",
    "values",
    "with_values",
    "without",
    "without_zeros",
    "zero_missing",
]
