"""Losses that depend on the data through the cumulant function of the score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.objective import (
    Classes,
    Curvature,
    Expansion,
    Loss,
    Objective,
    lazy,
)
from noiseproof._rows import Array, DenseBlock, Design, EntryBlock, host
from noiseproof.noise import Cumulants, Noise

_SIGNS = (-1.0, 1.0)


class CumulantLoss(Loss):
    """A row loss f(K) + linear * m, with K = log E exp(slope * noisy score)."""

    def slope(self, y: Array) -> Array:
        """Return where the cumulant is evaluated: -1 or +1 for each row."""
        raise NotImplementedError

    def linear(self, y: Array) -> Array:
        """Return the coefficient of the mean score, which is zero for most losses."""
        return np.zeros_like(y)

    def value(self, K: Array) -> Array:
        """Compute f(K)."""
        raise NotImplementedError

    def derivatives(self, K: Array) -> tuple[Array, Array]:
        """Compute f'(K) and f''(K)."""
        raise NotImplementedError

    def plain(self, y: Array, m: Array) -> Array:
        """Compute the loss without noise at score `m`."""
        return self.value(self.slope(y) * m) + self.linear(y) * m

    def _term(
        self, design: Design, y: Array, weights: Array, noise: Noise, intercept: bool
    ) -> CumulantObjective:
        """Return Σ_i weights_i [f(K_i) + linear_i m_i] at θ = 0, where K = 0."""
        y, weights = design.hold(y), design.hold(weights)
        slopes, none = weights * self.linear(y), np.zeros_like(y)
        theta = design.hold(np.zeros((len(y), design.shape[1] + intercept)))
        rows = CumulantObjective(
            loss=self,
            theta=theta,
            fit_intercept=intercept,
            design=design,
            signs=self.slope(y),
            weights=weights,
            noise=noise.on(range(design.shape[1])),
            linear=theta,
            known=none,
        )
        if not slopes.any():
            return rows
        # the gradient of Σ c linear m is the same everywhere
        zero = np.zeros((len(y), design.shape[1]))
        pulled = design.pullback(slopes, none, zero, 2)
        return replace(rows, linear=rows.join(pulled, slopes.sum(axis=1)))


