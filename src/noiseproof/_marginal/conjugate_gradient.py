"""Conjugate gradients for the steps of Newton's method, several classes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.objective import Curvature, Objective
from noiseproof._rows import Array, as_dense, column_squares, factorized, host

# Diagonal entries below this fraction of the mean count as zero. Only the intercept of
# a loss with a kink can have such an entry, where the loss is flat. The fraction is
# tiny because features whose scales differ by 1e12 have entries that differ by 1e24.
_FLAT = 1e-30
_MAX_ITER = 250
# Converged classes are removed from the arrays once at most this fraction is active.
# Before that, removing them saves little: a pass over CSR handles four classes at the
# cost of two or three.
_COMPACT = 0.5
# A gain is trusted once (number of iterations) * (gain of the last one) is at most this
# fraction of it (Nash and Sofer 1990)
_STALLED = 0.5
# Near the minimum, an exact Newton step divides the remaining gain by about this
_REACH = 1e4
_PATIENCE = 10  # iterations; beyond these, another Newton step is cheaper
_MEASURE = 0.1  # accuracy of an inner run that only estimates the remaining gain


class Preconditioner:
    """(diag(D) + Uᵀ U)⁻¹ for each class; just 1 / D for a class without stiff rows.

    Near a kink, a few rows have a much larger curvature than all others. Each of these
    *stiff* rows adds a large eigenvalue to the Hessian, which would cost conjugate
    gradients an iteration. As rows of `U` they are inverted exactly (by Woodbury's
    identity, or directly if they outnumber the features). `diagonal`, of shape
    (k, d + 1), is that of the whole curvature, including the stiff rows.
    """

    def __init__(self, diagonal: Array, stiff: Sequence[Any]):
        # negative only if a loss is not convex; its magnitude still serves as a scale
        size = np.abs(diagonal)
        typical = np.maximum(size.mean(axis=1, keepdims=True), 1e-270)
        positive = np.maximum(size, _FLAT * typical)
        self._inverse = 1 / positive
        self._corrections = [
            None if U is None else _Correction(positive[k], U)
            for k, U in enumerate(stiff)
        ]

    def solve(self, R: Array) -> Array:
        """Approximate H⁻¹ r for each class."""
        Z = R * self._inverse
        for k, correction in enumerate(self._corrections):
            if correction is not None:
                Z[k] = correction.solve(R[k])
        return Z

    def restrict(self, classes: Any) -> Preconditioner:
        """Return the preconditioners of some classes."""
        part = object.__new__(Preconditioner)
        part._inverse = self._inverse[classes]
        kept = np.arange(len(self._corrections))[classes]
        part._corrections = [self._corrections[k] for k in kept]
        return part


class _Correction:
    """(diag(D) + Uᵀ U)⁻¹ for one class, where D excludes the part of the stiff rows."""

    def __init__(self, diagonal: Array, U: Any):
        self.U = U
        self.D = np.maximum(diagonal - column_squares(U), 1e-6 * diagonal)
        self.direct = U.shape[0] > U.shape[1]
        if self.direct:
            matrix = as_dense(U.T @ U) + np.diag(self.D)
        else:
            scaled = U / np.sqrt(self.D)
            matrix = as_dense(scaled @ scaled.T) + np.eye(U.shape[0])
        self._inverse = factorized(matrix)

    def solve(self, r: Array) -> Array:
        if self.direct:
            return self._inverse(r)
        z = r / self.D
        return z - (self.U.T @ self._inverse(self.U @ z)) / self.D


class Step(NamedTuple):
    """An inexact Newton step and the gain that the quadratic model predicts for it.

    `promise` is a first estimate of that gain: ½ gᵀ M⁻¹ g, where M is the
    preconditioner.
    """

    P: Array
    gain: Array
    promise: Array
    preconditioner: Preconditioner

    def outlook(self, gradient: Array) -> Array:
        """Estimate the gain that remains after the step, from the gradient there.

        The estimate is ½ gᵀ M⁻¹ g, multiplied by the factor by which the same formula
        underestimated the gain of this step.
        """
        short = np.maximum(1.0, self.gain / np.where(self.promise > 0, self.promise, 1))
        return 0.5 * short * dot(gradient, self.preconditioner.solve(gradient))


def dot(A: Array, B: Array) -> Array:
    """Compute the inner product for each class."""
    # twice as fast as einsum
    return host(np.matmul(A[:, None, :], B[:, :, None])[:, 0, 0])


def newton_step(
    curvature: Curvature,
    gradient: Array,
    accuracy: float | Array,
    decisive: float | Array = 0.0,
    target: float | Array = 0.0,
    is_convex: bool = True,
) -> Step:
    """Minimise g·p + ½ p·H p for each class by preconditioned conjugate gradients.

    A class stops when its residual, in the norm of the preconditioner, has fallen by
    the factor `accuracy`, with two exceptions. First, the outer search ends when at
    most `target` remains to be gained. A class that is close to this continues until it
    gets there, if that takes few iterations, since they are cheaper than another Newton
    step. Second, the outer search ends when a step gains less than `decisive`. If H is
    badly conditioned, short runs underestimate the gain, so such a class continues
    until its gain stalls. Where the curvature is not positive (a non-convex loss), a
    class stops with its current step, or with the preconditioned gradient step if it
    has none.
    """
    run = _InnerRun(curvature, gradient, accuracy, decisive, target, is_convex)
    for _ in range(_MAX_ITER):
        if not run.active.any():
            break
        run.iterate()
    return run.result()


class _InnerRun:
    """State of the classes that are still being solved.

    `promise` and `whole`, the preconditioner, are those of all classes. Once classes
    have been removed, `left` holds the steps and gains of all of them.
    """

    _PER_CLASS = (
        *("classes", "P", "gain", "residual", "direction", "norm2"),
        *("goal", "enough", "decisive"),
    )

    def __init__(
        self,
        curvature: Curvature,
        gradient: Array,
        accuracy: float | Array,
        decisive: float | Array,
        target: float | Array,
        is_convex: bool,
    ):
        k = len(gradient)
        self.iterations, self.is_convex = 0, is_convex
        self.curvature = curvature
        self.preconditioner = Preconditioner(curvature.diagonal, curvature.stiff_rows())
        self.classes = np.arange(k)
        self.P = np.zeros_like(gradient)
        self.gain = np.zeros(k)
        self.decisive = np.broadcast_to(decisive, k)
        self.residual = -gradient
        self.direction = self.preconditioner.solve(self.residual)
        self.norm2 = dot(self.residual, self.direction)
        self.promise, self.whole = 0.5 * self.norm2, self.preconditioner
        self.left: tuple[Array, Array] | None = None
        self.goal = np.asarray(accuracy) ** 2 * self.norm2
        target = np.broadcast_to(target, k)
        within_reach = 0.5 * self.norm2 <= _REACH * target
        self.enough = np.where(within_reach, target, np.inf)
        self.active = self.norm2 > 0

    def iterate(self) -> None:
        """Do one conjugate gradient iteration, which takes one pass over the data."""
        if np.count_nonzero(self.active) <= _COMPACT * len(self.active):
            self._compact()
        H_direction = self.curvature.product(self.direction)
        bend = dot(self.direction, H_direction)
        flat = self.active & ~(bend > 0)
        if flat.any():
            self._give_up(flat)
        self.iterations += 1
        alpha = np.where(self.active, self.norm2 / np.where(bend > 0, bend, 1.0), 0.0)
        self.P += alpha[:, None] * self.direction
        self.residual -= alpha[:, None] * H_direction
        self._turn(gained=0.5 * alpha * self.norm2)

    def _give_up(self, flat: NDArray[np.bool_]) -> None:
        """Stop the classes whose curvature is not positive along their direction."""
        if self.iterations == 0:
            self.P[flat] = self.direction[flat]
        if not self.is_convex:
            # the model is unbounded below: count at least the gain that g predicts
            self.gain[flat] += 0.5 * self.norm2[flat]
        self.active &= ~flat

    def _turn(self, gained: Array) -> None:
        """Add the gain, mark finished classes, and compute the next direction."""
        self.gain += gained
        Z = self.preconditioner.solve(self.residual)
        norm2 = dot(self.residual, Z)
        unsure = (self.gain <= self.decisive) & (
            self.iterations * gained > _STALLED * self.gain
        )
        if self.iterations < _PATIENCE:
            unsure |= np.maximum(gained, 0.5 * norm2) > self.enough
        self.active &= (norm2 > self.goal) | (unsure & (norm2 > 0))
        ratio = norm2 / np.where(self.norm2 > 0, self.norm2, 1.0)
        self.direction = Z + ratio[:, None] * self.direction
        self.norm2 = norm2

    def _compact(self) -> None:
        """Remove the classes that are done, so that passes get cheaper."""
        self._store()
        on = self.active
        for name in self._PER_CLASS:
            setattr(self, name, getattr(self, name)[on])
        self.curvature = self.curvature.restrict(on)
        self.preconditioner = self.preconditioner.restrict(on)
        self.active = np.ones(len(self.classes), dtype=bool)

    def _store(self) -> tuple[Array, Array]:
        """Store the steps and gains of the current classes; return those of all."""
        if self.left is None:
            self.left = self.P, self.gain
        else:
            for whole, part in zip(self.left, (self.P, self.gain), strict=True):
                whole[self.classes] = part
        return self.left

    def result(self) -> Step:
        """Return the step and gain of all classes."""
        return Step(*self._store(), self.promise, self.whole)


def newton_gain(point: Objective, is_convex: bool) -> Array:
    """Measure the suboptimality of each class: the gain of a Newton step."""
    curvature, gradient = point.hessian(), point.gradient
    step = newton_step(curvature, gradient, _MEASURE, np.inf, is_convex=is_convex)
    return step.gain
