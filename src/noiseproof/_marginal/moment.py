"""Losses that depend on the data through the mean and variance of the score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.objective import (
    Classes,
    Curvature,
    Exactness,
    Expansion,
    Loss,
    Objective,
    lazy,
)
from noiseproof._rows import Array, DenseBlock, Design, RowCurvature, host
from noiseproof.noise import Noise, VarianceLaw

_STIFF = 1000.0  # least curvature of a stiff row along itself; the penalty's is 1
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

    `has_majorizer` means that value = g((m - shift)² + v) + linear(m) with g concave.
    Then the quadratic with curvature 2 * slopes.v in m touches it from above.
    """

    needs_moments = True

    def value(self, y: Array, m: Array, v: Array) -> Array:
        """Compute the expected loss of each row, or its bound or approximation."""
        raise NotImplementedError

    def slopes(self, y: Array, m: Array, v: Array) -> Slopes:
        """Compute the partial derivatives of `value` in m and v."""
        raise NotImplementedError

    def curvatures(self, y: Array, m: Array, v: Array) -> Curvatures:
        """Compute the second partial derivatives of `value`."""
        raise NotImplementedError

    def plain(self, y: Array, m: Array) -> Array:
        """Compute the loss without noise at score `m`."""
        return self.value(y, m, np.zeros_like(m))

    def _term(
        self, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
    ) -> MomentObjective:
        """Return Σ_i weights_i loss(y_i, m_i, v_i) at θ = 0."""
        y, weights = design.hold(y), design.hold(weights)
        n_features = design.shape[1]
        noise = noise.on(range(n_features))
        law, labels = noise.variance_law(), noise.group_labels(n_features)
        none = np.zeros_like(y)
        return MomentObjective(
            loss=self,
            theta=design.hold(np.zeros((len(y), n_features + intercept))),
            fit_intercept=intercept,
            design=design if labels is None else design.grouped(labels, law.scale),
            y=y,
            weights=weights,
            law=law,
            has_groups=labels is not None,
            known=(none, none),
        )

    def mixture(self, *data: Any, plain: float, noisy: float) -> list[Objective]:
        """Return a single term, since noise does not change the mean of the score."""
        return [Mixture(self, plain, noisy).term(*data)]