@dataclass(eq=False, kw_only=True)
class CumulantObjective(Objective):
    """Σ_i c_i [f(K_i) + linear_i m_i], K_i = σ_i b + Σ_d cgf(x_id, σ_i w_d).

    σ is -1 or +1, depending on the loss. cgf(x, t) is the sum of cgf(x, t) - cgf(0, t),
    which vanishes except at stored entries, and cgf(0, t), which depends on the row
    only through its σ. So sparse data stays sparse for every noise. The second
    derivative of K in w is diagonal, hence H = Σ f'' g gᵀ + f' diag(cgf'') with g = ∇K.
    If features are lost together in groups, a group is one Bernoulli variable: its
    cgf'' is r rᵀ, where r² is that diagonal.
    """

    loss: CumulantLoss
    design: Design  # n rows of d features
    signs: Array  # σ, (k, n)
    weights: Array
    noise: Noise
    linear: Array  # gradient of Σ c linear m, (k, d + 1)
    known: Array | None  # cumulant of every score, (k, n); None until it is needed

    @property
    def bound(self) -> float | Array:
        return self.noise.max_slope()

    @lazy
    def labels(self) -> NDArray[np.intp] | None:
        """The group of each feature, or None if each has noise of its own."""
        return self.noise.group_labels(self.design.shape[1])

    def stored(self, k: int, w: Array) -> Iterator[tuple[EntryBlock, Cumulants]]:
        """Yield blocks of stored entries with their cumulants minus those of a zero."""
        for block in self.design.entry_blocks():
            t = block.repeat(self.signs[k, block.rows]) * block.spread(w)
            noise = self.noise.take(block.columns)
            if self.labels is None:
                entries = noise.cumulants(block.x, t)
            else:
                totals = partial(block.group_totals, self.labels)
                entries = noise.group_cumulants(block.x, t, totals)
            if noise.is_additive:
                zeros = noise.cumulants(np.zeros_like(block.x), t)
                with np.errstate(invalid="ignore"):  # inf - inf outside the domain
                    entries = Cumulants(*map(np.subtract, entries, zeros))
            yield block, entries

    def zeros(self, w: Array, sign: float) -> Cumulants:
        """Compute the cumulants of a row of zeros, per feature."""
        return self.noise.cumulants(np.zeros_like(w), sign * w)

    @property
    def label_sums(self) -> Array | None:
        if self.loss.task == "regression":
            return None
        total = -host(self.signs @ self.weights)
        return np.stack([total, np.full_like(total, float(self.weights.sum()))])

    def at(self, theta: Array) -> Self:
        return replace(self, theta=theta, known=None)

    def with_intercept(self, theta: Array) -> Self:
        more = theta[:, -1:] - self.theta[:, -1:]
        return replace(self, theta=theta, known=self.K + self.signs * more)

    @property
    def K(self) -> Array:  # noqa: N802
        """Cumulant of every score, (k, n)."""
        if self.known is None:
            self.known = self._cumulants()
        return self.known

    def _cumulants(self) -> Array:
        W, b = self.split(self.theta)
        K = self.signs * b[:, None]
        for k, w in enumerate(W):
            for sign in _SIGNS:
                K[k, self.signs[k] == sign] += self.zeros(w, sign).value.sum()
            for block, entries in self.stored(k, w):
                K[k, block.rows] += block.row_sums(entries.value)
        K[np.isnan(K)] = np.inf
        return K

    def sample(self, rows: NDArray[np.intp]) -> Self:
        share = len(rows) / len(self.weights)
        return replace(
            self,
            design=self.design.take(rows),
            signs=self.signs[:, rows],
            weights=self.weights[rows] / share,
            known=None,
        )

    def restrict(self, classes: Any) -> Self:
        names = ("theta", "null_value", "signs", "linear", "known")
        return replace(self, **self._of(classes, *names))

    def _rows_value(self) -> Array:
        loss = host(self.loss.value(self.K) @ self.weights)
        return loss + host(np.einsum("kd,kd->k", self.linear, self.theta))

    @lazy
    def _slopes(self) -> tuple[Array, Array]:
        first, second = self.loss.derivatives(self.K)
        return self.weights * first, self.weights * second

    def _rows_gradient(self) -> Array:
        first = self._slopes[0]
        W, _ = self.split(self.theta)
        G = np.zeros_like(W)
        for k, w in enumerate(W):
            pull = self.signs[k] * first[k]
            for sign in _SIGNS:
                G[k] += pull[self.signs[k] == sign].sum() * self.zeros(w, sign).slope
            for block, entries in self.stored(k, w):
                block.column_sums(block.repeat(pull[block.rows]) * entries.slope, G[k])
        return self.linear + self.join(G, (self.signs * first).sum(axis=1))

    def hessian(self, majorized: Classes | None = None) -> CumulantCurvature:
        self._refuse(majorized)
        return CumulantCurvature(self, *self._slopes)

    def _refuse(self, majorized: Classes | None) -> None:
        if majorized is not None and majorized.any():
            raise TypeError("a loss of the cumulant has no quadratic majoriser")

    def _rows_expansion(self, majorized: Classes | None) -> Expansion:
        self._refuse(majorized)
        whole = majorized is not None

        def work(block: DenseBlock) -> list[Array]:
            parts = [self._expand(block, k, whole) for k in range(len(self.theta))]
            return [np.array(part) for part in zip(*parts, strict=True)]

        value, gradient, matrix = self.design.total(work)
        value += np.einsum("kd,kd->k", self.linear, self.theta)
        return Expansion(value, np.zeros_like(value), gradient + self.linear, matrix)

    def _expand(self, block: DenseBlock, k: int, whole: bool) -> tuple[Any, ...]:
        """Compute a block's contribution to value, gradient and matrix of class k."""
        W, b = self.split(self.theta)
        sign, c = self.signs[k, block.rows, None], self.weights[block.rows]
        t = sign * W[k]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            if self.labels is None:
                entries = self.noise.cumulants(block.x, t)
            else:
                totals = partial(block.group_totals, self.labels)
                entries = self.noise.group_cumulants(block.x, t, totals)
            K = sign[:, 0] * b[k] + entries.value.sum(axis=1)
            K[np.isnan(K)] = np.inf
            first, second = (c * part for part in self.loss.derivatives(K))
            slopes = sign * entries.slope
            if self.fit_intercept:
                slopes = np.hstack([slopes, sign])
            sums = self.loss.value(K) @ c, first @ slopes
            if not whole:
                return *sums, np.empty((0, 0))
            matrix = slopes.T @ (second[:, None] * slopes)
            d = block.x.shape[1]
            if self.labels is None:
                matrix[range(d), range(d)] += first @ entries.curvature
            else:
                root = np.sign(block.x) * np.sqrt(entries.curvature)
                together = self.labels[:, None] == self.labels
                matrix[:d, :d] += (root.T @ (first[:, None] * root)) * together
            return *sums, matrix


