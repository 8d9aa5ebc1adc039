"""Newton's method for few features: the matrix of second derivatives, factored.

One pass over the data gives value, gradient and matrix of all classes at a new θ, and
all of them are sums over rows. So a step costs one pass, or one round where the rows
are in many places, however badly conditioned the problem is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noiseproof._marginal.objective import Expansion, Objective, Solution
from noiseproof._rows import Array
from noiseproof._stop import Stop

_SUFFICIENT = 1e-4  # Armijo's constant
_SHORTEST = 2.0**-40  # part of a step
_BLUR = 1e-15  # rounding of a value
# A step of the majoriser that gains a larger part of the objective is followed by
# another: Newton's own would overshoot there
_FAR = 0.1
_LONGEST_STEP = 1000.0  # of the intercept, in widths of the kink
_FLAT = 1e-12  # part of the largest eigenvalue below which a direction counts as flat


def factored_newton(start: Objective, stop: Stop) -> Solution:
    """Newton's method with a backtracking line search, all classes in step.

    Far from the minimum, where a Newton step overshoots, a class takes the step of the
    quadratic majoriser instead, if its loss has one: that never overshoots. A class
    is at its minimum when the Newton decrement says so, which is exact here.
    """
    walk = _Walk(start, stop)
    for n_iter in range(1, stop.max_iter + 1):
        if not walk.at_minimum.all():
            walk.advance()
        stopped = stop.tell(n_iter, walk.expansion.value, walk.gain / walk.size)
        if stopped or not walk.going.any():
            break
    return Solution(walk.point, n_iter, bool(walk.at_minimum.all()), stopped)


class _Walk:
    """Where all classes are, and the step that each would take next.

    Attributes
    ----------
    point : Objective
        The objective there.
    expansion : Expansion
        Its value, gradient and matrix.
    careful : array of bool
        Whose matrix is that of the majoriser.
    P, gain : arrays
        The next step, and what it should gain.
    stuck : array of bool
        Who can gain nothing, though the gradient promises it.
    """

    def __init__(self, start: Objective, stop: Stop):
        self.tol = stop.tol
        self.careful = np.logical_and(start.has_majorizer, ~start.theta.any(axis=1))
        self.stuck = np.zeros(len(start.theta), dtype=bool)
        self._arrive(start, start.expansion(self.careful))

    def _arrive(self, point: Objective, expansion: Expansion) -> None:
        self.point, self.expansion = point, expansion
        self.size = point.size
        matrix = expansion.matrix
        if point.kink_width and point.fit_intercept:
            # where a kinked loss is flat nothing holds the unpenalised intercept back;
            # this bounds its step, and vanishes with the gradient
            matrix = matrix.copy()
            pull = np.abs(expansion.gradient[:, -1])
            matrix[:, -1, -1] += pull / (_LONGEST_STEP * point.kink_width)
        self.P, self.gain = newton_steps(matrix, expansion.gradient)

    @property
    def at_minimum(self) -> NDArray[np.bool_]:
        """Whose Newton step is too small to be worth taking."""
        return ~self.careful & self.point.is_small(self.gain, self.tol)

    @property
    def going(self) -> NDArray[np.bool_]:
        """Who is not done."""
        return ~self.at_minimum & ~self.stuck

    def advance(self) -> None:
        """Take the longest of the steps 1, ½, ¼, ... that gains enough, for each."""
        going = self.going
        before, theta = self.expansion, self.point.theta.copy()
        careful = self.careful & (self.gain > _FAR * np.abs(before.value))
        there = Expansion(*(part.copy() for part in before))
        slope, alpha = -2 * self.gain, 1.0
        searching = np.flatnonzero(going)
        while len(searching) and alpha >= _SHORTEST:
            trial = self.point.theta[searching] + alpha * self.P[searching]
            part = self.point.restrict(searching).at(trial)
            found = part.expansion(careful[searching])
            value = before.value[searching]
            enough = value + _SUFFICIENT * alpha * slope[searching]
            good = found.value <= enough + _BLUR * np.abs(value)
            for whole, piece in zip(there, found, strict=True):
                whole[searching[good]] = piece[good]
            theta[searching[good]] = trial[good]
            searching = searching[~good]
            careful[searching] = self.point.has_majorizer
            alpha /= 2
        self.stuck[searching] = True
        careful[self.at_minimum] = False
        self.careful = careful
        self._arrive(self.point.known_at(theta, there), there)


def newton_steps(matrix: Array, gradient: Array) -> tuple[Array, Array]:
    """-H⁻¹ g and ½ gᵀ H⁻¹ g for each class; with |H| where H is not positive."""
    diagonal = np.abs(np.diagonal(matrix, axis1=1, axis2=2))
    floor = 1e-30 * np.maximum(diagonal.mean(axis=1, keepdims=True), 1e-270)
    scale = 1 / np.sqrt(np.maximum(diagonal, floor))
    H, g = matrix * scale[:, :, None] * scale[:, None, :], gradient * scale
    try:
        np.linalg.cholesky(H)  # refuses what is not positive definite
        step = np.linalg.solve(H, g[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(H)
        size = np.maximum(np.abs(values), _FLAT * np.abs(values).max(axis=1)[:, None])
        step = np.einsum("kij,kj,klj,kl->ki", vectors, 1 / size, vectors, g)
    return -scale * step, 0.5 * np.einsum("kd,kd->k", step, g)
