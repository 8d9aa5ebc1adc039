"""Losses that meet the data through the cumulant function of the score."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from noiseproof._marginal.losses.base import CumulantLoss
from noiseproof._marginal.terms import Parameters
from noiseproof._rows import Array, Design, EntryBlock
from noiseproof.noise import Cumulants, Noise

_SIGNS = (-1.0, 1.0)


class CumulantTerm(Parameters):
    """Σ_i c_i [f(K_i) + linear_i m_i], K_i = σ_i b + Σ_d cgf(x_id, σ_i w_d).

    σ is -1 or +1, as the loss says. cgf(x, t) is split in cgf(x, t) - cgf(0, t),
    which only stored entries have, and cgf(0, t), which depends on the row through
    its σ alone: so sparse data stays sparse for every noise. The second derivative of
    K in w is diagonal, hence H = Σ f'' g gᵀ + f' diag(cgf'') with g = ∇K.

    Parameters are those of `MomentTerm`, with the noise in place of its variance law.
    """

    def __init__(
        self,
        design: Design,
        y: Array,
        weights: Array,
        noise: Noise,
        loss: CumulantLoss,
        fit_intercept: bool,
    ):
        self.design = design
        self.weights = weights
        self.noise = noise
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.signs = loss.slope(y)
        self.linear = self._pull_linear(weights * loss.linear(y))

    def _pull_linear(self, slopes: Array) -> Array:
        """Gradient of Σ c linear m, the same everywhere."""
        if not slopes.any():
            return np.zeros((len(slopes), self.design.shape[1] + self.fit_intercept))
        zero = np.zeros((len(slopes), self.design.shape[1]))
        G = self.design.pullback(slopes, np.zeros_like(slopes), zero, 2)
        return self.join(G, slopes.sum(axis=1))

    @property
    def null_value(self) -> Array:
        """Value at θ = 0, where neither data nor noise matters."""
        return self.loss.value(np.zeros_like(self.signs)) @ self.weights

    def stored(self, k: int, w: Array) -> Iterator[tuple[EntryBlock, Cumulants]]:
        """Cumulants of the stored entries beyond those of a zero, block by block."""
        for block in self.design.entry_blocks():
            t = block.repeat(self.signs[k, block.rows]) * block.spread(w)
            noise = self.noise.take(block.columns)
            entries = noise.cumulants(block.x, t)
            if noise.is_additive:
                zeros = noise.cumulants(np.zeros_like(block.x), t)
                with np.errstate(invalid="ignore"):  # inf - inf outside the domain
                    entries = Cumulants(*map(np.subtract, entries, zeros))
            yield block, entries

    def zeros(self, w: Array, sign: float) -> Cumulants:
        """Cumulants of a row of zeros, per feature."""
        return self.noise.cumulants(np.zeros_like(w), sign * w)

    def at(self, theta: Array) -> CumulantPoint:
        W, b = self.split(theta)
        K = self.signs * b[:, None]
        for k, w in enumerate(W):
            for sign in _SIGNS:
                K[k, self.signs[k] == sign] += self.zeros(w, sign).value.sum()
            for block, entries in self.stored(k, w):
                K[k, block.rows] += block.row_sums(entries.value)
        K[np.isnan(K)] = np.inf
        return CumulantPoint(self, theta, K)

    def restrict(self, classes: Any) -> CumulantTerm:
        part = object.__new__(CumulantTerm)
        vars(part).update(vars(self))
        part.signs, part.linear = self.signs[classes], self.linear[classes]
        return part

    def smoothed(self, smoothing: float) -> CumulantTerm:
        return self  # these losses have no kinks


class CumulantPoint:
    """The term at one θ: the cumulant of every score, and what follows from it."""

    def __init__(self, term: CumulantTerm, theta: Array, K: Array):
        self.term = term
        self.theta = theta
        self.K = K

    @cached_property
    def value(self) -> Array:
        loss = self.term.loss.value(self.K) @ self.term.weights
        return loss + np.einsum("kd,kd->k", self.term.linear, self.theta)

    @property
    def smoothing_gap(self) -> Array:
        return np.zeros(len(self.theta))

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        first, second = self.term.loss.derivatives(self.K)
        return self.term.weights * first, self.term.weights * second

    @cached_property
    def gradient(self) -> Array:
        term, first = self.term, self._slopes[0]
        W, _ = term.split(self.theta)
        G = np.zeros_like(W)
        for k, w in enumerate(W):
            pull = term.signs[k] * first[k]
            for sign in _SIGNS:
                G[k] += pull[term.signs[k] == sign].sum() * term.zeros(w, sign).slope
            for block, entries in term.stored(k, w):
                block.column_sums(block.repeat(pull[block.rows]) * entries.slope, G[k])
        return term.linear + term.join(G, (term.signs * first).sum(axis=1))

    def hessian(self, majorized: Any = None) -> CumulantCurvature:
        return CumulantCurvature(self.term, self.theta, *self._slopes)

    def majorizer(self) -> CumulantCurvature:
        raise TypeError("a loss of the cumulant has no quadratic majoriser")

    def majorizer_matrix(self, k: int) -> Array:
        raise TypeError("a loss of the cumulant has no quadratic majoriser")

    def ray(self, P: Array) -> CumulantRay:
        return CumulantRay(self, P)

    def restrict(self, classes: Any) -> CumulantPoint:
        term = self.term.restrict(classes)
        return CumulantPoint(term, self.theta[classes], self.K[classes])

    def smoothed(self, smoothing: float) -> CumulantPoint:
        return self  # these losses have no kinks


class CumulantRay:
    """The term along θ + α P; cumulants have no short cut, each step is a pass."""

    def __init__(self, start: CumulantPoint, P: Array):
        self.start = start
        self.P = P

    def point(self, alpha: Array) -> CumulantPoint:
        return self.start.term.at(self.start.theta + alpha[:, None] * self.P)


class CumulantCurvature:
    """H = Σ f'' g gᵀ + f' diag(cgf''), with the entries of g recomputed in blocks."""

    def __init__(self, term: CumulantTerm, theta: Array, first: Array, second: Array):
        self.term = term
        self.theta = theta
        self.first = first
        self.second = second

    @cached_property
    def _diagonals(self) -> tuple[Array, Array]:
        """Diagonal of H in w, and its part f' cgf''."""
        W, _ = self.term.split(self.theta)
        rank_one, own = np.zeros_like(W), np.zeros_like(W)
        for k, w in enumerate(W):
            signs, first, second = self.term.signs[k], self.first[k], self.second[k]
            zero_slope = {sign: self.term.zeros(w, sign).slope for sign in _SIGNS}
            for sign in _SIGNS:
                rows = signs == sign
                zeros = self.term.zeros(w, sign)
                rank_one[k] += second[rows].sum() * zeros.slope**2
                own[k] += first[rows].sum() * zeros.curvature
            for block, entries in self.term.stored(k, w):
                rows = block.rows
                at_zero = np.where(
                    block.repeat(signs[rows]) > 0,
                    block.spread(zero_slope[1.0]),
                    block.spread(zero_slope[-1.0]),
                )
                squares = entries.slope * (entries.slope + 2 * at_zero)
                block.column_sums(block.repeat(second[rows]) * squares, rank_one[k])
                block.column_sums(block.repeat(first[rows]) * entries.curvature, own[k])
        return rank_one + own, own

    @property
    def diagonal(self) -> Array:
        return self.term.join(self._diagonals[0], self.second.sum(axis=1))

    def product(self, P: Array) -> Array:
        W, _ = self.term.split(self.theta)
        P_w, p_b = self.term.split(P)
        out = self._diagonals[1] * P_w
        sums = np.zeros(len(W))
        for k, w in enumerate(W):
            signs, second = self.term.signs[k], self.second[k]
            zeros = {sign: self.term.zeros(w, sign).slope for sign in _SIGNS}
            # ∇K·p: σ times the slope of the cumulant, intercept included
            shift = {sign: p_b[k] + zeros[sign] @ P_w[k] for sign in _SIGNS}
            base = np.where(signs > 0, shift[1.0], shift[-1.0])
            totals = dict.fromkeys(_SIGNS, 0.0)
            for block, entries in self.term.stored(k, w):
                rows = block.rows
                along = (
                    block.row_sums(entries.slope * block.spread(P_w[k])) + base[rows]
                )
                pull = second[rows] * along  # σ² = 1
                block.column_sums(block.repeat(pull) * entries.slope, out[k])
                for sign in _SIGNS:
                    totals[sign] += pull[signs[rows] == sign].sum()
            out[k] += sum(totals[sign] * zeros[sign] for sign in _SIGNS)
            sums[k] = sum(totals.values())
        return self.term.join(out, sums)

    def stiff_rows(self, k: int) -> Any:
        return None  # these losses have no kinks

    def restrict(self, classes: Any) -> CumulantCurvature:
        part = CumulantCurvature(
            self.term.restrict(classes),
            self.theta[classes],
            self.first[classes],
            self.second[classes],
        )
        part._diagonals = tuple(d[classes] for d in self._diagonals)  # type: ignore
        return part