class Mixture(MomentLoss):
    """plain * loss(y, m, 0) + noisy * loss(y, m, v).

    With plain = 1 - ρ and noisy = ρ, the noising penalty R = loss(v) - loss(0) has the
    weight ρ. With plain = -1 and noisy = 1 this is R itself, which is what unlabelled
    rows contribute. Wager et al. 2013, eq. (19), needs both.
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


@dataclass(eq=False, kw_only=True)
class MomentObjective(Objective):
    """Σ_i c_i loss(y_i, m_i, v_i), m = w·x + b, v = Σ_d w_d² Var(x~_d), at θ.

    If features have groups, the design computes v from sums over groups.
    """

    loss: MomentLoss
    design: Design  # n rows of d features
    y: Array  # labels, (k, n)
    weights: Array
    law: VarianceLaw  # variance of a feature
    has_groups: bool
    known: tuple[Array, Array] | None  # m and v, (k, n); None until they are needed
    smoothing: float = 0.0  # standard deviation of extra noise on every score

    @lazy
    def W(self) -> Array:  # noqa: N802
        """The weights in θ."""
        return self.split(self.theta)[0]

    @lazy
    def scaled(self) -> Array:
        """The weights times the variance scale: `S` in the methods of the design."""
        return self.law.scale * self.W

    def moments(self) -> tuple[Array, Array]:
        """Compute the mean and variance of every score, (k, n)."""
        if self.known is None:
            W, b = self.split(self.theta)
            m, v = self.design.moments(W, self.scaled, self.law.power)
            m += b[:, None]
            v += (self.law.constant * W**2).sum(axis=1, keepdims=True)
            self.known = m, v
        return self.known

    def _scores(self) -> tuple[Array, Array, Array]:
        """Return the loss's arguments for all rows: labels, means and variances."""
        m, v = self.moments()
        return self.y, m, v + self.smoothing**2

    @property
    def label_sums(self) -> Array:
        total = host(self.y @ self.weights)
        return np.stack([total, np.full_like(total, float(self.weights.sum()))])

    def at(self, theta: Array) -> Self:
        return replace(self, theta=theta, known=None)

    def with_intercept(self, theta: Array) -> Self:
        m, v = self.moments()
        more = theta[:, -1:] - self.theta[:, -1:]
        return replace(self, theta=theta, known=(m + more, v))

    def ray(self, P: Array) -> Callable[[Array], MomentObjective]:
        """Return the objective along θ + α P, for any α after a single pass.

        This is possible because m is linear and v quadratic in α.
        """
        law, (P_w, p_b), (m, v) = self.law, self.split(P), self.moments()
        a, e, u = self.design.directions(P_w, self.scaled, law.scale * P_w, law.power)
        a += p_b[:, None]
        e += 2 * (law.constant * self.W * P_w).sum(axis=1, keepdims=True)
        u += (law.constant * P_w**2).sum(axis=1, keepdims=True)

        def point(alpha: Array) -> MomentObjective:
            step = alpha[:, None]
            # rounding may leave a variance just below zero
            known = m + step * a, np.maximum(v + step * (e + step * u), 0.0)
            return replace(self, theta=self.theta + step * P, known=known)

        return point

    def restrict(self, classes: Any) -> Self:
        m, v = self.known or (None, None)
        known = None if m is None or v is None else (m[classes], v[classes])
        return replace(
            self, **self._of(classes, "theta", "null_value", "y"), known=known
        )

    def sample(self, rows: NDArray[np.intp]) -> Self:
        share = len(rows) / len(self.weights)
        return replace(
            self,
            design=self.design.take(rows),
            y=self.y[:, rows],
            weights=self.weights[rows] / share,
            known=None,
        )

    def smoothed(self, smoothing: float) -> Self:
        return replace(self, smoothing=smoothing)

    def _rows_value(self) -> Array:
        return host(self.loss.value(*self._scores()) @ self.weights)

    @lazy
    def smoothing_gap(self) -> Array:
        return self.value - self.smoothed(0.0).value

    @lazy
    def _slopes(self) -> tuple[Array, Array]:
        slopes = self.loss.slopes(*self._scores())
        return self.weights * slopes.m, self.weights * slopes.v

    def _rows_gradient(self) -> Array:
        slope_m, slope_v = self._slopes
        G = self.design.pullback(slope_m, slope_v, self.scaled, self.law.power)
        G += 2 * self.law.constant * self.W * slope_v.sum(axis=1, keepdims=True)
        return self.join(G, slope_m.sum(axis=1))

    def hessian(self, majorized: Classes | None = None) -> MomentCurvature:
        v = self._slopes[1]
        if majorized is not None and majorized.all():
            none = np.zeros_like(v)
            return MomentCurvature(self, RowCurvature(2 * v, none, none, v))
        curvatures = self.loss.curvatures(*self._scores())
        mm, mv, vv = (self.weights * part for part in curvatures)
        if majorized is not None:
            mm[majorized] = 2 * v[majorized]
            mv[majorized] = vv[majorized] = 0.0
        return MomentCurvature(self, RowCurvature(mm, mv, vv, v))

    def _rows_expansion(self, majorized: Classes | None) -> Expansion:
        kinds = [None] * len(self.theta) if majorized is None else majorized

        def work(block: DenseBlock) -> list[Array]:
            parts = [self._expand(block, k, kind) for k, kind in enumerate(kinds)]
            return [np.array(part) for part in zip(*parts, strict=True)]

        return Expansion(*self.design.total(work))

    def _expand(
        self, block: DenseBlock, k: int, majorized: bool | None
    ) -> tuple[Any, ...]:
        """Compute a block's contribution to the quantities of `Expansion` for class k.

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
    """Compute Xᵀ mm X + Xᵀ mv U + Uᵀ mv X + Uᵀ vv U, for diagonal mm, mv and vv.

    If vv is negative, as it is for bounds, completing the square leaves products of a
    matrix with its own transpose, for which BLAS needs half the time.
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


