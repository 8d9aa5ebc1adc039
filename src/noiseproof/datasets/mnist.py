"""MNIST, handwritten digits."""

from __future__ import annotations

import gzip
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof.datasets.folder import data_file

_SOURCE = "https://ossci-datasets.s3.amazonaws.com/mnist (four gzipped IDX files)"
_NAMES = {"train": "train", "test": "t10k"}


def load_mnist(
    subset: str = "train",
    *,
    digits: Collection[int] | None = None,
    folder: str | Path | None = None,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read MNIST from the folder `mnist` of the data folder.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        60,000 or 10,000 digits.
    digits : collection of int, default=None
        Which digits to keep; None means all.
    folder : path, default=None
        The data folder; None means that of the environment variable `NOISEPROOF_DATA`.

    Returns
    -------
    X : array of shape (n_samples, 784)
        Pixels from 0 to 1.
    y : array of int of shape (n_samples,)
        Digits.
    """
    if subset not in _NAMES:
        raise ValueError(f"subset must be 'train' or 'test'; got {subset!r}.")
    name = _NAMES[subset]
    images = _read(f"mnist/{name}-images-idx3-ubyte.gz", folder)[16:].reshape(-1, 784)
    y = _read(f"mnist/{name}-labels-idx1-ubyte.gz", folder)[8:].astype(int)
    if digits is not None:
        kept = np.isin(y, list(digits))
        images, y = images[kept], y[kept]
    return images / 255.0, y


def _read(name: str, folder: str | Path | None) -> NDArray[np.uint8]:
    with gzip.open(data_file(name, _SOURCE, folder)) as stream:
        return np.frombuffer(stream.read(), np.uint8)
