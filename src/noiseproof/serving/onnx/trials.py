"""Rows on which a graph and its model are compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof.estimators import AverageOverMissing
from noiseproof.serving.onnx.inputs import reader_of
from noiseproof.serving.onnx.rows import Rows
from noiseproof.tables import written

Array = NDArray[Any]

# rows that are tried, some of them complete, and the rate of missing values
_ROWS, _COMPLETE, _RATE = 100, 20, 0.4


def trial(model: Any, rows: Rows, method: str) -> tuple[Any, Array]:
    """Make rows for the model in Python, and its answers for them.

    Some values are missing, unless the model refuses missing values.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = _table(model, rows, _RATE)
            return table, np.asarray(getattr(model, method)(table))
        except ValueError:
            table = _table(model, rows, 0.0)
            return table, np.asarray(getattr(model, method)(table))


def _table(model: Any, rows: Rows, rate: float) -> Any:
    """Rows that are similar to training rows, as far as the model knows these."""
    rng, reader = np.random.default_rng(0), reader_of(model)
    if isinstance(reader, AverageOverMissing):
        codes, words = (
            _likely(reader.conditional_, rng),
            reader.conditional_.cells_.words,
        )
    else:
        codes, words = _unlikely(reader, rows, rng)
    lost = rng.random(codes.shape) < rate
    lost[:_COMPLETE] = False
    codes = np.where(lost, np.nan, codes)
    if rows.names is None:
        return codes.astype(rows.dtype)
    import pandas as pd

    columns = [_column(*pair) for pair in zip(codes.T, words, strict=True)]
    return pd.DataFrame(dict(zip(rows.names, columns, strict=True)))


def _likely(law: Any, rng: np.random.Generator) -> Array:
    """Codes of rows that a conditional knows or can draw."""
    if law.keeps_rows:
        return np.asarray(law.rows_[rng.integers(0, len(law.rows_), _ROWS)])
    return np.asarray(law._starts(_ROWS) * law.cells_.scales + law.cells_.means)


def _unlikely(reader: Any, rows: Rows, rng: np.random.Generator) -> Any:
    """Random numbers, and indices of words if any are known."""
    width = reader.n_features_in_ if rows.names is None else len(rows.names)
    codes = rng.standard_normal((_ROWS, width))
    if rows.names is None:
        return codes, None
    known = reader.known_texts() if hasattr(reader, "known_texts") else {}
    words = [
        known.get(name, ["?"]) if part.is_text else None
        for name, part in zip(rows.names, rows.parts, strict=True)
    ]
    for j, texts in enumerate(words):
        if texts is not None:
            codes[:, j] = rng.integers(0, len(texts), _ROWS)
    return codes, words


def _column(codes: Array, words: Any) -> Any:
    """Numbers, or words by their places."""
    if words is None:
        return codes
    return [None if np.isnan(code) else words[int(code)] for code in codes]


def fed(table: Any, rows: Rows) -> dict[str, Array]:
    """The same rows for a session of onnxruntime."""
    if rows.names is None:
        return {"X": table}
    return {
        name: _cells(table[name], part.is_text)
        for name, part in zip(rows.names, rows.parts, strict=True)
    }


def _cells(column: Any, text: bool) -> Array:
    """A column (n, 1); missing text is empty."""
    if not text:
        return np.asarray(column, dtype=np.float64)[:, None]
    texts = [
        "" if gone else written(cell)
        for cell, gone in zip(column, column.isna(), strict=True)
    ]
    return np.array(texts, dtype=object)[:, None]
