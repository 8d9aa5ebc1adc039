"""The worst-case loss of a linear model whose features an adversary deletes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import group_rows, unsigned
from noiseproof.attacks import effective_budget

Array = NDArray[np.float64]

TINY = 1e-300  # replaces zero as a divisor


def weighted_quantile(y: Array, quantile: float, weights: Array) -> float:
    """Return the smallest y with at least that share of the weight at or below it."""
    options: dict[str, Any] = {"method": "inverted_cdf", "weights": weights}
    return float(np.quantile(y, quantile, **options))


class Pairs(NamedTuple):
    """What can be deleted from each row: its stored entries, or groups of them."""

    indptr: NDArray[Any]  # (n + 1,), unsigned: where the pairs of a row start
    values: Array  # (m,): v of the feature, or of the group
    # (nnz,): the pair that each stored entry belongs to; None where each is a pair
    place: NDArray[np.uint32] | None


@dataclass(frozen=True)
class DeletionProgram:
    """Dekel and Shamir's robust linear program for row losses with one or two sides.

    With N the budget, s_i the weight of row i and z_ig = Σ_{j in g} w_j x_ij the score
    of group g (of feature g, where there are no groups), minimise over the box
    ‖w‖_∞ <= C and over b

        F(w, b) = κ Σ_i s_i max_k [φ_ik]_+ / Σ_i s_i
        φ_ik = h_ik - a_ik (b + w·x_i) + max_d Σ_g d_g (a_ik z_ig - π v_g)

    where the adversary's d has 0 <= d_g <= 1 and Σ_g v_g d_g <= N (eq. 12 in terms of
    what is deleted). N is rounded down where all values are 0 or 1: then only whole
    features can be deleted, and the fractional knapsack has an integral solution.
    Deleting a group in which a row has no entries gains the adversary nothing, so only
    pairs of a row and a group with stored entries are considered. A subclass is a row
    loss: it defines the slopes a, the heights h, the price π and the factor κ. A row
    has one or two sides k, each linear in what is left of the row.

    Any p_ik >= 0 with Σ_k p_ik <= 1 and Σ_ik s_i a_ik p_ik = 0 and any q_ikg in
    [0, p_ik] with Σ_g v_g q_ikg <= N p_ik give a lower bound of the minimum,

        κ [Σ_ik s_i (h_ik p_ik - π Σ_g v_g q_ikg)
            - C Σ_j |Σ_ik s_i a_ik x_ij (p_ik - q_ikg(j))|] / Σ_i s_i,

    which is how every solver's gap is certified.
    """

    X: Any  # CSR matrix of shape (n, d) without missing values
    y: Array
    weights: Array  # s, positive
    values: Array  # v, one per feature, or per group
    budget: float  # N
    C: float
    fit_intercept: bool = True  # else b is 0, and Σ s a p need not vanish
    labels: NDArray[np.intp] | None = None  # (d,): group of each feature

    @cached_property
    def slopes(self) -> Array:
        """a, of shape (K, n)."""
        raise NotImplementedError

    def offsets(self, b: float) -> Array:
        """Return h - a b, the sides before any score, of shape (K, n)."""
        raise NotImplementedError

    @property
    def price(self) -> float:
        """π: what deleting a unit of value costs the adversary."""
        return 0.0

    @property
    def factor(self) -> float:
        """κ: the scale of F."""
        return 1.0

    @cached_property
    def constant(self) -> float:
        """An intercept to start from with w = 0."""
        raise NotImplementedError

    @cached_property
    def unit(self) -> float:
        """A typical large value of F, as a scale for gaps."""
        raise NotImplementedError

    @cached_property
    def limit(self) -> float:
        """The part of N that the adversary can use."""
        return effective_budget(self.budget, self.values)

    @cached_property
    def scale(self) -> float:
        """κ / Σ s: what turns the weighted sum of row losses into F."""
        return self.factor / float(self.weights.sum())

    @cached_property
    def csr(self) -> tuple[Any, Any, Any]:
        """Row pointers, columns and entries, with unsigned indices."""
        return unsigned(self.X)

    @cached_property
    def pairs(self) -> Pairs:
        """Pairs of a row and what can be deleted from it, in the order of the rows."""
        if self.labels is None:
            return Pairs(self.csr[0], self.values[self.X.indices], None)
        matrix, group, place = group_rows(self.X, self.labels)
        return Pairs(unsigned(matrix)[0], self.values[group], place.astype(np.uint32))

    def take(self, rows: Any) -> Self:
        """Return the problem of some of the rows."""
        return replace(self, X=self.X[rows], y=self.y[rows], weights=self.weights[rows])

    def pairs_of(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Return the indices of the pairs of some rows."""
        starts = self.pairs.indptr.astype(np.intp)
        sizes = np.diff(starts)[rows]
        before = np.cumsum(sizes) - sizes
        return np.arange(sizes.sum()) + np.repeat(starts[rows] - before, sizes)

    def scores(self, w: Array) -> Array:
        """Compute z, of shape (m,): what each pair adds to the score of its row."""
        from noiseproof._deletion.kernels import add_up

        z = np.zeros(len(self.pairs.values))
        add_up(*self.csr[1:], self.pairs.place, w, z)
        return z

    def pulled_back(self, pulls: Array) -> Array:
        """Compute Σ_i x_ij pulls_ig(j), of shape (d,): the transpose of `scores`."""
        from noiseproof._deletion.kernels import pull_back

        sums = np.zeros(self.X.shape[1])
        pull_back(*self.csr[1:], self.pairs.place, pulls, sums)
        return sums

    def excess(self, w: Array, b: float) -> Array:
        """Compute φ, of shape (K, n)."""
        from noiseproof._deletion.kernels import excess

        phi, z = np.empty_like(self.slopes), self.scores(w)
        bounds = self.limit, self.price
        excess(self.pairs.indptr, z, self.pairs.values, self.slopes, *bounds, phi)
        return self.offsets(b) + phi

    def value(self, w: Array, b: float) -> float:
        """Compute F(w, b)."""
        losses = np.maximum(self.excess(w, b).max(axis=0), 0.0)
        return self.scale * float(self.weights @ losses)

    def lower_bound(self, p: Array, q: Array) -> float:
        """Compute the dual value at p (K, n) and q (K, m), after making them feasible.

        It is a lower bound of F.
        """
        from noiseproof._deletion.kernels import dual_pulls

        p = self._feasible(p)
        pulls = np.zeros(len(self.pairs.values))
        spent = dual_pulls(
            *(self.pairs.indptr, self.pairs.values, self.slopes, self.weights),
            *(p, q, self.limit, pulls),
        )
        # with Σ s a p = 0 the value does not depend on b; this b loses fewest digits
        earned = float((self.offsets(self.constant) * p).sum(axis=0) @ self.weights)
        lost = self.C * float(np.abs(self.pulled_back(pulls)).sum())
        # a loss is never negative, so neither is the minimum
        return max(0.0, self.scale * (earned - self.price * spent - lost))

    def _feasible(self, p: Array) -> Array:
        """Shrink p so that Σ_k p <= 1 and, with an intercept, Σ s a p = 0."""
        p = np.maximum(p, 0.0)
        p = p / np.maximum(p.sum(axis=0), 1.0)
        if not self.fit_intercept:
            return p
        mass, is_up = self.weights * np.abs(self.slopes) * p, self.slopes > 0
        up, down = float(mass[is_up].sum()), float(mass[~is_up].sum())
        least = min(up, down)
        return p * np.where(is_up, least / max(up, TINY), least / max(down, TINY))


