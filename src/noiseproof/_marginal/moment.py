"""Losses that meet the data through the mean and variance of the score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.objective import (
    FEW_FEATURES,
    Exactness,
    Expansion,
    Loss,
    Term,
)
from noiseproof._marginal.plain_hinge import plain_hinge
from noiseproof._rows import Array, DenseBlock, Design, RowCurvature, host
from noiseproof._stop import Stop
from noiseproof.noise import Noise, VarianceLaw

# Matrices are formed for smooth losses of very few features: with the logistic loss and
# two classes in 0.75 of the time that conjugate gradients take at 200,000 x 30, in 1.0
# at 10,000 x 50, in 1.3 at 10,000 x 100. With the hinge loss 1.6 at 200,000 x 30,
# so that is left to conjugate gradients. Where there is little to do (in
# multiplications) they are formed anyway, since compiled loops take 0.4 s to load.
_VERY_FEW = 32
_LITTLE = 50_000_000
_STIFF = 1000.0
# Noise of a smaller scale moves the solution so little that the plain one is a start:
# on books a fit takes 0.5 of the time at a rate of 0.001, 0.8 to 1.05 at 0.01, and at
# 0.05 up to 1.35 (C = 0.1 and 1)
_QUIET = 0.02
# With more rows per feature the dual of the plain hinge loss is slower than stages of
# smoothing. It took 0.1 to 1.7 of their time at 10 rows per feature (C from 0.01 to
# 100), 0.13 to 1.2 at 28 (digits), 2 to 4 at 670
_TALL = 50
MOST_STIFF = 2000  # a factorisation of this size takes about 0.1 s


class Slopes(NamedTuple):
    """First derivatives of a row loss in the mean m and the variance v."""

    m: Array
    v: Array


class Curvatures(NamedTuple):
    """Second derivatives of a row loss in (m, v)."""

    mm: Array
    mv: Array
    vv: Array


class MomentLoss(Loss):
    """A row loss of the mean m and the variance v of the noisy score.

    `has_majorizer` means value = g((m - shift)² + v) + linear(m) with g concave: then
    the quadratic with curvature 2 * slopes.v in m touches it from above.
    """

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

    def _term(
        self, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
    ) -> Term:
        """Σ_i weights_i loss(y_i, m_i, v_i), at θ = 0."""
        y, weights = design.hold(y), design.hold(weights)
        theta = design.hold(np.zeros((len(y), design.shape[1] + intercept)))
        none = np.zeros_like(y)
        noise = noise.on(range(design.shape[1]))
        law, labels = noise.variance_law(), noise.group_labels(design.shape[1])
        if labels is not None:
            design = design.grouped(labels, law.scale)
        known = none, none
        return MomentTerm(design, y, weights, law, self, intercept, theta, known)

    def mixture(self, *data: Any, plain: float, noisy: float) -> list[Term]:
        """One term, since the mean of the score is the same with and without noise."""
        return [Mixture(self, plain, noisy).term(*data)]


class Mixture(MomentLoss):
    """plain * loss(y, m, 0) + noisy * loss(y, m, v).

    With plain = 1 - ρ and noisy = ρ the noising penalty R = loss(v) - loss(0) counts ρ
    times; with -1 and 1 it is R itself, which unlabelled rows contribute. Both are what
    Wager et al. 2013, eq. (19), needs.
    """

    convex = False

    def __init__(self, loss: MomentLoss, plain: float, noisy: float):
        self.loss = loss
        self.shares = plain, noisy

    def exactness(self, noise: Noise) -> Exactness:
        return self.loss.exactness(noise)

    def value(self, y: Array, m: Array, v: Array) -> Array:
        plain, noisy = self.shares
        return plain * self.loss.plain(y, m) + noisy * self.loss.value(y, m, v)

    def constant(self, mean: Array) -> Array:
        return self.loss.constant(mean)

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        plain, noisy = self.shares
        clean, own = self.loss.slopes(y, m, np.zeros_like(v)), self.loss.slopes(y, m, v)
        return Slopes(plain * clean.m + noisy * own.m, noisy * own.v)

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        plain, noisy = self.shares
        clean = self.loss.curvatures(y, m, np.zeros_like(v))
        own = self.loss.curvatures(y, m, v)
        mm = plain * clean.mm + noisy * own.mm
        return Curvatures(mm, noisy * own.mv, noisy * own.vv)


@dataclass(eq=False)
class MomentTerm(Term):
    """Σ_i c_i loss(y_i, m_i, v_i), m = w·x + b, v = Σ_d w_d² Var(x~_d).

    Parameters
    ----------
    design : Design
        The data, n rows of d features. One that knows of groups sums v by group.
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
    theta : array of shape (k, d + 1)
        Where the term is.
    known : two arrays of shape (k, n), or None
        Mean and variance of every score there, once somebody has asked for them.
    smoothing : float
        Standard deviation of extra noise on every score, which rounds off kinks.
    """

    design: Design
    y: Array
    weights: Array
    law: VarianceLaw
    loss: MomentLoss
    fit_intercept: bool
    theta: Array
    known: tuple[Array, Array] | None
    smoothing: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        return self.theta.shape

    @cached_property
    def W(self) -> Array:  # noqa: N802
        """The weights in θ."""
        return self.split(self.theta)[0]

    @property
    def m(self) -> Array:
        """Mean of every score, (k, n)."""
        return self._moments()[0]

    @property
    def v(self) -> Array:
        """Variance of every score, (k, n)."""
        return self._moments()[1]

    def _moments(self) -> tuple[Array, Array]:
        if self.known is None:
            W, b = self.split(self.theta)
            if self.prefers_matrix:
                m, v = self._dense_moments()
            else:
                m, v = self.design.moments(W, self.scaled, self.law.power)
            m += b[:, None]
            v += (self.law.constant * W**2).sum(axis=1, keepdims=True)
            self.known = m, v
        return self.known

    @property
    def prefers_matrix(self) -> bool:
        if self.on_device:
            return False
        k, d = self.shape
        little = d <= FEW_FEATURES and len(self.weights) * d * d * k <= _LITTLE
        return little or (d <= _VERY_FEW and not self.loss.kink_width)

    def _dense_moments(self) -> tuple[Array, Array]:
        """What the design's `moments` gives, without any compiled loop to load."""
        m, v = np.empty(self.y.shape), np.empty(self.y.shape)

        def work(block: DenseBlock) -> list[Array]:
            m[:, block.rows] = self.W @ block.x.T
            for k, w in enumerate(self.W):
                slopes = self.design.variance_slopes(
                    block, self.scaled[k], self.law.power
                )
                v[k, block.rows] = slopes @ w
            return []

        self.design.total(work)
        return m, v

    @property
    def origin(self) -> Array:
        return self.design.hold(np.zeros(self.shape))

    @property
    def on_device(self) -> bool:
        return self.design.on_device

    @property
    def is_noisy(self) -> bool:
        return bool(np.any(self.law.constant) or np.any(self.law.scale))

    @property
    def has_free_rays(self) -> bool:
        return True

    @property
    def label_sums(self) -> Array:
        total = host(self.y @ self.weights)
        return np.stack([total, np.full_like(total, float(self.weights.sum()))])

    def at(self, theta: Array) -> Self:
        return replace(self, theta=theta, known=None)

    def with_intercept(self, theta: Array) -> Self:
        more = theta[:, -1:] - self.theta[:, -1:]
        return replace(self, theta=theta, known=(self.m + more, self.v))

    def restrict(self, classes: Any) -> Self:
        m, v = self.known or (None, None)
        known = None if m is None or v is None else (m[classes], v[classes])
        theta, y = self.theta[classes], self.y[classes]
        return replace(self, y=y, theta=theta, known=known)

    def sample(self, rows: NDArray[np.intp], share: float) -> Self:
        return replace(
            self,
            design=self.design.take(rows),
            y=self.y[:, rows],
            weights=self.weights[rows] / share,
            known=None,
        )

    def solve_dual(self, stop: Stop) -> tuple[Array, int, bool, bool] | None:
        margin, (n, d) = self.loss.hinge_margin, self.design.shape
        if self.on_device:
            return None
        loud = np.any(self.law.constant) or np.max(self.law.scale) > _QUIET
        if loud or margin is None or n > _TALL * d:
            return None
        rows = self.design.plain, self.y, self.weights
        return plain_hinge(*rows, margin, self.fit_intercept, stop)

    def smoothed(self, smoothing: float) -> Self:
        return replace(self, smoothing=smoothing)

    @property
    def _rows(self) -> tuple[Array, Array, Array]:
        return self.y, self.m, self.v + self.smoothing**2

    @cached_property
    def scaled(self) -> Array:
        """The weights times the variance scale, `S` of the design's verbs."""
        return self.law.scale * self.W

    @cached_property
    def value(self) -> Array:
        return host(self.loss.value(*self._rows) @ self.weights)

    @property
    def smoothing_gap(self) -> Array:
        plain = self.loss.value(self.y, self.m, self.v) @ self.weights
        return self.value - host(plain)

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        slopes = self.loss.slopes(*self._rows)
        return self.weights * slopes.m, self.weights * slopes.v

    @property
    def gradient(self) -> Array:  # kept by the objective that asks for it
        slope_m, slope_v = self._slopes
        G = self.design.pullback(slope_m, slope_v, self.scaled, self.law.power)
        G += 2 * self.law.constant * self.W * slope_v.sum(axis=1, keepdims=True)
        return self.join(G, slope_m.sum(axis=1))

    def hessian(self, majorized: NDArray[np.bool_] | None = None) -> MomentCurvature:
        v = self._slopes[1]
        if majorized is not None and majorized.all():
            none = np.zeros_like(v)
            return MomentCurvature(self, RowCurvature(2 * v, none, none, v))
        curvatures = self.loss.curvatures(*self._rows)
        mm, mv, vv = (self.weights * part for part in curvatures)
        if majorized is not None:
            mm[majorized] = 2 * v[majorized]
            mv[majorized] = vv[majorized] = 0.0
        return MomentCurvature(self, RowCurvature(mm, mv, vv, v))

    def ray(self, P: Array) -> Callable[[Array, Array], MomentTerm]:
        """Along θ + α P m is linear in α and v quadratic, so one pass serves."""
        law, (P_w, p_b) = self.law, self.split(P)
        a, e, u = self.design.directions(P_w, self.scaled, law.scale * P_w, law.power)
        a += p_b[:, None]
        e += 2 * (law.constant * self.W * P_w).sum(axis=1, keepdims=True)
        u += (law.constant * P_w**2).sum(axis=1, keepdims=True)

        def point(alpha: Array, theta: Array) -> MomentTerm:
            step = alpha[:, None]
            # rounding may leave a variance just below zero
            v = np.maximum(self.v + step * (e + step * u), 0.0)
            known = self.m + step * a, v
            return replace(self, theta=theta, known=known)

        return point

    def expansion(self, majorized: NDArray[np.bool_] | None) -> Expansion:
        kinds = [None] * len(self.theta) if majorized is None else majorized

        def work(block: DenseBlock) -> list[Array]:
            parts = [self._expand(block, k, kind) for k, kind in enumerate(kinds)]
            return [np.array(part) for part in zip(*parts, strict=True)]

        return Expansion(*self.design.total(work))

    def _expand(
        self, block: DenseBlock, k: int, majorized: bool | None
    ) -> tuple[Any, ...]:
        """What a block of rows adds to the value, gap, gradient and matrix of class k.

        With u = ∂v/∂w, a row adds mm x xᵀ + mv (x uᵀ + u xᵀ) + vv u uᵀ to the matrix,
        and h_v times the second derivative of v.
        """
        X, law, design = block.x, self.law, self.design
        w, c = self.W[k], self.weights[block.rows]
        m = X @ w + self.theta[k, -1] * self.fit_intercept
        U = design.variance_slopes(block, 2 * self.scaled[k], law.power)
        if np.any(law.constant):
            U += 2 * law.constant * w
        v = 0.5 * (U @ w)
        row = self.y[k, block.rows], m, v + self.smoothing**2
        losses = self.loss.value(*row)
        gap = losses - self.loss.value(*row[:2], v) if self.smoothing else np.zeros(1)
        slope_m, slope_v = (c * slope for slope in self.loss.slopes(*row))
        gradient = slope_m @ X + slope_v @ U
        if self.fit_intercept:
            gradient = np.append(gradient, slope_m.sum())
        sums = losses @ c, (c * gap).sum(), gradient
        if majorized is None:
            return *sums, np.empty((0, 0))
        own = 2 * design.variance_gram(block, slope_v, law.scale, law.power)
        own += np.diag(2 * law.constant * slope_v.sum() + np.zeros(len(w)))
        if majorized:
            mm, mv, vv = 2 * slope_v, np.zeros_like(m), np.zeros_like(m)
        else:
            mm, mv, vv = (c * part for part in self.loss.curvatures(*row))
        matrix = own + _gram(X, U, mm, mv, vv)
        if self.fit_intercept:
            border = (mm @ X + mv @ U)[:, None]
            matrix = np.block([[matrix, border], [border.T, mm.sum()]])
        return *sums, matrix


