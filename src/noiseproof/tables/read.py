"""Reading a table, by the suffix of its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from noiseproof.tables.arrays import read_npz
from noiseproof.tables.frames import read_csv, read_parquet
from noiseproof.tables.svmlight import read_svmlight
from noiseproof.tables.table import Table, TableError

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