@dataclass(frozen=True)
class DeletionHinge(DeletionProgram):
    """The hinge loss of eq. (3)/(4): one side, a_i = y_i.

    With V the total value of the features and P = V - N a row must keep the margin
    γ V/P if nothing is deleted and γ V(J)/P if the features J are left, so

        h_i = γ V/P,   π = γ/P,   κ = 1/γ.

    This is eq. (4), and eq. (3) where v is 0/1.
    """

    margin: float = 1.0  # γ; y is ±1

    @cached_property
    def slopes(self) -> Array:
        return self.y[None]

    def offsets(self, b: float) -> Array:
        return (self.base - self.y * b)[None]

    @cached_property
    def base(self) -> float:
        """γ V/P: the margin required of an intact row."""
        return self.price * float(self.values.sum())

    @cached_property
    def price(self) -> float:
        """γ/P: the margin required per unit of value."""
        return self.margin / (float(self.values.sum()) - self.budget)

    @property
    def factor(self) -> float:
        return 1.0 / self.margin

    @property
    def constant(self) -> float:
        """Zero; with a single class, an intercept with zero loss."""
        alone = self.fit_intercept and np.ptp(self.y) == 0
        return float(self.y[0]) * self.base if alone else 0.0

    @property
    def unit(self) -> float:
        return 1.0  # at w = 0, F is at least this


@dataclass(frozen=True)
class DeletionPinball(DeletionProgram):
    """The pinball loss of the worst residual, with two sides: too low and too high.

    With τ the quantile and r = y - b - w·x_J the residual after a deletion, the loss
    max(τ r, (τ - 1) r) is largest where one of its two branches is, so

        a_i = (τ, τ - 1),   h_i = (τ y_i, (τ - 1) y_i),   π = 0,   κ = 1

    and each branch has an adversary of its own. There is no margin that could shrink
    with what is left: a residual counts in full, whatever was deleted, so π = 0.
    """

    quantile: float = 0.5  # τ

    @cached_property
    def slopes(self) -> Array:
        sides = [self.quantile, self.quantile - 1.0]
        return np.repeat(np.array(sides)[:, None], len(self.y), axis=1)

    def offsets(self, b: float) -> Array:
        return self.slopes * (self.y - b)

    @cached_property
    def constant(self) -> float:
        """The weighted quantile of the targets."""
        if not self.fit_intercept:
            return 0.0
        return weighted_quantile(self.y, self.quantile, self.weights)

    @cached_property
    def unit(self) -> float:
        """F of the best constant."""
        return self.value(np.zeros(self.X.shape[1]), self.constant)
