"""What the terms of an objective offer: sums over rows that add up."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import Array


class Parameters:
    """How the parameters θ of a term are laid out: weights, then the intercept."""

    fit_intercept: bool

    def split(self, theta: Array) -> tuple[Array, Array]:
        """Weights and intercepts of θ; a direction splits the same way."""
        if self.fit_intercept:
            return np.ascontiguousarray(theta[:, :-1]), theta[:, -1]
        return theta, np.zeros(len(theta))

    def join(self, W: Array, b: Array) -> Array:
        """θ, or a gradient in it, from its two parts."""
        return np.concatenate([W, b[:, None]], axis=1) if self.fit_intercept else W


class Curvature(Protocol):
    """A symmetric matrix per class, known by what it does."""

    @property
    def diagonal(self) -> Array:
        """Diagonal of each matrix, (k, d + 1)."""

    def product(self, P: Array) -> Array:
        """Product with one vector per class."""

    def stiff_rows(self, k: int) -> Any:
        """Rows, scaled, whose curvature dwarfs the rest for class `k`; or None."""

    def restrict(self, classes: Any) -> Curvature:
        """The matrices of some classes only."""


class TermPoint(Protocol):
    """A term evaluated at some θ."""

    @property
    def value(self) -> Array:
        """Value of each class, (k,)."""

    @property
    def gradient(self) -> Array:
        """Gradient of each class, (k, d + 1)."""

    @property
    def smoothing_gap(self) -> Array:
        """What smoothing adds to the value, (k,)."""

    def hessian(self, majorized: NDArray[np.bool_] | None = None) -> Curvature:
        """Second derivatives; for the `majorized` classes those of the majoriser."""

    def majorizer(self) -> Curvature:
        """Curvature of a quadratic that touches the term here from above."""

    def majorizer_matrix(self, k: int) -> Array:
        """The same for one class, as a dense matrix."""

    def ray(self, P: Array) -> TermRay:
        """The term along θ + α P."""

    def restrict(self, classes: Any) -> TermPoint:
        """The term of some classes only."""

    def smoothed(self, smoothing: float) -> TermPoint:
        """The term at the same θ, smoothed otherwise; nothing is evaluated again."""


class TermRay(Protocol):
    """A term along a direction."""

    def point(self, alpha: Array) -> TermPoint:
        """The term at that step."""


class Term(Protocol):
    """A sum over rows of losses, C included."""

    @property
    def null_value(self) -> Array:
        """Value at θ = 0, (k,)."""

    def at(self, theta: Array) -> TermPoint:
        """Evaluate."""

    def restrict(self, classes: Any) -> Term:
        """The term of some classes only."""

    def smoothed(self, smoothing: float) -> Term:
        """The term with the kinks of its loss rounded off."""
