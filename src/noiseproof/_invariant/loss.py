"""The loss of a row: its possible transformations, and the cost of wrong answers.

l(x, y, f) = max over s, y' of Γ(y, y') [f(s(x), y') - f(s(x), y)] + Δ(y, y', s), where
s(x) runs over the candidates of the row and y' over the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import Array

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Runs:
    """A flat list of items in which the items of each row are consecutive.

    `counts` is the number of items of each row, at least 1.
    """

    counts: Index

    @cached_property
    def start(self) -> Index:
        """Where each row's items begin, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @cached_property
    def owner(self) -> Index:
        """The row of each item."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def rank(self) -> Index:
        """The place of each item among those of its row."""
        return np.arange(len(self.owner)) - self.start[self.owner]

    def part(self, rows: Index) -> tuple[Index, Runs]:
        """Return the indices of the items of some rows, and the runs that they form."""
        some = Runs(self.counts[rows])
        return self.start[rows][some.owner] + some.rank, some

    def tops(self, values: Array) -> Array:
        """Return the largest value of each row."""
        return np.maximum.reduceat(values, self.start[:-1])

    def argmax(self, values: Array) -> Index:
        """Return the item with the largest value of each row, the first if tied."""
        if len(values) == len(self.counts):
            return np.arange(len(values))
        hits = np.flatnonzero(values == self.tops(values)[self.owner])
        return hits[np.unique(self.owner[hits], return_index=True)[1]]

    def largest(self, values: Array, among: NDArray[np.bool_], count: int) -> Index:
        """Return the `count` items of largest value of each row, chosen `among` all."""
        chosen = np.flatnonzero(among)
        order = chosen[np.lexsort((-values[chosen], self.owner[chosen]))]
        owner = self.owner[order]
        rank = np.arange(len(order)) - np.searchsorted(owner, owner)
        return order[rank < count]


@dataclass(frozen=True)
class Candidates(Runs):
    """All possible transformations of the rows, in X; `rank` is the transform s."""

    X: Any


def list_candidates(attack: Any, X: Any) -> Candidates | None:
    """List all candidates, or return None if the attack does not list them.

    Without an attack, the candidates are the rows themselves.
    """
    if attack is None:
        return Candidates(np.ones(X.shape[0], dtype=np.intp), X)
    if not attack.is_finite:
        return None
    copies, origin = attack.copies(X)
    return Candidates(np.bincount(origin, minlength=X.shape[0]), copies)


@dataclass(frozen=True)
class Costs:
    """Γ(y, y') and Δ(y, y', s) as tables.

    `scale` (k, k) is Γ, which is not negative. `cost` is Δ, of shape (k, k, 1) if it
    does not depend on the transform, else (k, k, n_transforms).
    """

    scale: Array
    cost: Array

    @cached_property
    def uniform(self) -> bool:
        """Whether all wrong answers have the same costs."""
        wrong = ~np.eye(len(self.scale), dtype=bool)
        return all(np.ptp(table[wrong]) == 0 for table in (self.scale, self.cost))

    def losses(self, scores: Array, own: Index, transform: Index) -> Array:
        """Compute Γ [f(x, y') - f(x, y)] + Δ(y, y', s) for each y', of shape (m, k).

        `scores` is f(x, ·), of shape (m, k), y is `own` and s is `transform`. The loss
        for y' = y is minus infinity.
        """
        rows = np.arange(len(own))
        margins = scores - scores[rows, own][:, None]
        losses = self.scale[own] * margins + self.delta(own, transform)
        losses[rows, own] = -np.inf
        return losses

    def worst(
        self, scores: Array, own: Index, runs: Runs | None
    ) -> tuple[Index, Index, Array, Array]:
        """Find the worst (s, y') of each row, given the scores of all its candidates.

        Without runs, each row has one candidate. Returns the candidate's index, y', the
        loss, and Δ.
        """
        here = np.arange(len(own))
        owner, rank = (here, 0 * here) if runs is None else (runs.owner, runs.rank)
        losses = self.losses(scores, own[owner], rank)
        place = here if runs is None else runs.argmax(losses.max(axis=1))
        rival = losses[place].argmax(axis=1)
        delta = self.delta(own, rank[place])[here, rival]
        return place, rival, losses[place, rival], delta

    def delta(self, own: Index, transform: Index) -> Array:
        """Return Δ(y, ·, s) of each row, (m, k)."""
        layer = transform if self.cost.shape[2] > 1 else np.zeros_like(transform)
        return self.cost[own, :, layer]

    def floor(self, own: Index) -> Array:
        """Return max_s Δ(y, y, s), the least loss of a row, as y' = y is allowed."""
        return self.cost[own, own].max(axis=1)


def make_costs(
    margin_scale: Any, label_cost: Any, classes: NDArray[Any], n_transforms: int | None
) -> Costs:
    """Make the tables of Γ and Δ from the parameters of `InvariantSVC`.

    `n_transforms` is None if the attack does not list its candidates.
    """
    k = len(classes)
    scale = np.ones((k, k))
    if margin_scale is not None:
        scale = _table("margin_scale", margin_scale, classes, [()])[:, :, 0]
    if np.any(scale < 0):
        raise ValueError("margin_scale must not be negative: Γ scales margins.")
    if label_cost is None:
        return Costs(scale, 1.0 - np.eye(k)[:, :, None])
    listed = [(s,) for s in range(n_transforms)] if n_transforms else [(None,)]
    return Costs(scale, _table("label_cost", label_cost, classes, listed))


def _table(
    name: str, given: Any, classes: NDArray[Any], last: list[tuple[Any, ...]]
) -> Array:
    """Make a (k, k, layers) table from a callable or an array."""
    k, table = len(classes), given
    if callable(given):
        table = [[[given(y, r, *s) for s in last] for r in classes] for y in classes]
    table = np.asarray(table, dtype=np.float64)
    if table.ndim == 2:
        table = table[:, :, None]
    shapes = {(k, k, 1), (k, k, len(last))}
    if table.shape not in shapes:
        legal = " or ".join(str(shape) for shape in sorted({(k, k), *shapes}))
        raise ValueError(f"{name} must have shape {legal}; got {np.shape(given)}.")
    if not np.isfinite(table).all():
        raise ValueError(f"{name} must be finite.")
    return table
