"""Rows that a fitted object keeps, as plain arrays that a file can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows.containers import in_pandas

_PLAIN = "biufMm"  # kinds of dtypes that a NumPy array represents completely


@dataclass(frozen=True)
class KeptColumn:
    """A column of a pandas frame: values, the name of its dtype, and its categories.

    If there are `categories`, which are a column themselves, values are indices into
    them. Times with a zone are stored in UTC.
    """

    values: NDArray[Any]
    dtype: str
    categories: Any = None
    ordered: bool = False

    @classmethod
    def of(cls, column: Any) -> KeptColumn:
        """Convert a column of pandas."""
        dtype = column.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in _PLAIN:
            return cls(column.to_numpy(copy=True), str(dtype))
        if hasattr(dtype, "categories"):
            own = cls.of(dtype.categories.to_series())
            codes = column.cat.codes.to_numpy(copy=True)
            return cls(codes, "category", own, bool(dtype.ordered))
        if hasattr(dtype, "tz"):
            there = column.dt.tz_convert("UTC").dt.tz_localize(None)
            return cls(there.to_numpy(copy=True), str(dtype))
        objects = column.astype(object)
        return cls(objects.where(column.notna(), None).to_numpy(object), str(dtype))

    def column(self, rows: Any) -> Any:
        """Return some rows as a pandas Series."""
        import pandas as pd

        values = self.values[rows]
        if self.categories is not None:
            known = self.categories.column(slice(None))
            kind = pd.CategoricalDtype(known, self.ordered)
            return pd.Series(pd.Categorical.from_codes(values, dtype=kind))
        if values.dtype.kind == "M" and "," in self.dtype:
            return pd.Series(values).dt.tz_localize("UTC").astype(self.dtype)
        return pd.Series(values, dtype=self.dtype)


class KeptRows:
    """A copy of an array, a CSR matrix or a data frame, without the index of a frame.

    Polars frames with strings or times become pandas frames.

    Examples
    --------
    >>> import numpy as np
    >>> KeptRows(np.eye(3)).take([2])
    array([[0., 0., 1.]])
    """

    def __init__(self, X: Any):
        self.names: list[Any] | None = None
        self.library: str | None = None
        X = in_pandas(X)
        if not hasattr(X, "columns"):
            self.parts: list[Any] = [X.copy()]
            return
        self.names = [getattr(name, "item", lambda n=name: n)() for name in X.columns]
        if hasattr(X, "iloc"):
            self.library = "pandas"
            self.parts = [KeptColumn.of(column) for _, column in X.items()]
        else:
            self.library = "polars"
            self.parts = [np.array(column.to_numpy()) for column in X.iter_columns()]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        if self.library is None:
            n, d = self.parts[0].shape
            return n, d
        first = self.parts[0]
        n = len(first.values if self.library == "pandas" else first)
        return n, len(self.parts)

    def take(self, rows: Any = slice(None)) -> Any:
        """Return some rows, or all of them, in the original kind of container."""
        if self.library is None:
            return self.parts[0][rows]
        if self.library == "polars":
            import polars as pl

            pairs = zip(self.names or (), self.parts, strict=True)
            return pl.DataFrame({name: part[rows] for name, part in pairs})
        import pandas as pd

        frame = pd.DataFrame({j: p.column(rows) for j, p in enumerate(self.parts)})
        frame.columns = pd.Index(self.names)
        return frame