class CumulantCurvature(Curvature):
    """H = Σ f'' g gᵀ + f' diag(cgf''), with the entries of g recomputed in blocks."""

    point: CumulantObjective

    def __init__(self, point: CumulantObjective, first: Array, second: Array):
        super().__init__(point)
        self.first = first
        self.second = second

    @lazy
    def _diagonals(self) -> tuple[Array, Array]:
        """Diagonal of H in w, and its part f' cgf''."""
        W, _ = self.point.split(self.point.theta)
        rank_one, own = np.zeros_like(W), np.zeros_like(W)
        for k, w in enumerate(W):
            signs, first, second = self.point.signs[k], self.first[k], self.second[k]
            zero_slope = {sign: self.point.zeros(w, sign).slope for sign in _SIGNS}
            for sign in _SIGNS:
                rows = signs == sign
                zeros = self.point.zeros(w, sign)
                rank_one[k] += second[rows].sum() * zeros.slope**2
                own[k] += first[rows].sum() * zeros.curvature
            for block, entries in self.point.stored(k, w):
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

    def _rows_diagonal(self) -> Array:
        return self.point.join(self._diagonals[0], self.second.sum(axis=1))

    def _rows_product(self, P: Array) -> Array:
        W, _ = self.point.split(self.point.theta)
        P_w, p_b = self.point.split(P)
        labels = self.point.labels
        out = self._diagonals[1] * P_w if labels is None else np.zeros_like(P_w)
        sums = np.zeros(len(W))
        for k, w in enumerate(W):
            signs, second = self.point.signs[k], self.second[k]
            zeros = {sign: self.point.zeros(w, sign).slope for sign in _SIGNS}
            # ∇K·p: σ times the slope of the cumulant, intercept included
            shift = {sign: p_b[k] + zeros[sign] @ P_w[k] for sign in _SIGNS}
            base = np.where(signs > 0, shift[1.0], shift[-1.0])
            totals = dict.fromkeys(_SIGNS, 0.0)
            for block, entries in self.point.stored(k, w):
                rows = block.rows
                along = (
                    block.row_sums(entries.slope * block.spread(P_w[k])) + base[rows]
                )
                pull = second[rows] * along  # σ² = 1
                block.column_sums(block.repeat(pull) * entries.slope, out[k])
                if labels is not None:
                    root = np.sign(block.x) * np.sqrt(entries.curvature)
                    own = block.group_totals(labels, root * block.spread(P_w[k]))
                    own *= block.repeat(self.first[k, rows])
                    block.column_sums(own * root, out[k])
                for sign in _SIGNS:
                    totals[sign] += pull[signs[rows] == sign].sum()
            out[k] += sum(totals[sign] * zeros[sign] for sign in _SIGNS)
            sums[k] = sum(totals.values())
        return self.point.join(out, sums)

    def _restricted(self, classes: Any) -> CumulantCurvature:
        part = CumulantCurvature(
            self.point.restrict(classes), self.first[classes], self.second[classes]
        )
        part._diagonals = tuple(d[classes] for d in self._diagonals)  # type: ignore
        return part
