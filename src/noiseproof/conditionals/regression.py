"""The linear regression of missing features on observed ones, for any pattern.

Features have mean zero. Their covariance is stored in one of two forms. In full, each
distinct pattern of missing features takes one Cholesky factorisation of its observed
block. As F F' + diag(d) with few factors, all patterns of a block of rows share one
matrix product, and each row takes d·rank² operations (Woodbury's identity).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh
from sklearn.utils.extmath import randomized_svd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

FULL_UP_TO = 256  # features for which the covariance is stored in full
_RANK = 64  # default number of factors
_WIDE = 3000  # with more features than this, no square matrix of them is formed
_JITTER = 1e-10
_BLOCK = 2**22  # numbers in a temporary array


class FullRegression:
    """The full covariance (d, d), plus a small multiple of the identity."""

    def __init__(self, covariance: Array):
        self.covariance = covariance + _JITTER * np.eye(len(covariance))

    def expected(self, observed: Mask, deviations: Array) -> Array:
        """E[x | observed features] for missing features; observed ones are unchanged.

        `deviations` (n, k, d) are k rows, minus the mean, for each row of the mask
        `observed` (n, d). Values that are not observed are not read.
        """
        result = deviations.copy()
        for rows, seen in _patterns(observed):
            there, gone = np.flatnonzero(seen), np.flatnonzero(~seen)
            if not len(gone):
                continue
            across = self.covariance[np.ix_(there, gone)]
            if len(there):
                within = self.covariance[np.ix_(there, there)]
                across = cho_solve(cho_factor(within, check_finite=False), across)
            part = deviations[rows]
            part[..., gone] = part[..., there] @ across
            result[rows] = part
        return result

    def times(self, vectors: Array) -> Array:
        """Products of vectors with the covariance."""
        return vectors @ self.covariance

    def effective_share(self) -> float:
        """The effective number of independent features, divided by their number."""
        total = float(np.trace(self.covariance)) ** 2
        return total / float((self.covariance**2).sum()) / len(self.covariance)

    def sample(
        self, n: int, rng: np.random.Generator, order: Places, matched: bool = False
    ) -> Array:
        """Random rows (n, d) with this covariance, with features drawn in `order`.

        If they are `matched`, their sample covariance is exactly the covariance. With
        fewer than 2 d rows only their sample variances are exact.
        """
        root = cholesky(self.covariance[np.ix_(order, order)], lower=True)
        normal = rng.standard_normal((n, len(root)))
        if matched:
            products = normal.T @ normal / n
            if n < 2 * len(root):
                products = np.diag(np.diag(products))
            values, vectors = eigh(products)
            normal = normal @ (vectors / np.sqrt(values)) @ vectors.T
        return (normal @ root.T)[:, np.argsort(order)]


class FactorRegression:
    """The covariance F F' + diag(rest), with factors F (d, rank) and rest > 0 (d)."""

    def __init__(self, factors: Array, rest: Array):
        self.factors, self.rest = factors, rest

    def expected(self, observed: Mask, deviations: Array) -> Array:
        """As `FullRegression.expected`."""
        n, k, d = deviations.shape
        rank = self.factors.shape[1]
        scaled = self.factors / self.rest[:, None]
        result = np.where(observed[:, None, :], deviations, 0.0)
        moments = (result.reshape(n * k, d) @ scaled).reshape(n, k, rank)
        precision = self._precision(observed, scaled)
        scores = np.linalg.solve(precision, np.swapaxes(moments, 1, 2))
        guess = np.swapaxes(scores, 1, 2).reshape(n * k, rank) @ self.factors.T
        np.copyto(result, guess.reshape(n, k, d), where=~observed[:, None, :])
        return result

    def _precision(self, observed: Mask, scaled: Array) -> Array:
        """I + F_o' D_o⁻¹ F_o for all rows, by a product for each block of features."""
        d, rank = self.factors.shape
        upper = np.triu_indices(rank)
        packed = np.zeros((len(observed), len(upper[0])))
        step = max(1, _BLOCK // len(upper[0]))
        for start in range(0, d, step):
            part = slice(start, start + step)
            outer = scaled[part][:, upper[0]] * self.factors[part][:, upper[1]]
            packed += observed[:, part].astype(np.float64) @ outer
        precision = np.empty((len(observed), rank, rank))
        precision[:, upper[0], upper[1]] = packed
        precision[:, upper[1], upper[0]] = packed
        precision[:, range(rank), range(rank)] += 1.0
        return precision

    def times(self, vectors: Array) -> Array:
        """Products of vectors with the covariance."""
        return (vectors @ self.factors) @ self.factors.T + vectors * self.rest

    def effective_share(self) -> float:
        """As `FullRegression.effective_share`."""
        within = self.factors.T @ self.factors
        own = (self.factors**2).sum(axis=1)
        squares = (within**2).sum() + (self.rest * (2 * own + self.rest)).sum()
        return float((own + self.rest).sum() ** 2 / squares / len(self.rest))

    def sample(
        self, n: int, rng: np.random.Generator, order: Places, matched: bool = False
    ) -> Array:
        """As `FullRegression.sample`, but nothing is matched."""
        draws = rng.standard_normal((2, n, len(order)))[..., np.argsort(order)]
        # by the symmetric root of F F', which is unique: factors have no sign or order
        values, vectors = eigh(self.factors.T @ self.factors)
        directions = self.factors @ (vectors / np.sqrt(np.maximum(values, _JITTER)))
        common = draws[0] @ directions @ vectors.T @ self.factors.T
        return common + draws[1] * np.sqrt(self.rest)


Regression = FullRegression | FactorRegression


def regression_of(
    Z: Array, observed: Mask, shrinkage: float | str = "auto", rank: int | None = None
) -> Regression:
    """Estimate the regression from rows with or without missing values.

    Covariances are means over the rows in which both features are observed. "auto"
    shrinks them towards zero by the amount of Ledoit and Wolf's lemma for a diagonal
    target (Schäfer and Strimmer 2005): the sum of the estimated variances of all
    covariances, given the features' variances, divided by the sum of their squares. The
    rows `Z` (n, d) have mean zero, variance one, and zeros where they are not
    `observed`. Without a `rank`, the full covariance is stored for up to 256 features,
    and factors for more.
    """
    n, d = Z.shape
    if d > _WIDE:
        return _wide_factors(Z, observed, shrinkage, rank)
    covariance, amount = _shrunk(Z, observed, shrinkage)
    if rank is None and d <= FULL_UP_TO:
        return FullRegression(_repaired(covariance, amount, observed))
    count = min(rank or _RANK, d - 1, n) or 1
    values, vectors = eigh(covariance, subset_by_index=[d - count, d - 1])
    trace = float(np.trace(covariance))
    return _factors(values, vectors, np.diag(covariance), trace, rank)


def _shrunk(Z: Array, observed: Mask, shrinkage: float | str) -> tuple[Array, float]:
    """Shrunk pairwise covariances, and the amount of shrinkage."""
    counts = np.full((Z.shape[1],) * 2, float(len(Z)))
    if not observed.all():
        M = observed.astype(Z.dtype)
        counts = np.maximum(M.T @ M, 1.0)
    covariance = Z.T @ Z / counts
    diagonal = np.diag(covariance).copy()
    if shrinkage == "auto":
        noise = _noise(Z, counts, covariance)
        np.fill_diagonal(noise, 0.0)
        off = covariance - np.diag(diagonal)
        amount = float(np.clip(noise.sum() / max((off**2).sum(), 1e-300), 0.0, 1.0))
    else:
        amount = float(shrinkage)
    covariance *= 1.0 - amount
    np.fill_diagonal(covariance, diagonal)
    return covariance, amount


def _noise(Z: Array, counts: Array, covariance: Array) -> Array:
    """Variances of the estimated covariances, given the variances of the features.

    If two features are nearly equal their product has a large variance, but it varies
    together with their squares, so their correlation is known well. The variance that
    matters is that of x y - r (x² + y²)/2, where both features have variance one and
    their correlation is r.
    """
    squares = Z * Z
    own = np.diag(covariance)
    own = np.where(own > 1e-12, own, 1.0)  # constant features have no noise
    both = squares.T @ squares / counts
    cubes = (squares * Z).T @ Z / (counts * own[:, None])
    fourth = np.diag(both) / own**2
    bend = (fourth[:, None] + fourth) / 4 + both / (2 * own[:, None] * own)
    noise = both - covariance * (cubes + cubes.T) + covariance**2 * bend
    return np.asarray(np.maximum(noise, 0.0) / counts)


def _repaired(covariance: Array, amount: float, observed: Mask) -> Array:
    """Make a matrix of pairwise covariances positive definite by clipped eigenvalues.

    Covariances that are estimated on different rows need not form such a matrix.
    """
    if observed.all():
        return covariance
    values, vectors = eigh(covariance)
    floor = max(amount, 1e-3) * float(np.mean(np.diag(covariance)))
    if values[0] >= floor:
        return covariance
    clipped = (vectors * np.maximum(values, floor)) @ vectors.T
    back = np.sqrt(np.diag(covariance) / np.diag(clipped))
    return clipped * back[:, None] * back


def _factors(
    values: Array, vectors: Array, diagonal: Array, trace: float, rank: int | None
) -> FactorRegression:
    """Principal factors, without the average variance of the other directions."""
    d = len(diagonal)
    if rank is None:  # keep factors that explain more variance than a single feature
        kept = values > 1.0 + _JITTER
        kept[-1] = True
        values, vectors = values[kept], vectors[:, kept]
    noise = max(trace - float(values.sum()), 0.0) / max(d - len(values), 1)
    factors = vectors * np.sqrt(np.maximum(values - noise, 0.0))
    rest = diagonal - (factors**2).sum(axis=1)
    return FactorRegression(
        factors, np.maximum(rest, 1e-3 * np.maximum(diagonal, 1e-9))
    )


def _wide_factors(
    Z: Array, observed: Mask, shrinkage: float | str, rank: int | None
) -> FactorRegression:
    """Factors by a randomised SVD, for too many features to form a square matrix."""
    n, d = Z.shape
    some = np.random.default_rng(0).choice(d, _WIDE // 2, replace=False)
    amount = _shrunk(Z[:, some], observed[:, some], shrinkage)[1]
    share = np.sqrt(np.maximum(observed.mean(axis=0), 1.0 / n))
    count = min(rank or _RANK, n, d - 1)
    _, spread, directions = randomized_svd(
        Z / (share * np.sqrt(n)), count, n_iter=4, random_state=0
    )
    values = (1.0 - amount) * spread[::-1] ** 2
    diagonal = (Z**2).sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    return _factors(values, directions[::-1].T, diagonal, float(diagonal.sum()), rank)


def _patterns(observed: Mask) -> Any:
    """Yield the rows of each distinct pattern, and the pattern."""
    if len(observed) == 1:  # a shortcut: sorting takes half of the time for one row
        yield np.zeros(1, dtype=np.intp), observed[0]
        return
    keys = np.packbits(observed, axis=1)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(inverse.ravel(), minlength=len(first)))
    for i, rows in enumerate(np.split(order, ends[:-1])):
        yield rows, observed[first[i]]
