"""Row losses: what one row costs, given what noise leaves of its score.

A loss sees rows only: labels and either the moments (m, v) of the noisy score or its
cumulant K. Labels of classifiers are -1 and +1. Shapes broadcast; nothing here knows
about features, storage or solvers.
"""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noiseproof.noise import Noise

Array = NDArray[np.float64]
Exactness = Literal["exact", "bound", "approximation"]
Task = Literal["classification", "regression"]


class Slopes(NamedTuple):
    """First derivatives of a row loss in the mean m and the variance v."""

    m: Array
    v: Array


class Curvatures(NamedTuple):
    """Second derivatives of a row loss in (m, v)."""

    mm: Array
    mv: Array
    vv: Array


class Loss:
    """What losses of both kinds publish about themselves."""

    task: ClassVar[Task] = "classification"
    convex: ClassVar[bool] = True
    label_free_penalty: ClassVar[bool] = False

    def exactness(self, noise: Noise) -> Exactness:
        """How the row loss relates to the true expectation under `noise`."""
        raise NotImplementedError

    def plain(self, y: Array, m: Array) -> Array:
        """The loss without noise, at score `m`."""
        raise NotImplementedError


class MomentLoss(Loss):
    """A row loss of the mean m and the variance v of the noisy score."""

    # value = g((m - shift)² + v) + linear(m) with g concave: then the quadratic with
    # curvature 2 * slopes.v in m touches it from above, and IRLS applies
    has_majorizer: ClassVar[bool] = False

    @property
    def kink_width(self) -> float:
        """Noise on the score that rounds the loss off well; 0 if it has no kink.

        A loss with a kink is not differentiable at v = 0, so solvers must approach
        v = 0 gradually, starting from here.
        """
        return 0.0

    def value(self, y: Array, m: Array, v: Array) -> Array:
        """Expected loss of each row, or its bound or approximation."""
        raise NotImplementedError

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        """Partial derivatives of `value` in m and v."""
        raise NotImplementedError

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        """Second partial derivatives of `value`."""
        raise NotImplementedError

    def plain(self, y: Array, m: Array) -> Array:
        """The loss without noise, at score `m`."""
        return self.value(y, m, np.zeros_like(m))


class CumulantLoss(Loss):
    """A row loss f(K) + linear * m, with K = log E exp(slope * noisy score)."""

    def slope(self, y: Array) -> Array:
        """Where the cumulant is taken: -1 or +1 for each row."""
        raise NotImplementedError

    def linear(self, y: Array) -> Array:
        """Coefficient of the mean score, zero for most losses."""
        return np.zeros_like(y)

    def value(self, K: Array) -> Array:
        """f(K)."""
        raise NotImplementedError

    def derivatives(self, K: Array) -> tuple[Array, Array]:
        """f'(K) and f''(K)."""
        raise NotImplementedError

    def plain(self, y: Array, m: Array) -> Array:
        """The loss without noise, at score `m`."""
        return self.value(self.slope(y) * m) + self.linear(y) * m
