"""Attacks on images: small shifts, rotations, changes of size, and shears."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from noiseproof._docs import shared_docs
from noiseproof._rows import as_dense, assemble, readable, zero_missing
from noiseproof.attacks.base import Array, Attack, LinearMargins, score_leads


@shared_docs
class LinearMaps(Attack):
    """Base class of finite attacks that multiply a row x by one of several matrices.

    A row stays as it is or becomes M x, for a matrix M of `maps`. Missing values (NaN)
    of a row that is changed count as zero.

    {See Also: Attack, ImageShift}
    """

    def maps(self, n_features: int) -> list[Any]:
        """The matrices M, in CSR format and of shape (d, d), without the identity."""
        raise NotImplementedError

    def candidates(self, x: ArrayLike) -> Array:
        return self.all_candidates(np.reshape(np.asarray(x), (1, -1)))[0]

    def all_candidates(self, X: Any) -> Array:
        X = readable(X)
        maps = self.maps(X.shape[1])
        ways = np.empty((X.shape[0], len(maps) + 1, X.shape[1]))
        ways[:, 0] = as_dense(X)
        clean = np.ascontiguousarray(np.nan_to_num(ways[:, 0], nan=0.0).T)
        for j, M in enumerate(maps, start=1):
            ways[:, j] = (M @ clean).T
        return ways

    def _worst(self, X: Any, model: LinearMargins) -> Any:
        choice = self._margins(X, model).argmin(axis=1)
        clean, maps = zero_missing(X), self.maps(X.shape[1])
        parts = []
        for j in np.unique(choice):
            rows = np.flatnonzero(choice == j)
            part = X[rows] if j == 0 else clean[rows] @ maps[j - 1].T
            parts.append((rows, part.astype(X.dtype, copy=False)))
        return assemble(parts, X)

    def _drop(self, X: Any, model: LinearMargins) -> Array:
        margins = self._margins(X, model)
        return margins[:, 0] - margins.min(axis=1)

    def _margins(self, X: Any, model: LinearMargins) -> NDArray[Any]:
        """Margins (n, c) of all candidates of all rows, without making candidates."""
        seen = [model.coef, *((M.T @ model.coef.T).T for M in self.maps(X.shape[1]))]
        scores = np.asarray(zero_missing(X) @ np.vstack(seen).T)
        scores = scores.reshape(-1, len(seen), len(model.coef)) + model.intercept
        return score_leads(scores, model.label).min(axis=2)


Matrix = tuple[float, float, float, float]


@lru_cache(maxsize=512)
def affine_map(
    matrix: Matrix, shift: tuple[float, float], shape: tuple[int, int]
) -> Any:
    """The (d, d) matrix that transforms a flat image, where d = height · width.

    The new pixel at p is the old image at A (p - c) + c - shift, where c is the centre
    of the image, by bilinear interpolation between the four pixels around that point.
    Pixels outside the image are zero. This equals `scipy.ndimage.affine_transform` of
    order 1 in the mode "grid-constant", for all images at once. `matrix` is A row by
    row, the inverse of the transform of the image, and the image moves down and to the
    right by `shift`. The result is cached and must not be changed.
    """
    height, width = shape
    centre = (np.array(shape) - 1) / 2
    new = np.indices(shape).reshape(2, -1) - centre[:, None]
    old = np.reshape(matrix, (2, 2)) @ new + (centre - shift)[:, None]
    corner = np.floor(old).astype(int)
    part = old - corner
    total = sp.csr_array((height * width, height * width))
    for down in (0, 1):
        for right in (0, 1):
            row, column = corner[0] + down, corner[1] + right
            weight = np.abs(1 - down - part[0]) * np.abs(1 - right - part[1])
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            inside &= weight > 0
            pixels = np.flatnonzero(inside), (row * width + column)[inside]
            total = total + sp.csr_array((weight[inside], pixels), shape=total.shape)
    return total


def image_shape(shape: Any, n_features: int) -> tuple[int, int]:
    """Height and width of images with so many pixels, or an error if invalid."""
    if shape is None:
        side = math.isqrt(n_features)
        if side * side != n_features:
            raise ValueError(
                f"Rows of {n_features} features are not square images; pass "
                "shape=(height, width)."
            )
        return side, side
    if len(shape) != 2 or math.prod(shape) != n_features:
        raise ValueError(
            f"shape={shape!r} must be the (height, width) of images with {n_features} "
            "pixels, the number of features of X."
        )
    return int(shape[0]), int(shape[1])


_FOUR = ((-1, 0), (1, 0), (0, -1), (0, 1))
_EIGHT = (*_FOUR, (-1, -1), (-1, 1), (1, -1), (1, 1))


class ImageAttack(LinearMaps):
    """Base class of affine transforms of images, with bilinear interpolation."""

    shape: Any

    def ways(self, amount: float) -> list[tuple[Matrix, tuple[float, float]]]:
        """Inverse matrix and shift of each transform by the given amount."""
        raise NotImplementedError

    def maps(self, n_features: int) -> list[Any]:
        name, shape = self._strength(), image_shape(self.shape, n_features)
        amounts = np.ravel(np.asarray(getattr(self, name), dtype=np.float64))
        if not np.all(np.isfinite(amounts)) or np.any(amounts < 0):
            raise ValueError(
                f"{type(self).__name__}.{name} must be finite and not negative; "
                f"got {getattr(self, name)!r}."
            )
        ways = [way for amount in amounts.tolist() for way in self.ways(amount)]
        return [affine_map(inverse, shift, shape) for inverse, shift in ways]


@shared_docs
class ImageShift(ImageAttack):
    """Move images by some pixels: up, down, left or right, or also diagonally.

    Parameters
    ----------
    pixels : float or array-like of floats, default=1.0
        Distance in pixels. Fractions are interpolated. An array lists several
        distances.
    directions : {4, 8}, default=4
        Number of directions. 8 includes the diagonals, in which both coordinates change
        by `pixels`.
    {shape}

    {See Also: ImageScale, digit_invariances}

    {References: Teo 2008}

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

    level_name = "pixels"
    _levels = (0, 1, 2, 3)

    def __init__(
        self, pixels: ArrayLike = 1.0, directions: int = 4, *, shape: Any = None
    ):
        self.pixels = pixels
        self.directions = directions
        self.shape = shape

    def ways(self, amount: float) -> list[tuple[Matrix, tuple[float, float]]]:
        if self.directions not in (4, 8):
            raise ValueError(
                f"ImageShift.directions must be 4 or 8; got {self.directions!r}."
            )
        steps = _FOUR if self.directions == 4 else _EIGHT
        return [((1.0, 0.0, 0.0, 1.0), (amount * a, amount * b)) for a, b in steps]


