"""Generators of artificial data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

from noiseproof._docs import shared_docs

_GROUPS, _USEFUL_GROUPS, _GROUP_SIZE = 25, 5, 10


@shared_docs
def make_leaky_labels(
    n_samples: int = 1000,
    n_features: int = 20,
    *,
    n_leaks: int = 2,
    separation: float = 0.3,
    flip: float = 0.2,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Make a noisy linear problem with copies of the label as its last features.

    This is the sanity check of Dekel and Shamir 2008, section 4. A row x is drawn
    uniformly from a cube, and moved away from a random hyperplane through the centre of
    the cube. The label y is the side of x, flipped with probability `flip`. Then
    `n_leaks` copies of y are added as features. A model that relies on the copies fails
    when they are deleted; a model that does not can still be right with probability
    1 - `flip`. The paper does not say how its rows were drawn; these come close to its
    numbers.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=20
        Number of features besides the copies of the label.
    n_leaks : int, default=2
        Number of copies of the label.
    separation : float, default=0.3
        Distance by which each row is moved away from the hyperplane. The side of the
        cube has length 1.
    flip : float, default=0.2
        Probability that a label is wrong.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : array of shape (n_samples, n_features + n_leaks)
        The features, then the copies of the label.
    y : array of int of shape (n_samples,)
        Labels, -1 or 1.

    See Also
    --------
    make_rare_features : Features that are rare but useful.

    {References: Dekel 2008}

    Examples
    --------
    >>> from noiseproof.datasets import make_leaky_labels
    >>> X, y = make_leaky_labels(random_state=0)
    >>> X.shape, bool((X[:, -1] == y).all())
    ((1000, 22), True)
    """
    if not 0 <= flip <= 1:
        raise ValueError(f"flip must be a probability from 0 to 1; got {flip!r}.")
    rng = check_random_state(random_state)
    X = rng.uniform(size=(n_samples, n_features))
    normal = rng.normal(size=n_features)
    normal /= np.linalg.norm(normal)
    clean = np.where((X - 0.5) @ normal > 0, 1, -1)
    X += separation * clean[:, None] * normal
    y = np.where(rng.uniform(size=n_samples) < flip, -clean, clean)
    return np.hstack([X, np.repeat(y[:, None], n_leaks, axis=1)]), y


class RareFeatures(NamedTuple):
    """Rows, labels, and which rows have an active useful feature."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    active: NDArray[np.bool_]


@shared_docs
def make_rare_features(
    n_samples: int = 75,
    *,
    n_nuisance: int = 1000,
    weight: float = 0.057,
    cycle: bool = True,
    random_state: Any = None,
) -> RareFeatures:
    """Make 50 useful features, each active in 4 % of rows, among 1000 useless ones.

    This is the simulation of Wager et al. 2013, appendix A.1. Each row has one of 25
    groups and a sign. If the group is among the first 5, its 10 features are the sign
    times exponential variables; all other useful features are 0. The nuisance features
    are standard normal. Over all rows, every feature has second moment 1. The
    probability that y = 1 is σ(x·β), where β is `weight` for the useful features and 0
    for the others. With the paper's weight of 0.057, the mean of abs(x·β) is 2 over the
    rows with active features.

    Parameters
    ----------
    n_samples : int, default=75
        Number of rows.
    n_nuisance : int, default=1000
        Number of features that do not influence y.
    weight : float, default=0.057
        Weight of each useful feature.
    cycle : bool, default=True
        Whether rows get the groups in turn, as in the paper's training sets, or at
        random.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    data : RareFeatures
        A named tuple of `X`, of shape (n_samples, 50 + n_nuisance), `y`, with labels 0
        and 1, and `active`, which marks the rows with active useful features.

    See Also
    --------
    make_leaky_labels : Features that reveal the label.

    {References: Wager 2013}

    Examples
    --------
    >>> from noiseproof.datasets import make_rare_features
    >>> data = make_rare_features(100, random_state=0)
    >>> data.X.shape, int(data.active.sum())
    ((100, 1050), 20)
    """
    rng = np.random.default_rng(random_state)
    group = np.arange(n_samples) % _GROUPS
    if not cycle:
        group = rng.integers(_GROUPS, size=n_samples)
    sign = rng.choice([-1.0, 1.0], size=n_samples)
    n_useful = _USEFUL_GROUPS * _GROUP_SIZE
    # an exponential of scale s has second moment 2 s²; a useful feature is active in
    # one row of 25, and its second moment over all rows is to be 1
    scale = np.sqrt(_GROUPS / 2)
    own = np.repeat(np.arange(_USEFUL_GROUPS), _GROUP_SIZE)[None, :] == group[:, None]
    size = rng.exponential(scale, size=(n_samples, n_useful))
    useful = np.where(own, sign[:, None] * size, 0.0)
    X = np.hstack([useful, rng.standard_normal((n_samples, n_nuisance))])
    p = expit(weight * useful.sum(axis=1))
    y = (rng.random(n_samples) < p).astype(np.int64)
    return RareFeatures(X, y, group < _USEFUL_GROUPS)
