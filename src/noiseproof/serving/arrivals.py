"""Reading of rows in any of the forms in which they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from noiseproof._rows import density
from noiseproof.serving.cells import unmasked

NO_ROWS = "There are no rows to predict."


class RowsError(ValueError):
    """Error for rows that a served model cannot predict; it says what to change.

    See Also
    --------
    Served : Raises it.
    """


def arranged(rows: Any, names: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Columns by name, and the number of rows.

    Frames, dictionaries and records contain names. The columns of an array are those of
    training, by position.
    """
    if hasattr(rows, "collect"):
        rows = rows.collect()  # a lazy frame of polars
    if hasattr(rows, "to_dict") and hasattr(rows, "index") and np.ndim(rows) == 1:
        rows = rows.to_dict()  # a row of a frame of pandas
    if hasattr(rows, "columns") or hasattr(rows, "column_names"):
        columns = _framed(rows)
        return columns, rows.num_rows if hasattr(rows, "num_rows") else len(rows)
    if isinstance(rows, Mapping):
        return _listed(rows)
    if isinstance(rows, Sequence) and not isinstance(rows, str):
        if not len(rows):
            raise RowsError(NO_ROWS)
        mappings = [isinstance(row, Mapping) for row in rows]
        if all(mappings):
            return _recorded(rows, names)
        if any(mappings):
            place = mappings.index(False)
            raise RowsError(
                f"Row {place} must be a dictionary from columns to values, as other "
                f"rows are; got {type(rows[place]).__name__}."
            )
    return _positioned(rows, names)


def _named(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Columns by name; an error if two have the same name."""
    found: dict[str, Any] = {}
    for label, column in pairs:
        if str(label) in found:
            raise RowsError(
                f"Two columns are named {str(label)!r}; rename one of them."
            )
        found[str(label)] = column
    return found


def _framed(frame: Any) -> dict[str, Any]:
    """The columns of a frame of pandas or polars, or of an Arrow table."""
    if hasattr(frame, "items"):
        return _named(frame.items())
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    columns = frame.iter_columns() if hasattr(frame, "iter_columns") else frame.columns
    return _named(zip(names, columns, strict=True))


def _listed(rows: Mapping[Any, Any]) -> tuple[dict[str, Any], int]:
    """Read a dictionary of columns, or of the values of a single row."""
    found = _named(rows.items())
    if found and all(isinstance(value, Mapping) for value in found.values()):
        found = _unlabelled(found)
    single = [not _is_column(value) for value in found.values()]
    if all(single):
        return {name: [value] for name, value in found.items()}, 1
    sizes = {
        name: len(value)
        for (name, value), one in zip(found.items(), single, strict=True)
        if not one
    }
    if any(single) or len(set(sizes.values())) > 1:
        raise RowsError(
            "A dictionary must contain columns of equal length, or the values of one "
            f"row; got {_lengths(found, sizes)}."
        )
    return found, next(iter(sizes.values()))


def _unlabelled(found: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns that are dictionaries from labels of rows to values, as of `to_dict`."""
    labels = [list(value) for value in found.values()]
    if any(own != labels[0] for own in labels):
        raise RowsError(
            "A dictionary of dictionaries must contain columns, each with the same "
            "labels of rows in the same order."
        )
    return {name: list(value.values()) for name, value in found.items()}


def _is_column(value: Any) -> bool:
    if isinstance(value, Set):
        raise RowsError("A column must have an order; got a set instead of a list.")
    scalar = isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__")
    return not scalar and getattr(value, "ndim", 1) > 0


def _lengths(found: dict[str, Any], sizes: dict[str, int]) -> str:
    """Describe two columns of different lengths."""
    shown = {name: f"{sizes[name]} values" if name in sizes else "one value"
             for name in found}  # fmt: skip
    first = next(iter(shown))
    other = next(name for name in shown if shown[name] != shown[first])
    return f"{shown[first]} of {first!r} and {shown[other]} of {other!r}"


def _recorded(
    rows: Sequence[Mapping[Any, Any]], names: Sequence[str]
) -> tuple[dict[str, Any], int]:
    """Read records, each a dictionary from columns to values."""
    there = dict.fromkeys(key for row in rows for key in row)
    found = _named((key, [row.get(key) for row in rows]) for key in there)
    return found, len(rows)


def _positioned(rows: Any, names: Sequence[str]) -> tuple[dict[str, Any], int]:
    """Read an array, or a list of lists."""
    if density(rows) is not None:
        rows = rows.toarray()
    try:
        values = unmasked(rows)
        if values.dtype.kind in "US":  # numbers among texts are to stay numbers
            values = np.asarray(rows, dtype=object)
    except ValueError:  # rows of different lengths
        values = np.asarray(0)
    if values.ndim != 2:
        raise RowsError(
            "Rows must be a data frame, a dictionary of columns, a list of "
            "dictionaries, or an array with two dimensions; got "
            f"{_described(rows)}."
        )
    if values.shape[1] != len(names):
        raise RowsError(
            f"An array must have the {len(names)} columns of the training table, in "
            f"their order; got {values.shape[1]} columns. Pass a data frame or "
            "dictionaries to name the columns."
        )
    return dict(zip(names, values.T, strict=True)), len(values)


def _described(rows: Any) -> str:
    if isinstance(rows, Sequence) and not isinstance(rows, str):
        return "a list of something else"
    shape = getattr(rows, "shape", None)
    kind = type(rows).__name__
    return f"{kind} of shape {shape}" if shape is not None else kind
