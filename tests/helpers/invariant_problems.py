"""Small invariant risks, and what CVXPY says about their minima."""

import itertools

import cvxpy as cp
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from noiseproof._invariant import Candidates, KernelRisk, ListedRisk, make_costs


def table(rng, n=25, d=4, k=3):
    """Rows and class indices; every class is there."""
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, k)) + 0.5 * rng.normal(size=(n, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return X, y


def some_costs(rng, k, n_transforms):
    """Γ and Δ without any symmetry; the right answer is not free either."""
    scale = rng.uniform(0.5, 1.5, size=(k, k))
    cost = rng.uniform(0.8, 1.5, size=(k, k, n_transforms))
    cost[np.arange(k), np.arange(k)] = rng.uniform(0, 0.2, size=(k, n_transforms))
    return scale, cost


def listed(rng, k=3, costs=None, alpha=0.05, n_transforms=3):
    """A linear risk over random transforms, with uneven weights."""
    X, y = table(rng, k=k)
    ways = X[:, None] + 0.3 * rng.normal(size=(len(X), n_transforms, X.shape[1]))
    ways[:, 0] = X
    candidates = Candidates(np.full(len(X), n_transforms), ways.reshape(-1, X.shape[1]))
    tables = make_costs(*(costs or (None, None)), np.arange(k), n_transforms)
    mass = rng.uniform(0.2, 1.0, size=len(X))
    return ListedRisk(candidates, y, tables, mass / mass.sum(), alpha)


def kernelised(risk, kernel=rbf_kernel, cache_size=2.0**30):
    """The same with kernel functions."""
    return KernelRisk(
        risk.candidates, risk.own, risk.costs, risk.mass, risk.alpha, kernel, cache_size
    )


def minimum(candidates, own, costs, mass, alpha, factor=None):
    """Minimum of R over all enumerated (s, y'), by CVXPY.

    `factor` has a row per candidate, whose inner products are the kernel; None means
    the candidates themselves.
    """
    Z = candidates.X if factor is None else factor
    k = len(costs.scale)
    w = cp.Variable(k * Z.shape[1])
    loss = 0
    for i, weight in enumerate(mass):
        cuts, heights = [], []
        for c in range(candidates.start[i], candidates.start[i + 1]):
            s = candidates.rank[c] if costs.cost.shape[2] > 1 else 0
            for rival in range(k):
                blocks = np.eye(k)[rival] - np.eye(k)[own[i]]
                cuts.append(costs.scale[own[i], rival] * np.kron(blocks, Z[c]))
                heights.append(costs.cost[own[i], rival, s])
        loss += weight * cp.max(np.array(cuts) @ w + np.array(heights))
    problem = cp.Problem(cp.Minimize(loss + alpha / 2 * cp.sum_squares(w)))
    return problem.solve(solver=cp.CLARABEL)


def minimum_of(risk):
    """The same for a risk with candidates."""
    factor = None
    if isinstance(risk, KernelRisk):
        K = risk.kernel(risk.candidates.X, risk.candidates.X)
        values, vectors = np.linalg.eigh(K)
        factor = vectors * np.sqrt(np.maximum(values, 0))
    return minimum(risk.candidates, risk.own, risk.costs, risk.mass, risk.alpha, factor)


def deletions(X, budget):
    """All ways to delete up to `budget` features, as candidates."""
    d = X.shape[1]
    masks = [
        np.isin(np.arange(d), gone, invert=True)
        for size in range(budget + 1)
        for gone in itertools.combinations(range(d), size)
    ]
    ways = X[:, None] * np.array(masks)
    return Candidates(np.full(len(X), len(masks)), ways.reshape(-1, d))
