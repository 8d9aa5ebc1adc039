"""All that the rows may become under a finite attack, row after row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Segments:
    """Things in a line, of which each row owns some that lie side by side.

    Parameters
    ----------
    counts : array of int of shape (n,)
        How many each row owns; at least 1.
    """

    counts: Index

    @cached_property
    def start(self) -> Index:
        """Where each row's things begin, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @cached_property
    def owner(self) -> Index:
        """The row behind each thing."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def rank(self) -> Index:
        """The place of each thing among those of its row."""
        return np.arange(len(self.owner)) - self.start[self.owner]

    def of(self, rows: Index) -> Index:
        """The things of some rows, one row after the other."""
        some = Segments(self.counts[rows])
        return self.start[rows][some.owner] + some.rank

    def argmax(self, values: Array) -> Index:
        """The thing of the largest value of each row; the first of equals."""
        top = np.maximum.reduceat(values, self.start[:-1])
        hits = np.flatnonzero(values == top[self.owner])
        return hits[np.unique(self.owner[hits], return_index=True)[1]]

    def largest(self, values: Array, among: NDArray[np.bool_], count: int) -> Index:
        """Of each row the `count` chosen things of largest value."""
        chosen = np.flatnonzero(among)
        order = chosen[np.lexsort((-values[chosen], self.owner[chosen]))]
        owner = self.owner[order]
        rank = np.arange(len(order)) - np.searchsorted(owner, owner)
        return order[rank < count]


@dataclass(frozen=True)
class Candidates(Segments):
    """Transformed rows; `rank` is the index s of the transform.

    Parameters
    ----------
    counts : array of int of shape (n,)
        How many candidates each row has.
    X : array or CSR matrix of shape (m, d)
        The candidates.
    """

    X: Any


def list_candidates(attack: Any, X: Any) -> Candidates | None:
    """All candidates (of no attack: the rows themselves), or None if not listed."""
    if attack is None:
        return Candidates(np.ones(X.shape[0], dtype=np.intp), X)
    if not attack.is_finite:
        return None
    copies, origin = attack.copies(X)
    return Candidates(np.bincount(origin, minlength=X.shape[0]), copies)
