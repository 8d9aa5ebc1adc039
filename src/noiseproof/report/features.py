"""Features as the reader knows them, and where the model sees them.

Behind an encoder a text column has one feature for each of its values. They are lost
together, and the reader knows them by the name of the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from sklearn.pipeline import Pipeline

__all__ = ["Places", "feature_names", "input_names", "places_of", "places_of_groups"]

Places = dict[str, list[int]]


def input_names(X: Any, given: Sequence[Any] | None) -> list[str]:
    """Names of the columns of X: as given, of the frame, or x0, x1, ..."""
    d = X.shape[1]
    names = getattr(X, "columns", None) if given is None else given
    names = [f"x{j}" for j in range(d)] if names is None else [str(n) for n in names]
    if len(names) != d:
        raise ValueError(f"feature_names must hold {d} names; got {len(names)}.")
    return names


def feature_names(model: Any, names: list[str], d: int) -> list[str]:
    """Names of the d features that the last step of a pipeline gets."""
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline) and len(model) > 1:
        before = model[:-1]
        given = None if hasattr(before, "feature_names_in_") else names
        try:
            after = [str(name) for name in before.get_feature_names_out(given)]
        except (AttributeError, ValueError):  # a step that knows no names
            after = names
        return feature_names(model[-1], after, d)
    return names if len(names) == d else [f"x{j}" for j in range(d)]


def places_of(names: Iterable[str], columns: Iterable[str]) -> Places:
    """Numbers of the features that come from each column.

    A feature bears the name of its column, or this name and a value after an
    underscore, as one-hot encoders name them.

    Examples
    --------
    >>> from noiseproof.report.features import places_of
    >>> places_of(["size", "hair_red", "hair_dark_red"], ["size", "hair"])
    {'size': [0], 'hair': [1, 2]}
    """
    known = set(columns)
    places: Places = {}
    for j, name in enumerate(names):
        head = name
        while head not in known and "_" in head:
            head = head.rpartition("_")[0]
        places.setdefault(head if head in known else name, []).append(j)
    return places


def places_of_groups(
    groups: Mapping[Any, Iterable[Any]], places: Places, columns: list[str]
) -> Places:
    """Numbers of the features of each group of columns, named or numbered."""
    if not isinstance(groups, Mapping) or not groups:
        raise TypeError(
            "groups must be a dictionary from names to lists of features; got "
            f"{groups!r}."
        )
    found: Places = {}
    for group, members in groups.items():
        found[str(group)] = []
        for member in [members] if isinstance(members, str) else members:
            name = str(member)
            if name not in columns and isinstance(member, Integral):
                name = dict(enumerate(columns)).get(int(member), name)
            if name not in columns:
                raise ValueError(
                    f"The group {group!r} names the feature {member!r}, which X does "
                    "not have."
                )
            found[str(group)] += places.get(name, [])
    return found
