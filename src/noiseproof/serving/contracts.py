"""Descriptions of the rows that a model takes, for people and for validators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from noiseproof.serving.columns import Column

_LOCAL = (  # a time without a time zone, or a date
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?$"
)
_TYPES = {
    "number": ["number"],
    "duration": ["number"],
    "boolean": ["boolean"],
    "text": ["string", "number"],
    "time": ["string"],
}


def contract_of(columns: Sequence[Column]) -> dict[str, dict[str, Any]]:
    """The contract, column by column."""
    return {column.name: _clause(column) for column in columns}


def _clause(column: Column) -> dict[str, Any]:
    clause: dict[str, Any] = {"kind": column.kind}
    if column.words is not None:
        clause["words"] = list(column.words)
    elif column.low is not None and column.kind != "boolean":
        clause["range"] = [_shown(column, end) for end in (column.low, column.high)]
    if column.zone is not None:
        clause["time_zone"] = column.zone
    return clause | {
        "may_be_missing": column.may_be_missing,
        "missing_rate": column.missing_rate,
        "absence_cost": column.absence_cost,
    }


def _shown(column: Column, end: Any) -> Any:
    """An end of a range: times as text, durations in seconds."""
    if column.kind == "duration":
        return end / 1e6
    if column.kind != "time":
        return end
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=end)
    return (moment if column.zone else moment.replace(tzinfo=None)).isoformat()


def schema_of(columns: Sequence[Column]) -> dict[str, Any]:
    """A JSON Schema of one record."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Row",
        "type": "object",
        "properties": {column.name: _property(column) for column in columns},
        "additionalProperties": True,
    }


def _property(column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {}
    empty = column.may_be_missing
    if column.words is not None:
        found["enum"] = [*column.words, *[None] * empty]
    else:
        found["type"] = [*_TYPES[column.kind], *["null"] * empty]
    if column.kind == "time":
        zoned = column.zone is not None
        found |= {"format": "date-time"} if zoned else {"pattern": _LOCAL}
    low, high = column.bounds
    if column.kind in ("number", "duration") and np.isfinite(low):
        unit = 1e6 if column.kind == "duration" else 1.0
        found |= {"minimum": low / unit, "maximum": high / unit}
    rate, cost = column.missing_rate, column.absence_cost
    words = [column.kind]
    words += [] if rate is None else [f"missing in {rate:.1%} of the training rows"]
    words += [] if cost is None else [f"cost if missing: {cost:.3g}"]
    return found | {"description": f"{'; '.join(words).capitalize()}."}
