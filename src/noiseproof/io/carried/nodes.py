"""Checks for the trees of all libraries: every path must end in a leaf."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

BROKEN = "the trees of a booster do not fit together."


def require(good: Any) -> None:
    """Raise an error for a booster whose trees do not fit together."""
    if not good:
        raise ValueError(BROKEN)


def check_nodes(left: Any, right: Any, feature: Any, d: int, n: int) -> None:
    """Raise an error for nodes that lead outside of a tree or back, or ask for others.

    A child is a later one of these nodes, or negative: one of n leaves, counted from
    -1 down.
    """
    parent = np.arange(len(left))
    for child in (np.asarray(left), np.asarray(right)):
        require(child.shape == parent.shape)
        ahead = (child > parent) & (child < len(parent))
        require(np.all(np.where(child < 0, child >= -n, ahead)))
    feature = np.asarray(feature)
    require(feature.shape == parent.shape)
    require(np.all((feature >= 0) & (feature < d)))


def whole_numbers(values: Any, length: int | None = None) -> NDArray[np.int64]:
    """A list of JSON as an array, if it has so many integers."""
    require(type(values) is list and all(type(value) is int for value in values))
    require(length is None or len(values) == length)
    return np.array(values, dtype=np.int64)


def whole_number(text: Any) -> int:
    """A number that JSON has as text, as C++ would read it."""
    require(isinstance(text, str) and re.fullmatch("-?[0-9]{1,9}", text))
    return int(text)


def read_json(text: Any) -> Any:
    """What a text in JSON says, if it says nothing twice."""
    require(isinstance(text, bytes) and b"\0" not in text)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        require(len(found) == len(pairs))
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("the text of a booster is no JSON.") from error
