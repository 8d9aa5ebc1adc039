"""The form in which a model gets its rows: an array, or a pandas or polars frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from noiseproof.serving.cells import Array
from noiseproof.serving.columns import Column

FORMS = ("array", "pandas", "polars", "sparse")


def form_of(table: Any) -> str:
    """The form of a training table."""
    if not hasattr(table, "columns"):
        return "array"
    return "pandas" if hasattr(table, "iloc") else "polars"


def assembled(form: str, columns: Sequence[Column], values: Sequence[Array]) -> Any:
    """Values after reading, as a table of that form."""
    held = [column.held(part) for column, part in zip(columns, values, strict=True)]
    if form == "array":
        return np.column_stack(held)
    alike = len({part.dtype for part in held}) == 1 and held[0].dtype.kind in "fiu"
    if form == "pandas":
        import pandas as pd

        labels = [column.label for column in columns]
        if alike:
            names = pd.Index(labels, dtype=object)
            return pd.DataFrame(np.column_stack(held), columns=names, copy=False)
        pairs = zip(columns, held, strict=True)
        parts = {j: _of_pandas(*pair) for j, pair in enumerate(pairs)}
        frame = pd.DataFrame(parts, copy=False)
        frame.columns = pd.Index(labels, dtype=object)
        return frame
    import polars as pl

    return pl.DataFrame([_of_polars(*pair) for pair in zip(columns, held, strict=True)])


def _of_pandas(column: Column, held: Array) -> Any:
    import pandas as pd

    if column.dtype in ("category", "ordered"):
        ordered = column.dtype == "ordered"
        return pd.Categorical(held, categories=column.words, ordered=ordered)
    if column.kind == "time":
        times = pd.DatetimeIndex(held).as_unit(column.dtype)
        if column.zone is not None:
            times = times.tz_localize("UTC").tz_convert(column.zone)
        return times
    if column.kind == "duration":
        return pd.TimedeltaIndex(held).as_unit(column.dtype)
    return held


def _of_polars(column: Column, held: Array) -> Any:
    import polars as pl

    name, unit = column.name, cast(Any, column.dtype)
    if column.kind == "time":
        times = pl.Series(name, held)
        if column.zone is not None:
            times = times.dt.replace_time_zone("UTC")
            times = times.dt.convert_time_zone(column.zone)
        return times.cast(pl.Date) if unit == "day" else times.dt.cast_time_unit(unit)
    if column.kind == "duration":
        return pl.Series(name, held).dt.cast_time_unit(unit)
    if held.dtype != object:
        return pl.Series(name, held)
    types: dict[str, Any] = {"category": pl.Categorical}
    if unit == "enum":
        types["enum"] = pl.Enum(column.words or [])
    texts = [None if cell != cell else cell for cell in held.tolist()]
    return pl.Series(name, texts, dtype=types.get(unit, pl.String))
