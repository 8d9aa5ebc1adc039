"""All variables of the interior-point method, stacked.

Places in the stacks, in the notation of `interior`: rows carry the dual variables p, r,
h and the primal s, ξ, μ, paired in this order; entries carry the dual q, z and the
primal t, β.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noiseproof._deletion.base import Array

P, R, H, S, XI, MU = range(6)
Q, Z, T, BETA = range(4)


@dataclass
class Point:
    """A point or a direction: (w, b), box multipliers, stacked rows, stacked entries.

    Parameters
    ----------
    w, b : array of shape (d,) and float
        The classifier.
    u : array of shape (2, d)
        Multipliers u+ and u- of the box.
    row, entry : array of shape (6, n) and of shape (4, nnz)
        What belongs to a row, and to a stored entry.
    lengths : tuple of float
        Of a direction: how far primal and dual variables may follow it.
    """

    w: Array
    b: float
    u: Array
    row: Array
    entry: Array
    lengths: tuple[float, float] = (1.0, 1.0)

    def zeros(self) -> Point:
        """No direction at all."""
        u, row, entry = (np.zeros_like(a) for a in (self.u, self.row, self.entry))
        return Point(np.zeros_like(self.w), 0.0, u, row, entry)

    def move(self, step: Point, primal: float, dual: float) -> None:
        """Go along a direction, by different lengths in the two spaces."""
        self.w += primal * step.w
        self.b += primal * step.b
        self.u += dual * step.u
        self.row[:S] += dual * step.row[:S]
        self.row[S:] += primal * step.row[S:]
        self.entry[:T] += dual * step.entry[:T]
        self.entry[T:] += primal * step.entry[T:]
