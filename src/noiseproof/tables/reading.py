"""Read features and a target from CSV, TSV, Parquet, NPZ and svmlight files."""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._docs import shared_docs
from noiseproof._rows import check_indices, n_stored, values
from noiseproof._unpacking import (
    PACKED,
    UnpackingError,
    check_array,
    check_unpacked,
    open_packed,
)

SUFFIXES = (".csv", ".tsv", ".parquet", ".npz", ".svm", ".svmlight", ".libsvm")
_DELIMITERS = b",;\t"
# errors that zipfile and NumPy raise for damaged or encrypted (RuntimeError) archives
_UNREADABLE = (ValueError, OSError, EOFError, RuntimeError, BadZipFile, zlib.error)
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_PARTS = {"data", "indices", "indptr", "shape"}
# Limits of a sparse file: features in any case, and features per stored entry. Without
# them a single large index could take all memory.
_FEATURES, _FEATURES_PER_ENTRY = 1_000_000, 100


class TableError(ValueError):
    """An error that says why a file cannot be read as a table.

    See Also
    --------
    read_table : Raises it.
    """


@shared_docs
@dataclass(frozen=True)
class Table:
    """The features and the target of one file.

    Parameters
    ----------
    X : DataFrame, array or CSR matrix of shape (n_samples, n_features)
        Features; a data frame if the file names its columns. Missing values are NaN or
        None.
    y : array of shape (n_samples,) or None
        The target, if the file has one.
    target : str or None
        Name of the target.
    first_index : int or None
        The number of the first feature in an svmlight file, 0 or 1.

    {See Also: read_table}
    """

    X: Any
    y: NDArray[Any] | None = None
    target: str | None = None
    first_index: int | None = None

    @property
    def names(self) -> list[str]:
        """Names of the features, if the file has them."""
        return list(getattr(self.X, "columns", []))


@shared_docs
def read_table(
    path: str | os.PathLike[str],
    target: str | int | None = None,
    *,
    text: Iterable[str] = (),
    n_features: int | None = None,
    first_index: int | None = None,
    strict: bool = True,
) -> Table:
    r"""Read a table from a file. Empty fields become missing values.

    Parameters
    ----------
    path : str or path
        A `.csv`, `.tsv`, `.parquet`, `.npz`, `.svm`, `.svmlight` or `.libsvm` file.
        Text files may be compressed, with a second suffix: `.gz`, `.bz2`, `.xz` or
        `.zst`. The first line of a CSV or TSV file names its columns. An NPZ file holds
        `X` and optionally `y`. Instead of `X` it may hold the parts `data`, `indices`,
        `indptr` and `shape` of a CSR matrix, as `scipy.sparse.save_npz` writes them.
    target : str or int, default=None
        The column to predict, by name or by position (-1 is the last). Not needed for
        svmlight and NPZ files, which contain their own.
    text : names, default=()
        Columns to read as text even where they look like numbers.
    n_features : int, default=None
        Number of features of an svmlight file. None means the largest that the file
        mentions, unless that is out of proportion to the number of its entries.
    first_index : {0, 1}, default=None
        Number of the first feature in an svmlight file. None means 0 if the file
        mentions a feature 0, and otherwise 1.
    strict : bool, default=True
        Whether to refuse a file with infinite values or with rows without a target. If
        False, infinite values become missing and such rows are left out, with a
        warning.

    Returns
    -------
    table : Table
        The features and the target, as `X`, `y`, `target` and `first_index`.

    Raises
    ------
    TableError
        A `ValueError` that says what is wrong with the file.

    {See Also: TableEncoder}

    Examples
    --------
    >>> import os, tempfile
    >>> from noiseproof.tables import read_table
    >>> path = os.path.join(tempfile.mkdtemp(), "some.csv")
    >>> with open(path, "w", encoding="utf-8") as file:
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
    suffix = _suffix(path)
    if suffix not in SUFFIXES:
        raise TableError(
            f"{path}: the suffix {suffix!r} is unknown; use one of "
            f"{', '.join(SUFFIXES)}."
        )
    if not path.is_file():
        raise TableError(f"{path}: there is no such file.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty.")
    if suffix == ".npz":
        return _read_npz(path)
    if suffix in (".svm", ".svmlight", ".libsvm"):
        return _read_svmlight(path, n_features, first_index)
    if find_spec("pandas") is None or find_spec("pyarrow") is None:
        raise ImportError(
            f"Reading {suffix} files needs pandas and pyarrow: pip install "
            "'noiseproof[cli]'."
        )
    read = _read_parquet if suffix == ".parquet" else _read_csv
    return read(path, target, frozenset(text), strict)


def _suffix(path: Path) -> str:
    """The suffix that tells the format, without one for compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _read_csv(
    path: Path, target: str | int | None, text: frozenset[str], strict: bool
) -> Table:
    """Read CSV or TSV; the delimiter is the most frequent one in the first line."""
    import pyarrow as pa
    from pyarrow import csv

    def read(texts: frozenset[str], threads: bool = True) -> Any:
        parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        types = dict.fromkeys(texts, pa.string())
        options = csv.ReadOptions(use_threads=threads)
        convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        with source() as file:
            try:
                return csv.read_csv(file, options, parse, convert)
            except pa.ArrowInvalid:
                if not threads:  # Arrow knows the number of a bad row without threads
                    raise
        return read(texts, threads=False)

    try:
        source = _arrow_source(path)
        delimiter = _delimiter(source, path)
        table = read(text)
        _check_closed(table, source, path)
        # dates stay text: as numbers they would not be useful features
        dates = {f.name for f in table.schema if pa.types.is_temporal(f.type)}
        return _table(read(text | dates) if dates else table, path, target, strict)
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not UTF-8 text: save it as UTF-8.") from error
    except (pa.ArrowInvalid, OSError, UnpackingError) as error:
        raise TableError(f"{path}: {_reason(error)}") from error


