"""Conditionals in a graph: draws of the missing values of rows.

Each function mirrors a method of a conditional, which its docstring names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from noiseproof.conditionals import Donors, JointGaussian, steps_of
from noiseproof.serving.onnx.graph import Graph, Tensor, concat, exp, rint
from noiseproof.serving.onnx.regression import expected, numbers_for_a_row, times

_ROWS, _NUMBERS = 16, 2**16  # at once: what stays in a processor's cache


def draws(law: Any, codes: Tensor, n_draws: int) -> list[Tensor]:
    """`Conditional.draws` of incomplete rows: codes (n, k, d) and weights (n, k)."""
    fill = FILLS[type(law)]
    return _by_blocks(law, codes, n_draws, partial(fill, law, n_draws), ranks=[3, 2])


def n_draws_of(law: Any, at_most: int) -> int:
    """Number of draws that a conditional makes for a row."""
    if isinstance(law, Donors):
        return min(law.n_donors, at_most, len(law.rows_))
    return at_most


def of_scores(
    law: Any,
    codes: Tensor,
    linear: dict[str, Any],
    answer: Callable[[Tensor, Tensor], Tensor],
) -> list[Tensor]:
    """`JointGaussian.scores`, and what follows from the scores.

    That is a function of their means (n, c) and covariances (n, c, c).
    """
    coef, intercept = linear["coef"], linear["intercept"]
    cells, regression = law.cells_, law.regression_
    weights = coef * cells.scales

    def block(part: Tensor) -> list[Tensor]:
        Z, observed = _features(cells, part)
        of_holes = observed.insert(1).where(0.0, part.graph.constant(weights))
        with_all = times(regression, of_holes)
        both = concat([Z.insert(1), with_all], axis=1)
        both, one = expected(regression, observed, both), part.graph.indices(1)
        mean = both.first(one, axis=1).squeeze(1) @ weights.T
        left = with_all - both.after(one, axis=1)
        constant = coef @ cells.means + intercept
        covariance = of_holes.op("Einsum", left, equation="nid,njd->nij")
        return [answer(mean + constant, covariance)]

    return _by_blocks(law, codes, 1 + len(coef), block, ranks=[2])


def _by_blocks(
    law: Any,
    codes: Tensor,
    width: int,
    compute: Callable[[Tensor], Any],
    ranks: list[int],
) -> list[Tensor]:
    """Apply a function to blocks of rows, to save memory.

    It solves equations with `width` right sides for each row.
    """
    each = numbers_for_a_row(law.regression_, width)
    size = max(1, min(_ROWS, _NUMBERS // each))
    graph, count = codes.graph, codes.size(0)
    length = count.at_most(size)
    blocks = (count + length - 1) / length
    rows = blocks * length  # the last row is taken again until the last block is full
    places = graph.node(
        "Range",
        *(value.squeeze(0) for value in (graph.indices(0), rows, graph.indices(1))),
        dtype=np.int64,
    ).at_most(count - 1)
    parts = codes.take(places).reshape(blocks, length, len(law.cells_.means))
    found = graph.scan(compute, [], [parts], ranks)
    return [_joined(value, count) for value in found]


def _joined(value: Tensor, count: Tensor) -> Tensor:
    """Blocks of rows as rows."""
    rest = value.op("Shape", start=2, dtype=np.int64)
    rows = value.op("Reshape", value.graph.shape(-1, rest))
    return rows.first(count)


def _donors(law: Donors, n_draws: int, codes: Tensor) -> list[Tensor]:
    """`Donors._fill`: training rows that agree with the observed values."""
    places, squares, edge = _nearest(law, codes, n_draws)
    weights = _weights(squares, edge, law.bandwidth_)
    theirs = codes.graph.constant(law.rows_).double().take(places)
    if law.corrected:
        apart = _donor_features(law, codes).insert(1) - _donor_features(law, theirs)
        theirs = _corrected(law, theirs, _observed(law.cells_, codes), apart)
    own = codes.insert(1)
    return [own.isnan().where(theirs, own), weights]


def _nearest(
    law: Donors, codes: Tensor, k: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    """`Donors._nearest`: indices and squared distances of the nearest k + 1 rows.

    Of equal distances TopK takes the first row, as `Donors` does.
    """
    width = min(k + 1, len(law.rows_))
    graph, grid = codes.graph, law._grid()
    squares, places = graph.node(
        "TopK",
        _squares(law, codes, grid),
        graph.indices(width),
        largest=0,
        sorted=1,
        n_outputs=2,
        dtype=[np.float64, np.int64],
    )
    squares = squares * grid**2
    nearest = graph.indices(k)
    edge = squares.after(nearest, axis=1) if width > k else None
    return places.first(nearest, axis=1), squares.first(nearest, axis=1), edge


def _squares(law: Donors, codes: Tensor, grid: float) -> Tensor:
    """`Donors._squares`: D² less Σ z², as one product [M, -2 Z] [X∘X, X]'."""
    largest = 2.0 ** law._bits()
    observed = _observed(law.cells_, codes)
    Z = observed.where(rint(_donor_features(law, codes, grid)), 0.0)
    Z = Z.at_least(-largest).at_most(largest)

    def reference() -> Tensor:
        X = rint(_donor_features(law, graph.constant(law.rows_).double(), grid))
        return concat([X * X, X], axis=1)

    graph: Graph = codes.graph
    asked = concat([observed.double(), Z * -2.0], axis=1)
    return asked.op("Gemm", graph.outside(reference), transB=1)


