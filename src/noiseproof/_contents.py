"""Inspect a model: its parts, stored training rows, treatment of missing values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np

from noiseproof._private import CLUSTERED_ROWS, NEIGHBOUR_ROWS

# fitted attributes that hold training rows, or the indices of stored training rows
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
    """Yield the model and all objects that it holds, each once."""
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
    """Return the model with some of its parts replaced; the keys of `found` are ids.

    Objects that hold none of these parts are shared with the original model.
    """
    done = dict(found)

    def visit(part: Any) -> Any:
        if id(part) not in done:
            done[id(part)] = part  # for circular references
            done[id(part)] = _with_parts(part, visit)
        return done[id(part)]

    return visit(model)


def _with_parts(whole: Any, visit: Callable[[Any], Any]) -> Any:
    """Return the object with each part replaced by the result of `visit`."""
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
    # `copy` would call the object's own methods for copying
    copied: Any = copy(whole) if state is whole else object.__new__(type(whole))
    (copied if state is whole else vars(copied)).update(members)
    return copied


def treatment_of(model: Any) -> str | None:
    """Describe how a model treats missing values; None if training had none."""
    for part in parts(model):
        treatments = getattr(part, "treatments_", None)
        if treatments is not None:
            return str(treatments)
    return None


def kept_rows(model: Any) -> str | None:
    """Tell where a model stores training rows; return None if it stores none.

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
