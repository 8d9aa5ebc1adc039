"""svmlight files: a label and `index:value` pairs on each line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from noiseproof.tables.table import Table, TableError, check_matrix, check_target


def read_svmlight(path: Path, n_features: int | None, first_index: int | None) -> Table:
    """Features and labels; features beyond `n_features` are left out."""
    from sklearn.datasets import load_svmlight_file

    try:  # read as if counting started at 0, to see whether it does
        X, y = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OSError, EOFError) as error:
        raise TableError(f"{path} is not an svmlight file: {error}.") from error
    if X.shape[0] == 0:
        raise TableError(f"{path} has no rows.")
    if first_index is None:
        first_index = 0 if X.nnz == 0 or X.indices.min() == 0 else 1
    if first_index == 1 and X.nnz and X.indices.min() == 0:
        raise TableError(
            f"{path} counts its features from 0, but the training file from 1."
        )
    mentioned = max(X.shape[1] - first_index, 1)
    d = mentioned if n_features is None else n_features
    if mentioned > d:
        warnings.warn(
            f"{path}: features beyond the {d} known ones are ignored.", stacklevel=3
        )
    X = _shifted(X, first_index, d)
    y = check_target(y, str(path), "label")
    return Table(check_matrix(X, str(path)), y, "label", first_index)


def _shifted(X: Any, first_index: int, d: int) -> Any:
    """Features counted from zero, and exactly `d` of them."""
    X.indices -= np.asarray(first_index, dtype=X.indices.dtype)
    width = max(d, X.shape[1])
    return sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], width))[:, :d]
