"""Features that fail together: those of a sensor, a lab panel or a text column.

`Groups.read` reads groups in the forms in which users write them. After the first steps
of a pipeline a column of a table may have become several features, such as one for each
value of a text column. `features_behind` finds the column of each feature, and
`column_groups` groups the features by column.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from noiseproof._pipelines import unwrap
from noiseproof._private import chosen_columns

__all__ = ["Groups"]

Columns = NDArray[np.intp]

_NUMBER = re.compile("\0([0-9]+)\0")
_WANTED = (
    "groups must be a dictionary from names to lists of features, a list of such "
    "lists, or one label for each feature; got {}."
)


@dataclass(frozen=True)
class Groups:
    """Groups of features. Group g has the features columns[ends[g] : ends[g + 1]].

    Parameters
    ----------
    names : list
        Name of each group.
    columns : array of int
        Indices of the features, one group after another.
    ends : array of int of shape (n_groups + 1,)
        Position in `columns` where each group begins, and where the last one ends.

    See Also
    --------
    noiseproof.noise.Dropout : Noise with a parameter `groups`.
    noiseproof.evaluation.certify : Certificates that count groups.

    Examples
    --------
    >>> from noiseproof.groups import Groups
    >>> groups = Groups.read({"arm": ["a", "b"], "leg": [2]}, ["a", "b", "c", "d"])
    >>> groups.names, groups[0], groups.labels(4)
    (['arm', 'leg'], array([0, 1]), array([0, 0, 1, 2]))
    """

    names: list[Any]
    columns: Columns
    ends: Columns

    @classmethod
    def read(cls, groups: Any, features: Sequence[Any]) -> Groups:
        """Read groups in any of the forms in which users write them.

        Parameters
        ----------
        groups : None, mapping, list of lists, array-like of labels, or Groups
            None makes each feature a group of its own. A mapping has the names of
            groups as keys and lists of features as values. The groups of a list of
            lists are named "group 0", "group 1" and so on. Features are given by name
            or by index. An array has one label for each feature, and features with the
            same label form a group.
        features : list
            Names of all features.

        Returns
        -------
        groups : Groups
            The groups in the given order, with sorted members.
        """
        d = len(features)
        if groups is None:
            return cls(list(features), np.arange(d), np.arange(d + 1))
        if isinstance(groups, Groups):
            return groups
        if not isinstance(groups, Mapping):
            groups = _named(groups, d)
        if not groups:
            raise TypeError(_WANTED.format("none"))
        place = {name: j for j, name in enumerate(features)}
        return cls.packed({n: _members(n, part, place) for n, part in groups.items()})

    @classmethod
    def packed(cls, members: Mapping[Any, Sequence[int]]) -> Groups:
        """Groups from a dictionary of names to indices of features."""
        columns = np.array([j for own in members.values() for j in own], dtype=np.intp)
        return cls(list(members), columns, np.cumsum([0, *map(len, members.values())]))

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, g: int) -> Columns:
        return self.columns[self.ends[g] : self.ends[g + 1]]

    def labels(self, n_features: int) -> Columns:
        """Index of the group of each feature.

        A feature in no group is a group of its own.
        """
        found = np.full(n_features, -1, dtype=np.intp)
        for g, name in enumerate(self.names):
            twice = self[g][found[self[g]] >= 0]
            if len(twice):
                raise ValueError(
                    f"Feature {twice[0]} is in the groups "
                    f"{self.names[found[twice[0]]]!r} and {name!r}; a feature must not "
                    "be in several groups."
                )
            found[self[g]] = g
        alone = found < 0
        found[alone] = len(self) + np.arange(np.count_nonzero(alone))
        return found

    def chunks(
        self, work: NDArray[Any], at_once: int
    ) -> Iterator[tuple[slice, Columns, Columns]]:
        """Yield consecutive groups whose work adds up to about `at_once`.

        Each chunk is the slice of its groups, their columns, and the index of the group
        of each column, which starts at 0 in each chunk.
        """
        done = np.concatenate([[0], np.cumsum(work[self.columns])])[self.ends]
        starts = np.flatnonzero(np.diff(done[:-1] // at_once, prepend=-1))
        for first, last in pairwise([*starts, len(self)]):
            columns = self.columns[self.ends[first] : self.ends[last]]
            sizes = np.diff(self.ends[first : last + 1])
            yield slice(first, last), columns, np.repeat(np.arange(len(sizes)), sizes)


def _is_list(thing: Any) -> bool:
    return isinstance(thing, Iterable) and not isinstance(thing, str)


def _named(groups: Any, d: int) -> dict[Any, Any]:
    """Convert lists of features, or one label for each feature, to a dictionary."""
    if not _is_list(groups):
        raise TypeError(_WANTED.format(repr(groups)))
    parts = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    kinds = set(map(_is_list, parts))
    if len(kinds) > 1:
        raise TypeError(_WANTED.format("lists and labels together"))
    if True in kinds:
        return {f"group {g}": part for g, part in enumerate(parts)}
    if parts and len(parts) != d:
        raise ValueError(
            f"groups must have one label for each of the {d} features; got "
            f"{len(parts)} labels."
        )
    found: dict[Any, list[int]] = {}
    for j, label in enumerate(parts):
        if label is None or label != label:
            raise ValueError(
                f"groups must have a label for each feature; feature {j} has {label}."
            )
        found.setdefault(label, []).append(j)
    return found


def _members(name: Any, group: Any, place: Mapping[Any, int]) -> list[int]:
    """Indices of the features of one group."""
    found = set()
    for feature in group if _is_list(group) else [group]:
        index = index_of(feature, place)
        if index is None:
            raise ValueError(
                f"The group {name!r} contains {feature!r}, which is not a feature of X."
            )
        found.add(index)
    if not found:
        raise ValueError(f"The group {name!r} has no features.")
    return sorted(found)


def index_of(feature: Any, place: Mapping[Any, int]) -> int | None:
    """Index of a feature given by name or by index; None if there is no such one."""
    if isinstance(feature, Hashable) and feature in place:
        return place[feature]
    counted = isinstance(feature, Integral) or str(feature).isdecimal()
    return int(feature) if counted and 0 <= int(feature) < len(place) else None


def feature_names(model: Any, X: Any) -> list[Any]:
    """Names of the columns of X or else of the training data, or else x0, x1, ..."""
    names = getattr(X, "columns", getattr(model, "feature_names_in_", None))
    d = np.shape(X)[1]
    if names is None or len(names) != d:
        return [f"x{j}" for j in range(d)]
    return list(names)


class Feature(NamedTuple):
    """A feature, and the column that it comes from (itself, if there are several)."""

    name: str
    column: str


def column_groups(
    features: Sequence[Feature],
    columns: Sequence[str],
    groups: Any = None,
    *,
    rest: bool = False,
    empty: bool = False,
) -> Groups:
    """Group the features after a pipeline by column, or by groups of columns.

    A group without any feature after the pipeline is left out, unless `empty` is True.
    If `rest` is True, features of columns that are in no group are grouped by column,
    after the other groups.
    """
    places: dict[str, list[int]] = {}
    for j, feature in enumerate(features):
        places.setdefault(feature.column, []).append(j)
    if groups is None:
        return Groups.packed(places)
    chosen = Groups.read(groups, columns)
    found = {
        name: [j for column in chosen[g] for j in places.get(columns[column], ())]
        for g, name in enumerate(chosen.names)
    }
    if rest:
        taken = {j for own in found.values() for j in own}
        names = {name: ("column", name) if name in found else name for name in places}
        found |= {
            names[name]: own for name, own in places.items() if own[0] not in taken
        }
    return Groups.packed({name: own for name, own in found.items() if own or empty})


def features_behind(model: Any, columns: Sequence[str], d: int) -> list[Feature]:
    """The d features that are passed to the last step of a fitted pipeline."""
    features = [Feature(name, name) for name in columns]
    for _, step in unwrap(model)[0]:
        features = _through(step, features)
    if len(features) != d:
        return [Feature(f"x{j}", f"x{j}") for j in range(d)]
    return features


def _through(step: Any, given: list[Feature]) -> list[Feature]:
    """The features after one step of a pipeline.

    A step derives names of features from the names of its input. To recognise the
    input, the step is passed numbers between special characters as names, which can be
    confused neither with each other nor with parts of a name.
    """
    before, step = unwrap(step)
    for _, one in before:
        given = _through(one, given)
    inner = getattr(step, "encoder_", step)  # of a TableEncoder
    if isinstance(inner, ColumnTransformer):
        return _through_columns(inner, given)
    bare = copy(step)
    getattr(bare, "__dict__", {}).pop("feature_names_in_", None)
    try:
        names = bare.get_feature_names_out([f"\0{j}\0" for j in range(len(given))])
    except (AttributeError, TypeError, ValueError):  # "passthrough", or has no names
        return given
    columns, found = dict(given), []
    for text in map(str, names):
        own = {int(j) for j in _NUMBER.findall(text)}
        name = head = _NUMBER.sub(lambda j: given[int(j[1])].name, text)
        while not own and head not in columns and "_" in head:
            # an encoder that ignores its input names: hair_dark_red comes from hair
            head = head.rpartition("_")[0]
        column = given[own.pop()].column if len(own) == 1 else columns.get(head, name)
        found.append(Feature(name, column))
    return found


def _through_columns(step: ColumnTransformer, given: list[Feature]) -> list[Feature]:
    """The same for a `ColumnTransformer`."""
    known, columns = getattr(step, "feature_names_in_", ()), dict(given)
    if not columns.keys().isdisjoint(known):  # it selects its columns by name
        given = [Feature(name, columns.get(name, name)) for name in known]
    return [
        feature
        for name, inner, _ in step.transformers_
        if not (isinstance(inner, str) and inner == "drop")
        for feature in _through(inner, [given[j] for j in chosen_columns(step, name)])
    ]
