"""Several attacks, one of which may happen to each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import assemble, readable
from noiseproof.attacks.base import Array, Attack, LinearMargins
from noiseproof.attacks.images import ImageRotation, ImageScale, ImageShear, ImageShift


@shared_docs
class Union(Attack):
    """Apply one of several attacks to each row, or none.

    Attacks are not combined: a row may become what a single one of them allows. If all
    of them are finite, so is the union, and it lists each row itself only once.

    Parameters
    ----------
    attacks : sequence of Attack, default=()
        The attacks. If there are none, rows stay as they are.

    {See Also: digit_invariances}

    {References: Teo 2008}

    Examples
    --------
    >>> from noiseproof.attacks import FeatureDeletion, ImageShift, Union
    >>> Union([ImageShift(1), ImageShift(2)]).candidates([1.0, 2, 3, 4]).shape
    (9, 4)
    >>> either = Union([FeatureDeletion(1), ImageShift()])
    >>> either.worst([[1.0, 2, 3, 4]], [1], [0.0, 5, 1, 0])
    array([[0., 0., 1., 2.]])
    """

    def __init__(self, attacks: Sequence[Attack] = ()):
        self.attacks = attacks

    @property
    def is_finite(self) -> bool:
        return all(member.is_finite for member in self._members())

    def candidates(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=np.float64)
        ways = [np.atleast_2d(member.candidates(x)) for member in self._members()]
        return np.vstack([x[None], *(_others(way, x[None]) for way in ways)])

    def all_candidates(self, X: Any) -> Any:
        ways: list[Any] = [member.all_candidates(X) for member in self._members()]
        if not ways or not all(isinstance(way, np.ndarray) for way in ways):
            return super().all_candidates(X)
        first = ways[0][:, :1]
        return np.concatenate([first, *(_others(way, first) for way in ways)], axis=1)

    def _worst(self, X: Any, model: LinearMargins) -> Any:
        ways = [X, *(readable(m.worst(X, *model.given)) for m in self._members())]
        margins = [model.margins(way, model.label) for way in ways]
        choice = np.argmin(margins, axis=0)
        chosen = [np.flatnonzero(choice == j) for j in range(len(ways))]
        parts = [(rows, ways[j][rows]) for j, rows in enumerate(chosen) if len(rows)]
        return assemble(parts, X)

    def _drop(self, X: Any, model: LinearMargins) -> Array:
        drops = [m.margin_drop(X, *model.given) for m in self._members()]
        return np.max([np.zeros(X.shape[0]), *drops], axis=0)

    def _members(self) -> list[Attack]:
        members = list(self.attacks)
        for member in members:
            if not isinstance(member, Attack):
                raise TypeError(
                    "Union.attacks must be a sequence of attacks, of classes derived "
                    f"from Attack; got {type(member).__name__}."
                )
        return members


def _others(ways: Array, first: Array) -> Array:
    """Candidates without the first, which must be the row itself."""
    if not np.array_equal(ways[..., :1, :], first, equal_nan=True):
        raise ValueError(
            "An attack in a Union must list the row itself as its first candidate."
        )
    return ways[..., 1:, :]


@shared_docs
def digit_invariances(shape: tuple[int, int] | None = None) -> Union:
    """Return the 20 transforms of images of digits of Teo et al. 2008, section 5.1.

    These transforms do not change which digit an image shows: shifts by 1 pixel in 4
    directions and by 2 pixels in 8 directions, rotations by ±10 degrees, scaling by
    ±0.15, and shearing of either axis by ±0.15.

    Parameters
    ----------
    {shape}

    Returns
    -------
    attack : Union
        A finite attack with 21 candidates: the image itself and 20 more.

    {See Also: ImageRotation, InvariantSVC}

    {References: Teo 2008}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.attacks import digit_invariances
    >>> digit_invariances().candidates(np.ones(784)).shape
    (21, 784)
    """
    return Union(
        [
            ImageShift(1, directions=4, shape=shape),
            ImageShift(2, directions=8, shape=shape),
            ImageRotation(10, shape=shape),
            ImageScale(0.15, shape=shape),
            ImageShear(0.15, shape=shape),
        ]
    )
