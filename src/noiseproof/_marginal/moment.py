"""Losses that meet the data through the mean and variance of the score."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from noiseproof._marginal.losses.base import MomentLoss
from noiseproof._marginal.terms import Parameters
from noiseproof._rows import Array, Design, RowCurvature
from noiseproof.noise import VarianceLaw

_STIFF = 1000.0
_MOST_STIFF = 2000  # a factorisation of this size takes about 0.1 s


class MomentTerm(Parameters):
    """Σ_i c_i loss(y_i, m_i, v_i), m = w·x + b, v = Σ_d w_d² Var(x~_d).

    Parameters
    ----------
    design : Design
        The data, n rows of d features.
    y : array of shape (k, n)
        Labels, a row per class.
    weights : array of shape (n,)
        C times the sample weights.
    law : VarianceLaw
        Variance of a feature, from the noise.
    loss : MomentLoss
        The row loss.
    fit_intercept : bool
        Whether θ ends in an intercept.
    smoothing : float
        Standard deviation of extra noise on every score, which rounds off kinks.
    """

    def __init__(
        self,
        design: Design,
        y: Array,
        weights: Array,
        law: VarianceLaw,
        loss: MomentLoss,
        fit_intercept: bool,
        smoothing: float = 0.0,
    ):
        self.design = design
        self.y = y
        self.weights = weights
        self.law = law
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.smoothing = smoothing

    @property
    def null_value(self) -> Array:
        """Value at θ = 0, where neither data nor noise matters."""
        zero = np.zeros_like(self.y)
        return self.loss.value(self.y, zero, zero) @ self.weights

    def at(self, theta: Array) -> MomentPoint:
        W, b = self.split(theta)
        m, v = self.design.moments(W, self.law.scale * W, self.law.power)
        m += b[:, None]
        v += (self.law.constant * W**2).sum(axis=1, keepdims=True)
        return MomentPoint(self, W, m, v)

    def restrict(self, classes: Any) -> MomentTerm:
        return self._replace(y=self.y[classes])

    def smoothed(self, smoothing: float) -> MomentTerm:
        return self._replace(smoothing=smoothing)

    def _replace(self, **changes: Any) -> MomentTerm:
        return MomentTerm(**(vars(self) | changes))


class MomentPoint:
    """The term at one θ: the moments of every score, and what follows from them."""

    def __init__(self, term: MomentTerm, W: Array, m: Array, v: Array):
        self.term = term
        self.W = W
        self.m = m
        self.v = v

    @property
    def _rows(self) -> tuple[Array, Array, Array]:
        return self.term.y, self.m, self.v + self.term.smoothing**2

    @cached_property
    def _scaled(self) -> Array:
        return np.asarray(self.term.law.scale * self.W)

    @cached_property
    def value(self) -> Array:
        return self.term.loss.value(*self._rows) @ self.term.weights

    @property
    def smoothing_gap(self) -> Array:
        plain = self.term.loss.value(self.term.y, self.m, self.v) @ self.term.weights
        return np.asarray(self.value - plain)

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        slopes = self.term.loss.slopes(*self._rows)
        return self.term.weights * slopes.m, self.term.weights * slopes.v

    @property
    def gradient(self) -> Array:  # kept by the point that asks for it
        term = self.term
        slope_m, slope_v = self._slopes
        G = term.design.pullback(slope_m, slope_v, self._scaled, term.law.power)
        G += 2 * term.law.constant * self.W * slope_v.sum(axis=1, keepdims=True)
        return term.join(G, slope_m.sum(axis=1))

    def hessian(self, majorized: Any = None) -> MomentCurvature:
        curvatures = self.term.loss.curvatures(*self._rows)
        mm, mv, vv = (self.term.weights * part for part in curvatures)
        v = self._slopes[1]
        if majorized is not None:
            mm[majorized] = 2 * v[majorized]
            mv[majorized] = vv[majorized] = 0.0
        h = RowCurvature(mm, mv, vv, v)
        return MomentCurvature(self.term, self.W, self._scaled, h)

    def majorizer(self) -> MomentCurvature:
        v = self._slopes[1]
        none = np.zeros_like(v)
        h = RowCurvature(2 * v, none, none, v)
        return MomentCurvature(self.term, self.W, self._scaled, h)

    def majorizer_matrix(self, k: int) -> Array:
        term = self.term
        curvature = self.restrict([k]).majorizer()
        weights = curvature.h.mm[0]
        matrix = term.design.gram(weights)
        matrix[np.diag_indices_from(matrix)] += curvature.variance[0]
        if not term.fit_intercept:
            return matrix
        ones = weights[None, :]
        zero = np.zeros((1, len(matrix)))
        column = term.design.pullback(ones, np.zeros_like(ones), zero, 2)
        return np.block([[matrix, column.T], [column, weights.sum()]])

    def ray(self, P: Array) -> MomentRay:
        return MomentRay(self, P)

    def restrict(self, classes: Any) -> MomentPoint:
        term = self.term.restrict(classes)
        return MomentPoint(term, self.W[classes], self.m[classes], self.v[classes])

    def smoothed(self, smoothing: float) -> MomentPoint:
        return MomentPoint(self.term.smoothed(smoothing), self.W, self.m, self.v)


class MomentRay:
    """The term along θ + α P: m is linear in α and v quadratic, so one pass serves."""

    def __init__(self, start: MomentPoint, P: Array):
        term = start.term
        self.start = start
        self.P, p_b = term.split(P)
        law = term.law
        self.a, self.e, self.u = term.design.directions(
            self.P, start._scaled, law.scale * self.P, law.power
        )
        self.a += p_b[:, None]
        self.e += 2 * (law.constant * start.W * self.P).sum(axis=1, keepdims=True)
        self.u += (law.constant * self.P**2).sum(axis=1, keepdims=True)

    def point(self, alpha: Array) -> MomentPoint:
        start, step = self.start, alpha[:, None]
        m = start.m + step * self.a
        # rounding may leave a variance just below zero
        v = np.maximum(start.v + step * (self.e + step * self.u), 0.0)
        return MomentPoint(start.term, start.W + step * self.P, m, v)


class MomentCurvature:
    """Hessian of the term, or its majoriser, through products with the data.

    H p = Σ [(mm a + mv e) x + (mv a + vv e) 2 V∘w + 2 h_v V∘p], a = x·p + p_b and
    e = 2 Σ_d V_d w_d p_d: products with X and its entrywise powers, never stored.
    """

    def __init__(self, term: MomentTerm, W: Array, S: Array, h: RowCurvature):
        self.term = term
        self.W = W
        self.S = S
        self.h = h

    @cached_property
    def _additive(self) -> Array | None:
        """Slope in w of what additive noise adds to the variance of every row."""
        constant = self.term.law.constant
        return 2 * constant * self.W if np.any(constant) else None

    @cached_property
    def _diagonals(self) -> tuple[Array, Array]:
        design, law, h = self.term.design, self.term.law, self.h
        diagonal, variance = design.curvature_diagonal(h, self.S, law.power)
        variance = law.scale * variance
        if self._additive is not None:
            variance += 2 * law.constant * h.v.sum(axis=1, keepdims=True)
            mixed = design.pullback(h.mv, h.vv, self.S, law.power)
            own = self._additive * h.vv.sum(axis=1, keepdims=True)
            diagonal += self._additive * (2 * mixed + own)
        return diagonal + variance, variance

    @property
    def variance(self) -> Array:
        """2 Σ_i h_v V_id, the part that is diagonal anyway, (k, d)."""
        return self._diagonals[1]

    @property
    def diagonal(self) -> Array:
        return self.term.join(self._diagonals[0], self.h.mm.sum(axis=1))

    def product(self, P: Array) -> Array:
        term, additive = self.term, self._additive
        W_p, b_p = term.split(P)
        none = np.zeros(len(P))
        e0 = none if additive is None else (additive * W_p).sum(axis=1)
        out, sum_m, sum_v = term.design.curvature_product(
            W_p, self.S, self.h, b_p, e0, term.law.power
        )
        out += self.variance * W_p
        if additive is not None:
            out += additive * sum_v[:, None]
        return term.join(out, sum_m)

    @cached_property
    def _stiffness(self) -> Array:
        """Curvature of each row along itself, or a bound that is harmless, (k, n)."""
        design = self.term.design
        stiffness = self.h.mm * design.squared_norms
        doubtful = stiffness.max(axis=1, initial=0.0) > _STIFF
        if doubtful.any():  # noise of the features makes it matter less
            inverse = 1 / (1 + self.variance[doubtful])
            _, leverage = design.moments(np.ones_like(inverse), inverse, 2)
            stiffness[doubtful] = self.h.mm[doubtful] * leverage
        return stiffness

    def stiff_rows(self, k: int) -> Any:
        """Rows near a kink, times the root of their curvature."""
        if not self.term.loss.kink_width:
            return None
        stiffness = self._stiffness[k]
        rows = np.flatnonzero(stiffness > _STIFF)
        if len(rows) == 0:
            return None
        if len(rows) > _MOST_STIFF:
            rows = rows[np.argpartition(stiffness[rows], -_MOST_STIFF)[-_MOST_STIFF:]]
        return self.term.design.scaled_rows(
            rows, np.sqrt(self.h.mm[k, rows]), self.term.fit_intercept
        )

    def restrict(self, classes: Any) -> MomentCurvature:
        part = MomentCurvature(
            self.term.restrict(classes),
            self.W[classes],
            self.S[classes],
            self.h.restrict(classes),
        )
        part._diagonals = tuple(d[classes] for d in self._diagonals)  # type: ignore
        return part
