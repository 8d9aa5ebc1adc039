"""Dropout: a feature is lost, or scaled up to make up for the losses."""

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

_LEAST, _MOST = 0.05, 0.5  # automatic rates: of many rows, and of many features


@shared_docs
class Dropout(GroupedNoise):
    """Each feature is 0 with probability q, else x / (1 - q).

    Variance q / (1 - q) x² (Chen et al. 2014, "Experiments"; the same without the
    stray 1/2 of Wager et al. 2013 eq. 9); cumulant function
    log(q + (1 - q) exp(t x / (1 - q))).

    With groups the features of a group are lost together: the score w·x~ then has the
    variance Σ_g q_g / (1 - q_g) (Σ_{d in g} w_d x_d)², and each feature has the same
    law as without groups.

    Parameters
    ----------
    rate : float, array of shape (n_features,) or (n_groups,), dict or "auto"
        Probability q of losing the feature, in [0, 1), by default 0.5. With groups
        there may be one for each group, in their order, if every feature is in a group;
        one for each feature must be the same within a group. A dictionary gives rates
        by the names of features (or of groups); the others are never lost. "auto" is
        0.05 + 0.45 d / (n + d) for n rows of d features, when a model is fitted: little
        where rows are many, for there noise costs accuracy on clean rows, and about a
        half where features are many, as words are, for there it helps.
    {groups}

    See Also
    --------
    Missing : Writes NaN in place of zero.
    Gaussian : Measurement errors.
    noiseproof.DropoutSVC : Trains with a noise.

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
        """The noise with its rate, one rate per feature, and a label per feature."""
        if isinstance(self.rate, str) and n_rows is not None:
            return self.at(auto_rate(n_rows, len(features))).on(features)
        return super().on(features, n_rows)

    @property
    def level(self) -> float | Array:
        """The rate as float or array."""
        if isinstance(self.rate, str):
            raise ValueError(
                "Dropout.rate='auto' depends on the number of rows, so it is for "
                "models that are fitted on all of them at once; give a rate here."
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
                raise ValueError(f"Dropout.rate must be a rate or 'auto'; got {self}.")
            if n_features is None:
                return
        super().check(n_features, minimum)
        if isinstance(self.rate, Mapping):
            return
        if np.any(np.asarray(self.level) >= 1):
            raise ValueError(
                f"Dropout.rate must be in [0, 1); got {self.rate!r}: a feature that is "
                "always lost should be removed from X."
            )


class _DropoutCumulants(Cumulants):
    """log(q + (1 - q) exp(s / (1 - q))) / sharers at scores s, and derivatives.

    Each is computed when it is asked for, since a pass over the data needs one or two.
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
        """Probability of "kept" under the tilted law."""
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
    """A dropout rate for n rows of d features, which hurts little and helps much.

    Rows with weights count as many as they weigh.
    """
    return round(_LEAST + (_MOST - _LEAST) * d / max(n + d, 1), 3)


def as_noise(noise: Any) -> Noise:
    """Noise object from a rate, "auto", rates by name, a noise or None (no noise)."""
    if noise is None:
        return Dropout(0.0)
    if isinstance(noise, Mapping) or (isinstance(noise, str) and noise == "auto"):
        return Dropout(noise)
    if isinstance(noise, Real) and not isinstance(noise, bool):
        return Dropout(float(noise))
    if isinstance(noise, Noise):
        return noise
    raise TypeError(
        "noise must be a number (a dropout rate), 'auto', rates by the names of "
        "features, None or a noise object such as noiseproof.noise.Gaussian(0.1); got "
        f"{noise!r}."
    )
