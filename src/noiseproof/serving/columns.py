"""Summaries of the columns of a training table, and reading of new values by them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from noiseproof._docs import shared_docs
from noiseproof.serving.cells import (
    Array,
    Cells,
    Mask,
    Read,
    as_cells,
    as_objects,
    is_empty,
    is_missing,
    read_durations,
    read_numbers,
    read_texts,
    read_times,
    read_truths,
    written,
    zone_of,
)

_SIGNED, _UNSIGNED = (
    ("int64", "int32", "int16", "int8"),
    ("uint64", "uint32", "uint16", "uint8"),
)
_NUMBERS = ("float64", "float32", "float16", *_SIGNED, *_UNSIGNED, "bool", "object")
_UNITS = ("s", "ms", "us", "ns", "day")
KINDS = {  # what a column may hold, and the types in which models get it
    "number": _NUMBERS,
    "category": (*_NUMBERS, "category", "ordered", "enum"),
    "text": ("object",),
    "boolean": ("bool", "object"),
    "time": _UNITS,
    "duration": _UNITS,
}
_FEW, _MANY = 20, 0.9  # words, and share of the rows: more are free text
_BEYOND = 0.5  # widths of the training range that a number may lie outside of it


class Reading(NamedTuple):
    """A column after reading: its values, and why some of them are missing."""

    values: Array  # floats with NaN, or objects with None
    empty: Mask
    bad: Mask  # could not be read
    new: Mask  # words that training did not have
    far: Mask  # out of range, but not missing

    @property
    def missing(self) -> Mask:
        """Which values the model gets as missing."""
        return self.empty | self.bad | self.new


@shared_docs
@dataclass(frozen=True)
class Column:
    """Summary of a column of the training table.

    Parameters
    ----------
    label : str or int
        Name of the column, as the model knows it.
    kind : {"number", "category", "text", "boolean", "time", "duration"}
        Kind of its values. A category has few distinct values: words, or numbers that
        are codes. Text is different in nearly every row.
    dtype : str
        Type of the values that the model gets.
    missing_rate : float or None
        Share of values that were missing in training; None if it is not known.
    low, high : float or None
        Smallest and largest value in training. Times are microseconds since 1970.
    words : list or None
        Values of a category.
    zone : str or None
        Time zone.
    none : bool
        Whether the model gets None for a missing text, instead of NaN.
    may_be_missing : bool
        Whether the model accepts missing values in this column.
    absence_cost : float or None
        Cost if the whole column is missing (see `Served.contract`).

    {See Also: Served}
    """

    label: str | int
    kind: str
    dtype: str
    missing_rate: float | None
    low: float | None = None
    high: float | None = None
    words: list[Any] | None = None
    zone: str | None = None
    none: bool = False
    may_be_missing: bool = True
    absence_cost: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone, without cached values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def name(self) -> str:
        """Name of the column as text."""
        return str(self.label)

    @property
    def is_text(self) -> bool:
        """Whether its values are text, even if they look like numbers."""
        return self.kind == "text" or (
            self.kind == "category" and not self._has_numbers
        )

    def read(self, column: Any) -> Reading:
        """Read values of this column, in any form in which they arrive."""
        return self.interpreted(as_cells(column))

    def interpreted(self, cells: Cells) -> Reading:
        """Read values of this column from an array."""
        if self.kind in ("category", "text"):
            texts = read_texts(cells)
            if self.words is None:
                values, new = texts.values, np.zeros_like(texts.bad)
            else:
                values = self._known(texts.values.tolist())
                new = is_missing(values) & ~texts.empty & ~texts.bad
            return Reading(values, texts.empty, texts.bad, new, np.zeros_like(new))
        if self.kind == "time":
            found = _within(read_times(cells, self.zone), self.dtype)
        elif self.kind == "duration":
            found = _within(read_durations(cells), self.dtype)
        else:
            read = read_truths if self.kind == "boolean" else read_numbers
            found = read(cells)
        none = np.zeros_like(found.bad)
        return Reading(*found, none, self._is_far(found.values))

    def _is_far(self, values: Array) -> Mask:
        low, high = self.bounds
        far: Mask = (values < low) | (values > high)
        return far

    @property
    def bounds(self) -> tuple[float, float]:
        """Limits of usual numbers: the range of training, and half of it each way."""
        if self.low is None or self.high is None or self.kind == "boolean":
            return -np.inf, np.inf
        slack = _BEYOND * (self.high - self.low)
        return self.low - slack, self.high + slack

    @cached_property
    def _by_text(self) -> dict[str, Any]:
        return {written(word): word for word in self.words or ()}

    @cached_property
    def _has_numbers(self) -> bool:
        return not all(isinstance(word, str) for word in self.words or ())

    def _known(self, texts: list[str | None]) -> Array:
        """The words of training that are written like this; None for other texts."""
        known = self._by_text
        words = [None if text is None else known.get(text) for text in texts]
        if self._has_numbers:  # 3.0 is 3
            for i, text in enumerate(texts):
                if words[i] is None and text is not None:
                    with suppress(ValueError):
                        words[i] = known.get(written(float(text)))
        return as_objects(words)

    @property
    def nothing(self) -> Any:
        """A missing value, as `read` gives it."""
        return None if self.kind in ("category", "text") else np.nan

    def held(self, values: Array) -> Array:
        """Values after reading, as an array of the type that the model knows."""
        if self.kind == "time":
            return _times(values, "datetime64[us]")
        if self.kind == "duration":
            return _times(values, "timedelta64[us]")
        if self.dtype in ("object", "category", "ordered", "enum"):
            return self._as_objects(values)
        numbers = values.astype(np.float64)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "f":
            return numbers.astype(dtype, copy=False)
        with np.errstate(invalid="ignore"):
            exact = numbers.astype(dtype)
        return exact if np.array_equal(exact, numbers) else numbers

    def _as_objects(self, values: Array) -> Array:
        missing = is_missing(values)
        if values.dtype != object:
            values = values.astype(bool if self.kind == "boolean" else float)
        held = values.astype(object)
        held[missing] = None if self.none else np.nan
        return held


def _within(found: Read, unit: str) -> Read:
    """Times, of which those that do not fit into 64 bits cannot be read."""
    beyond = np.abs(found.values) >= 2.0**63 / (1000 if unit == "ns" else 1)
    values = np.where(beyond, np.nan, found.values)
    return Read(values, found.empty, found.bad | beyond)


def _times(values: Array, dtype: str) -> Array:
    codes = np.where(np.isnan(values), -(2.0**63), np.round(values))  # NaT
    return codes.astype(np.int64).view(dtype)


def summarised(label: Any, column: Any, told: str | None = None) -> Column:
    """Summarise a column of the training table.

    `told` is the kind that the model knows, if it does: numbers may be categories, and
    text may be free text although it has few distinct values.
    """
    label = label if isinstance(label, int) else str(label)
    cells = as_cells(column)
    kind, dtype = _kind(label, column, cells)
    if told == "category" and kind in ("number", "boolean"):
        kind = "category"
    zone = _zone(label, column) if kind == "time" else None
    words = _words(label, column, cells, dtype) if kind == "category" else None
    if kind == "category" and dtype == "object" and told != "category":
        many = len(words or ()) > max(_FEW, _MANY * len(cells.values))
        if many or not words or told == "text":
            kind, words = "text", None
    none = dtype == "object" and _first_missing(cells) is None
    bare = Column(label, kind, dtype, 0.0, words=words, zone=zone, none=none)
    read = bare.interpreted(cells)
    low = high = None
    if read.values.dtype != object and not read.missing.all():
        low, high = float(np.nanmin(read.values)), float(np.nanmax(read.values))
    rate = float(read.missing.mean())
    return Column(label, kind, dtype, rate, low, high, words, zone, none)


def _first_missing(cells: Cells) -> Any:
    """The object that marks a missing value; NaN if nothing is missing."""
    return next((cell for cell in cells.values.tolist() if is_empty(cell)), np.nan)


def _kind(label: Any, column: Any, cells: Cells) -> tuple[str, str]:
    """Kind of a column, and the type of its values as the model gets them."""
    dtype, values = getattr(column, "dtype", None), cells.values
    name = str(dtype).partition("(")[0]  # without the parameters of a type of polars
    if name in ("category", "Categorical"):
        ordered = getattr(dtype, "ordered", False) is True
        return "category", "ordered" if ordered else "category"
    if name == "Enum":
        return "category", "enum"
    if name in ("Date", "Datetime", "Duration"):  # of polars
        unit = getattr(dtype, "time_unit", "day")
        return ("duration" if name == "Duration" else "time"), unit
    if values.dtype.kind in "Mm":
        unit = getattr(dtype, "unit", None) or np.datetime_data(values.dtype)[0]
        return ("time" if values.dtype.kind == "M" else "duration"), unit
    if values.dtype.kind == "b" or name in ("boolean", "Boolean", "bool[pyarrow]"):
        return "boolean", "bool"
    if values.dtype.kind != "O":
        return "number", values.dtype.name
    return _kind_of_objects(label, values), "object"


def _kind_of_objects(label: Any, values: Array) -> str:
    there = [cell for cell in values.tolist() if not is_empty(cell)]
    kinds = set(map(type, there))
    odd = [
        t
        for t in kinds
        if not issubclass(t, str | Real | np.bool_) or issubclass(t, np.timedelta64)
    ]
    if odd:
        raise TypeError(
            f"Column {label!r} of the reference contains values of type "
            f"{odd[0].__name__}; convert it to numbers, text or times first."
        )
    if kinds and all(issubclass(t, bool | np.bool_) for t in kinds):
        return "boolean"
    if kinds and not any(issubclass(t, str | bool | np.bool_) for t in kinds):
        return "number"
    return "category"


def _zone(label: Any, column: Any) -> str | None:
    """Name of the time zone of a column of pandas or polars."""
    zone = zone_of(getattr(column, "dtype", None))
    if zone is None:
        return None
    try:
        return ZoneInfo(str(zone)).key
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(
            f"The time zone of column {label!r} of the reference, {zone}, has no name; "
            "convert the column to a named time zone, such as UTC."
        ) from error


def _words(label: Any, column: Any, cells: Cells, dtype: str) -> list[Any]:
    """The distinct values of a column, in an order independent of the rows."""
    known = getattr(getattr(column, "cat", None), "categories", None)
    if dtype == "enum":
        known = column.dtype.categories
    if known is not None:
        return [_plain(label, word) for word in known.to_list()]
    listed = cells.values.tolist()
    words = {written(cell): cell for cell in listed if not is_empty(cell)}
    plain = [_plain(label, word) for word in words.values()]
    return sorted(plain, key=lambda word: (type(word).__name__, word))


def _plain(label: Any, word: Any) -> Any:
    """A word as a type of JSON."""
    word = word.item() if isinstance(word, np.generic) else word
    if not isinstance(word, str | int | float):
        raise TypeError(
            f"Column {label!r} of the reference has categories of type "
            f"{type(word).__name__}; convert them to text or numbers first."
        )
    return word
