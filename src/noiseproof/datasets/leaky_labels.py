"""Features that know the label, among others that merely help."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def make_leaky_labels(
    n_samples: int = 1000,
    n_features: int = 20,
    *,
    n_leaks: int = 2,
    separation: float = 0.3,
    flip: float = 0.2,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """A noisy linear problem with copies of the label as its last features.

    The sanity check of Dekel and Shamir 2008, section 4: x is uniform in a cube, pushed
    away from a random hyperplane through its centre on both sides; y is the side of x,
    flipped with probability `flip`; and y itself is added `n_leaks` times. A model that
    trusts the copies fails once they are gone; one that does not can still be right
    with probability 1 - `flip`. The paper does not say how its rows were drawn; these
    come near its numbers.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=20
        Number of honest features.
    n_leaks : int, default=2
        Number of copies of the label.
    separation : float, default=0.3
        Least distance of a row from the hyperplane; the cube is [0, 1] wide.
    flip : float, default=0.2
        Probability that a label is wrong.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : array of shape (n_samples, n_features + n_leaks)
        Honest features, then copies of the label.
    y : array of int of shape (n_samples,)
        Labels, -1 or 1.

    Examples
    --------
    >>> from noiseproof.datasets import make_leaky_labels
    >>> X, y = make_leaky_labels(random_state=0)
    >>> X.shape, bool((X[:, -1] == y).all())
    ((1000, 22), True)
    """
    if not 0 <= flip <= 1:
        raise ValueError(f"flip must be a probability; got {flip!r}.")
    rng = check_random_state(random_state)
    X = rng.uniform(size=(n_samples, n_features))
    normal = rng.normal(size=n_features)
    normal /= np.linalg.norm(normal)
    clean = np.where((X - 0.5) @ normal > 0, 1, -1)
    X += separation * clean[:, None] * normal
    y = np.where(rng.uniform(size=n_samples) < flip, -clean, clean)
    return np.hstack([X, np.repeat(y[:, None], n_leaks, axis=1)]), y
