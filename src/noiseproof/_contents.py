"""What a model contains: its parts, training rows, ways to answer rows with holes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np

from noiseproof._private import CLUSTERED_ROWS, NEIGHBOUR_ROWS

# fitted attributes that hold training rows, or that say which of them another one holds
_ROWS = (
    "rows_",  # Donors, ReducedModels
    "rows",  # the calibration of intervals
    NEIGHBOUR_ROWS,
    CLUSTERED_ROWS,
    "support_vectors_",
    "X_train_",  # Gaussian processes
    "X_fit_",  # kernel ridge regression, kernel PCA
    "X_",  # label propagation
    "component_indices_",  # Nystroem
    "core_sample_indices_",  # DBSCAN
    "cluster_centers_indices_",  # affinity propagation
)


def parts(model: Any) -> Iterator[Any]:
    """The model and all that it holds, each thing once."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | None):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        elif not isinstance(part, type):
            waiting += getattr(part, "__dict__", {}).values()


def replaced(model: Any, found: dict[int, Any]) -> Any:
    """The model with other objects in the places of some, which are given by `id`.

    What holds none of them is shared with the model that was given.
    """
    done = dict(found)

    def visit(part: Any) -> Any:
        if id(part) not in done:
            done[id(part)] = part  # for whatever refers back to it
            done[id(part)] = _with_parts(part, visit)
        return done[id(part)]

    return visit(model)


def _with_parts(whole: Any, visit: Callable[[Any], Any]) -> Any:
    """What results if each part becomes what a visit makes of it."""
    if isinstance(whole, list | tuple | set):
        items = list(map(visit, whole))
        same = all(map(operator.is_, items, whole))
        return whole if same else type(whole)(items)
    if isinstance(whole, np.ndarray):
        new = whole.copy() if whole.dtype == object else whole
        for place in range(new.size if new is not whole else 0):
            new.flat[place] = visit(whole.flat[place])
        return new
    state = whole if isinstance(whole, dict) else getattr(whole, "__dict__", None)
    if not isinstance(state, dict) or isinstance(whole, type):
        return whole
    members = {name: visit(part) for name, part in state.items()}
    if all(part is state[name] for name, part in members.items()):
        return whole
    # `copy` would ask an object how to make a copy of it
    copied: Any = copy(whole) if state is whole else object.__new__(type(whole))
    (copied if state is whole else vars(copied)).update(members)
    return copied


def treatment_of(model: Any) -> str | None:
    """How a model answers rows with holes, in words; None if none were in training."""
    for part in parts(model):
        treatments = getattr(part, "treatments_", None)
        if treatments is not None:
            return str(treatments)
    return None


def kept_rows(model: Any) -> str | None:
    """Where a model keeps rows of its training data; None if it keeps none.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> kept_rows(SVC().fit([[0.0], [1.0]], [0, 1]))
    'support_vectors_ of its SVC'
    """
    for part in parts(model):
        state = getattr(part, "__dict__", None)
        if not isinstance(state, dict) or isinstance(part, type):
            continue
        for name in _ROWS:
            if state.get(name) is not None and np.size(state[name]):
                return f"{name} of its {type(part).__name__}"
    return None
