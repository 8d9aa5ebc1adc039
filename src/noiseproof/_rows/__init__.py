"""Rows of data: the one place that knows how they are stored.

Others ask for what they need: `as_design` for passes over the data, the verbs of
`matrices` for rows that are changed, `contain` for rows as anybody's model gets them.
"""

from __future__ import annotations

from noiseproof._rows.base import Array, Design, EntryBlock, RowCurvature
from noiseproof._rows.containers import Container, contain
from noiseproof._rows.matrices import (
    as_container,
    as_dense,
    assemble,
    canonical,
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
    sparse_blocks,
    stack,
    stored_features,
    stored_rows,
    unsigned,
    values,
    with_values,
    without,
    without_zeros,
    zero_missing,
)
from noiseproof._rows.reading import (
    DESIGNS,
    READ,
    as_design,
    check_missing,
    read_new,
    read_training,
    read_unlabeled,
    remember_missing,
)
from noiseproof._rows.threads import Workers, available_threads, one_blas_thread

__all__ = [
    "DESIGNS", "READ", "Array", "Container", "Design", "EntryBlock", "RowCurvature",
    "Workers", "as_container", "as_design", "assemble", "available_threads",
    "canonical", "check_missing", "contain", "as_dense", "dense_rows", "density",
    "entries", "has_missing", "incomplete_rows", "is_stored", "missing_entries",
    "missing_features", "n_stored", "one_blas_thread", "read_new", "read_training",
    "read_unlabeled", "readable", "remember_missing", "sparse_blocks", "stack",
    "stored_features", "stored_rows",
    "unsigned", "values", "with_values", "without", "without_zeros",
    "zero_missing",
]  # fmt: skip
