"""Dropout: a feature is set to zero, or scaled up to keep its mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import Array
from noiseproof.noise.base import Cumulants, GroupedNoise, Noise, VarianceLaw

_LEAST, _MOST = 0.05, 0.5  # automatic rates for many rows, and for many features


@shared_docs
class Dropout(GroupedNoise):
    """Set each feature to 0 with probability q, and to x / (1 - q) otherwise.

    The variance is q / (1 - q) x² (Chen et al. 2014, "Experiments"; Wager et al. 2013,
    eq. 9, has a factor of 1/2 too much). The cumulant function is
    log(q + (1 - q) exp(t x / (1 - q))).

    With groups the features of a group are set to zero together. The variance of the
    score w·x~ is then Σ_g q_g / (1 - q_g) (Σ_{d in g} w_d x_d)². The distribution of a
    single feature is the same as without groups.

    Parameters
    ----------
    rate : float, array of shape (n_features,) or (n_groups,), dict or "auto"
        Probability q of setting a feature to zero, in [0, 1), by default 0.5. An array
        has one rate for each feature, the same for all features of a group. If every
        feature is in a group, it may have one rate for each group instead. A dictionary
        gives the rates of named features (or groups), and all others are never set to
        zero. "auto" means 0.05 + 0.45 d / (n + d) for n rows of d features, which is
        computed in the `fit` of a model. With many rows this is a low rate, since there
        noise costs accuracy on clean rows. With many features, such as words, it is
        about 0.5, since there noise improves accuracy.
    {groups}

    See Also
    --------
    Missing : Makes values missing (NaN) instead of zero.
    Gaussian : Adds measurement errors.
    noiseproof.DropoutSVC : Trains with noise.

    {References: Chen 2014, Wager 2013}

    Examples
    --------
    >>> from noiseproof.noise import Dropout
    >>> Dropout(0.5).variance([1.0, 2.0])
    array([1., 4.])
    >>> Dropout(0.5, groups=["a", "a", "b"]).sample([[1.0, 2.0, 3.0]] * 3, rng=0)
    array([[2., 4., 0.],
           [0., 0., 0.],
           [2., 4., 6.]])
    """

    is_scaling = True
    _levels = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

    def __init__(self, rate: float | ArrayLike | Any = 0.5, groups: Any = None):
        self.rate = rate
        self.groups = groups

    def on(self, features: Sequence[Any], n_rows: float | None = None) -> Self:
        """The noise with numeric rates, and with a group label for each feature."""
        if isinstance(self.rate, str) and n_rows is not None:
            return self.at(auto_rate(n_rows, len(features))).on(features)
        return super().on(features, n_rows)

    @property
    def level(self) -> float | Array:
        """The rate, as a float or an array."""
        if isinstance(self.rate, str):
            raise ValueError(
                "Dropout.rate='auto' depends on the number of rows, so it can only be "
                "used by models that are fitted on all rows at once; pass a number."
            )
        return super().level

    def variance_law(self) -> VarianceLaw:
        q = self.level
        return VarianceLaw(0.0, q / (1 - q), power=2)

    def cumulants(self, x: Array, t: Array) -> Cumulants:
        return _DropoutCumulants(self.level, x, t * x)

    def group_cumulants(
        self, x: Array, t: Array, totals: Callable[[Array], Array]
    ) -> Cumulants:
        scores = totals(t * x)
        return _DropoutCumulants(self.level, x, scores, totals(np.ones_like(scores)))

    def _struck(self, x: Array, chances: Array) -> Array:
        q = self.level
        return np.where((chances >= q) | np.isnan(x), x / (1 - q), 0.0)

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        if isinstance(self.rate, str):
            if self.rate != "auto":
                raise ValueError(
                    f"Dropout.rate must be a number or 'auto'; got {self.rate!r}."
                )
            if n_features is None:
                return
        super().check(n_features, minimum)
        if isinstance(self.rate, Mapping):
            return
        if np.any(np.asarray(self.level) >= 1):
            raise ValueError(
                f"Dropout.rate must be in [0, 1); got {self.rate!r}. Instead of a rate "
                "of 1, remove the feature from X."
            )


class _DropoutCumulants(Cumulants):
    """log(q + (1 - q) exp(s / (1 - q))) / sharers at scores s, and derivatives.

    Each is computed on first use, since a pass over the data needs only one or two.
    """

    def __init__(self, q: Any, x: Array, scores: Array, sharers: Any = 1.0):
        with np.errstate(divide="ignore"):  # log 0 = -inf is right at q = 0
            self._log_lost = np.log(q)
        self._log_kept = np.log1p(-q) + scores / (1 - q)
        self._jump = x / (1 - q)
        self._sharers = sharers

    @cached_property
    def _rarer(self) -> Array:
        """Ratio of the smaller of the two probabilities to the larger."""
        return np.exp(-np.abs(self._log_kept - self._log_lost))

    @cached_property
    def _kept(self) -> Array:
        """Probability of keeping the feature under the tilted distribution."""
        larger = self._log_kept >= self._log_lost
        return np.where(larger, 1.0, self._rarer) / (1 + self._rarer)

    @cached_property
    def value(self) -> Array:
        larger = np.maximum(self._log_lost, self._log_kept)
        return (larger + np.log1p(self._rarer)) / self._sharers

    @cached_property
    def slope(self) -> Array:
        return self._jump * self._kept

    @cached_property
    def curvature(self) -> Array:
        return self.slope * self._jump * (1 - self._kept)


def auto_rate(n: float, d: int) -> float:
    """The dropout rate "auto" for n rows of d features; see `Dropout`.

    n is the sum of the weights of the rows.
    """
    return round(_LEAST + (_MOST - _LEAST) * d / max(n + d, 1), 3)


def as_noise(noise: Any) -> Noise:
    """Convert a rate, "auto", rates by name, a noise or None (no noise) to a noise."""
    if noise is None:
        return Dropout(0.0)
    if isinstance(noise, Mapping) or (isinstance(noise, str) and noise == "auto"):
        return Dropout(noise)
    if isinstance(noise, Real) and not isinstance(noise, bool):
        return Dropout(float(noise))
    if isinstance(noise, Noise):
        return noise
    raise TypeError(
        "noise must be a number (a dropout rate), 'auto', a dictionary from names of "
        "features to rates, None, or a noise object such as "
        f"noiseproof.noise.Gaussian(0.1); got {noise!r}."
    )