def _read_parquet(
    path: Path, target: str | int | None, text: frozenset[str], strict: bool
) -> Table:
    """Read Parquet: durations become seconds, dates and other such types text."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        known = table.schema.pandas_metadata or {}
        index = [name for name in known.get("index_columns", []) if type(name) is str]
        # what pandas knew of types is no longer true of these columns
        table = table.drop_columns(index).replace_schema_metadata()
        for i, field in enumerate(table.schema):
            column = table.column(i)
            if field.name not in text and pa.types.is_duration(field.type):
                numbers = pc.cast(pc.cast(column, pa.int64()), pa.float64(), safe=False)
                column = pc.divide(numbers, _PER_SECOND[field.type.unit])
            elif field.name in text or not _is_number(field.type):
                column = pc.cast(column, pa.string())
            table = table.set_column(i, field.name, column)
    except pa.ArrowNotImplementedError as error:
        raise TableError(f"{path}: a column cannot be read: {error}") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path} is not a Parquet file: {_reason(error)}") from error
    return _table(table, path, target, strict)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
    return any(is_kind(kind) for is_kind in numbers)


def _arrow_source(path: Path) -> Callable[[], Any]:
    """A function that opens a text file as a file object of Arrow's own.

    Arrow reads ahead in threads, which may still run after it has given up on a bad
    row. If they had to call Python, the interpreter could hang at exit.
    """
    import pyarrow as pa

    if path.suffix.lower() not in PACKED:
        return lambda: pa.OSFile(str(path))
    with open_packed(path) as file:
        text = b"".join(iter(lambda: file.read(1 << 20), b""))
    return lambda: pa.BufferReader(text)


def _delimiter(source: Callable[[], Any], path: Path) -> str:
    with source() as file:
        start = file.read(1 << 16)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{path} is UTF-16 text: save it as UTF-8.")
    if _suffix(path) == ".tsv":
        return "\t"
    first = start.split(b"\n", 1)[0]
    return chr(max(_DELIMITERS, key=lambda byte: first.count(byte)))


def _check_closed(table: Any, source: Callable[[], Any], path: Path) -> None:
    """Refuse a file in which a quote at the end of a row is never closed.

    All rows after it would be read as the text of one field.
    """
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else None
    if not isinstance(last, str) or "\n" not in last:
        return
    end = b""
    with source() as file:
        while chunk := file.read(1 << 20):
            end = (end + chunk)[-1024:]
    if not end.rstrip().endswith(b'"'):
        raise TableError(f"{path}: {_UNCLOSED} (row {table.num_rows}).")


_UNCLOSED = "a quote that opens a field is never closed"


def _reason(error: BaseException) -> str:
    """Arrow's error message without its prefixes and without the text of the file."""
    words = str(error).strip().splitlines()
    first = words[0] if words else type(error).__name__
    if "straddling object" in first:
        return f"a row is longer than a megabyte; perhaps {_UNCLOSED}."
    wrong = _COLUMNS.search(first)
    if wrong:
        return (
            f"row {int(wrong[1]) - 1} has {wrong[3]} fields, but there are {wrong[2]} "
            f"columns; perhaps {_UNCLOSED}, or a field with a delimiter needs quotes."
        )
    first = first.removeprefix("CSV parse error: ").split(": invalid value")[0]
    return first if first.endswith(".") else f"{first}."


