"""Notes on how rows differ from the training table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from noiseproof.serving.cells import Mask, as_cells, shortened, written
from noiseproof.serving.columns import Column, Reading
from noiseproof.tables import Note

_UNSEEN = "are words that training did not have and count as missing"
_DRIFT, _CELLS = 0.1, 5  # more values missing than in training: a share, and so many


def notes_on(
    columns: Sequence[Column],
    readings: Sequence[Reading],
    given: dict[str, Any],
    extra: list[str],
) -> Iterator[Note]:
    """Notes on a batch: first those on whole columns, then those on values."""
    n = len(readings[0].empty)
    absent = [column.name for column in columns if column.name not in given]
    if absent:
        words = "absent: missing in every row"
        yield Note(absent, words, "", "absent", n * len(absent))
    if extra:
        yield Note(extra, "ignored: training had no such column", "", "extra", 0)
    for column, reading in zip(columns, readings, strict=True):
        if column.name in given:
            yield from _on_values(column, reading, given[column.name], n)


def _on_values(column: Column, reading: Reading, cells: Any, n: int) -> Iterator[Note]:
    def note(kind: str, which: Mask, words: str) -> Note:
        count = int(np.count_nonzero(which))
        such = shortened(written(as_cells(cells).values[int(np.argmax(which))]))
        finding = f"{count} of {n} values {words}, such as {such!r}"
        return Note([column.name], finding, "", kind, count)

    if reading.bad.any():
        yield note("unreadable", reading.bad, "cannot be read and count as missing")
    if reading.new.any():
        yield note("unseen", reading.new, _UNSEEN)
    if reading.far.any():
        yield note("out of range", reading.far, "are far out of the range of training")
    empty, rate = int(np.count_nonzero(reading.empty)), column.missing_rate
    more = 0.0 if rate is None else empty / n - rate
    if more > _DRIFT and more * n >= _CELLS:
        words = f"{empty / n:.0%} of the values are missing; in training"
        yield Note([column.name], f"{words} {rate:.0%} were", "", "missing", empty)
