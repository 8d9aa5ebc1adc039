"""What a wrong answer costs: Γ and Δ of the invariant loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Costs:
    """Γ(y, y') and Δ(y, y', s) as tables.

    Parameters
    ----------
    scale : array of shape (k, k)
        Γ, which multiplies a margin; not negative.
    cost : array of shape (k, k, 1) or (k, k, n_transforms)
        Δ; with one layer it does not depend on the transform.
    """

    scale: Array
    cost: Array

    @cached_property
    def uniform(self) -> bool:
        """Whether all wrong answers are alike."""
        wrong = ~np.eye(len(self.scale), dtype=bool)
        tables = self.scale, self.cost
        return all(np.ptp(table[wrong]) == 0 for table in tables)

    def losses(
        self, scores: Array, own: NDArray[np.intp], transform: NDArray[np.intp]
    ) -> Array:
        """Γ [f(x, y') - f(x, y)] + Δ(y, y', s) of each row for each rival y' ≠ y.

        Parameters
        ----------
        scores : array of shape (m, k)
            f(x, ·) of each row.
        own, transform : arrays of int of shape (m,)
            y and s of each row.

        Returns
        -------
        losses : array of shape (m, k)
            Minus infinity in the row's own column.
        """
        rows = np.arange(len(own))
        margins = scores - scores[rows, own][:, None]
        losses = self.scale[own] * margins + self.delta(own, transform)
        losses[rows, own] = -np.inf
        return losses

    def delta(self, own: NDArray[np.intp], transform: NDArray[np.intp]) -> Array:
        """Δ(y, ·, s) of each row, (m, k)."""
        layer = transform if self.cost.shape[2] > 1 else np.zeros_like(transform)
        return self.cost[own, :, layer]

    def floor(self, own: NDArray[np.intp]) -> Array:
        """max_s Δ(y, y, s): what a row costs at least, as y' = y is allowed."""
        return self.cost[own, own].max(axis=1)


def make_costs(
    margin_scale: Any, label_cost: Any, classes: NDArray[Any], n_transforms: int | None
) -> Costs:
    """Tables from what the user gave, or one sentence about what is wrong.

    Parameters
    ----------
    margin_scale : array-like of shape (k, k), callable Γ(y, y') or None
        None means 1.
    label_cost : array-like, callable Δ(y, y', s) or None
        Of shape (k, k) or (k, k, n_transforms); None means 1 for a wrong answer and 0
        for the right one.
    classes : array of shape (k,)
        Labels, given to the callables.
    n_transforms : int or None
        How many transforms s = 0 ... n - 1 there are; None if they are not listed.
    """
    k = len(classes)
    if margin_scale is None:
        scale = np.ones((k, k))
    else:
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
    """The (k, k, layers) table of a callable or an array."""
    k = len(classes)
    if callable(given):
        table = _tabulate(given, classes, last)
    else:
        table = np.asarray(given, dtype=np.float64)
        if table.ndim == 2:
            table = table[:, :, None]
    shapes = {(k, k, 1), (k, k, len(last))}
    if table.shape not in shapes:
        legal = " or ".join(str(shape) for shape in sorted({(k, k), *shapes}))
        raise ValueError(f"{name} must have shape {legal}; got {np.shape(given)}.")
    if not np.isfinite(table).all():
        raise ValueError(f"{name} must be finite.")
    return table


def _tabulate(
    cost: Callable[..., float], classes: NDArray[Any], last: list[tuple[Any, ...]]
) -> Array:
    table = [[[cost(y, r, *s) for s in last] for r in classes] for y in classes]
    return np.array(table, dtype=np.float64)
