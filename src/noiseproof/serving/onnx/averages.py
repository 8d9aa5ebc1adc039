"""Averages over missing values in a graph, as `AverageOverMissing` computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from noiseproof.estimators import NEGLIGIBLE, TIE, TINY, Leaving, gaussian_points
from noiseproof.serving.onnx.answers import LINKS, Answer, Ask
from noiseproof.serving.onnx.conditionals import FILLS, draws, n_draws_of, of_scores
from noiseproof.serving.onnx.graph import (
    Tensor,
    concat,
    exp,
    log,
    sigmoid,
    softmax,
    sqrt,
)
from noiseproof.serving.onnx.rows import Rows, codes_of, empty_row, table_of

_EQUAL = 1e-6  # relative difference: trees of ONNX answer in single precision
_TURNS = 48  # of Newton and Schulz's iteration, for eigenvalues down to _SMALL
_SMALL = 1e-12  # added to eigenvalues, as a share of their sum


def averaged(model: Any, rows: Rows, method: str, ask: Ask) -> Answer:
    """`AverageOverMissing._answer`: the model for complete rows, else averages."""
    law, linear = model.conditional_, model.linear_
    if model.levels_:
        raise TypeError(
            "AverageOverMissing of a quantile model predicts a quantile of all draws, "
            "which cannot be written to ONNX; save it with noiseproof.save instead."
        )
    if model.treatments_ is not None:
        return _treated(model, rows, method, ask)
    left: Any = []
    if isinstance(law, Leaving):
        law, left = law.conditional_, law.columns
    if type(law) not in FILLS:
        raise TypeError(
            f"The conditional {type(law).__name__} cannot be written to ONNX; use "
            "Donors or JointGaussian."
        )
    codes, holes = codes_of(law.cells_, rows)
    stays = np.isin(np.arange(len(law.cells_.means)), left)
    gaps = holes.any(1) & (codes.isnan() & ~stays).any(1)
    if linear is not None and (method != "predict_proba" or linear["link"] is not None):
        return _in_closed_form(model, rows, method, ask, codes, gaps)
    return _by_draws(model, law, rows, method, ask, codes, gaps, stays)


def _treated(model: Any, rows: Rows, method: str, ask: Ask) -> Answer:
    """`Treatments.answer`: several members, weighted by which values are missing."""
    treated, law = model.treatments_, model.conditional_
    holes = codes_of(law.cells_, rows)[1]
    gaps, spare = holes.any(1), _typical_row(law, rows)
    groups = _Groups([~gaps, gaps])
    whole = Rows.stacked([rows.compress(~gaps), spare])
    own = ask(model.estimator_, whole, method)
    missing = holes.compress(gaps).double()
    patterns = treated.patterns.astype(np.float64)
    apart = missing.sum(1) + patterns.sum(axis=1)[None] - (missing @ patterns.T) * 2.0
    seen = (-apart).max(1) >= -treated.reach
    some = Rows.stacked([rows.compress(gaps), spare])
    mean: Any = 0.0
    for name, member in treated.members.items():
        weights = [float(of.get(name, 0.0)) for of in (treated.seen, treated.new)]
        if not any(weights):
            continue
        values = ask(member, some, method).values.double().first(groups.counts[1])
        graph = values.graph
        mean = values * seen.where(*map(graph.constant, weights)) + mean
    found = groups.joined([own.values.double().first(groups.counts[0]), mean])
    if own.places is None:
        return Answer(found)
    one = method == "decision_function" and len(model.classes_) == 2
    width = 1 if one else len(model.classes_)
    places = [own.places.first(groups.counts[0]), _best_places(mean, width)]
    return Answer(found, groups.joined(places))


def _in_closed_form(
    model: Any, rows: Rows, method: str, ask: Ask, codes: Tensor, gaps: Tensor
) -> Answer:
    """The mean of linear scores, or of the probabilities that follow from them."""
    linear, spare = model.linear_, _typical_row(model.conditional_, rows)
    n_scores = len(linear["coef"])
    by_link = method == "predict_proba"

    def answer(mean: Tensor, covariance: Tensor) -> Tensor:
        if not by_link:
            return mean
        return _integrated(LINKS[linear["link"]], mean, covariance, n_scores)

    width = max(n_scores, 2) if by_link else n_scores
    law = model.conditional_
    (mean,) = _if_any(
        gaps,
        lambda: of_scores(law, codes.compress(gaps), linear, answer),
        [(0, width)],
    )
    whole = ~gaps
    own = ask(model.estimator_, Rows.stacked([rows.compress(whole), spare]), method)
    groups = _Groups([whole, gaps])
    values = groups.joined([own.values.double().first(groups.counts[0]), mean])
    if own.places is None:
        return Answer(values)
    places = [own.places.first(groups.counts[0]), _best_places(mean, width)]
    return Answer(values, groups.joined(places))


def _by_draws(
    model: Any,
    law: Any,
    rows: Rows,
    method: str,
    ask: Ask,
    codes: Tensor,
    gaps: Tensor,
    stays: Any,
) -> Answer:
    """`Averager._moments`: means of the answers for the draws of each row.

    The model gets the complete rows and all draws at once. A row without observed
    values gets the average over the training distribution, which is a constant.
    """
    cells = law.cells_
    drawn = gaps & (~codes.isnan()).any(1)
    groups = _Groups([~gaps, drawn, gaps & ~drawn])
    k, width = n_draws_of(law, model.n_draws), len(cells.means)
    filled, weights = _if_any(
        drawn, lambda: draws(law, codes.compress(drawn), k), [(0, k, width), (0, k)]
    )
    if stays.any():  # in `Leaving.draws`
        left = codes.compress(drawn).isnan() & stays
        filled = left.insert(1).where(np.nan, filled)
    of_draws = table_of(cells, filled.reshape(-1, width), rows)
    asked = [rows.compress(~gaps), of_draws, _typical_row(law, rows)]
    answer = ask(model.estimator_, Rows.stacked(asked), method)
    nothing, place = _of_nothing(model, cells, rows, method)
    n_whole, n_drawn, n_empty = groups.counts
    values = answer.values.double()
    theirs = values.after(n_whole).first(n_drawn * k)
    size = nothing.shape[1]
    mean = _mean(theirs.reshape(n_drawn, k, size), weights, method, size)
    graph = codes.graph
    others = graph.constant(nothing).spread(n_empty)
    found = groups.joined([values.first(n_whole), mean, others])
    if answer.places is None:
        return Answer(found)
    same = graph.constant([[place]]).spread(n_empty).squeeze(1)
    places = [answer.places.first(n_whole), _best_places(mean, size), same]
    return Answer(found, groups.joined(places))


class _Groups:
    """A partition of rows into kinds: masks (n,), and the number of rows of each."""

    def __init__(self, masks: Sequence[Tensor]):
        self.masks = masks
        self._ranks = [
            mask.cast(np.int64).op("CumSum", mask.graph.constant(0)) for mask in masks
        ]
        self.counts = [mask.cast(np.int64).sum(0) for mask in masks]

    def joined(self, values: Sequence[Tensor]) -> Tensor:
        """Join the results for each kind in the order of the rows."""
        place, before = self._ranks[0] - 1, self.counts[0]
        for mask, rank, count in zip(
            self.masks[1:], self._ranks[1:], self.counts[1:], strict=True
        ):
            place = mask.where(rank - 1 + before, place)
            before = before + count
        return concat(values, axis=0).take(place)


def _if_any(
    mask: Tensor,
    compute: Callable[[], Sequence[Tensor]],
    shapes: Sequence[tuple[int, ...]],
) -> list[Tensor]:
    """The result of a function if the mask is true anywhere; else empty tensors."""
    graph = mask.graph
    return graph.branch(
        mask.any(0),
        compute,
        lambda: [graph.constant(np.zeros(shape)) for shape in shapes],
    )


def _typical_row(law: Any, rows: Rows) -> Rows:
    """A row that is always predicted as well, since some models need at least one."""
    cells = law.cells_
    typical = np.where(cells.is_number, cells.means, 0.0)
    return table_of(cells, rows.graph.constant(typical[None]), rows)


def _of_nothing(model: Any, cells: Any, rows: Rows, method: str) -> tuple[Any, int]:
    """The model's answer for a row without observed values: values, index of class."""
    row = empty_row(cells, rows)
    values = np.asarray(getattr(model, method)(row), dtype=np.float64).reshape(1, -1)
    if not is_classifier(model):
        return values, -1
    return values, int(np.flatnonzero(model.classes_ == model.predict(row)[0])[0])


