"""The one place where noise, loss and design meet.

    objective(θ) = ½ ‖w‖² + Σ_terms term(θ),      θ = (w, b)

for `k` one-vs-rest problems at once: θ has shape (k, d + 1) or (k, d), a row per
class, with the intercept, which is neither penalised nor noised, in the last column.
Values are (k,), gradients (k, d + 1). Solvers see `Objective` and `Point` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._marginal.conjugate_gradient import Preconditioner
from noiseproof._marginal.cumulant import CumulantTerm
from noiseproof._marginal.losses import CumulantLoss, Loss, MomentLoss
from noiseproof._marginal.losses.mixture import Mixture
from noiseproof._marginal.moment import MomentTerm
from noiseproof._marginal.terms import Curvature, Term, TermPoint, TermRay
from noiseproof._rows import Array, Design
from noiseproof.noise import Dropout, Noise

_VANISHED = 1e-6  # of the zero model's objective: a fit this much better is perfect


def _total(parts: Iterable[Array]) -> Array:
    """The sum, without the pass that adding the first part to 0 would cost."""
    return reduce(np.add, parts)


class Objective:
    """½ ‖w‖² + a sum of terms.

    Parameters
    ----------
    terms : sequence of Term
        Sums over rows, which add up: over blocks of data, labelled or not.
    shape : tuple of int
        Number of classes and of parameters of each.
    fit_intercept : bool
        Whether the last parameter is an intercept.
    kink_width : float
        Smoothing that rounds the kinks of the terms off well; 0 if they have none.
    is_noisy : bool
        Whether the features have noise, which rounds kinks off, too.
    is_convex : bool
        Whether the curvature can only seem negative, by rounding.
    has_majorizer : bool
        Whether a quadratic can touch the terms from above.
    bound : float or array of shape (d,)
        The terms are finite only for abs(w) below this.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        shape: tuple[int, int],
        fit_intercept: bool,
        *,
        kink_width: float = 0.0,
        is_noisy: bool = True,
        is_convex: bool = True,
        has_majorizer: bool = False,
        bound: float | Array = np.inf,
    ):
        self.terms = terms
        self.shape = shape
        self.fit_intercept = fit_intercept
        self.kink_width = kink_width
        self.is_noisy = is_noisy
        self.is_convex = is_convex
        self.has_majorizer = has_majorizer
        self.bound = bound
        self.penalized = np.ones(shape[1])
        if fit_intercept:
            self.penalized[-1] = 0.0

    @cached_property
    def null_value(self) -> Array:
        """Objective of the zero model, without smoothing, (k,)."""
        return np.abs(_total(term.null_value for term in self.terms))

    def at(self, theta: Array) -> Point:
        """Evaluate at θ: one pass over the data."""
        return Point(self, theta, [term.at(theta) for term in self.terms])

    def _with_terms(self, terms: Sequence[Term], k: int) -> Objective:
        other = copy(self)
        other.terms, other.shape = terms, (k, self.shape[1])
        other.__dict__.pop("null_value", None)  # cached, and of the old terms
        return other

    def restrict(self, classes: Any) -> Objective:
        """The objective of some classes only."""
        k = len(np.arange(self.shape[0])[classes])
        return self._with_terms([term.restrict(classes) for term in self.terms], k)

    def smoothed(self, smoothing: float) -> Objective:
        """The objective with its kinks rounded off; it lies above this one."""
        terms = [term.smoothed(smoothing) for term in self.terms]
        return self._with_terms(terms, self.shape[0])


