"""Tables with names: CSV, TSV and Parquet files, by Arrow into pandas."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from noiseproof.tables.table import Table, TableError, check_target

_DELIMITERS = b",;\t"


def read_csv(path: Path, target: str | int | None, text: frozenset[str]) -> Table:
    """CSV or TSV; the delimiter is the one that the first line uses most."""
    import pyarrow as pa
    from pyarrow import csv

    def read(texts: frozenset[str]) -> Any:
        with pa.input_stream(path, compression="detect") as file:
            return csv.read_csv(
                file,
                parse_options=csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True
                ),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(texts, pa.string()),
                    strings_can_be_null=True,
                ),
            )

    try:
        delimiter = _delimiter(path)
        table = read(text)
        # dates are text here: as numbers they would not be features of any use
        dates = {f.name for f in table.schema if pa.types.is_temporal(f.type)}
        return _table(read(text | dates) if dates else table, path, target)
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not UTF-8 text: save it as UTF-8.") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path}: {_reason(error)}") from error


def read_parquet(path: Path, target: str | int | None, text: frozenset[str]) -> Table:
    """Parquet; dates and other types that are no numbers become text."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        for i, field in enumerate(table.schema):
            if field.name in text or not _is_number(field.type):
                column = pc.cast(table.column(i), pa.string())
                table = table.set_column(i, field.name, column)
    except pa.ArrowNotImplementedError as error:
        raise TableError(f"{path}: a column is not a plain one: {error}") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path} is not a Parquet file: {_reason(error)}") from error
    return _table(table, path, target)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return any(
        is_kind(kind)
        for is_kind in (
            types.is_integer, types.is_floating, types.is_boolean, types.is_null
        )
    )  # fmt: skip


def _delimiter(path: Path) -> str:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as file:
        start = file.read(1 << 16)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{path} is UTF-16 text: save it as UTF-8.")
    if path.suffix == ".tsv" or path.name.endswith(".tsv.gz"):
        return "\t"
    first = start.split(b"\n", 1)[0]
    return chr(max(_DELIMITERS, key=lambda byte: first.count(byte)))


def _reason(error: BaseException) -> str:
    """Arrow's words without its prefixes."""
    words = str(error).strip().splitlines()
    first = words[0] if words else type(error).__name__
    first = first.removeprefix("CSV parse error: ")
    return first if first.endswith(".") else f"{first}."


def _table(table: Any, path: Path, target: str | int | None) -> Table:
    """Features and target as pandas and NumPy hold them."""
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
        y = check_target(_values(table.column(name)), str(path), name)
        table = table.drop_columns([name])
    if table.num_columns == 0:
        raise TableError(f"{path} has no columns beside the target.")
    return Table(_frame(table, path), y, name)


def _values(column: Any) -> Any:
    """A column as an array, None or NaN where a cell is empty."""
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return column.to_numpy()
    cells = column.to_pylist()
    return np.array(cells, dtype=object if column.null_count else None)


def _frame(table: Any, path: Path) -> Any:
    """A frame of numbers and text, without infinite numbers."""
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
            raise TableError(
                f"{path}: column {name!r} holds an infinite value in row {row}; leave "
                "the cell empty if it is missing."
            )
    return frame


def _find(target: str | int, names: list[str], path: Path) -> str:
    """Name of the target, given by name or by position."""
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
