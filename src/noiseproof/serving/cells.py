"""Reading of single values from frames, lists, JSON or text files.

A column is read into floats, where NaN marks missing values, or into objects, where
None does. Times and durations are read into floats as well, as microseconds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_TIMES = {"M": "datetime64[us]", "m": "timedelta64[us]"}  # by kind of dtype
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EMPTY = {"", "na", "n/a", "#n/a", "nan", "null", "none"}  # instead of a number
_TRUTH = {"true": 1.0, "false": 0.0}
_NESTED = (list, tuple, dict, set, bytes, np.ndarray)
_ODD = {np.datetime64, np.timedelta64, bytes}  # which float() may take for numbers
# 2 days 01:00:00, -1 days +23:00:00, 1 day, 1:00:00, 1:00:00.5
_CLOCK = re.compile(
    r"(?:([+-]?\d+) days?)?(?:,? ?)(?:([+-]?)(\d+):(\d\d):(\d\d(?:\.\d+)?))?"
)
_ISO = re.compile(  # P2DT1H30M, PT0.5S
    r"([+-]?)P(?:(\d+)W)?(?:(\d+)D)?"
    r"(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_LENGTHS = (7 * 86400, 86400, 3600, 60, 1)  # of a week and so on, in seconds


class Cells(NamedTuple):
    """A column as it arrives; NumPy's times are in UTC if they are `aware`."""

    values: Array
    aware: bool = False


