"""Reading a table, by the suffix of its file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from noiseproof.tables.frames import read_csv, read_parquet
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


_READERS: dict[str, Callable[..., Table]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".npz": read_npz,
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
}
SUFFIXES = tuple(_READERS)


def read_table(
    path: str | os.PathLike[str],
    target: str | int | None = None,
    *,
    text: Iterable[str] = (),
    n_features: int | None = None,
    first_index: int | None = None,
) -> Table:
    r"""Read a table from a file; empty cells are missing features.

    Parameters
    ----------
    path : str or path
        A `.csv`, `.tsv`, `.parquet`, `.npz`, `.svm`, `.svmlight` or `.libsvm` file;
        text may be compressed (`.csv.gz`, `.svm.gz`). The first line of a CSV or TSV
        file names its columns. An NPZ file holds `X` and perhaps `y`, or the parts
        `data`, `indices`, `indptr` and `shape` of a CSR matrix (as
        `scipy.sparse.save_npz` writes them) and perhaps `y`.
    target : str or int, default=None
        The column to predict, by name or by position (-1 is the last); svmlight and
        NPZ files know theirs.
    text : names, default=()
        Columns to read as text even where they look like numbers.
    n_features : int, default=None
        Features of an svmlight file; None means as many as it mentions.
    first_index : {0, 1}, default=None
        Where an svmlight file starts to count; None means 0 if it mentions a feature
        0, and else 1.

    Returns
    -------
    table : Table
        With fields `X`, `y`, `target`, `first_index`.

    Raises
    ------
    TableError
        A `ValueError`: one sentence that says what is wrong with the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from noiseproof.tables import read_table
    >>> path = os.path.join(tempfile.mkdtemp(), "some.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("height,colour,kind\n1.5,red,a\n,blue,b\n")
    >>> table = read_table(path, target="kind")
    >>> table.X
       height colour
    0     1.5    red
    1     NaN   blue
    >>> table.y
    array(['a', 'b'], dtype='<U1')
    """
    path = Path(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in _READERS:
        raise TableError(
            f"{path}: the suffix {suffix!r} is unknown; use one of "
            f"{', '.join(SUFFIXES)}."
        )
    if not path.is_file():
        raise TableError(f"{path}: there is no such file.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty.")
    options: dict[str, Any] = {}
    if _READERS[suffix] is read_svmlight:
        options = {"n_features": n_features, "first_index": first_index}
    elif _READERS[suffix] in (read_csv, read_parquet):
        options = {"target": target, "text": frozenset(text)}
    return _READERS[suffix](path, **options)
