"""Attacks that move each row along a curve, such as a small shift of a signal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.polynomial.polynomial import polyder, polyval
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import as_container, assemble, dense_rows, stack, zero_missing
from noiseproof.attacks.base import Array, Attack, LinearMargins, score_leads

Tangents = Callable[[Array], ArrayLike] | Sequence[Any] | Array | None


@shared_docs
class Trajectory(Attack):
    """Move each row along the curve x + t x' + t² x'' + ... to the worst t.

    The difference of the scores of two classes is a polynomial in t. Its minimum over
    -span <= t <= span is at an end or where the derivative is zero. All these
    points are tried. They are found as eigenvalues of the companion matrix. (This is
    the semidefinite case of Teo et al. 2008, section 4.) Missing values (NaN) of a row
    that moves count as zero.

    Parameters
    ----------
    degree : int, default=2
        Highest power of t.
    span : float, default=1.0
        Maximum absolute value of t.
    tangents : callable, sequence of matrices, or None, default=None
        The coefficients x', x'', ... of the powers of t. A callable takes a row x of
        shape (d,) and returns them as an array of shape (degree, d). For curves that
        are linear in x pass `degree` matrices of shape (d, d), dense or sparse. None
        means that a row is a signal which is delayed by t positions: the Taylor series
        of x(j - t), with central differences as derivatives.

    {See Also: ImageRotation}

    {References: Teo 2008}

    Examples
    --------
    >>> from noiseproof.attacks import Trajectory
    >>> Trajectory(degree=1, span=0.5).worst([[0.0, 2.0, 0.0]], [1], [0.0, 1.0, 3.0])
    array([[ 0.5,  2. , -0.5]])
    >>> def bend(x):
    ...     return [[1.0, 0.0], [0.0, 1.0]]
    >>> parabola = Trajectory(degree=2, span=3.0, tangents=bend)
    >>> parabola.worst([[0.0, 0.0]], [1], [1.0, 0.25])
    array([[-2.,  4.]])
    """

    level_name = "span"

    def __init__(self, degree: int = 2, span: float = 1.0, tangents: Tangents = None):
        self.degree = degree
        self.span = span
        self.tangents = tangents

    def _worst(self, X: Any, model: LinearMargins) -> Any:
        clean, tangents, t, lowest = self._attack(X, model)
        best = lowest.argmin(axis=1)
        t = t[np.arange(len(best)), best]
        still, moving = np.flatnonzero(t == 0), np.flatnonzero(t)
        moved = clean[moving]
        for power, tangent in enumerate(tangents, start=1):
            moved = moved + sp.diags_array(t[moving] ** power) @ tangent[moving]
        parts = [(still, X[still]), (moving, moved.astype(X.dtype))]
        return assemble([part for part in parts if len(part[0])], X)

    def _drop(self, X: Any, model: LinearMargins) -> Array:
        lowest = self._attack(X, model)[3].min(axis=1)
        return model.margins(X, model.label) - lowest

    def _attack(
        self, X: Any, model: LinearMargins
    ) -> tuple[Any, list[Any], Array, Array]:
        """Rows with zeros for missing values, tangents, worst t and lowest leads."""
        self.check()
        clean = zero_missing(X)
        tangents = self._tangents(clean)
        slopes = [np.asarray(tangent @ model.coef.T) for tangent in tangents]
        powers = [model.leads(clean, model.label)]
        for power, slope in enumerate(slopes, start=1):
            lead = score_leads(slope, model.label, itself=0.0)
            powers.append(lead * self.span**power)
        s, lowest = lowest_points(np.stack(powers))
        return clean, tangents, s * self.span, lowest

    def _tangents(self, X: Any) -> list[Any]:
        """x', x'', ... of all rows, each in the container of X."""
        d = X.shape[1]
        if callable(self.tangents):
            return self._called_tangents(X, self.tangents)
        maps = _delays(self.degree, d) if self.tangents is None else self.tangents
        maps = [sp.csr_array(M) for M in maps]
        if [M.shape for M in maps] != [(d, d)] * self.degree:
            raise ValueError(
                f"Trajectory.tangents must be {self.degree} matrices of shape "
                f"({d}, {d}), one for each power of t; got {[M.shape for M in maps]}."
            )
        return [X @ M.T for M in maps]

    def _called_tangents(self, X: Any, tangents: Callable[[Array], Any]) -> list[Any]:
        wanted = (self.degree, X.shape[1])
        lines: list[list[Any]] = [[] for _ in range(self.degree)]
        for x in dense_rows(X):
            curve = np.asarray(tangents(x), dtype=np.float64)
            if curve.shape != wanted:
                raise ValueError(
                    f"Trajectory.tangents must return an array of shape {wanted}, one "
                    f"row for each power of t; got {curve.shape}."
                )
            for line, of_power in zip(curve, lines, strict=True):
                of_power.append(as_container(line[None], X))
        return [stack(of_power) if of_power else X for of_power in lines]

    def check(self) -> None:
        """Raise an error if the degree or the span is invalid."""
        if not isinstance(self.degree, Integral) or self.degree < 1:
            raise ValueError(
                "Trajectory.degree must be a whole number, at least 1; got "
                f"{self.degree!r}."
            )
        self._legal(self.span)


def _delays(degree: int, d: int) -> list[Any]:
    """Matrices of the Taylor series of a delay, from central differences."""
    side = np.full(max(d - 1, 0), 0.5)
    step = sp.diags_array([side, -side], offsets=[-1, 1], shape=(d, d), format="csr")
    maps = [step]
    for _ in range(degree - 1):
        maps.append(maps[-1] @ step)
    return [M / math.factorial(power) for power, M in enumerate(maps, start=1)]


def lowest_points(powers: Array) -> tuple[Array, Array]:
    """Minima of polynomials over [-1, 1]: the points, and the values there.

    `powers` (degree + 1, ...) are the coefficients, the constants first. If zero is one
    of several minima, it is taken.
    """
    zero = np.zeros(powers.shape[1:])
    points = [zero, zero - 1, zero + 1]
    if len(powers) > 2:
        points.extend(_roots(np.asarray(polyder(powers), dtype=np.float64)))
    t = np.stack(points)
    values = polyval(t, powers, tensor=False)
    best = values.argmin(axis=0)[None]
    return np.take_along_axis(t, best, 0)[0], np.take_along_axis(values, best, 0)[0]


def _roots(powers: Array) -> Array:
    """Points of [-1, 1] that include all real roots of polynomials in that range."""
    degree = len(powers) - 1
    scale = np.abs(powers).max(axis=0)
    # if the coefficient of the highest power is zero, one root is huge and is clipped
    tiny = 1e-14 * np.where(scale > 0, scale, 1)
    highest = np.where(np.abs(powers[-1]) > tiny, powers[-1], tiny)
    companion = np.zeros((*powers.shape[1:], degree, degree))
    companion[..., 1:, :-1] = np.eye(degree - 1)
    companion[..., :, -1] = np.moveaxis(-powers[:-1] / highest, 0, -1)
    roots = np.clip(np.moveaxis(np.linalg.eigvals(companion).real, -1, 0), -1, 1)
    for _ in range(3):  # Newton steps restore the accuracy lost to large coefficients
        slope = polyval(roots, polyder(powers), tensor=False)
        slope = np.where(np.abs(slope) > tiny, slope, np.inf)
        roots = np.clip(roots - polyval(roots, powers, tensor=False) / slope, -1, 1)
    return roots
