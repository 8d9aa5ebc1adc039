"""Averages of a model's answers over what the holes of rows may have been."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp, softmax

from noiseproof._sklearn import _safe_indexing

Array = NDArray[np.float64]

_BLOCK = 2**22  # numbers in the draws that the model gets at once
_NEGLIGIBLE = 1e-4  # weight of a draw
_ROUNDING = 1e-9
_STEPS = np.linspace(-8.5, 8.5, 171)  # of an integral over a standard Gaussian
_PAIRS = 256


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
    """A fitted model, a conditional, and how many draws of a row the model sees.

    `linear` says that the model's scores are linear in the rows, if they are and the
    conditional knows the law of such scores: then no draws are needed.
    """

    estimator: Any
    conditional: Any
    n_draws: int
    linear: dict[str, Any] | None = None

    def predictions(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of a regressor's predictions."""
        if self.linear is not None:
            mean, covariance = self._law(X)
            variance = np.einsum("nkk->nk", covariance)
            mean, std = mean, np.sqrt(np.maximum(variance, 0.0))
            flat = self.linear["flat"]
            return (mean[:, 0], std[:, 0]) if flat else (mean, std)
        means, stds = [], []
        for rows, weights, starts in self._blocks(X):
            answers = np.asarray(self.estimator.predict(rows), dtype=np.float64)
            mean = _sums(answers, weights, starts)
            apart = answers - np.repeat(mean, np.diff([*starts, len(answers)]), axis=0)
            means.append(mean)
            stds.append(np.sqrt(_sums(apart**2, weights, starts)))
        return np.concatenate(means), np.concatenate(stds)

    def probabilities(self, X: Any) -> Array:
        """Mean of a classifier's probabilities."""
        if self.linear is not None and self.linear["link"] is not None:
            return _integrated(LINKS[self.linear["link"]], *self._law(X))
        return self._mean(
            lambda rows: np.asarray(self.estimator.predict_proba(rows)), X
        )

    def decisions(self, X: Any) -> Array:
        """Mean of a classifier's scores, taken on the scale of probabilities.

        As shares of the classes, since scores have no bounds: one draw far from all
        training rows would outvote the others.
        """
        if self.linear is not None:
            mean = self._law(X)[0]
            return mean[:, 0] if self.linear["flat"] else mean

        def shares(rows: Any) -> Array:
            scores = np.asarray(self.estimator.decision_function(rows))
            if scores.ndim == 1:
                return expit(scores)
            total = logsumexp(scores, axis=1, keepdims=True)
            return np.hstack([np.exp(scores - total), total])

        mean = self._mean(shares, X)
        tiny = np.finfo(np.float64).tiny
        if mean.ndim == 1:
            return logit(np.clip(mean, tiny, 1 - 2**-53))
        return np.log(np.maximum(mean[:, :-1], tiny)) + mean[:, -1:]

    def _law(self, X: Any) -> tuple[Array, Array]:
        assert self.linear is not None
        coef, intercept = self.linear["coef"], self.linear["intercept"]
        law: tuple[Array, Array] = self.conditional.scores(X, coef, intercept)
        return law

    def _mean(self, ask: Callable[[Any], Array], X: Any) -> Array:
        parts = [
            _sums(ask(rows), weights, starts)
            for rows, weights, starts in self._blocks(X)
        ]
        return np.concatenate(parts)

    def _blocks(self, X: Any) -> Iterator[tuple[Any, Array, NDArray[np.intp]]]:
        """Draws that matter: rows, weights, and where those of each row of X start."""
        n, d = X.shape
        step = max(1, _BLOCK // (self.n_draws * d))
        for start in range(0, n, step):
            part = np.arange(start, min(start + step, n))
            rows, weights, origin = self.conditional.draws(
                _safe_indexing(X, part), self.n_draws
            )
            kept = np.flatnonzero(weights > _NEGLIGIBLE)
            if len(kept) < len(weights):
                rows = _safe_indexing(rows, kept)
                weights, origin = weights[kept], origin[kept]
            starts = np.searchsorted(origin, np.arange(len(part)))
            totals = np.add.reduceat(weights, starts)
            yield rows, weights / totals[origin], starts


def _sums(values: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
    """Weighted sums of the draws of each row."""
    weights = weights.reshape(-1, *[1] * (values.ndim - 1))
    return np.add.reduceat(values * weights, starts, axis=0)


def linear_scores(
    ask: Callable[[Array], Any], rows: Array, rng: np.random.Generator
) -> dict[str, Any] | None:
    """Weights of a model that is linear in its rows, found by asking it; else None.

    Parameters
    ----------
    ask : callable
        Gives the scores of rows.
    rows : array of shape (n, d)
        Some training rows, where linearity is tested, and beyond.
    rng : Generator
        For the rows beyond.
    """
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale <= 1e-12 * np.abs(centre)] = 1.0
    d = len(centre)
    at_centre = np.asarray(ask(centre[None]), dtype=np.float64)
    flat = at_centre.ndim == 1
    coef = np.empty((1 if flat else at_centre.shape[1], d))
    for start in range(0, d, 512):
        part = np.arange(start, min(start + 512, d))
        steps = np.tile(centre, (len(part), 1))
        steps[np.arange(len(part)), part] += scale[part]
        gains = np.asarray(ask(steps), dtype=np.float64) - at_centre
        coef[:, part] = (gains[None] if flat else gains.T) / scale[part]
    intercept = at_centre.reshape(-1) - coef @ centre
    beyond = centre + 3 * scale * rng.standard_normal((20, d))
    tested = np.concatenate([rows, beyond])
    answers = np.asarray(ask(tested), dtype=np.float64).reshape(len(tested), -1)
    error = np.abs(tested @ coef.T + intercept - answers).max()
    if not error <= _ROUNDING * max(np.abs(answers).max(), 1e-300):
        return None
    return {"coef": coef, "intercept": intercept, "flat": flat, "link": None}


def link_of(scores: Array, probabilities: Array) -> str | None:
    """Name of the function that makes these probabilities of these scores."""
    for name, link in LINKS.items():
        if (name == "expit") != (scores.shape[1] == 1):
            continue
        guess = link(scores)
        if guess.shape == probabilities.shape and np.allclose(
            guess, probabilities, rtol=0, atol=1e-7
        ):
            return name
    return None


def _integrated(
    link: Callable[[Array], Array], mean: Array, covariance: Array
) -> Array:
    """E link(s) for Gaussian scores s: one score by a sum over a grid, else by draws."""
    n, k = mean.shape
    if k == 1:
        density = np.exp(-0.5 * _STEPS**2)
        points, weights = _STEPS[:, None], density / density.sum()
    else:
        half = np.random.default_rng(0).standard_normal((_PAIRS, k))
        points = np.concatenate([half, -half])
        weights = np.full(len(points), 0.5 / _PAIRS)
    values, vectors = np.linalg.eigh(covariance)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    step = max(1, _BLOCK // (len(points) * k))
    parts = []
    for start in range(0, n, step):
        part = slice(start, start + step)
        scores = mean[part, None, :] + points @ np.swapaxes(roots[part], 1, 2)
        parts.append(np.einsum("m,nmc->nc", weights, link(scores)))
    return np.concatenate(parts) if parts else np.empty((0, max(k, 2)))
