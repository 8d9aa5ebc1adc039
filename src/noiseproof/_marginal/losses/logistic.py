"""The logistic loss under noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from noiseproof._marginal.cumulant import CumulantLoss
from noiseproof._marginal.losses.hinge import HingeGaussian
from noiseproof._marginal.moment import Curvatures, MomentLoss, Slopes
from noiseproof._marginal.objective import Exactness
from noiseproof._rows import Array, expit
from noiseproof.noise import Noise


class _Logistic(MomentLoss):
    """Base class of the logistic losses of the mean and variance."""

    label_free_penalty = True

    def constant(self, mean: Array) -> Array:
        return 2 * np.arctanh(mean)  # the log of the odds


class LogisticVariational(_Logistic):
    """log(2 cosh(s/2)) - y m/2, s = √(m² + v).

    Chen et al. 2014, eq. (17) with the Polya-Gamma variables eliminated in closed
    form. log(2 cosh(√u/2)) is concave in u, so Jensen's inequality on u = score²
    makes it an upper bound of the expectation. The first derivative in u is half the
    weight of eq. (22): tanh(s/2) / (4 s).
    """

    has_majorizer = True

    def exactness(self, noise: Noise) -> Exactness:
        return "bound"

    def value(self, y: Array, m: Array, v: Array) -> Array:
        s = np.sqrt(m * m + v)
        agreement = y * m
        # for y m > 0, s - y m loses digits; there it equals v / (s + y m)
        gap = np.where(
            agreement > 0, v / np.where(agreement > 0, s + agreement, 1), s - agreement
        )
        return 0.5 * gap + np.log1p(np.exp(-s))

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        slope = _slope(np.sqrt(m * m + v))
        return Slopes(2 * m * slope - 0.5 * y, slope)

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        s = np.sqrt(m * m + v)
        slope, bend = _slope(s), _bend(s)
        return Curvatures(2 * slope + 4 * m * m * bend, 2 * m * bend, bend)


def _slope(s: Array) -> Array:
    """Compute the first derivative in u = s² of log(2 cosh(s/2)); 1/8 at s = 0."""
    safe = np.maximum(s, 1e-8)
    return np.tanh(0.5 * safe) / (4 * safe)


def _bend(s: Array) -> Array:
    """Compute the second derivative in u = s² of log(2 cosh(s/2))."""
    safe = np.maximum(s, 0.02)
    bend = (2 * safe * _spread(safe) - np.tanh(0.5 * safe)) / (8 * safe**3)
    return np.where(s < 0.02, -1 / 96 + s * s / 480, bend)


def _spread(s: Array) -> Array:
    """Compute p (1 - p), p = 1 / (1 + e^{-s}), also where 1 - p rounds to 0."""
    small = expit(-np.abs(s))
    return small * (1 - small)


class LogisticJensen(CumulantLoss):
    """log(1 + exp K(-y)), K(c) = log E exp(c * noisy score).

    The bound of van der Maaten et al. 2013 that Chen et al. 2014 call MCF-Logistic:
    E log(1 + e^{-y score}) <= log(1 + E e^{-y score}).
    """

    def exactness(self, noise: Noise) -> Exactness:
        return "bound"

    def constant(self, mean: Array) -> Array:
        return 2 * np.arctanh(mean)  # the log of the odds

    def slope(self, y: Array) -> Array:
        return -y

    def value(self, K: Array) -> Array:
        return np.logaddexp(0, K)

    def derivatives(self, K: Array) -> tuple[Array, Array]:
        return expit(K), _spread(K)


class LogisticTaylor(_Logistic):
    """log(1 + e^{-y m}) + ½ p (1 - p) v, p = 1 / (1 + e^{-m}).

    Wager et al. 2013, eq. (6): the second-order expansion of the noising penalty.
    Not convex: the penalty falls again where predictions are confident.
    """

    convex = False

    def exactness(self, noise: Noise) -> Exactness:
        return "approximation"

    def value(self, y: Array, m: Array, v: Array) -> Array:
        return np.logaddexp(0, -y * m) + 0.5 * _spread(m) * v

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        q = _spread(m)
        return Slopes(-y * expit(-y * m) - 0.5 * q * np.tanh(m / 2) * v, 0.5 * q)

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        q = _spread(m)
        return Curvatures(
            q + 0.5 * q * (1 - 6 * q) * v, -0.5 * q * np.tanh(m / 2), np.zeros_like(q)
        )


_AtScore = Callable[[Array, Array], tuple[Array, ...]]
_AtMargin = Callable[[HingeGaussian, Array, Array, Array], tuple[Array, ...]]

# Nodes and weights of two trapezoidal rules. For an analytic integrand, the error falls
# exponentially as the step shrinks. Both errors are below 1e-12 on their side of the
# switch
_SWITCH = 2.0  # standard deviation above which the average is over margins
_SCORES = np.linspace(-8, 8, 65)
_SCORE_WEIGHTS = np.exp(-0.5 * _SCORES**2)
_SCORE_WEIGHTS /= _SCORE_WEIGHTS.sum()
_MARGINS = np.linspace(-30, 30, 101)
_MARGIN_WEIGHTS = expit(_MARGINS) * expit(-_MARGINS)
_MARGIN_WEIGHTS /= _MARGIN_WEIGHTS.sum()


class LogisticGaussian(_Logistic):
    """E log(1 + e^{-y Z}), Z ~ N(m, v), by quadrature.

    Exact for Gaussian noise, the central limit approximation for any other (Wang and
    Manning 2013; named in Wager et al. 2013, section 6). For small v, the integral is
    over Z = m + σ t. For large v, the logistic loss is written as the mean of hinge
    losses whose margin has the logistic distribution, and `HingeGaussian` gives the
    expectation of each in closed form.
    """

    def exactness(self, noise: Noise) -> Exactness:
        return "exact" if noise.is_gaussian else "approximation"

    def value(self, y: Array, m: Array, v: Array) -> Array:
        return self._average(y, m, v, _plain, _hinge_value)[0]

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        return Slopes(*self._average(y, m, v, _plain_slopes, HingeGaussian.slopes))

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        return Curvatures(
            *self._average(y, m, v, _plain_curvatures, HingeGaussian.curvatures)
        )

    def _average(
        self, y: Array, m: Array, v: Array, at_score: _AtScore, at_margin: _AtMargin
    ) -> list[Array]:
        """Average over scores where v is small, over margins where it is large."""
        y, m, v = np.broadcast_arrays(y, m, v)
        wide = v > _SWITCH**2
        if not wide.any():
            return _over_scores(y, m, v, at_score)
        narrow = ~wide
        small = _over_scores(y[narrow], m[narrow], v[narrow], at_score)
        large = _over_margins(y[wide], m[wide], v[wide], at_margin)
        out = [np.empty_like(m) for _ in large]
        for whole, low, high in zip(out, small, large, strict=True):
            whole[narrow], whole[wide] = low, high
        return out


def _over_scores(y: Array, m: Array, v: Array, at_score: _AtScore) -> list[Array]:
    sigma = np.sqrt(v)
    terms = (at_score(y, m + sigma * t) for t in _SCORES)
    return _weighted_sum(_SCORE_WEIGHTS, terms)


def _over_margins(y: Array, m: Array, v: Array, at_margin: _AtMargin) -> list[Array]:
    terms = (at_margin(HingeGaussian(u), y, m, v) for u in _MARGINS)
    return _weighted_sum(_MARGIN_WEIGHTS, terms)


def _weighted_sum(weights: Array, terms: Iterable[tuple[Array, ...]]) -> list[Array]:
    sums: list[Array] = []
    for weight, parts in zip(weights, terms, strict=True):
        sums = sums or [np.zeros_like(part) for part in parts]
        for total, part in zip(sums, parts, strict=True):
            total += weight * part
    return sums


def _hinge_value(hinge: HingeGaussian, *row: Array) -> tuple[Array, ...]:
    return (hinge.value(*row),)


def _plain(y: Array, score: Array) -> tuple[Array, ...]:
    return (np.logaddexp(0, -y * score),)


def _plain_slopes(y: Array, score: Array) -> tuple[Array, ...]:
    """Return f' and ½ f'', since d/dv E f(m + √v t) = ½ E f''(m + √v t)."""
    return -y * expit(-y * score), 0.5 * _spread(score)


def _plain_curvatures(y: Array, score: Array) -> tuple[Array, ...]:
    """Return f'', ½ f''' and ¼ f''''."""
    q = _spread(score)
    return q, -0.5 * q * np.tanh(score / 2), 0.25 * q * (1 - 6 * q)
