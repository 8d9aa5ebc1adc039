"""Online dropout descent (Wager et al. 2013, section 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import Array, sparse_blocks, unsigned


class OnlineState:
    """Weights of `k` one-vs-rest problems, and the state of their updates.

    β ← β - η diag(H_t)⁻¹ g_t, eq. (16)-(17), with H_t accumulated along the stream:
    the Hessian of the logistic loss, or the squared slopes of the hinge, which
    estimate the same Fisher information (eq. 18). The rule "adagrad" divides by the
    root of the summed squared slopes instead. H starts at `prior`.
    """

    def __init__(self, k: int, d: int, prior: float):
        self.w = np.zeros((k, d))
        self.b = np.zeros((k, 1))
        self.scale_w = np.full((k, d), prior)
        self.scale_b = np.full((k, 1), prior)
        self.lag_w = np.zeros((k, d))
        self.lag_b = np.zeros((k, 1))
        self.t = 0

    def average(self) -> tuple[Array, Array]:
        """Return the weights and the intercepts, averaged over all steps so far."""
        steps = max(1, self.t)
        return self.w - self.lag_w / steps, (self.b - self.lag_b / steps)[:, 0]

    def learn(
        self,
        X: Any,
        labels: NDArray[np.int64],
        weights: Array,
        order: NDArray[np.int64],
        *,
        rate: Array,
        hinge: bool,
        adagrad: bool,
        intercept: bool,
    ) -> float:
        """Pass once over some rows, in `order`; return their loss before updates."""
        from noiseproof._marginal.online_kernels import epoch

        total = 0.0
        for rows, where, block in sparse_blocks(X, order):
            own_labels, own_weights = labels[rows], weights[rows]
            after = self.t
            for k in range(len(self.w)):
                positive = k if len(self.w) > 1 else 1
                after, loss = epoch(
                    *unsigned(block), where, own_labels, own_weights, positive,
                    rate, hinge, adagrad, intercept,
                    self.w[k], self.b[k], self.scale_w[k], self.scale_b[k],
                    self.lag_w[k], self.lag_b[k], self.t,
                )  # fmt: skip
                total += loss
            self.t = after
        return total


class Patience:
    """Detect when a cost has stopped falling."""

    def __init__(self, tol: float | None, patience: int):
        self.tol = tol
        self.patience = patience
        self.best = np.inf
        self.waited = 0

    def stalled(self, cost: float) -> bool:
        """Return whether the cost has not fallen by `tol` for too many passes."""
        if self.tol is None:
            return False
        self.waited = 0 if cost < self.best - self.tol else self.waited + 1
        self.best = min(self.best, cost)
        return self.waited >= self.patience
