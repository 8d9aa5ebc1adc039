"""Working sets of cuts, a block of slots for each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_FIRST = 8  # slots a block has at first
_PATIENCE = 1  # rounds that a cut may stay without weight


class Blocks:
    """Weights β, heights δ and Gram matrices Q of the cuts in the working sets.

    Slot 0 of every block is the null cut, which holds all weight at first. A new cut
    takes the slot of the one that has been longest without weight, or a free one;
    blocks grow when all slots of one are in use.

    Parameters
    ----------
    mass : array of shape (n,)
        Sum of the weights of each block.
    floor : array of shape (n,)
        δ of the null cuts.
    """

    slotted: tuple[str, ...] = ("beta", "delta", "age")  # arrays of shape (n, slots)

    def __init__(self, mass: Array, floor: Array):
        n = len(mass)
        self.size = np.ones(n, dtype=np.intp)
        self.beta, self.delta = np.zeros((2, n, _FIRST))
        self.beta[:, 0], self.delta[:, 0] = mass, floor
        self.age = np.zeros((n, _FIRST), dtype=np.intp)
        self.Q = np.zeros((n, _FIRST, _FIRST))

    def place(self, owner: Index, delta: Array) -> Index:
        """Slots for new cuts of the rows `owner`, with their δ written there."""
        from noiseproof._invariant.kernels import place

        self.age += 1
        self.age[self.beta > 0] = 0
        slots = np.empty(len(owner), dtype=np.intp)
        while not place(owner, self.size, self.beta, self.age, _PATIENCE, slots):
            self._grow()
        self.beta[owner, slots], self.age[owner, slots] = 0.0, 0
        self.delta[owner, slots] = delta
        return slots

    def _grow(self) -> None:
        """Twice the slots."""
        for name in self.slotted:
            old = getattr(self, name)
            new = np.zeros((old.shape[0], 2 * old.shape[1]), dtype=old.dtype)
            new[:, : old.shape[1]] = old
            setattr(self, name, new)
        n, s = self.Q.shape[:2]
        Q = np.zeros((n, 2 * s, 2 * s))
        Q[:, :s, :s] = self.Q
        self.Q = Q

    def tops(self, heights: Array) -> Array:
        """The highest cut of each block, given the heights of all slots."""
        return np.where(self.used, heights, -np.inf).max(axis=1)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which slots hold a cut."""
        return np.arange(self.beta.shape[1]) < self.size[:, None]

    @property
    def heights(self) -> float:
        """Σ β δ."""
        return float((self.beta * self.delta).sum())

    @property
    def weights(self) -> Array:
        """Weight of each block outside its null cut."""
        return self.beta[:, 1:].sum(axis=1)
