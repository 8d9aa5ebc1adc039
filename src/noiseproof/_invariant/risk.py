"""The regularised risk under the worst transformation, as solvers see it.

Teo et al. 2008, eq. (2) and (5): with weights p of the rows that sum to 1,

    R(f) = Σ_i p_i l_i(f) + α/2 ‖f‖²
    l_i(f) = max over s, y' of Γ(y, y') [f(s(x), y') - f(s(x), y)] + Δ(y, y', s).

Every (s, y') is a *cut*, a bound of l_i from below that is linear in f:

    l_i(f) >= δ + <ψ, f>,  ψ = Γ [φ(s(x), y') - φ(s(x), y)],  δ = Δ(y, y', s).

Any weights β >= 0 of cuts that sum to p_i for each row, the null cut (y' = y, with
ψ = 0 and δ = the row's floor) among them, prove by duality (eq. 6)

    min R >= Σ β δ - α/2 ‖f_β‖²,  f_β = -1/α Σ β ψ,

which is how every solver's gap is certified.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._invariant.loss import Candidates, Costs, Index, Runs
from noiseproof._rows import Array, Workers, assemble, row_products
from noiseproof._stop import Stop

_CHUNK = 2**21  # entries of a kernel matrix that are made at a time


@dataclass
class InvariantResult:
    """The best f that a solver has found, with certified bounds."""

    # weights w; or the points of a kernel function (numbers of candidates) and its
    # coefficients of shape (points, classes)
    function: Any = None
    value: float = np.inf  # R(f)
    bound: float = -np.inf  # lower bound of R
    # dual weight of each row outside its null cut: zero if the row does not matter
    weights: Array = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    n_cuts: int = 0
    converged: bool = False
    stopped: bool = False  # by a callback

    def advance(self, value: float, bound: float, iterate: Any, stop: Stop) -> bool:
        """Record an iteration; return whether it was the last.

        R is `value` at `iterate.function`, and nowhere below `bound`.
        """
        if value < self.value:
            self.value, self.function = value, iterate.function
        self.bound = max(self.bound, bound)
        self.n_iter += 1
        gap = self.value - self.bound
        if self.value != 0:
            gap /= abs(self.value)
        elif gap > 0:
            gap = np.inf
        self.converged = gap <= stop.tol
        self.stopped = stop.tell(self.n_iter, np.float64(self.value), gap)
        return self.converged or self.stopped


@dataclass(frozen=True)
class Cuts:
    """The worst cut of each of some rows at some w.

    `psi` is ψ as a CSR matrix of shape (m, n_weights), `delta` is δ, and `value` is
    δ + ψ·w.
    """

    psi: Any
    delta: Array
    value: Array


class LinearRisk(ABC):
    """R(w) for f(x, y) = w·Φ(x, y); subclasses find the worst cut of each row."""

    def __init__(self, mass: Array, floor: Array, alpha: float, n_weights: int):
        self.mass = mass  # weights p of the rows, which sum to 1
        self.floor = floor  # least loss of each row: the δ of its null cut
        self.alpha, self.n_weights = alpha, n_weights

    @abstractmethod
    def worst(self, w: Array, rows: Index | None = None) -> Cuts:
        """Find the worst cut with y' ≠ y of each of the `rows` (None: of all rows)."""

    def value(self, w: Array, cuts: Cuts) -> float:
        """Compute R(w), given the worst cuts of all rows there."""
        losses = np.maximum(cuts.value, self.floor)
        return float(self.mass @ losses) + 0.5 * self.alpha * squared_norm(w)


def squared_norm(w: Array) -> float:
    """Compute ‖w‖² without BLAS, whose threads cost more than they gain here."""
    return float(np.square(w).sum())


