"""Time of attacks on a batch of 10,000 rows of 784 features, against plain NumPy.

    python benchmarks/attacks.py

The rival of `FeatureScaling.worst` sorts the gains of each row with `numpy.argsort`;
that of the image attacks calls `scipy.ndimage.affine_transform` for each image.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import ndimage

from noiseproof.attacks import FeatureScaling, ImageRotation


def argsort_scaling(X: Any, y: Any, coef: Any, k: int, low: float, high: float) -> Any:
    worst = X.copy()
    for i, x in enumerate(X):
        lead = y[i] * coef * x
        factor = np.where(lead > 0, low, high)
        gain = lead * (1 - factor)
        top = np.argsort(-gain)[:k]
        top = top[gain[top] > 0]
        worst[i, top] *= factor[top]
    return worst


def image_by_image(X: Any, degrees: float) -> Any:
    ways = np.empty((len(X), 3, X.shape[1]))
    a = np.deg2rad(degrees)
    for i, x in enumerate(X):
        ways[i, 0] = x
        for j, sign in enumerate((-1, 1), start=1):
            A = np.array(
                [[np.cos(a), sign * np.sin(a)], [-sign * np.sin(a), np.cos(a)]]
            )
            offset = 13.5 - A @ np.full(2, 13.5)
            image = x.reshape(28, 28)
            moved = ndimage.affine_transform(
                image, A, offset, order=1, mode="grid-constant"
            )
            ways[i, j] = moved.ravel()
    return ways


def ratio(name: str, ours: Callable[[], Any], peer: Callable[[], Any]) -> None:
    """Least of 21 of ours against least of 7 of the peer, taking turns."""
    np.testing.assert_allclose(ours(), peer(), atol=1e-12)
    mine, theirs = [], []
    for turn in range(21):
        mine.append(_seconds(ours))
        if turn % 3 == 0:
            theirs.append(_seconds(peer))
    print(
        f"{name:32}{1e3 * min(theirs):10.1f} ms {1e3 * min(mine):10.1f} ms"
        f"{min(theirs) / min(mine):8.1f} x"
    )


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(10_000, 784)), rng.normal(size=784)
    y = rng.choice([-1, 1], len(X))
    print(f"{'':32}{'peer':>13}{'noiseproof':>14}{'ratio':>9}")
    sparse = X * (rng.random(X.shape) < 0.1)
    for k, (what, A) in product((10, 100), (("dense", X), ("90 % zeros", sparse))):
        ratio(
            f"FeatureScaling(k={k}), {what}",
            lambda k=k, A=A: FeatureScaling(k, 0.5, 1.5).worst(A, y, coef),
            lambda k=k, A=A: argsort_scaling(A, y, coef, k, 0.5, 1.5),
        )
    X = sparse
    rows = sp.csr_array(X)
    attack = FeatureScaling(10, 0.5, 1.5)
    seen = attack.worst(rows, y, coef).toarray()
    np.testing.assert_array_equal(seen, argsort_scaling(X, y, coef, 10, 0.5, 1.5))
    csr, dense = (_seconds(lambda A=A: attack.worst(A, y, coef)) for A in (rows, X))
    print(f"{'FeatureScaling(k=10), CSR of 10 %':32}{1e3 * dense:10.1f} ms (dense)"
          f"{1e3 * csr:8.1f} ms")  # fmt: skip
    some = X[:1000]
    ratio(
        "ImageRotation of 1,000 images",
        lambda: ImageRotation(10).all_candidates(some),
        lambda: image_by_image(some, 10),
    )


if __name__ == "__main__":
    main()
