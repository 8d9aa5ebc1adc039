"""NPZ files: arrays of NumPy, or a sparse matrix of SciPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from noiseproof.tables.table import Table, TableError, check_matrix, check_target

_PARTS = {"data", "indices", "indptr", "shape"}


def read_npz(path: Path) -> Table:
    """`X` and perhaps `y`; or the parts of a CSR matrix and perhaps `y`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise TableError(
            f"{path} cannot be read as NPZ without running code from it: {error}"
        ) from error
    X = check_matrix(_features(arrays, path), str(path))
    if "y" not in arrays:
        return Table(X)
    y = check_target(arrays["y"], str(path), "y")
    if len(y) != X.shape[0]:
        raise TableError(f"{path}: X has {X.shape[0]} rows, but y has {len(y)}.")
    return Table(X, y, "y")


def _features(arrays: dict[str, Any], path: Path) -> Any:
    if "X" in arrays:
        return arrays["X"]
    if not arrays.keys() >= _PARTS:
        raise TableError(
            f"{path} needs an array X, or data, indices, indptr and shape; it has "
            f"{', '.join(sorted(arrays)) or 'nothing'}."
        )
    kind = np.asarray(arrays.get("format", b"csr")).item()
    form = sp.csc_array if kind in (b"csc", "csc") else sp.csr_array
    try:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        X = form(parts, tuple(int(n) for n in arrays["shape"]))
        X.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise TableError(f"{path}: not a CSR matrix: {error}.") from error
    return sp.csr_array(X)
