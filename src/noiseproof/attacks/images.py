"""What may happen to an image: it is moved, turned, resized or sheared a little.

Each of these attacks is finite and lists few ways. Images are flat rows of pixels;
what comes in from outside of the image is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noiseproof.attacks.affine import Matrix, affine_map, image_shape
from noiseproof.attacks.linear_maps import LinearMaps

_STILL = (0.0, 0.0)
_FOUR = ((-1, 0), (1, 0), (0, -1), (0, 1))
_EIGHT = (*_FOUR, (-1, -1), (-1, 1), (1, -1), (1, 1))


class ImageAttack(LinearMaps):
    """Base of the four: lists affine transforms, interpolated bilinearly."""

    shape: Any

    def transforms(self) -> list[tuple[Matrix, tuple[float, float]]]:
        """Inverse matrix and shift of each transform, without the identity."""
        raise NotImplementedError

    def maps(self, n_features: int) -> list[Any]:
        shape = image_shape(self.shape, n_features)
        return [affine_map(A, shift, shape) for A, shift in self.transforms()]

    def _both_signs(self, name: str) -> NDArray[Any]:
        """-a and a for each amount a of the parameter."""
        amounts = np.ravel(np.asarray(getattr(self, name), dtype=np.float64))
        if not np.all(np.isfinite(amounts)) or np.any(amounts < 0):
            raise ValueError(
                f"{type(self).__name__}.{name} must be finite and not negative; "
                f"got {getattr(self, name)!r}."
            )
        return np.column_stack([-amounts, amounts]).ravel()


class ImageShift(ImageAttack):
    """Move the image by some pixels, up, down, left or right, or diagonally too.

    Parameters
    ----------
    pixels : float or array-like of floats, default=1.0
        How far; a fraction interpolates. Several numbers list several distances.
    directions : {4, 8}, default=4
        8 adds the diagonals, where both coordinates move by `pixels`.
    shape : tuple of 2 ints, default=None
        Height and width of the images; None means square ones.

    Examples
    --------
    >>> from noiseproof.attacks import ImageShift
    >>> ImageShift().candidates([1.0, 2.0, 3.0, 4.0])
    array([[1., 2., 3., 4.],
           [3., 4., 0., 0.],
           [0., 0., 1., 2.],
           [2., 0., 4., 0.],
           [0., 1., 0., 3.]])
    """

    def __init__(
        self, pixels: ArrayLike = 1.0, directions: int = 4, *, shape: Any = None
    ):
        self.pixels = pixels
        self.directions = directions
        self.shape = shape

    def transforms(self) -> list[tuple[Matrix, tuple[float, float]]]:
        if self.directions not in (4, 8):
            raise ValueError(
                f"ImageShift.directions must be 4 or 8; got {self.directions!r}."
            )
        steps = self._both_signs("pixels")[1::2]
        ways = _FOUR if self.directions == 4 else _EIGHT
        still = (1.0, 0.0, 0.0, 1.0)
        return [(still, (float(s * a), float(s * b))) for s in steps for a, b in ways]


class ImageRotation(ImageAttack):
    """Turn the image about its centre, to either side.

    Parameters
    ----------
    degrees : float or array-like of floats, default=10.0
        How far; several numbers list several angles.
    shape : tuple of 2 ints, default=None
        Height and width of the images; None means square ones.

    Examples
    --------
    >>> from noiseproof.attacks import ImageRotation
    >>> ImageRotation(degrees=90).candidates([1.0, 2.0, 3.0, 4.0]).round(12)
    array([[1., 2., 3., 4.],
           [3., 1., 4., 2.],
           [2., 4., 1., 3.]])
    """

    def __init__(self, degrees: ArrayLike = 10.0, *, shape: Any = None):
        self.degrees = degrees
        self.shape = shape

    def transforms(self) -> list[tuple[Matrix, tuple[float, float]]]:
        ways = []
        for angle in np.deg2rad(self._both_signs("degrees")):
            c, s = float(np.cos(angle)), float(np.sin(angle))
            ways.append(((c, s, -s, c), _STILL))
        return ways


class ImageScale(ImageAttack):
    """Shrink or enlarge the image about its centre.

    Parameters
    ----------
    amount : float or array-like of floats, default=0.15
        The factors are 1 - amount and 1 + amount; below 1.
    shape : tuple of 2 ints, default=None
        Height and width of the images; None means square ones.

    Examples
    --------
    >>> from noiseproof.attacks import ImageScale
    >>> ImageScale(0.5).candidates([0.0, 0, 0, 0, 1, 0, 0, 0, 0])[1:].round(2)
    array([[0.  , 0.  , 0.  , 0.  , 1.  , 0.  , 0.  , 0.  , 0.  ],
           [0.11, 0.33, 0.11, 0.33, 1.  , 0.33, 0.11, 0.33, 0.11]])
    """

    def __init__(self, amount: ArrayLike = 0.15, *, shape: Any = None):
        self.amount = amount
        self.shape = shape

    def transforms(self) -> list[tuple[Matrix, tuple[float, float]]]:
        factors = 1 + self._both_signs("amount")
        if np.any(factors <= 0):
            raise ValueError(
                f"ImageScale.amount must be less than 1; got {self.amount!r}."
            )
        return [((float(1 / f), 0.0, 0.0, float(1 / f)), _STILL) for f in factors]


class ImageShear(ImageAttack):
    """Slant the image about its centre: rows against each other, or columns.

    Parameters
    ----------
    amount : float or array-like of floats, default=0.15
        How many pixels a line moves per pixel of its distance from the centre.
    shape : tuple of 2 ints, default=None
        Height and width of the images; None means square ones.

    Examples
    --------
    >>> from noiseproof.attacks import ImageShear
    >>> ImageShear(1.0).candidates([0, 1, 0, 0, 1, 0, 0, 1, 0])[1]
    array([0., 0., 1., 0., 1., 0., 1., 0., 0.])
    """

    def __init__(self, amount: ArrayLike = 0.15, *, shape: Any = None):
        self.amount = amount
        self.shape = shape

    def transforms(self) -> list[tuple[Matrix, tuple[float, float]]]:
        ways = []
        for a in self._both_signs("amount").tolist():
            ways.append(((1.0, 0.0, -a, 1.0), _STILL))
            ways.append(((1.0, -a, 0.0, 1.0), _STILL))
        return ways