class Point:
    """An objective evaluated at θ; what was not asked for is not computed."""

    def __init__(self, objective: Objective, theta: Array, parts: Sequence[TermPoint]):
        self.objective = objective
        self.theta = theta
        self.parts = parts

    @cached_property
    def value(self) -> Array:
        """Objective of each class, (k,)."""
        w = self.theta * self.objective.penalized
        return 0.5 * np.einsum("kd,kd->k", w, w) + _total(p.value for p in self.parts)

    @cached_property
    def gradient(self) -> Array:
        """Gradient of each class, (k, d + 1)."""
        return self.theta * self.objective.penalized + _total(
            part.gradient for part in self.parts
        )

    @property
    def size(self) -> Array:
        """What accuracy is relative to: the value, unless that vanishes, (k,)."""
        return np.maximum(np.abs(self.value), _VANISHED * self.objective.null_value)

    @property
    def smoothing_gap(self) -> Array:
        """How far the smoothed objective lies above the true one here, (k,)."""
        return _total(part.smoothing_gap for part in self.parts)

    def hessian(self, majorized: NDArray[np.bool_] | None = None) -> PenalizedCurvature:
        """Second derivatives; for the `majorized` classes those of the majoriser."""
        return self._curvature([part.hessian(majorized) for part in self.parts])

    def majorizer(self) -> PenalizedCurvature:
        """Curvature of the quadratic that IRLS minimises (Chen et al. 2014)."""
        return self._curvature([part.majorizer() for part in self.parts])

    def majorizer_matrix(self, k: int) -> Array:
        """The same for class `k`, as a dense matrix."""
        matrix = np.diag(self.objective.penalized)
        return matrix + _total(part.majorizer_matrix(k) for part in self.parts)

    def _curvature(self, parts: Sequence[Curvature]) -> PenalizedCurvature:
        nothing = np.zeros(len(self.theta))
        return PenalizedCurvature(self.objective, parts, nothing)

    def ray(self, P: Array) -> Ray:
        """The objective along θ + α P."""
        return Ray(self, P, [part.ray(P) for part in self.parts])

    def restrict(self, classes: Any) -> Point:
        """The point of some classes only; nothing is evaluated again."""
        return Point(
            self.objective.restrict(classes),
            self.theta[classes],
            [part.restrict(classes) for part in self.parts],
        )

    def smoothed(self, smoothing: float) -> Point:
        """The same θ, smoothed otherwise; nothing is evaluated again."""
        parts = [part.smoothed(smoothing) for part in self.parts]
        return Point(self.objective.smoothed(smoothing), self.theta, parts)


class Ray:
    """An objective along a direction, with a step of its own for each class."""

    def __init__(self, start: Point, P: Array, parts: Sequence[TermRay]):
        self.start = start
        self.P = P
        self.parts = parts

    def theta(self, alpha: Array) -> Array:
        """θ + α P."""
        return self.start.theta + alpha[:, None] * self.P

    def point(self, alpha: Array) -> Point:
        """The point at step `alpha`."""
        parts = [part.point(alpha) for part in self.parts]
        return Point(self.start.objective, self.theta(alpha), parts)


class PenalizedCurvature:
    """The curvature of the terms plus that of the penalty: 1, for the intercept 0.

    Parameters
    ----------
    objective : Objective
        What is penalised, and whether all is convex.
    parts : sequence of Curvature
        The terms.
    lent : array of shape (k,)
        Curvature that the intercept of each class has been lent by the solver.
    """

    def __init__(self, objective: Objective, parts: Sequence[Curvature], lent: Array):
        self.objective = objective
        self.parts = parts
        self.lent = lent

    @property
    def is_convex(self) -> bool:
        """Whether it can only seem negative, by rounding."""
        return self.objective.is_convex

    def lend(self, damping: Array) -> PenalizedCurvature:
        """The same with curvature lent to the intercept of each class, (k,)."""
        return PenalizedCurvature(self.objective, self.parts, self.lent + damping)

    @property
    def diagonal(self) -> Array:
        """Diagonal of each matrix, (k, d + 1); made anew each time."""
        total = _total(part.diagonal for part in self.parts) + self.objective.penalized
        total[:, -1] += self.lent
        return total

    def product(self, P: Array) -> Array:
        """Product with one vector per class: one pass over the data."""
        total = _total(part.product(P) for part in self.parts)
        total += P * self.objective.penalized
        total[:, -1] += self.lent * P[:, -1]
        return total

    def preconditioner(self) -> Preconditioner:
        """An approximate inverse."""
        diagonal = self.diagonal
        stiff = [self._stiff_rows(k) for k in range(len(diagonal))]
        return Preconditioner(diagonal, stiff)

    def _stiff_rows(self, k: int) -> Any:
        found = [part.stiff_rows(k) for part in self.parts]
        found = [rows for rows in found if rows is not None]
        if len(found) < 2:
            return found[0] if found else None
        return sp.vstack([sp.csr_array(rows) for rows in found])

    def restrict(self, classes: Any) -> PenalizedCurvature:
        """The matrices of some classes only."""
        parts = [part.restrict(classes) for part in self.parts]
        return PenalizedCurvature(self.objective, parts, self.lent[classes])


