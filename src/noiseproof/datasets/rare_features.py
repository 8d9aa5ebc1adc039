"""Rare but useful features: the simulation of Wager et al. 2013."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]

_GROUPS, _USEFUL_GROUPS, _GROUP_SIZE = 25, 5, 10


class RareFeatures(NamedTuple):
    """Rows, labels and which rows have a useful feature."""

    X: Array
    y: NDArray[np.int64]
    active: NDArray[np.bool_]


def make_rare_features(
    n_samples: int = 75,
    *,
    n_nuisance: int = 1000,
    weight: float = 0.057,
    cycle: bool = True,
    random_state: Any = None,
) -> RareFeatures:
    """50 useful features, each active in 4 % of the rows, among 1000 nuisance ones.

    Appendix A.1 of Wager et al. 2013. A row draws a group g of 25 and a sign; for the
    first 5 groups, the 10 features of the group are sign times exponential variables,
    all other useful features are 0. The nuisance features are standard normal; over
    all rows every feature has second moment 1. P(y = 1) = σ(x·β) with β = `weight` on
    the useful features; the paper's 0.057 makes the mean of |x·β| 2 where there is
    signal.

    Parameters
    ----------
    n_samples : int, default=75
        Rows.
    n_nuisance : int, default=1000
        Features without meaning.
    weight : float, default=0.057
        Weight of each useful feature.
    cycle : bool, default=True
        Whether the groups come in turn, as in the paper's training sets, or at random.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    data : RareFeatures
        `X` of shape (n_samples, 50 + n_nuisance), `y` of 0 and 1, and `active`.

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
