"""An interior-point method for the restricted problem, for few weights.

Moving weight between two cuts at a time converges slowly if cuts are nearly parallel,
as they are for features with a large common offset. With few weights, the whole problem

    min over w, ξ of  α/2 ‖w‖² + Σ_i p_i ξ_i   such that   ξ_i >= δ_z + ψ_z·w

(z the cuts of row i, β their multipliers, s their slacks) is solved fast by Newton's
method on the conditions

    α w + Ψᵀβ = 0,   Σ_{z of i} β_z = p_i,   β_z s_z = μ → 0.

Eliminating ξ and β leaves (αI + Cᵀ diag(β/s) C) dw = r, in which the rows of C are
those of Ψ less their mean over the cuts of the same row, weighted by β/s.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from noiseproof._invariant.loss import Index
from noiseproof._rows import Array

_ITERATIONS = 100
_GAP_LEFT = 0.1  # share of the gap that each step aims to leave
_STEP_SHARE = 0.99  # share of the way to the boundary that a step may go
_NEGLIGIBLE = 1e-8  # share of a row's weight below which a cut is dropped


def interior(
    psi: Array, delta: Array, start: Index, mass: Array, alpha: float, goal: float
) -> Array:
    """Compute near-optimal weights β of the cuts, with a gap below `goal`.

    ψ, of shape (m, n_weights), and δ list the cuts of one row after those of another;
    `start` is the index of the first cut of each row, and `mass` the sum of its β.
    """
    counts = np.diff(np.append(start, len(delta)))
    owner = np.repeat(np.arange(len(start)), counts)
    w, beta = np.zeros(psi.shape[1]), (mass / counts)[owner]
    slack = np.maximum.reduceat(delta, start)[owner] - delta + 1.0
    reach = float(np.abs(psi).max(initial=0.0)) / alpha
    for _ in range(_ITERATIONS):
        gap, residual = float(beta @ slack), alpha * w + psi.T @ beta
        # w will be computed from β, so the two must agree as well
        if gap + reach * float(np.abs(residual).sum()) <= goal:
            break
        aim, theta = _GAP_LEFT * gap / len(beta) / slack - beta, beta / slack
        total = np.add.reduceat(theta, start)
        mean = np.add.reduceat(theta[:, None] * psi, start) / total[:, None]
        C = psi - mean[owner]
        H = alpha * np.eye(len(w)) + C.T @ (theta[:, None] * C)
        try:
            d_w = cho_solve(cho_factor(H), -residual - C.T @ aim)
        except LinAlgError:  # rounding allows no more accuracy
            break
        d_slack = (np.add.reduceat(aim, start) / total)[owner] - C @ d_w
        d_beta = aim - theta * d_slack
        step = min(_longest(beta, d_beta), _longest(slack, d_slack))
        w, beta, slack = w + step * d_w, beta + step * d_beta, slack + step * d_slack
    beta[beta < _NEGLIGIBLE * mass[owner]] = 0.0
    return beta * (mass / np.add.reduceat(beta, start))[owner]


def _longest(value: Array, change: Array) -> float:
    """Return the longest step, at most 1, that leaves all values positive."""
    worst = float((change / value).min())
    return min(1.0, -_STEP_SHARE / worst) if worst < 0 else 1.0