def _weights(squares: Tensor, edge: Tensor | None, bandwidth: float) -> Tensor:
    """`donors._weights`: e^(-D²/2h²) less its value at the edge; rows sum to one."""
    spread, nearest = 2 * bandwidth**2, squares.min(axis=1)
    weights = exp((nearest - squares) / spread)
    if edge is not None:
        weights = weights - exp((nearest - edge) / spread)
    none = weights.max(axis=1) <= 0.0  # all as near as the next one
    weights = none.where(1.0, weights)
    return weights / weights.sum(axis=1)


def _corrected(law: Donors, theirs: Tensor, observed: Tensor, apart: Tensor) -> Tensor:
    """`Donors._correct`: donors' values, shifted by the regression on differences."""
    cells = law.cells_
    moves = expected(law.regression_, observed, apart)
    if not cells.is_number.all():
        moves = moves.take(cells.firsts, axis=2)
        moves = theirs.graph.constant(cells.is_number).where(moves, 0.0)
    shifted = theirs + _rounded(moves * cells.scales, cells.scales)
    return shifted.at_least(cells.low).at_most(cells.high)


def _gaussian(law: JointGaussian, n_draws: int, codes: Tensor) -> list[Tensor]:
    """`JointGaussian._fill`: fixed draws of rows, moved to the observed values."""
    cells, start = law.cells_, law._starts(n_draws)
    Z, observed = _features(cells, codes)
    moved = expected(law.regression_, observed, Z.insert(1) - start)
    drawn = _rounded((moved + start) * cells.scales + cells.means, cells.scales)
    filled = observed.insert(1).where(codes.insert(1), drawn)
    weights = codes.graph.constant(np.full((1, n_draws), 1.0 / n_draws))
    return [filled, weights.spread(codes.size(0))]


FILLS: dict[type, Callable[..., list[Tensor]]] = {
    Donors: _donors,
    JointGaussian: _gaussian,
}


def _rounded(numbers: Tensor, scales: Any) -> Tensor:
    """`rounding.rounded`: multiples of a power of two, some 2^-40 of the scale."""
    steps = steps_of(scales)
    return rint(numbers / steps) * steps


def _observed(cells: Any, codes: Tensor) -> Tensor:
    """Which features are observed."""
    there = ~codes.isnan()
    return there if cells.is_number.all() else there.take(cells.owner, axis=1)


def _features(cells: Any, codes: Tensor) -> tuple[Tensor, Tensor]:
    """`Cells.features` of numbers: in standard deviations, zero where missing."""
    observed = ~codes.isnan()
    return observed.where((codes - cells.means) / cells.scales, 0.0), observed


def _donor_features(law: Donors, codes: Tensor, unit: float = 1.0) -> Tensor:
    """`Donors._features`, of codes (..., d): numbers and indicators of words."""
    cells = law.cells_
    if cells.is_number.all():
        return (codes - cells.means) * (1.0 / (cells.scales * unit))
    owner = cells.owner
    wide = codes.take(owner, axis=-1)
    numbers = (wide - cells.means[owner]) / cells.scales[owner]
    words = wide.equals(np.arange(len(owner)) - cells.firsts[owner]).double()
    is_number = codes.graph.constant(cells.is_number[owner])
    return is_number.where(numbers, words) / unit