class MulticlassRisk(LinearRisk):
    """R(w) for classes `own` (n,), f(x, y) = w_y·x; subclasses know the candidates.

    Two classes need one vector v: of all pairs with the same difference w_1 - w_0, the
    pair w_1 = -w_0 = v/√2 has the least norm, which is that of v.
    """

    def __init__(
        self, own: Index, costs: Costs, mass: Array, alpha: float, n_features: int
    ):
        self.own, self.costs, self.k = own, costs, len(costs.scale)
        n_weights = n_features if self.k == 2 else self.k * n_features
        super().__init__(mass, costs.floor(own), alpha, n_weights)

    def worst(self, w: Array, rows: Index | None = None) -> Cuts:
        own = self.own if rows is None else self.own[rows]
        X, runs = self._candidates(w, own, rows)
        place, rival, value, delta = self.costs.worst(self._scores(X, w), own, runs)
        chosen = X if X.shape[0] == len(own) else X[place]
        scale = self.costs.scale[own, rival]
        return Cuts(joint_features(chosen, own, rival, scale, self.k), delta, value)

    def _scores(self, X: Any, w: Array) -> Array:
        """Compute f(x, y) of each row for each class, (m, k)."""
        if self.k > 2:
            return np.asarray(X @ w.reshape(self.k, -1).T)
        scores = np.asarray(X @ w) / np.sqrt(2)
        return np.stack([-scores, scores], axis=1)

    @abstractmethod
    def _candidates(
        self, w: Array, own: Index, rows: Index | None
    ) -> tuple[Any, Runs | None]:
        """Return candidates of some rows, with the worst ones at w among them."""


def class_weights(w: Array, k: int) -> Array:
    """Return the weights of each class, (k, d), given the weight vector of solvers."""
    return np.stack([-w, w]) / np.sqrt(2) if k == 2 else w.reshape(k, -1)


def joint_features(
    X: Any, own: Index, rival: Index, scale: Array, k: int
) -> sp.csr_array:
    """Compute ψ of attacked rows X, with ψ·w = Γ (w_rival - w_own)·x; `scale` is Γ."""
    X = sp.csr_array(X)
    d, counts = X.shape[1], np.diff(X.indptr)
    if k == 2:
        signed = np.sqrt(2) * scale * np.where(rival == 1, 1.0, -1.0)
        data = X.data * np.repeat(signed, counts)
        return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    # every row twice, one copy after the other, each in the block of its class
    first = np.arange(X.nnz) + np.repeat(X.indptr[:-1], counts)
    second = first + np.repeat(counts, counts)
    wide = np.int32 if k * d < 2**31 else np.int64
    indices, data = np.empty(2 * X.nnz, dtype=wide), np.empty(2 * X.nnz)
    scaled = X.data * np.repeat(scale, counts)
    for place, sign, block in ((first, 1.0, rival), (second, -1.0, own)):
        indices[place] = X.indices + np.repeat(block.astype(wide) * d, counts)
        data[place] = sign * scaled
    return sp.csr_array((data, indices, 2 * X.indptr), shape=(len(own), k * d))


class AttackedRisk(MulticlassRisk):
    """Rows X, without missing entries, that an attack changes by its `worst`.

    For rows of class y, the attack is given a model with weights w_y for class y and
    w_y + Γ(y, y') (w_y' - w_y) for each rival class, and with Δ(y, ·) as intercepts.
    The lowest margin of this model is minus the loss, for any Γ and Δ.
    """

    def __init__(
        self, X: Any, attack: Any, own: Index, costs: Costs, mass: Array, alpha: float
    ):
        super().__init__(own, costs, mass, alpha, X.shape[1])
        self.X, self.attack = X, attack

    def _candidates(self, w: Array, own: Index, rows: Index | None) -> tuple[Any, None]:
        X, W = self.X if rows is None else self.X[rows], class_weights(w, self.k)
        if self.costs.uniform:
            return self.attack.worst(X, own, W), None
        parts = []
        for y in np.unique(own):
            members = np.flatnonzero(own == y)
            coef = W[y] + self.costs.scale[y][:, None] * (W - W[y])
            intercept = self.costs.cost[y, :, 0].copy()
            coef[y], intercept[y] = W[y], 0.0
            worst = self.attack.worst(X[members], own[members], coef, intercept)
            parts.append((members, worst))
        return assemble(parts, X), None


class ListedRisk(MulticlassRisk):
    """Rows that may become any of their candidates."""

    def __init__(
        self, candidates: Candidates, own: Index, costs: Costs, mass: Array,
        alpha: float,
    ):  # fmt: skip
        super().__init__(own, costs, mass, alpha, candidates.X.shape[1])
        self.candidates = candidates

    def _candidates(self, w: Array, own: Index, rows: Index | None) -> tuple[Any, Runs]:
        if rows is None:
            return self.candidates.X, self.candidates
        items, runs = self.candidates.part(rows)
        return self.candidates.X[items], runs


