"""Every row moves along a curve of its own: a little rotation, a little shift."""

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
    """Move each row along x + t x' + t² x'' + ... to the worst t up to the span.

    The lead over one rival class is a polynomial in t. It is lowest at an end or where
    its derivative is zero, and these few points are all tried: they are eigenvalues of
    the companion matrix. (The semidefinite case of Teo et al. 2008, section 4.)
    Missing entries (NaN) of a row that moves count as zero.

    Parameters
    ----------
    degree : int, default=2
        Highest power of t.
    span : float, default=1.0
        The largest absolute value of t.
    tangents : callable, sequence of matrices, or None, default=None
        What to multiply the powers of t with: a function of a row x of shape (d,) that
        gives x', x'', ... as an array of shape (degree, d), or that many (d, d)
        matrices, dense or sparse, for curves that are linear in x. None means that
        the row is a signal that is delayed by t places: the Taylor series of
        x(j - t), with central differences for derivatives.

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
        """Rows without holes, their tangents, worst t and lowest lead per rival."""
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
                f"({d}, {d}), one per power of t; got {[M.shape for M in maps]}."
            )
        return [X @ M.T for M in maps]

    def _called_tangents(self, X: Any, tangents: Callable[[Array], Any]) -> list[Any]:
        wanted = (self.degree, X.shape[1])
        lines: list[list[Any]] = [[] for _ in range(self.degree)]
        for x in dense_rows(X):
            curve = np.asarray(tangents(x), dtype=np.float64)
            if curve.shape != wanted:
                raise ValueError(
                    f"Trajectory.tangents must give an array of shape {wanted}, a line "
                    f"per power of t; got {curve.shape}."
                )
            for line, of_power in zip(curve, lines, strict=True):
                of_power.append(as_container(line[None], X))
        return [stack(of_power) if of_power else X for of_power in lines]

    def check(self) -> None:
        """Raise one clear sentence if no curve has such a degree or span."""
        if not isinstance(self.degree, Integral) or self.degree < 1:
            raise ValueError(
                f"Trajectory.degree must be a whole number from 1 on; "
                f"got {self.degree!r}."
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
    """Where in [-1, 1] polynomials are lowest, and how low.

    `powers` (degree + 1, ...) holds their coefficients, the constants first. Of equally
    low points, zero is taken if it is one.
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
    """Points of [-1, 1] among which are the real roots there of polynomials."""
    degree = len(powers) - 1
    scale = np.abs(powers).max(axis=0)
    # where the highest power is missing, one root goes far out and is clipped
    tiny = 1e-14 * np.where(scale > 0, scale, 1)
    highest = np.where(np.abs(powers[-1]) > tiny, powers[-1], tiny)
    companion = np.zeros((*powers.shape[1:], degree, degree))
    companion[..., 1:, :-1] = np.eye(degree - 1)
    companion[..., :, -1] = np.moveaxis(-powers[:-1] / highest, 0, -1)
    roots = np.clip(np.moveaxis(np.linalg.eigvals(companion).real, -1, 0), -1, 1)
    for _ in range(3):  # Newton steps, for what large entries cost in digits
        slope = polyval(roots, polyder(powers), tensor=False)
        slope = np.where(np.abs(slope) > tiny, slope, np.inf)
        roots = np.clip(roots - polyval(roots, powers, tensor=False) / slope, -1, 1)
    return roots
