"""Features by name, one by one or in groups that fail together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = NDArray[np.intp]


@dataclass(frozen=True)
class Groups:
    """Groups of columns: the g-th is columns[ends[g] : ends[g + 1]]."""

    names: list[Any]
    columns: Columns
    ends: Columns

    @classmethod
    def read(cls, groups: Any, features: list[Any]) -> Groups:
        """Each feature alone, or named groups, or one clear sentence."""
        d = len(features)
        if groups is None:
            return cls(features, np.arange(d), np.arange(d + 1))
        if not isinstance(groups, Mapping) or not groups:
            raise TypeError(
                "groups must be a dictionary from names to lists of features; got "
                f"{groups!r}."
            )
        place = {name: j for j, name in enumerate(features)}
        members = [_columns(name, group, place) for name, group in groups.items()]
        ends = np.cumsum([0, *map(len, members)])
        return cls(list(groups), np.concatenate(members), ends)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, g: int) -> Columns:
        return self.columns[self.ends[g] : self.ends[g + 1]]

    def chunks(
        self, work: NDArray[Any], at_once: int
    ) -> Iterator[tuple[slice, Columns, Columns]]:
        """Consecutive groups, about `at_once` of work at a time.

        Gives the numbers of the groups, their columns, and the group of each column,
        from 0 on.
        """
        done = np.concatenate([[0], np.cumsum(work[self.columns])])[self.ends]
        starts = np.flatnonzero(np.diff(done[:-1] // at_once, prepend=-1))
        for first, last in pairwise([*starts, len(self)]):
            columns = self.columns[self.ends[first] : self.ends[last]]
            sizes = np.diff(self.ends[first : last + 1])
            yield slice(first, last), columns, np.repeat(np.arange(len(sizes)), sizes)


def feature_names(model: Any, X: Any) -> list[Any]:
    """Names of the columns of X, or those the model was fitted with, or x0, x1, ..."""
    names = getattr(X, "columns", getattr(model, "feature_names_in_", None))
    d = np.shape(X)[1]
    if names is None or len(names) != d:
        return [f"x{j}" for j in range(d)]
    return list(names)


def _columns(name: Any, group: Any, place: dict[Any, int]) -> Columns:
    """Column numbers of one group."""
    found = set()
    for feature in [group] if isinstance(group, str) else group:
        if feature in place:
            found.add(place[feature])
        elif isinstance(feature, Integral) and int(feature) in range(len(place)):
            found.add(int(feature))
        else:
            raise ValueError(
                f"The group {name!r} names the feature {feature!r}, which X does not "
                "have."
            )
    if not found:
        raise ValueError(f"The group {name!r} has no features.")
    return np.array(sorted(found), dtype=np.intp)
