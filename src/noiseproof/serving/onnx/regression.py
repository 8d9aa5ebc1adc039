"""The regression of missing features on observed ones, for any pattern, in a graph.

ONNX has no operator that solves linear equations, so Gauss and Jordan's elimination
runs in a `Scan` over the unknowns. The matrices are positive definite, so it needs no
pivoting.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from noiseproof.conditionals import FactorRegression, FullRegression
from noiseproof.serving.onnx.graph import Tensor, concat

_BLOCK = 16  # unknowns that are eliminated at once, if there are twice as many


def solve(matrices: Tensor, right: Tensor, size: int) -> Tensor:
    """A⁻¹ B for stacks of matrices A (n, size, size) and B (n, size, k).

    If there are many unknowns, blocks of them are eliminated, which needs fewer steps.
    """
    return _eliminated(matrices, right, size, 1 if size < 2 * _BLOCK else _BLOCK)


def _eliminated(matrices: Tensor, right: Tensor, size: int, block: int) -> Tensor:
    """A⁻¹ B, by steps that each turn a block J of columns into those of the identity.

    With the rows R = A_JJ⁻¹ [A B]_J a step is [A B] - (A_·J - I_·J) R, whose rows J are
    R.
    """
    graph, n_blocks = matrices.graph, size // block
    places = np.arange(size, dtype=np.int64)

    def step(length: int, state: Tensor, at: Tensor, unit: Tensor) -> list[Tensor]:
        rows = state.take(at, axis=1)
        pivot = rows.take(at, axis=2)
        if length == 1:
            rows = rows / pivot
        else:
            rows = _eliminated(pivot, pivot * 0.0 + np.eye(length), length, 1) @ rows
        return [state - (state.take(at, axis=2) - unit) @ rows]

    state, even = concat([matrices, right], axis=2), n_blocks * block
    units = np.eye(size)[:, :even].T.reshape(n_blocks, block, size)
    (state,) = graph.scan(
        partial(step, block),
        [state],
        [
            graph.constant(places[:even].reshape(n_blocks, block)),
            graph.constant(np.swapaxes(units, 1, 2)),
        ],
        ranks=[3],
    )
    if even < size:
        rest, unit = graph.constant(places[even:]), np.eye(size)[:, even:]
        (state,) = step(size - even, state, rest, graph.constant(unit))
    return state.after(graph.indices(size), axis=2)


def expected(regression: Any, observed: Tensor, deviations: Tensor) -> Tensor:
    """`Regression.expected`: E[x | observed features]; observed features stay.

    `observed` is (n, p) and `deviations` (n, k, p); entries that are not observed are
    not read.
    """
    seen = observed.insert(1)
    known = seen.where(deviations, 0.0)
    guess = _GUESSES[type(regression)](regression, observed.double(), known)
    return seen.where(deviations, guess)


def _full(regression: Any, seen: Tensor, known: Tensor) -> Tensor:
    """Σ_mo Σ_oo⁻¹ x_o, with the identity in the place of what is missing in Σ_oo."""
    covariance, size = regression.covariance, len(regression.covariance)
    rows, columns = seen.insert(2), seen.insert(1)
    within = rows * columns * covariance + (1.0 - rows) * np.eye(size)
    return (covariance @ solve(within, known.transposed(), size)).transposed()


def _factors(regression: Any, seen: Tensor, known: Tensor) -> Tensor:
    """F (I + F_o' D_o⁻¹ F_o)⁻¹ F_o' D_o⁻¹ x_o (Woodbury's identity)."""
    factors, rank = regression.factors, regression.factors.shape[1]
    scaled = factors / regression.rest[:, None]
    precision = (seen.insert(1) * scaled.T) @ factors + np.eye(rank)
    moments = known @ scaled
    return (factors @ solve(precision, moments.transposed(), rank)).transposed()


_GUESSES: dict[type, Callable[..., Tensor]] = {
    FullRegression: _full,
    FactorRegression: _factors,
}


def times(regression: Any, vectors: Tensor) -> Tensor:
    """`Regression.times`: products of vectors with the covariance."""
    if isinstance(regression, FullRegression):
        return vectors @ regression.covariance
    factors = regression.factors
    return (vectors @ factors) @ factors.T + vectors * regression.rest


def numbers_for_a_row(regression: Any, n_right: int) -> int:
    """Number of entries in the equations of one row."""
    if isinstance(regression, FullRegression):
        size = len(regression.covariance)
        return size * (size + n_right)
    features, rank = regression.factors.shape
    return features * rank + rank * (rank + n_right)
