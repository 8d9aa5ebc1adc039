"""Preconditioned conjugate gradients for several classes at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noiseproof.design import Array
from noiseproof.objectives.base import PenalizedCurvature

# Classes that are done still ride along in a pass until this part of them is done
_COMPACT = 0.75


class Step(NamedTuple):
    """An inexact Newton step and what the quadratic model says it gains."""

    P: Array
    gain: Array


def dot(A: Array, B: Array) -> Array:
    """Inner product for each class."""
    return np.einsum("kd,kd->k", A, B)


def newton_step(
    curvature: PenalizedCurvature, gradient: Array, accuracy: float, max_iter: int = 200
) -> Step:
    """Minimise g·p + ½ p·H p for each class, preconditioned.

    A class is done when its residual, in the norm of the preconditioner, has fallen by
    the factor `accuracy`; or where the curvature along a search direction is not
    positive (a non-convex loss): then with what it has, at least the preconditioned
    gradient step.
    """
    k = len(gradient)
    out = Step(np.zeros_like(gradient), np.zeros(k))
    preconditioner = curvature.preconditioner()
    classes = np.arange(k)  # those still in work, as rows of all arrays below
    active = np.ones(k, dtype=bool)
    residual = -gradient
    P = np.zeros_like(gradient)
    direction = preconditioner.solve(residual)
    rz = dot(residual, direction)
    goal = accuracy**2 * rz
    active &= rz > 0
    for iteration in range(max_iter):
        if not active.any():
            break
        if active.mean() <= _COMPACT:
            out.P[classes] = P
            classes, goal, rz = classes[active], goal[active], rz[active]
            P, residual, direction = P[active], residual[active], direction[active]
            curvature = curvature.restrict(active)
            preconditioner = preconditioner.restrict(active)
            active = np.ones(len(classes), dtype=bool)
        H_direction = curvature.product(direction)
        bend = dot(direction, H_direction)
        flat = active & ~(bend > 0)
        if iteration == 0:
            P[flat] = direction[flat]
        active &= ~flat
        alpha = np.where(active, rz / np.where(bend > 0, bend, 1.0), 0.0)
        P += alpha[:, None] * direction
        residual -= alpha[:, None] * H_direction
        out.gain[classes] += 0.5 * alpha * rz
        Z = preconditioner.solve(residual)
        new_rz = dot(residual, Z)
        active &= new_rz > goal
        direction = Z + (new_rz / np.where(rz > 0, rz, 1.0))[:, None] * direction
        rz = new_rz
    out.P[classes] = P
    return out
