"""Rows of a table inside a graph: one matrix, or one tensor for each column.

A model that was fitted on an array takes one matrix X. A model that was fitted on a
data frame takes one tensor for each column, named as the column: numbers in double
precision with NaN for missing values, and text with "" for missing values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noiseproof.serving.onnx.graph import ML, Graph, Tensor, concat
from noiseproof.tables import written

_ABSENT, _UNSEEN = -2, -1  # places of "" and of words that training did not have


@dataclass(frozen=True)
class Rows:
    """Tensors of n rows: a matrix alone, or a column (n, 1) for each name."""

    parts: tuple[Tensor, ...]
    names: tuple[str, ...] | None = None

    @property
    def graph(self) -> Graph:
        """The graph that the rows are in."""
        return self.parts[0].graph

    @property
    def dtype(self) -> Any:
        """The type of a matrix's numbers; those of tables have double precision."""
        return self.parts[0].dtype if self.names is None else np.dtype(np.float64)

    def compress(self, kept: Tensor) -> Rows:
        """The rows for which `kept` is true."""
        return replace(self, parts=tuple(part.compress(kept) for part in self.parts))

    def column(self, name: str) -> Tensor:
        """A column by its name."""
        assert self.names is not None
        return self.parts[self.names.index(name)]

    def matrix(self) -> Tensor:
        """All columns as one matrix of numbers."""
        return concat(self.parts, axis=1)

    @classmethod
    def stacked(cls, several: Sequence[Rows]) -> Rows:
        """The rows of several tables, one behind the other."""
        columns = zip(*(rows.parts for rows in several), strict=True)
        parts = tuple(concat(column, axis=0) for column in columns)
        return replace(several[0], parts=parts)


def codes_of(cells: Any, rows: Rows) -> tuple[Tensor, Tensor]:
    """`Cells.codes` and `holes`: codes (n, d) with NaN, and which values are missing.

    A word that did not occur in training has no code, but is not missing.
    """
    if rows.names is None:
        codes = rows.matrix().double()
        return codes, codes.isnan()
    pairs = [
        _codes_of_column(column, words)
        for column, words in zip(rows.parts, cells.words, strict=True)
    ]
    codes, holes = (concat(each, axis=1) for each in zip(*pairs, strict=True))
    return codes, holes


def _codes_of_column(column: Tensor, words: Any) -> tuple[Tensor, Tensor]:
    if words is None:
        return column, column.isnan()
    if are_flags(words):
        last = column.graph.constant(len(words) - 1.0)
        others = column.equals(float(words[-1])).where(last, np.nan)
        return column.equals(float(words[0])).where(0.0, others), column.isnan()
    places = look_up(column, [*texts_of(words), ""], [*range(len(words)), _ABSENT])
    codes = (places >= 0).where(places.double(), np.nan)
    return codes, places.equals(_ABSENT)


def table_of(cells: Any, codes: Tensor, like: Rows) -> Rows:
    """`Cells.table`: rows with these codes (n, d)."""
    if like.names is None:
        return replace(like, parts=(codes.cast(like.dtype),))
    parts = []
    for j, words in enumerate(cells.words):
        column = codes.take([j], axis=1)
        if words is not None:
            flags, missing = are_flags(words), column.isnan()
            values = words.astype(np.float64) if flags else texts_of(words)
            places = missing.where(0.0, column).cast(np.int64)
            column = codes.graph.constant(values).take(places)
            column = missing.where(np.nan if flags else "", column)
        parts.append(column)
    return replace(like, parts=tuple(parts))


def empty_row(cells: Any, like: Rows) -> Any:
    """A row without observed values, for the model in Python."""
    if like.names is None:
        return np.full((1, len(cells.means)), np.nan, dtype=like.dtype)
    import pandas as pd

    missing = [np.nan if words is None else None for words in cells.words]
    return pd.DataFrame({n: [m] for n, m in zip(like.names, missing, strict=True)})


def look_up(column: Tensor, keys: Any, places: Sequence[int] | None = None) -> Tensor:
    """Indices of labels in a list, or the numbers given for them; -1 for others."""
    kind = "keys_strings" if column.is_text else "keys_int64s"
    return column.op(
        "LabelEncoder",
        domain=ML,
        values_int64s=[*range(len(keys))] if places is None else places,
        default_int64=_UNSEEN,
        dtype=np.int64,
        **{kind: [str(key) if column.is_text else int(key) for key in keys]},
    )


def texts_of(words: Any) -> list[str]:
    """Words as text; numbers among them as they would be written in a file."""
    return [written(word) for word in words]


def are_flags(words: Any) -> bool:
    """Whether a column has only True and False, which are numbers in a graph."""
    return all(isinstance(word, bool | np.bool_) for word in words)


def number_of(text: str) -> float:
    """The number that a text represents; NaN if it represents none."""
    try:
        return float({"True": "1", "False": "0"}.get(text, text))
    except ValueError:
        return float("nan")
