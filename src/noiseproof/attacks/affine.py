"""Affine transforms of images as sparse matrices, with bilinear interpolation."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

Matrix = tuple[float, float, float, float]


@lru_cache(maxsize=512)
def affine_map(
    matrix: Matrix, shift: tuple[float, float], shape: tuple[int, int]
) -> Any:
    """The (d, d) matrix that transforms a flat image, d = height times width.

    The new pixel at p is the old image at A (p - c) + c - shift, c the centre of the
    image: the mean of the four pixels around that place, weighted by nearness. All is
    zero outside of the image. It equals `scipy.ndimage.affine_transform` of order 1 in
    the mode "grid-constant", for all images at once.

    Parameters
    ----------
    matrix : tuple of 4 floats
        A, row by row; the inverse of what happens to the image.
    shift : tuple of 2 floats
        How far the image moves, down and to the right.
    shape : tuple of 2 ints
        Height and width.

    Returns
    -------
    map : CSR array of shape (d, d)
        Do not change it: it is shared.
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
    """Height and width of images with so many pixels, or one clear sentence."""
    if shape is None:
        side = math.isqrt(n_features)
        if side * side != n_features:
            raise ValueError(
                f"Rows of {n_features} features are no square images: give "
                "shape=(height, width)."
            )
        return side, side
    if len(shape) != 2 or math.prod(shape) != n_features:
        raise ValueError(
            f"shape={shape!r} must be (height, width) of images with {n_features} "
            "pixels, as many as X has features."
        )
    return int(shape[0]), int(shape[1])
