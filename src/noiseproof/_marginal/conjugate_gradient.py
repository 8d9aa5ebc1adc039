"""Conjugate gradients for the steps of Newton's method, several classes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.objective import Curvature, Objective
from noiseproof._rows import Array, as_dense, column_squares, factorized, host

# Part of the mean diagonal below which a number counts as zero. Only the intercept of
# a kinked loss has none at all where the loss is flat; but weights of features whose
# scales differ by 1e12 have diagonals that differ by 1e24, and must keep them.
_FLAT = 1e-30
_MAX_ITER = 250
# Classes that are done still ride along in a pass until this part of them is left: a
# pass over CSR takes four for the price of two or three, and other vectors get shorter
_COMPACT = 0.5
# A gain is believed when the last iteration, had it gone on like that, would have made
# up at most this part of it (Nash and Sofer 1990)
_STALLED = 0.5
# An exact Newton step, near the minimum, shrinks what is left to gain about so far
_REACH = 1e4
_PATIENCE = 10  # iterations; from then on another step costs less
_MEASURE = 0.1  # accuracy of an inner run that only tells what is left to gain


class Preconditioner:
    """(diag(D) + Uᵀ U)⁻¹ for each class; just 1 / D where a class has no stiff rows.

    Near a kink a few rows have a curvature far above all others. Each puts an
    eigenvalue of its own into the Hessian, and conjugate gradients would need an
    iteration for it; put into `U` they are inverted exactly (Woodbury's identity, or
    directly where there are more of them than features). The `diagonal`, (k, d + 1), is
    that of the whole curvature, stiff rows included.
    """

    def __init__(self, diagonal: Array, stiff: Sequence[Any]):
        # negative only where a loss is not convex: its size is a scale all the same
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
        """The preconditioners of some classes only."""
        part = object.__new__(Preconditioner)
        part._inverse = self._inverse[classes]
        kept = np.arange(len(self._corrections))[classes]
        part._corrections = [self._corrections[k] for k in kept]
        return part


class _Correction:
    """(diag(D) + Uᵀ U)⁻¹ for one class, with D what the stiff rows leave of it."""

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
    """An inexact Newton step and what the quadratic model says it gains.

    `promise` is what ½ gᵀ M⁻¹ g, with the preconditioner M, said before the inner run.
    """

    P: Array
    gain: Array
    promise: Array
    preconditioner: Preconditioner

    def outlook(self, gradient: Array) -> Array:
        """What is left to gain at the end of the step, from the gradient there.

        ½ gᵀ M⁻¹ g once more, raised by the factor that it fell short at the start.
        """
        short = np.maximum(1.0, self.gain / np.where(self.promise > 0, self.promise, 1))
        return 0.5 * short * dot(gradient, self.preconditioner.solve(gradient))


def dot(A: Array, B: Array) -> Array:
    """Inner product for each class."""
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
    """Minimise g·p + ½ p·H p for each class, preconditioned.

    A class is done when its residual, in the norm of the preconditioner, has fallen by
    the factor `accuracy`. Where no more than `target` is left to gain the search for
    the minimum will end; a class within reach of that goes all the way at once, if it
    can do so in a short run, which costs less than another step. Gains below `decisive`
    will end the search, too, and a badly conditioned H hides gains from short runs:
    there the class goes on until its gain stalls. Where the curvature is not positive
    (a non-convex loss) it stops with what it has, at least the preconditioned gradient
    step.
    """
    run = _InnerRun(curvature, gradient, accuracy, decisive, target, is_convex)
    for _ in range(_MAX_ITER):
        if not run.active.any():
            break
        run.iterate()
    return run.result()


class _InnerRun:
    """State of the classes still in work; `left` has the steps of all, once any left.

    `promise` and `whole`, the preconditioner, are those of all classes.
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
        """One conjugate gradient iteration: one pass over the data."""
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
        """End classes whose curvature is not positive along their direction."""
        if self.iterations == 0:
            self.P[flat] = self.direction[flat]
        if not self.is_convex:
            # no end to the gain in sight: count at least what the gradient promises
            self.gain[flat] += 0.5 * self.norm2[flat]
        self.active &= ~flat

    def _turn(self, gained: Array) -> None:
        """Count the gain, decide who is done, and find the next direction."""
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
        """Let the classes that are done leave, so that passes get cheaper."""
        self._store()
        on = self.active
        for name in self._PER_CLASS:
            setattr(self, name, getattr(self, name)[on])
        self.curvature = self.curvature.restrict(on)
        self.preconditioner = self.preconditioner.restrict(on)
        self.active = np.ones(len(self.classes), dtype=bool)

    def _store(self) -> tuple[Array, Array]:
        """Steps and gains of all classes, those that have left included."""
        if self.left is None:
            self.left = self.P, self.gain
        else:
            for whole, part in zip(self.left, (self.P, self.gain), strict=True):
                whole[self.classes] = part
        return self.left

    def result(self) -> Step:
        """Step and gain of all classes."""
        return Step(*self._store(), self.promise, self.whole)


def newton_gain(point: Objective, is_convex: bool) -> Array:
    """What a Newton step would gain: the suboptimality of each class, measured."""
    curvature, gradient = point.hessian(), point.gradient
    step = newton_step(curvature, gradient, _MEASURE, np.inf, is_convex=is_convex)
    return step.gain