_COLUMNS = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


def _table(table: Any, path: Path, target: str | int | None, strict: bool) -> Table:
    """Split an Arrow table into features (pandas) and target (NumPy)."""
    import pyarrow as pa

    names = table.column_names
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise TableError(f"{path} has two columns named {min(twice)!r}.")
    if table.num_rows == 0:
        raise TableError(f"{path} has no rows, only the names of its columns.")
    binary = [f.name for f in table.schema if pa.types.is_binary(f.type)]
    if binary:
        raise TableError(f"{path} is not UTF-8 text: save it as UTF-8.")
    if "" in names:
        warnings.warn(f"{path}: the column without a name is left out.", stacklevel=4)
        table = table.drop_columns([""])
    y, name = None, None
    if target is not None:
        name = _find(target, table.column_names, path)
        if not strict:
            table = _labelled(table, name, path)
        y = _check_target(_values(table.column(name)), str(path), name)
        table = table.drop_columns([name])
    if table.num_columns == 0:
        raise TableError(f"{path} has no columns beside the target.")
    return Table(_frame(table, path, strict), y, name)


def _labelled(table: Any, target: str, path: Path) -> Any:
    """The table without rows whose target is empty, unless all are."""
    column = table.column(target)
    empty, n = column.null_count, len(column)
    if not 0 < empty < n:
        return table
    warnings.warn(
        f"{path}: {empty} of {n} rows are left out, as their {target!r} is empty.",
        stacklevel=5,
    )
    return table.filter(column.is_valid())


def _values(column: Any) -> Any:
    """A column as an array, None or NaN where a value is missing."""
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return column.to_numpy()
    cells = column.to_pylist()
    return np.array(cells, dtype=object if column.null_count else None)