def marginal_objective(
    design: Design,
    y: Array,
    weights: Array,
    noise: Noise,
    loss: Loss,
    fit_intercept: bool,
) -> Objective:
    """½ ‖w‖² + Σ_i c_i E[loss(y_i, w·x~_i + b)], for a row of `y` per class.

    Parameters
    ----------
    design : Design
        The data, n rows of d features.
    y : array of shape (k, n)
        Targets, or labels -1 and +1.
    weights : array of shape (n,)
        C times the sample weights.
    noise : Noise
        What corrupts the features.
    loss : Loss
        Row loss with its expectation.
    fit_intercept : bool
        Whether to add an intercept, neither penalised nor noised.
    """
    shape = (len(y), design.shape[1] + fit_intercept)
    if isinstance(loss, CumulantLoss):
        cumulant = CumulantTerm(design, y, weights, noise, loss, fit_intercept)
        bound = noise.max_slope()
        return Objective([cumulant], shape, fit_intercept, bound=bound)
    assert isinstance(loss, MomentLoss)
    law = noise.variance_law()
    moment = MomentTerm(design, y, weights, law, loss, fit_intercept)
    return Objective(
        [moment],
        shape,
        fit_intercept,
        kink_width=loss.kink_width,
        is_noisy=bool(np.any(law.constant) or np.any(law.scale)),
        is_convex=loss.convex,
        has_majorizer=loss.has_majorizer,
    )


__all__ = [
    "CumulantTerm",
    "MomentTerm",
    "Objective",
    "Point",
    "Ray",
    "Term",
    "marginal_objective",
    "semi_supervised_objective",
]


def semi_supervised_objective(
    design: Design,
    y: Array,
    weights: Array,
    noise: Noise,
    loss: Loss,
    fit_intercept: bool,
    *,
    unlabeled: Sequence[Design],
    alpha: float,
    C: float,
) -> Objective:
    """½ ‖w‖² + C { Σ s_i loss(v = 0) + ρ [R_labelled + α R_unlabelled] }.

    Wager et al. 2013, eq. (19), ρ = n / (n + α m), with n the summed sample weights and
    m the number of unlabelled rows. R = Σ loss(v) - loss(v = 0) does not depend on
    labels, so unlabelled rows have it too; they get label 1, which cancels.

    Parameters are those of `marginal_objective`, and

    unlabeled : sequence of Design
        The unlabelled rows, in as many containers as there are.
    alpha : float
        Weight of an unlabelled row against a labelled one.
    C : float
        Weight of the data, which `weights` has in it already.
    """
    n = weights.sum() / C
    share = n / (n + alpha * sum(part.shape[0] for part in unlabeled))
    blocks = [(design, y, weights, 1 - share, share)]
    for part in unlabeled:
        rows = part.shape[0]
        ones = np.ones((len(y), rows))
        blocks.append((part, ones, np.full(rows, C * share * alpha), -1.0, 1.0))
    terms: list[Term] = []
    for block in blocks:
        terms += _terms(*block, noise=noise, loss=loss, fit_intercept=fit_intercept)
    shape = (len(y), design.shape[1] + fit_intercept)
    bound = noise.max_slope() if isinstance(loss, CumulantLoss) else np.inf
    return Objective(terms, shape, fit_intercept, bound=bound, is_convex=False)


def _terms(
    design: Design,
    y: Array,
    weights: Array,
    plain: float,
    noisy: float,
    *,
    noise: Noise,
    loss: Loss,
    fit_intercept: bool,
) -> list[Term]:
    """Σ c_i [plain * loss(v = 0) + noisy * loss(v)] over one block of rows."""
    if isinstance(loss, MomentLoss):
        mixture, law = Mixture(loss, plain, noisy), noise.variance_law()
        return [MomentTerm(design, y, weights, law, mixture, fit_intercept)]
    assert isinstance(loss, CumulantLoss)
    return [
        CumulantTerm(design, y, factor * weights, law, loss, fit_intercept)
        for factor, law in ((plain, Dropout(0.0)), (noisy, noise))
    ]