@dataclass
class KernelRisk:
    """R(f), f(x, y) = Σ_p A_py k(x_p, x), with the joint kernel [y = y'] k(x, x').

    Like `ListedRisk`, with a function `kernel` that returns the matrix of k for two
    sets of rows. `cache_size` is the memory for kernel rows in bytes.
    """

    candidates: Candidates
    own: Index
    costs: Costs
    mass: Array
    alpha: float
    kernel: Callable[[Any, Any], Array]
    cache_size: float

    def __post_init__(self) -> None:
        self.k = len(self.costs.scale)
        self.floor = self.costs.floor(self.own)
        self.candidate_own = self.own[self.candidates.owner]

    def losses(self, scores: Array) -> Array:
        """Compute the loss of every (s, y'), (m, k), given scores of all candidates."""
        return self.costs.losses(scores, self.candidate_own, self.candidates.rank)

    def value(self, losses: Array, norm2: float) -> float:
        """Compute R(f), given the losses of all (s, y') and ‖f‖²."""
        tops = np.maximum(self.candidates.tops(losses.max(axis=1)), self.floor)
        return float(self.mass @ tops + 0.5 * self.alpha * norm2)


class KernelRows:
    """Kernel rows of chosen candidates, the *points*, against all candidates.

    Rows are cached as long as they fit into `risk.cache_size`; the others are computed
    again at every use.
    """

    def __init__(self, risk: KernelRisk):
        self.risk = risk
        self.points = np.empty(0, dtype=np.intp)
        self.place = np.full(risk.candidates.X.shape[0], -1)  # among points, or -1
        width = len(self.place)
        self._room = min(int(risk.cache_size // (8 * width)), width)
        # memory that is not written to costs nothing
        self._kept = np.empty((self._room, width))
        self._workers = Workers(blas=False)  # the fit has limited BLAS already

    def extend(self, points: Index) -> None:
        """Add points."""
        old, m = len(self.points), len(self.points) + len(points)
        self.place[points] = np.arange(old, m)
        self.points = np.concatenate([self.points, points])
        parts = list(self._chunks(old, min(m, self._room)))
        if parts:
            self._workers.map(self._fill, parts)

    def _fill(self, part: slice) -> None:
        self._kept[part] = self._compute(self.points[part])

    def blocks(self, start: int = 0) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of the rows of points, from `start` on, with their indices."""
        m = len(self.points)
        kept = min(m, self._room)
        if start < kept:
            yield slice(start, kept), self._kept[start:kept]
        for part in self._chunks(max(start, kept), m):
            yield part, self._compute(self.points[part])

    def take(self, places: Index) -> Array:
        """Return the rows of some points."""
        if len(places) == 0 or places.max() < self._room:
            return self._kept[places]
        return self._compute(self.points[places])

    def scores(self, A: Array) -> Array:
        """Compute scores of all candidates, (m, k), from the points' coefficients A."""
        total = np.zeros((len(self.place), self.risk.k))
        for part, rows in self.blocks():
            total += rows.T @ A[part]
        return total

    def _compute(self, points: Index) -> Array:
        X = self.risk.candidates.X
        K = np.asarray(self.risk.kernel(X[points], X), dtype=np.float64)
        if K.shape != (len(points), len(self.place)):
            raise ValueError(
                f"kernel must return a matrix of shape {(len(points), len(self.place))}"
                f" for {len(points)} and {len(self.place)} rows; got {K.shape}."
            )
        return K

    def _chunks(self, start: int, stop: int) -> Iterator[slice]:
        """Yield ranges of points whose rows make blocks of moderate size."""
        step = max(1, _CHUNK // len(self.place))
        for low in range(start, stop, step):
            yield slice(low, min(low + step, stop))


def merge_equal_rows(
    X: Any, labels: NDArray[np.intp], weights: Array
) -> tuple[Index, Array]:
    """Merge equal rows, so that a weight is equivalent to as many copies of a row.

    Rows are equal only if their labels are, too; X must not have missing entries.
    Returns the first row of each group of equal rows, in an order that depends on
    content only, and the weight of each group.
    """
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    keys = row_products(X, direction)
    order = np.lexsort((labels, keys))
    same = (np.diff(keys[order]) == 0) & (np.diff(labels[order]) == 0)
    # equal keys almost prove that rows are equal; the few such pairs are compared
    pairs = np.flatnonzero(same)
    differences = X[order[pairs]] != X[order[pairs + 1]]
    same[pairs] = np.ravel(differences.sum(axis=1)) == 0
    group = np.concatenate([[0], np.cumsum(~same)])
    total: Array = np.bincount(group, weights[order])  # type: ignore[assignment]
    return order[np.r_[True, ~same]], total