@shared_docs
class ImageRotation(ImageAttack):
    """Rotate images about their centre, in both directions.

    Parameters
    ----------
    degrees : float or array-like of floats, default=10.0
        Angle in degrees. An array lists several angles.
    {shape}

    {See Also: ImageShear, digit_invariances}

    {References: Teo 2008}

    Examples
    --------
    >>> from noiseproof.attacks import ImageRotation
    >>> ImageRotation(degrees=90).candidates([1.0, 2.0, 3.0, 4.0]).round(12)
    array([[1., 2., 3., 4.],
           [3., 1., 4., 2.],
           [2., 4., 1., 3.]])
    """

    level_name = "degrees"
    _levels = (0, 5, 10, 15, 20, 30, 45)

    def __init__(self, degrees: ArrayLike = 10.0, *, shape: Any = None):
        self.degrees = degrees
        self.shape = shape

    def ways(self, amount: float) -> list[tuple[Matrix, tuple[float, float]]]:
        angle = math.radians(amount)
        c, s = math.cos(angle), math.sin(angle)
        return [((c, -s, s, c), (0.0, 0.0)), ((c, s, -s, c), (0.0, 0.0))]


@shared_docs
class ImageScale(ImageAttack):
    """Shrink or enlarge images about their centre.

    Parameters
    ----------
    amount : float or array-like of floats, default=0.15
        Images are scaled by the factors 1 - amount and 1 + amount. Must be less than 1.
        An array lists several amounts.
    {shape}

    {See Also: ImageShift, digit_invariances}

    {References: Teo 2008}

    Examples
    --------
    >>> from noiseproof.attacks import ImageScale
    >>> ImageScale(0.5).candidates([0.0, 0, 0, 0, 1, 0, 0, 0, 0])[1:].round(2)
    array([[0.  , 0.  , 0.  , 0.  , 1.  , 0.  , 0.  , 0.  , 0.  ],
           [0.11, 0.33, 0.11, 0.33, 1.  , 0.33, 0.11, 0.33, 0.11]])
    """

    level_name = "amount"
    _levels = (0, 0.05, 0.1, 0.15, 0.2, 0.3)
    _level_limit = 1.0

    def __init__(self, amount: ArrayLike = 0.15, *, shape: Any = None):
        self.amount = amount
        self.shape = shape

    def ways(self, amount: float) -> list[tuple[Matrix, tuple[float, float]]]:
        if amount >= 1:
            raise ValueError(
                f"ImageScale.amount must be less than 1; got {self.amount!r}."
            )
        factors = 1 / (1 - amount), 1 / (1 + amount)
        return [((f, 0.0, 0.0, f), (0.0, 0.0)) for f in factors]


@shared_docs
class ImageShear(ImageAttack):
    """Shear images about their centre, horizontally or vertically.

    Parameters
    ----------
    amount : float or array-like of floats, default=0.15
        Number of pixels that a row or column of the image moves, for each pixel of its
        distance from the centre. An array lists several amounts.
    {shape}

    {See Also: ImageRotation, digit_invariances}

    {References: Teo 2008}

    Examples
    --------
    >>> from noiseproof.attacks import ImageShear
    >>> ImageShear(1.0).candidates([0, 1, 0, 0, 1, 0, 0, 1, 0])[1]
    array([0., 0., 1., 0., 1., 0., 1., 0., 0.])
    """

    level_name = "amount"
    _levels = (0, 0.05, 0.1, 0.15, 0.2, 0.3)

    def __init__(self, amount: ArrayLike = 0.15, *, shape: Any = None):
        self.amount = amount
        self.shape = shape

    def ways(self, amount: float) -> list[tuple[Matrix, tuple[float, float]]]:
        slants = (0.0, amount), (amount, 0.0), (0.0, -amount), (-amount, 0.0)
        return [((1.0, down, across, 1.0), (0.0, 0.0)) for down, across in slants]
