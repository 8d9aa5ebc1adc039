"""Averages of a model's predictions over the distribution of missing values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp, softmax
from sklearn.base import is_classifier

from noiseproof._private import _safe_indexing
from noiseproof.conditionals import Conditional, first_best, holes
from noiseproof.estimators.quantiles import mixture_quantiles

Array = NDArray[np.float64]
# from the predictions for all draws, their weights and the index of each row's first
# draw, to one result for each row
SumUp = Callable[[Array, Array, Any], Array]

_BLOCK = 2**21  # numbers in the draws that are passed to the model at once
_SCORES = 2**18  # numbers in the scores that are integrated at once
NEGLIGIBLE = 1e-4  # draws of a smaller relative weight are left out
_UNLIKELY = 1e-6  # probabilities are clipped here, since log-loss has no bound
_ROUNDING, _SINGLE = 1e-9, 1e-4  # of predictions in double and single precision
TIE = 1e-10  # difference of averages that may be due to rounding
_STEPS = np.linspace(-8.5, 8.5, 171)  # of an integral over a standard Gaussian
_PAIRS = 256
TINY = float(np.finfo(np.float64).tiny)


def _one_against_rest(scores: Array) -> Array:
    shares = expit(scores)
    return shares / np.maximum(shares.sum(axis=-1, keepdims=True), 1e-300)


LINKS: dict[str, Callable[[Array], Array]] = {
    "expit": lambda scores: np.concatenate([expit(-scores), expit(scores)], axis=-1),
    "softmax": lambda scores: softmax(scores, axis=-1),
    "one-vs-rest": _one_against_rest,
}


@dataclass(frozen=True)
class Averager:
    """A fitted model, a conditional, and the maximum number of draws for each row.

    If the scores of the model are linear in the rows, and the conditional knows the
    distribution of such scores, `linear` holds the weights, and no draws are needed.
    For a quantile model, `by_level` are models fitted at several `levels`.
    """

    estimator: Any
    conditional: Any
    n_draws: int
    linear: dict[str, Any] | None = None
    levels: tuple[float, ...] = ()
    by_level: Sequence[Any] = ()
    level: float | None = None  # of the estimator itself

    def answer(self, method: str, X: Any) -> Any:
        """Averaged predictions of a method of the estimator for incomplete rows."""
        if method == "predict_proba":
            return self.probabilities(X)
        if method == "decision_function":
            return self.decisions(X)
        if not is_classifier(self.estimator):
            return self.predictions(X)
        scored = hasattr(self.estimator, "predict_proba")
        return best_classes(
            self.estimator, self.probabilities(X) if scored else self.decisions(X)
        )

    def predictions(self, X: Any) -> Array:
        """Predictions of a regressor: means, or quantiles for a quantile model."""
        if self.linear is not None:
            mean = self._law(X)[0]
            return mean[:, 0] if self.linear["flat"] else mean
        if self.level is not None:
            return self.quantiles(X, self.level)
        return self._summed_up(self.estimator.predict, X, _means)

    def quantiles(self, X: Any, level: float) -> Array:
        """Quantiles of the mixture of the target's distributions over the draws."""

        def ask(rows: Any) -> Array:
            return np.stack([model.predict(rows) for model in self.by_level], axis=1)

        def inverted(answers: Array, weights: Array, starts: Any) -> Array:
            at = np.array(self.levels)
            return mixture_quantiles(answers, at, weights, starts, level)

        return self._summed_up(ask, X, inverted, wide=True)

    def spreads(self, X: Any) -> Array:
        """Standard deviations of a regressor's predictions."""
        if self.linear is not None:
            variance = np.einsum("nkk->nk", self._law(X)[1])
            variance = variance[:, 0] if self.linear["flat"] else variance
        else:
            variance = self._summed_up(self.estimator.predict, X, _variances, wide=True)
        return np.sqrt(np.maximum(variance, 0.0))

    def probabilities(self, X: Any) -> Array:
        """Mean of a classifier's probabilities."""
        if self.linear is not None and self.linear["link"] is not None:
            found = _integrated(LINKS[self.linear["link"]], *self._law(X))
        else:
            found = self._summed_up(self.estimator.predict_proba, X, _means)
        return np.minimum(found, 1.0)  # rounding: weights may add up to a little more

    def decisions(self, X: Any) -> Array:
        """Mean of a classifier's scores, computed on the scale of probabilities.

        Scores are unbounded, so in a mean of the scores themselves a single draw far
        from all training rows could outweigh all others.
        """
        if self.linear is not None:
            mean = self._law(X)[0]
            return mean[:, 0] if self.linear["flat"] else mean

        def bounded(rows: Any) -> Array:
            scores = np.asarray(self.estimator.decision_function(rows))
            if scores.ndim == 1:
                return shares(scores)
            return np.hstack([shares(scores), logsumexp(scores, axis=1, keepdims=True)])

        mean = self._summed_up(bounded, X, _means)
        if mean.ndim == 1:
            return logit(np.clip(mean, TINY, 1 - 2**-53))
        return np.log(np.maximum(mean[:, :-1], TINY)) + mean[:, -1:]

    def distance(self, masked: Any, whole: Any) -> float:
        """Mean squared difference of the predictions for masked and complete rows."""
        return float(np.mean((self._bounded(masked) - self._bounded(whole)) ** 2))

    def loss(self, masked: Any, wanted: Any) -> float:
        """Mean log-loss of a classifier's averages, squared error of a regressor's."""
        given = self._bounded(masked)
        if not is_classifier(self.estimator):
            return float(np.mean((given - wanted) ** 2))
        if given.ndim == 1:
            given = np.column_stack([1.0 - given, given])
        if given.shape[1] != len(self.estimator.classes_):
            return 0.0  # scores of pairs of classes, for which `predict` will raise
        # a row of a class that the estimator was not fitted on has no hit
        hit = np.equal.outer(wanted, self.estimator.classes_)
        return float(-np.log(np.maximum(given[hit], _UNLIKELY)).sum() / len(wanted))

    def _bounded(self, X: Any) -> Array:
        """Predictions, probabilities, or scores on the scale of probabilities."""
        if not is_classifier(self.estimator):
            return self.predictions(X)
        if hasattr(self.estimator, "predict_proba"):
            return self.probabilities(X)
        return shares(self.decisions(X))

    def _law(self, X: Any) -> tuple[Array, Array]:
        assert self.linear is not None
        coef, intercept = self.linear["coef"], self.linear["intercept"]
        law: tuple[Array, Array] = self.conditional.scores(X, coef, intercept)
        return law

    def _summed_up(
        self, ask: Callable[[Any], Any], X: Any, sum_up: SumUp, wide: bool = False
    ) -> Array:
        """Predict for the draws of each row, and summarise the predictions by row.

        All rows without any observed value share one result, computed from the whole
        distribution. For `wide` draws see `Conditional.draws`.
        """
        cells = getattr(self.conditional, "cells_", None)
        empty = holes(X).all(axis=1) if cells is None else cells.empty(X)
        others, first = np.flatnonzero(~empty), np.flatnonzero(empty)[:1]
        n_draws = max(self.n_draws, Conditional.n_default) if wide else self.n_draws
        step = max(1, _BLOCK // (n_draws * X.shape[1]))
        blocks: list[tuple[Any, int | None]] = [
            (others[start : start + step], n_draws)
            for start in range(0, len(others), step)
        ]
        if len(first):
            everything = getattr(self.conditional, "keeps_rows", False)
            blocks.append((first, None if everything else n_draws))
        ours = isinstance(self.conditional, Conditional)
        options = {"wide": True} if wide and ours else {}
        parts = []
        for rows, n in blocks:
            drawn = self.conditional.draws(_safe_indexing(X, rows), n, **options)
            parts.append(_block(ask, drawn, len(rows), sum_up))
        place = np.where(empty, len(others), np.cumsum(~empty) - 1)
        return np.concatenate(parts)[place]


def _block(ask: Callable[[Any], Any], drawn: Any, n: int, sum_up: SumUp) -> Array:
    """Predict for the draws of n rows, except negligible ones, and summarise by row."""
    rows, weights, origin = drawn
    starts = np.searchsorted(origin, np.arange(n))
    largest = np.maximum.reduceat(weights, starts)
    kept = np.flatnonzero(weights > NEGLIGIBLE * largest[origin])
    if len(kept) < len(weights):
        rows = _safe_indexing(rows, kept)
        weights, origin = weights[kept], origin[kept]
        starts = np.searchsorted(origin, np.arange(n))
    weights = weights / np.add.reduceat(weights, starts)[origin]
    return sum_up(np.asarray(ask(rows), dtype=np.float64), weights, starts)


def _means(answers: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
    """Weighted means of the draws of each row."""
    weights = weights.reshape(-1, *[1] * (answers.ndim - 1))
    return np.add.reduceat(answers * weights, starts, axis=0)


def _variances(answers: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
    """Weighted variances of the draws of each row, corrected for bias.

    The correction is needed because draws vary less around their own mean than around
    the true one.
    """
    counts = np.diff(np.append(starts, len(answers)))
    apart = answers - np.repeat(_means(answers, weights, starts), counts, axis=0)
    lost = np.add.reduceat(weights**2, starts)
    left = np.where(lost < 1.0, 1.0 - lost, 1.0).reshape(-1, *[1] * (apart.ndim - 1))
    return _means(apart**2, weights, starts) / left


def best_classes(model: Any, averages: Array) -> Any:
    """Predicted classes from averaged probabilities, or from averaged scores."""
    classes = model.classes_
    if averages.ndim == 1:
        return classes[(averages > TIE).astype(int)]
    if averages.shape[1] != len(classes):
        raise ValueError(
            f"{type(model).__name__} does not have one score for each class, so no "
            "class can be predicted from averaged scores; set "
            "decision_function_shape='ovr'."
        )
    return classes[first_best(-averages)]


def shares(scores: Array) -> Array:
    """Scores of classes on the scale of probabilities."""
    return expit(scores) if scores.ndim == 1 else softmax(scores, axis=1)


def linear_scores(
    model: Any, law: Any, X: Any, complete: NDArray[np.intp]
) -> dict[str, Any] | None:
    """The weights of a model that is linear in its rows, found by calling the model.

    None if it is not linear at the complete training rows and beyond them, or if the
    conditional does not know the distribution of linear scores.
    """
    method = "decision_function" if is_classifier(model) else "predict"
    if not (hasattr(law, "scores") and hasattr(model, method) and len(complete)):
        return None

    def ask(codes: Array, method: str = method) -> Any:
        # in double precision: a model of single precision rows is linear, too
        like = X if hasattr(X, "columns") else codes
        return np.asarray(getattr(model, method)(law.cells_.table(codes, like)))

    some = _safe_indexing(X, complete[:50])
    codes = np.asarray(law.cells_.codes(some), dtype=np.float64)
    coef, intercept, flat = _probed(ask, codes.mean(axis=0), law.cells_.scales)
    rng = np.random.default_rng(0)
    beyond = codes + 3 * law.cells_.scales * rng.standard_normal(codes.shape)
    tested = np.concatenate([codes, beyond])
    scores, answers = tested @ coef.T + intercept, ask(tested)
    rounding = _ROUNDING if answers.dtype == np.float64 else _SINGLE
    apart = np.abs(scores - answers.reshape(scores.shape)).max()
    if not apart <= rounding * np.abs(answers).max():
        return None
    link = None
    if hasattr(model, "predict_proba"):
        link = _link(scores, ask(tested, "predict_proba"), 100 * rounding)
    return {"coef": coef, "intercept": intercept, "flat": flat, "link": link}


def _probed(
    ask: Callable[[Array], Any], centre: Array, scales: Array
) -> tuple[Array, Array, bool]:
    """Weights and intercepts, from a step along each feature.

    Also returns whether scores are one-dimensional.
    """
    at_centre = ask(centre[None]).astype(np.float64)
    flat, d = at_centre.ndim == 1, len(centre)
    coef = np.empty((at_centre.size, d))
    for start in range(0, d, 512):
        part = np.arange(start, min(start + 512, d))
        steps = np.tile(centre, (len(part), 1))
        steps[np.arange(len(part)), part] += scales[part]
        gains = ask(steps) - at_centre
        coef[:, part] = (gains[None] if flat else gains.T) / scales[part]
    return coef, at_centre.reshape(-1) - coef @ centre, flat


def _link(scores: Array, probabilities: Array, rounding: float) -> str | None:
    """Name of the function that turns these scores into these probabilities."""
    for name, link in LINKS.items():
        if (name == "expit") == (scores.shape[1] == 1) and np.allclose(
            link(scores), probabilities, rtol=0, atol=rounding
        ):
            return name
    return None


def gaussian_points(k: int) -> tuple[Array, Array]:
    """Points (m, k) and weights to integrate over a standard Gaussian.

    For one score the points are a grid. For several they are random draws in pairs of
    opposite sign. The weights sum to one.
    """
    if k == 1:
        density = np.exp(-0.5 * _STEPS**2)
        return _STEPS[:, None], density / density.sum()
    half = np.random.default_rng(0).standard_normal((_PAIRS, k))
    return np.concatenate([half, -half]), np.full(2 * _PAIRS, 0.5 / _PAIRS)


def _integrated(
    link: Callable[[Array], Array], mean: Array, covariance: Array
) -> Array:
    """E link(s) for Gaussian scores s."""
    n, k = mean.shape
    points, weights = gaussian_points(k)
    values, vectors = np.linalg.eigh(covariance)
    # the symmetric root: eigenvectors have no sign and, if values are equal, no order
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    roots = roots @ np.swapaxes(vectors, 1, 2)
    step = max(1, _SCORES // (len(points) * k))
    parts = []
    for start in range(0, n, step):
        part = slice(start, start + step)
        scores = mean[part, None, :] + points @ np.swapaxes(roots[part], 1, 2)
        parts.append(np.einsum("m,nmc->nc", weights, link(scores)))
    return np.concatenate(parts) if parts else np.empty((0, max(k, 2)))