def _mean(answers: Tensor, weights: Tensor, method: str, width: int) -> Tensor:
    """Weighted means of answers (n, k, width); scores are averaged as probabilities.

    `Averager._block` leaves out draws with negligible weights. `Averager.decisions` is
    logit E σ(s) for one score, and log E softmax(s) + E log Σ e^s for several.
    """
    kept = weights > weights.max(1) * NEGLIGIBLE
    weights = kept.where(weights, 0.0)
    weights = (weights / weights.sum(1)).insert(2)

    def mean(values: Tensor) -> Tensor:
        return (values * weights).sum(1).squeeze(1)

    if method == "predict":
        return mean(answers)
    if method == "predict_proba":
        return mean(answers).at_most(1.0)
    if width == 1:
        share = mean(sigmoid(answers)).at_least(TINY).at_most(1 - 2**-53)
        return log(share / (1.0 - share))
    largest = answers.max(2)
    totals = largest + log(exp(answers - largest).sum(2))
    return log(mean(softmax(answers)).at_least(TINY)) + mean(totals)


def _best_places(values: Tensor, width: int) -> Tensor:
    """`Averager._classes`: indices of classes by probabilities or scores (n, width).

    Of equal values the first counts.
    """
    if width == 1:
        return (values > TIE).cast(np.int64).squeeze(1)
    largest = values.max(1)
    first = values >= largest - largest.op("Abs") * _EQUAL
    return first.cast(np.int64).first_largest()


