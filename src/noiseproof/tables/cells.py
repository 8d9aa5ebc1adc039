"""Text that is meant as a number: `1,5`, `$1,234`, `<0.5`, `n/a` and -999."""

from __future__ import annotations

from typing import Any

import numpy as np

_SENTINELS = (-9, -99, -999, -9999, -99999, 99, 999, 9999, 99999)
_CURRENCY = r"[$€£¥%\s\u00a0']"
_THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$"
_DECIMAL = r"^[+-]?\d*,\d+$"


def is_number(column: Any) -> bool:
    """Whether a column of pandas has a numeric dtype."""
    return column.dtype.kind in "fiub"


def as_text(column: Any) -> Any:
    """A column as text; numbers in it are written as they would be in a file."""
    import pandas as pd

    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        column = column.map(written, na_action="ignore")
    return column.astype(object)


def written(cell: Any) -> str:
    """A value as text; a whole number is written without a fraction."""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell) if whole else cell)


def has_decimal_commas(column: Any) -> bool:
    """Whether the commas in a text column are decimal commas, as in 1,5."""
    text = column.dropna().astype(str).str.replace(_CURRENCY, "", regex=True)
    with_comma = text[text.str.contains(",", regex=False)]
    decimal = with_comma.str.match(_DECIMAL)
    return bool((decimal & ~with_comma.str.match(_THOUSANDS)).any())


def as_numbers(column: Any, *, kindly: bool = True, decimal: bool | None = None) -> Any:
    """A column of pandas as numbers, NaN where a value is not a number.

    If `kindly`, currency signs are ignored, and commas are read as decimal commas or as
    thousands separators: as `decimal` says, or as the whole column suggests.
    """
    import pandas as pd

    if is_number(column):
        return column.astype(float)
    if column.dtype.kind in "Mm":  # times, which pandas would count in nanoseconds
        return pd.Series(np.nan, index=column.index, name=column.name)
    plain = pd.to_numeric(column, errors="coerce").astype(float)
    odd = (plain.isna() & column.notna()).to_numpy()  # labels may be duplicated
    rest = column[odd].astype(str)
    if kindly and len(rest):
        if decimal is None:
            decimal = has_decimal_commas(column)
        text = rest.str.replace(_CURRENCY, "", regex=True)
        if decimal:
            text = text.str.replace(".", "", regex=False)
            text = text.str.replace(",", ".", regex=False)
        else:
            thousands = text.str.match(_THOUSANDS)
            text = text.mask(thousands, text.str.replace(",", "", regex=False))
        plain[odd] = pd.to_numeric(text, errors="coerce").to_numpy(float)
    return plain.where(np.isfinite(plain))


def sentinel(numbers: Any) -> float | None:
    """A number such as -999 that is far from all others and occurs at least twice."""
    values = np.unique(np.asarray(numbers, dtype=np.float64))
    values = values[~np.isnan(values)]
    for end, rest in ((0, values[1:]), (-1, values[:-1])):
        if len(rest) < 3 or values[end] not in _SENTINELS:
            continue
        apart = np.min(np.abs(rest - values[end]))
        often = int((np.asarray(numbers) == values[end]).sum()) > 1
        if often and apart > np.ptp(rest):
            return float(values[end])
    return None