def _frame(table: Any, path: Path, strict: bool) -> Any:
    """A pandas data frame of numbers and text, without infinite numbers."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_boolean(field.type) or pa.types.is_null(field.type):
            column = table.column(i).cast(pa.float64())
            table = table.set_column(i, field.name, column)
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    for name, column in frame.items():
        infinite = column.dtype.kind == "f" and np.isinf(column.to_numpy())
        if np.any(infinite):
            row = int(np.argmax(infinite)) + 1
            if not strict:
                warnings.warn(
                    f"{path}: {np.sum(infinite)} infinite values of {name!r} count as "
                    f"missing, the first in row {row}.",
                    stacklevel=5,
                )
                frame[name] = column.mask(infinite)
                continue
            raise TableError(
                f"{path}: column {name!r} holds an infinite value in row {row}; leave "
                "the field empty if it is missing."
            )
    return frame


def _find(target: str | int, names: list[str], path: Path) -> str:
    """The name of the target, which is given by name or by position."""
    if target in names:
        return str(target)
    try:
        return names[int(target)]
    except ValueError:
        close = get_close_matches(str(target), names, n=3, cutoff=0.5) or names[:5]
        raise TableError(
            f"{path} has no column {target!r}; did you mean "
            f"{' or '.join(map(repr, close))}?"
        ) from None
    except IndexError:
        raise TableError(
            f"{path} has {len(names)} columns, so there is none at position {target}."
        ) from None


def _read_npz(path: Path) -> Table:
    """Read `X` or the parts of a CSR matrix, and `y` if it is there."""
    try:
        with ZipFile(path) as archive:
            sizes = [info.file_size for info in archive.infolist()]
            check_unpacked(sum(sizes), path.stat().st_size)
            for name in archive.namelist():
                check_array(archive, name)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except _UNREADABLE as error:
        raise TableError(f"{path} cannot be read as NPZ: {error}") from error
    X = _check_matrix(_features(arrays, path), path)
    if "y" not in arrays:
        return Table(X)
    y = _check_target(arrays["y"], str(path), "y")
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
        check_indices(X)
    except (ValueError, TypeError) as error:
        raise TableError(f"{path}: not a CSR matrix: {error}.") from error
    _check_width(X.shape[1], n_stored(X), path)
    return sp.csr_array(X)


def _read_svmlight(
    path: Path, n_features: int | None, first_index: int | None
) -> Table:
    """Read features and labels; features beyond `n_features` are left out."""
    from sklearn.datasets import load_svmlight_file

    try:  # read as if features were numbered from 0, to see whether they are
        packed = path.suffix.lower() in PACKED
        with open_packed(path) if packed else path.open("rb") as file:
            X, y = load_svmlight_file(file, zero_based=True)
    except UnpackingError as error:
        raise TableError(f"{path}: {error}") from error
    except (ValueError, OSError, EOFError, OverflowError) as error:
        raise TableError(f"{path} is not an svmlight file: {error}.") from error
    if X.shape[0] == 0:
        raise TableError(f"{path} has no rows.")
    lowest = X.indices.min(initial=1)
    if first_index is None:
        first_index = 0 if X.nnz == 0 or lowest == 0 else 1
    if first_index == 1 and lowest == 0:
        raise TableError(
            f"{path} numbers its features from 0, but the training file from 1."
        )
    mentioned = max(X.shape[1] - first_index, 1)
    if n_features is None:
        _check_width(mentioned, X.nnz, path)
    d = mentioned if n_features is None else n_features
    if mentioned > d:
        warnings.warn(
            f"{path}: features beyond the {d} known ones are ignored.", stacklevel=3
        )
    X.indices -= np.asarray(first_index, dtype=X.indices.dtype)
    wide = (X.shape[0], max(d, X.shape[1]))
    X = sp.csr_array((X.data, X.indices, X.indptr), wide)[:, :d]
    y = _check_target(y, str(path), "label")
    return Table(_check_matrix(X, path), y, "label", first_index)


def _check_width(d: int, stored: int, path: Path) -> None:
    """Refuse a number of features that is far larger than the number of entries."""
    if d > _FEATURES + _FEATURES_PER_ENTRY * stored:
        raise TableError(
            f"{path} mentions feature {d:,}, but holds only {stored:,} entries. If "
            "that is right, give the number of features (n_features, --n-features)."
        )


def _check_target(y: NDArray[Any], path: str, name: str) -> NDArray[Any]:
    """The target, checked; whole numbers become integers."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise TableError(f"{path}: the target {name!r} must be one column.")
    numeric = y.dtype.kind == "f"
    empty = np.isnan(y) if numeric else np.array([cell is None for cell in y], bool)
    if empty.any():
        raise TableError(
            f"{path}: the target {name!r} is empty in {empty.sum()} of {len(y)} rows, "
            f"first in row {np.argmax(empty) + 1}; delete these rows or fill them in."
        )
    if numeric and not np.isfinite(y).all():
        raise TableError(f"{path}: the target {name!r} holds an infinite value.")
    if numeric and (y == np.round(y)).all() and np.abs(y).max(initial=0) < 2**53:
        return y.astype(np.int64)
    return y.astype(str) if y.dtype.kind == "O" else y


def _check_matrix(X: Any, path: Path) -> Any:
    """The matrix as floats, checked for its shape and for infinite values."""
    if X.ndim != 2 or 0 in X.shape:
        raise TableError(
            f"{path}: X must have rows and columns; it has shape {X.shape}."
        )
    if X.dtype.kind not in "fiub":
        raise TableError(f"{path}: X must hold numbers; its type is {X.dtype}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if np.isinf(values(X)).any():
        raise TableError(
            f"{path}: X holds an infinite value; leave it out (NaN means missing)."
        )
    return X