def _integrated(
    link: Callable[[Tensor], Tensor], mean: Tensor, covariance: Tensor, k: int
) -> Tensor:
    """`averaging._integrated`: E link(s) for Gaussian scores s, by fixed points."""
    points, weights = gaussian_points(k)
    root = sqrt(covariance.at_least(0.0)) if k == 1 else _root(covariance, k)
    values = mean.insert(1) + points @ root
    return (weights[None] @ link(values)).squeeze(1).at_most(1.0)


def _root(matrices: Tensor, size: int) -> Tensor:
    """Symmetric roots of covariances, by the coupled Newton-Schulz iteration.

    Y ← Y T and Z ← T Z with T = (3 I - Z Y) / 2 converge from Y = A and Z = I to A^½
    and A^-½ if the eigenvalues of A are between 0 and 1. Eigenvalues that are zero are
    raised to 1e-12 times their sum, too little to change an average of probabilities.
    """
    unit = np.eye(size)
    total = (matrices * unit).sum(1).sum(2).at_least(TINY)

    def step(Y: Tensor, Z: Tensor, turn: Tensor) -> list[Tensor]:
        T = 1.5 * unit - (Z @ Y) * 0.5
        return [Y @ T, T @ Z]

    scaled = matrices / total + _SMALL * unit
    start = scaled * 0.0 + unit
    turns = matrices.graph.indices(*range(_TURNS))
    root, _ = matrices.graph.scan(step, [scaled, start], [turns], ranks=[3, 3])
    return root * sqrt(total)