class MomentCurvature(Curvature):
    """Hessian of the rows, or its majoriser, through products with the data.

    H p = Σ [(mm a + mv e) x + (mv a + vv e) 2 V∘w + 2 h_v V∘p], a = x·p + p_b and
    e = 2 Σ_d V_d w_d p_d. This takes only products with X and with its entrywise
    powers, which are never stored.
    """

    point: MomentObjective

    def __init__(self, point: MomentObjective, h: RowCurvature):
        super().__init__(point)
        self.h = h

    @lazy
    def _additive(self) -> Array | None:
        """Derivative in w of the variance that additive noise adds to every row."""
        constant = self.point.law.constant
        return 2 * constant * self.point.W if np.any(constant) else None

    def _diagonals(self) -> tuple[Array, Array]:
        """Compute the diagonal in w, and its part 2 Σ_i h_v V_id.

        Only that part, a diagonal matrix in H, is stored, because products need it.
        """
        point, design, law, h = self.point, self.point.design, self.point.law, self.h
        diagonal, variance = design.curvature_diagonal(h, point.scaled, law.power)
        variance = law.scale * variance
        if self._additive is not None:
            variance += 2 * law.constant * h.v.sum(axis=1, keepdims=True)
            mixed = design.pullback(h.mv, h.vv, point.scaled, law.power)
            own = self._additive * h.vv.sum(axis=1, keepdims=True)
            diagonal += self._additive * (2 * mixed + own)
        diagonal += variance
        self.variance = variance
        return diagonal, variance

    def _rows_diagonal(self) -> Array:
        return self.point.join(self._diagonals()[0], self.h.mm.sum(axis=1))

    def _rows_product(self, P: Array) -> Array:
        point, additive = self.point, self._additive
        W_p, b_p = point.split(P)
        none = np.zeros(len(P))
        e0 = none if additive is None else (additive * W_p).sum(axis=1)
        out, sum_m, sum_v = point.design.curvature_product(
            W_p, point.scaled, self.h, b_p, e0, point.law.power
        )
        if not point.has_groups:  # with groups, the design has added this term
            out += self.variance * W_p
        if additive is not None:
            out += additive * sum_v[:, None]
        return point.join(out, sum_m)

    @lazy
    def variance(self) -> Array:
        """The part 2 Σ_i h_v V_id of the diagonal in w."""
        return self._diagonals()[1]

    @lazy
    def _along(self) -> Array:
        """An upper bound of the curvature of each row along itself, (k, n)."""
        return self.h.mm * self.point.design.squared_norms

    @property
    def doubtful(self) -> Classes:
        """Classes that may have stiff rows."""
        return host(self._along.max(axis=1, initial=0.0)) > _STIFF

    def stiff_rows(self) -> list[Any]:
        """Return each class's rows near a kink, times the root of their curvature."""
        if not self.point.loss.kink_width:
            return super().stiff_rows()
        found = self.stiffest(self.variance, MOST_STIFF)
        return [None if rows is None else rows[1] for rows in found]

    def stiffest(self, variance: Array, most: int) -> list[tuple[Array, Any] | None]:
        """Return the stiffness of each class's stiffest rows, and these rows.

        The rows are multiplied by the root of their curvature. A row's stiffness is its
        curvature along itself, or a harmless upper bound. `variance` is that of all
        rows, including those in other blocks.
        """
        stiffness, doubtful = self._along, self.doubtful
        if doubtful.any():  # noise of the features makes rows less stiff
            inverse = 1 / (1 + variance[doubtful])
            leverage = self.point.design.weighted_squares(inverse)
            stiffness = stiffness.copy()
            stiffness[doubtful] = self.h.mm[doubtful] * leverage
        return [
            self._stiff(k, host(stiffness[k]), most) if doubtful[k] else None
            for k in range(len(doubtful))
        ]

    def _stiff(self, k: int, stiffness: Array, most: int) -> tuple[Array, Any] | None:
        rows = np.flatnonzero(stiffness > _STIFF)
        if len(rows) == 0:
            return None
        if len(rows) > most:
            rows = rows[np.argpartition(stiffness[rows], -most)[-most:]]
        scale = np.sqrt(self.h.mm[k, rows])
        design, with_one = self.point.design, self.point.fit_intercept
        return stiffness[rows], design.scaled_rows(rows, scale, with_one)

    def _restricted(self, classes: Any) -> MomentCurvature:
        part = MomentCurvature(self.point.restrict(classes), self.h.restrict(classes))
        part.variance = self.variance[classes]
        return part