def _gram(X: Array, U: Array, mm: Array, mv: Array, vv: Array) -> Array:
    """Xᵀ mm X + Xᵀ mv U + Uᵀ mv X + Uᵀ vv U, for weights of rows.

    Where vv is negative, as that of bounds is, completing the square leaves products of
    a matrix with itself, for which BLAS needs half the time.
    """
    if not mv.any() and not vv.any() and np.all(mm >= 0):
        X = X * np.sqrt(mm)[:, None]
        return np.asarray(X.T @ X)
    if np.all(vv < 0):
        ratio = mv / vv
        U = U + ratio[:, None] * X
        U *= np.sqrt(-vv)[:, None]
        X = X * np.sqrt(np.maximum(mm - mv * ratio, 0.0))[:, None]
        return np.asarray(X.T @ X - U.T @ U)
    both = X * mv[:, None] + U * vv[:, None]
    return np.asarray(X.T @ (X * mm[:, None] + U * mv[:, None]) + U.T @ both)


class MomentCurvature:
    """Hessian of the term, or its majoriser, through products with the data.

    H p = Σ [(mm a + mv e) x + (mv a + vv e) 2 V∘w + 2 h_v V∘p], a = x·p + p_b and
    e = 2 Σ_d V_d w_d p_d: products with X and its entrywise powers, never stored.
    """

    def __init__(self, term: MomentTerm, h: RowCurvature):
        self.term = term
        self.h = h

    @cached_property
    def _additive(self) -> Array | None:
        """Slope in w of what additive noise adds to the variance of every row."""
        constant = self.term.law.constant
        return 2 * constant * self.term.W if np.any(constant) else None

    def _diagonals(self) -> tuple[Array, Array]:
        """The diagonal in w, and 2 Σ_i h_v V_id, its part that is diagonal anyway.

        Only the second is kept: products need it.
        """
        term, design, law, h = self.term, self.term.design, self.term.law, self.h
        diagonal, variance = design.curvature_diagonal(h, term.scaled, law.power)
        variance = law.scale * variance
        if self._additive is not None:
            variance += 2 * law.constant * h.v.sum(axis=1, keepdims=True)
            mixed = design.pullback(h.mv, h.vv, term.scaled, law.power)
            own = self._additive * h.vv.sum(axis=1, keepdims=True)
            diagonal += self._additive * (2 * mixed + own)
        diagonal += variance
        self.variance = variance
        return diagonal, variance

    @property
    def diagonal(self) -> Array:
        return self.term.join(self._diagonals()[0], self.h.mm.sum(axis=1))

    def product(self, P: Array) -> Array:
        term, additive = self.term, self._additive
        W_p, b_p = term.split(P)
        none = np.zeros(len(P))
        e0 = none if additive is None else (additive * W_p).sum(axis=1)
        out, sum_m, sum_v = term.design.curvature_product(
            W_p, term.scaled, self.h, b_p, e0, term.law.power
        )
        if term.design.plain is term.design:  # else that part is not diagonal
            out += self.variance * W_p
        if additive is not None:
            out += additive * sum_v[:, None]
        return term.join(out, sum_m)

    @cached_property
    def variance(self) -> Array:
        """The part of the diagonal in w that noise of the features alone makes."""
        return self._diagonals()[1]

    @cached_property
    def _along(self) -> Array:
        """A bound of the curvature of each row along itself, (k, n)."""
        return self.h.mm * self.term.design.squared_norms

    @property
    def doubtful(self) -> NDArray[np.bool_]:
        """Classes that may have stiff rows."""
        return host(self._along.max(axis=1, initial=0.0)) > _STIFF

    def stiffness(self, variance: Array) -> Array:
        """Curvature of each row along itself, or a bound that is harmless, (k, n).

        `variance` is that of all rows, wherever they are.
        """
        stiffness, doubtful = self._along, self.doubtful
        if doubtful.any():  # noise of the features makes it matter less
            inverse = 1 / (1 + variance[doubtful])
            _, leverage = self.term.design.plain.moments(
                np.ones_like(inverse), inverse, 2
            )
            stiffness = stiffness.copy()
            stiffness[doubtful] = self.h.mm[doubtful] * leverage
        return stiffness

    @cached_property
    def _stiffness(self) -> Array:
        return self.stiffness(self.variance)

    def stiff_rows(self, k: int) -> Any:
        """Rows near a kink, times the root of their curvature."""
        if not self.term.loss.kink_width:
            return None
        found = self.stiffest(k, self._stiffness[k], MOST_STIFF)
        return None if found is None else found[1]

    def stiffest(self, k: int, stiffness: Array, most: int) -> tuple[Array, Any] | None:
        """How stiff the stiffest rows are; the rows, times the root of that."""
        stiffness = host(stiffness)
        rows = np.flatnonzero(stiffness > _STIFF)
        if len(rows) == 0:
            return None
        if len(rows) > most:
            rows = rows[np.argpartition(stiffness[rows], -most)[-most:]]
        return stiffness[rows], self.term.design.scaled_rows(
            rows, np.sqrt(self.h.mm[k, rows]), self.term.fit_intercept
        )

    def restrict(self, classes: Any) -> MomentCurvature:
        part = MomentCurvature(self.term.restrict(classes), self.h.restrict(classes))
        part.variance = self.variance[classes]
        return part