def as_cells(column: Any) -> Cells:
    """A column of pandas, polars or Arrow, an array or a list."""
    dtype = getattr(column, "dtype", None)
    if isinstance(column, np.ma.MaskedArray):
        return as_cells(unmasked(column))
    if dtype is None:  # a list, or a column of an Arrow table
        cells = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        return Cells(as_objects(cells))
    if hasattr(dtype, "is_numeric"):  # polars
        wide = dtype.is_decimal() or str(dtype).endswith("128")
        numbers = dtype.is_numeric() and not wide
        return Cells(np.asarray(column) if numbers else as_objects(column.to_list()))
    kind = "O" if str(dtype) == "category" else dtype.kind
    if kind in _TIMES:
        if str(dtype).startswith(("date32", "date64")):  # Arrow's dates
            column = column.astype(_TIMES[kind])
        times = np.asarray(column, dtype=_TIMES[kind])
        return Cells(times, zone_of(dtype) is not None)
    if isinstance(dtype, np.dtype) and kind in "fiub":
        return Cells(np.asarray(column))
    if kind in "fiu":  # nullable, or Arrow's
        return Cells(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if hasattr(dtype, "pyarrow_dtype"):  # some of Arrow's types have no conversion
        return Cells(as_objects(list(column)))
    return Cells(np.asarray(column, dtype=object))


def zone_of(dtype: Any) -> Any:
    """The time zone of a dtype of pandas, Arrow or polars; None if it has none."""
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    zone = getattr(dtype, "tz", None)
    return getattr(dtype, "time_zone", None) if zone is None else zone


def unmasked(values: Any) -> Array:
    """An array of NumPy, in which masked values become NaN or None."""
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    objects = np.array(values.data, dtype=object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def as_objects(cells: list[Any]) -> Array:
    """A list as an array of objects, as they are."""
    return np.fromiter(cells, dtype=object, count=len(cells))


class Read(NamedTuple):
    """Values for the model, and which of them were empty or could not be read."""

    values: Array
    empty: Mask
    bad: Mask


def read_numbers(cells: Cells) -> Read:
    """Read numbers, also those written as text."""
    values = cells.values
    listed = values.tolist() if values.dtype == object else ()
    if values.dtype.kind not in _TIMES and _ODD.isdisjoint(map(type, listed)):
        try:
            return _as_read(values.astype(np.float64))
        except (TypeError, ValueError, OverflowError):
            pass  # one value after the other
    return _parsed(values, _number)


def read_truths(cells: Cells) -> Read:
    """Read truth values: 1 for true, 0 for false."""
    if cells.values.dtype.kind == "b":
        return _as_read(cells.values.astype(np.float64))
    return _parsed(cells.values, _truth)


def read_times(cells: Cells, zone: str | None) -> Read:
    """Read points in time; those without a time zone are in that of training."""
    if cells.values.dtype.kind == "M" and (cells.aware or zone is None):
        return _as_read(_codes(cells.values))
    return _parsed(cells.values, lambda cell: _since_1970(cell, zone))


def read_durations(cells: Cells) -> Read:
    """Read durations; a number is in seconds."""
    if cells.values.dtype.kind == "m":
        return _as_read(_codes(cells.values))
    return _parsed(cells.values, _duration)


def read_texts(cells: Cells) -> Read:
    """Read texts; numbers become text as they would be written in a text file."""
    listed = cells.values.tolist()
    values = as_objects([c if type(c) is str else _text(c) for c in listed])
    missing = is_missing(values)
    bad = np.zeros_like(missing)
    for i in np.flatnonzero(missing):
        bad[i] = isinstance(listed[i], _NESTED)
    return Read(values, missing & ~bad, bad)


def is_missing(values: Array) -> Mask:
    """Which values are missing, after a column was read."""
    if values.dtype != object:
        return np.isnan(values)
    return np.fromiter((cell is None for cell in values.tolist()), bool, len(values))


def is_empty(cell: Any) -> bool:
    """Whether a value is None, NaN, NaT or the missing value of pandas."""
    if cell is None or cell is getattr(sys.modules.get("pandas"), "NA", None):
        return True
    try:
        return not isinstance(cell, _NESTED) and bool(cell != cell)
    except (ArithmeticError, TypeError, ValueError):  # such as a signalling NaN
        return False


def _text(cell: Any) -> str | None:
    nothing = is_empty(cell) or isinstance(cell, _NESTED)
    return None if nothing else written(cell)


def written(cell: Any) -> str:
    """A value as text; an integer has no decimals, whatever its type."""
    if isinstance(cell, np.timedelta64):  # which is a Real
        return str(cell.astype(_TIMES["m"]).item())
    with suppress(OverflowError, ValueError):  # no number that a float could be
        if isinstance(cell, Real | Decimal) and float(cell).is_integer():
            cell = cell if isinstance(cell, bool | int) else int(float(cell))
    return str(cell)


def shortened(text: str, most: int = 80) -> str:
    """A text for a message, cut if it is long."""
    return text if len(text) <= most else f"{text[:most]}..."


def _as_read(numbers: Array) -> Read:
    """Finite numbers; NaN marks empty values, and infinity values that are not read."""
    bad = np.isinf(numbers)
    empty = np.isnan(numbers)
    return Read(np.where(bad, np.nan, numbers) if bad.any() else numbers, empty, bad)


def _codes(times: Array) -> Array:
    codes = times.view(np.int64).astype(np.float64)
    return np.where(np.isnat(times), np.nan, codes)


def _parsed(values: Array, parse: Callable[[Any], float]) -> Read:
    """Parse each value by itself."""

    def one(cell: Any) -> float:
        if is_empty(cell) or (isinstance(cell, str) and cell.strip().lower() in _EMPTY):
            return np.nan
        try:
            number = parse(cell)
        except (TypeError, ValueError, OverflowError, KeyError):
            return np.inf
        return np.inf if np.isnan(number) else number

    listed = values.tolist()
    return _as_read(np.fromiter(map(one, listed), np.float64, len(listed)))


def _number(cell: Any) -> float:
    is_number = isinstance(cell, Real | Decimal | str | np.bool_)
    if not is_number or isinstance(cell, np.timedelta64):
        raise TypeError
    return float(cell)


def _truth(cell: Any) -> float:
    if isinstance(cell, str):
        cell = _TRUTH.get(cell.strip().lower(), cell)
    return {0.0: 0.0, 1.0: 1.0}[_number(cell)]


def _since_1970(cell: Any, zone: str | None) -> float:
    if isinstance(cell, str):
        cell = datetime.fromisoformat(cell.strip())
    if isinstance(cell, np.datetime64):
        cell = cell.astype(_TIMES["M"]).tolist()
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    if not isinstance(cell, datetime):
        raise TypeError
    if cell.tzinfo is None:
        cell = cell.replace(tzinfo=UTC if zone is None else ZoneInfo(zone))
    return float((cell - _EPOCH) / _MICROSECOND)


def _duration(cell: Any) -> float:
    if isinstance(cell, np.timedelta64):
        cell = cell.astype(_TIMES["m"]).tolist()
    if isinstance(cell, timedelta):
        return cell / _MICROSECOND
    if isinstance(cell, str):
        seconds = _spelled_out(cell.strip())
        cell = cell if seconds is None else seconds
    return 1e6 * _number(cell)


def _spelled_out(text: str) -> float | None:
    """Seconds of a duration as pandas, Python or ISO 8601 write it."""
    clock, iso = _CLOCK.fullmatch(text), _ISO.fullmatch(text)
    if clock and any(clock.groups()):
        days, sign, *rest = clock.groups()
        parts = ["0", "0", *rest]
        before = 86400.0 * int(days or 0)
    elif iso and any(iso.groups()[1:]):
        (sign, *parts), before = iso.groups(), 0.0
    else:
        return None
    seconds = sum(
        float(part or 0) * length for part, length in zip(parts, _LENGTHS, strict=True)
    )
    return before + (-seconds if sign == "-" else seconds)
