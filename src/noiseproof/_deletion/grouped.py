"""The robust linear program against an adversary that deletes whole groups.

The gain of a group is the sum of its members' gains. With s_ig = Σ_{j in g} w_j x_ij,
in place of eq. (4) of Dekel and Shamir 2008,

    min Σ_i s_i ξ_i / (γ Σ_i s_i)   over ‖w‖_∞ <= C, b and ξ, λ, α >= 0
    ξ_i  >= γ V/P - y_i (b + w·x_i) + N λ_i + Σ_g α_ig
    α_ig >= y_i s_ig - v_g (λ_i + γ/P)

where only groups that a row has entries of need a variable. HiGHS solves it; the value
and a lower bound of it are then calculated from its solution, as for single features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from noiseproof._deletion.hinge import TINY, DeletionHinge
from noiseproof._deletion.solving import RobustLPResult, close_enough
from noiseproof._rows import group_rows, group_weights, unsigned
from noiseproof._stop import Stop


def solve_groups(
    problem: DeletionHinge, labels: NDArray[np.intp], stop: Stop
) -> RobustLPResult:
    """Solve a problem whose `values` are those of groups; `labels` has d of them."""
    X, y, d = problem.X, problem.y, problem.X.shape[1]
    pairs, group, place = group_rows(X, labels)
    v, n, m = problem.values[group], X.shape[0], len(group)
    row = np.repeat(np.arange(n), np.diff(pairs.indptr))
    gains = sp.csr_array((X.data, (place, X.indices)), shape=(m, d)) * y[row][:, None]
    member = sp.csr_array((np.ones(m), (row, np.arange(m))), shape=(n, m))
    unit = sp.eye_array(n)
    losses = [-X * y[:, None], -y[:, None], -unit, problem.limit * unit, member]
    rents = [gains, None, None, -(member.T * v[:, None]), -sp.eye_array(m)]
    weights = problem.scale * problem.weights
    free = (None, None) if problem.fit_intercept else (0.0, 0.0)
    found = linprog(
        np.concatenate([np.zeros(d + 1), weights, np.zeros(n + m)]),
        A_ub=sp.block_array([losses, rents], format="csr"),
        b_ub=np.concatenate([np.full(n, -problem.base), problem.price * v]),
        bounds=[(-problem.C, problem.C)] * d + [free] + [(0, None)] * (2 * n + m),
        options={"maxiter": max(stop.max_iter, 1) * 1000},
    )
    p, q = np.zeros(n), np.zeros(m)
    w, b = np.zeros(d), 0.0
    if found.x is not None:
        w, b = np.clip(found.x[:d], -problem.C, problem.C), float(found.x[d])
    if found.status == 0:
        prices = -found.ineqlin.marginals / np.concatenate([weights, weights[row]])
        p, q = prices[:n], prices[n:]
    value = _value(problem, w, b, (pairs, v, place))
    bound = _lower_bound(problem, p, q, (row, v, place))
    if stop.report is not None:
        stop.tell(1, np.array([value]), np.array([value - bound]))
    done = close_enough(value, bound, stop.tol)
    return RobustLPResult(w, b, p, q, value, bound, int(found.nit), done)


def _value(problem: DeletionHinge, w: Any, b: float, parts: Any) -> float:
    """F(w, b), by the loops for single features: a pair of row and group is one."""
    from noiseproof._deletion.kernels import excess

    pairs, v, place = parts
    scores = group_weights(problem.X, place, w[None])[0]
    phi = np.empty(len(problem.y))
    bounds = (v, problem.limit, problem.price, problem.base)
    excess(*unsigned(pairs), problem.y, scores, b, *bounds, phi)
    return problem.scale * float(problem.weights @ np.maximum(phi, 0.0))


def _lower_bound(problem: DeletionHinge, p: Any, q: Any, parts: Any) -> float:
    """The dual value at (p, q), once made feasible: no F is below it."""
    row, v, place = parts
    X, weights = problem.X, problem.weights
    p = problem._balanced(np.clip(p, 0.0, 1.0))
    q = np.clip(q, 0.0, p[row])
    spent = np.bincount(row, v * q, len(p))
    q *= np.minimum(1.0, problem.limit * p / np.maximum(spent, TINY))[row]
    earned = problem.base * float(weights @ p)
    earned -= problem.price * float(weights[row] @ (v * q))
    rows = np.repeat(np.arange(len(p)), np.diff(X.indptr))
    pulls = (weights * problem.y)[rows] * X.data * (p[rows] - q[place])
    sums = np.bincount(X.indices, pulls, X.shape[1])
    return max(0.0, problem.scale * (earned - problem.C * float(np.abs(sums).sum())))
