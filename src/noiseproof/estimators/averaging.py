"""Averages of a model's answers over what the holes of rows may have been."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp, softmax
from sklearn.base import is_classifier

from noiseproof._private import _safe_indexing

Array = NDArray[np.float64]

_BLOCK = 2**21  # numbers in the draws that the model gets at once
_NEGLIGIBLE = 1e-4  # weight of a draw
_UNLIKELY = 1e-6  # log-loss has no bound
_ROUNDING = 1e-9
_STEPS = np.linspace(-8.5, 8.5, 171)  # of an integral over a standard Gaussian
_PAIRS = 256
_TINY = float(np.finfo(np.float64).tiny)


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

    def answer(self, method: str, X: Any) -> Any:
        """What the method of an estimator says about rows with holes, on average."""
        if method == "predict_proba":
            return self.probabilities(X)
        if method == "decision_function":
            return self.decisions(X)
        if not is_classifier(self.estimator):
            return self.predictions(X)[0]
        return self._classes(X)

    def _classes(self, X: Any) -> Any:
        """Classes, from averaged probabilities or else from averaged scores."""
        classes = self.estimator.classes_
        if hasattr(self.estimator, "predict_proba"):
            return classes[self.probabilities(X).argmax(axis=1)]
        scores = self.decisions(X)
        if scores.ndim == 1:
            return classes[(scores > 0).astype(int)]
        if scores.shape[1] != len(classes):
            raise ValueError(
                f"The scores of {type(self.estimator).__name__} are not one for each "
                "class, so no class follows from their average; set "
                "decision_function_shape='ovr'."
            )
        return classes[scores.argmax(axis=1)]

    def predictions(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of a regressor's predictions."""
        if self.linear is not None:
            mean, covariance = self._law(X)
            std = np.sqrt(np.maximum(np.einsum("nkk->nk", covariance), 0.0))
            return (mean[:, 0], std[:, 0]) if self.linear["flat"] else (mean, std)
        means, stds = [], []
        for rows, weights, starts in self._blocks(X):
            answers = np.asarray(self.estimator.predict(rows), dtype=np.float64)
            mean = _sums(answers, weights, starts)
            counts = np.diff([*starts, len(answers)])
            apart = answers - np.repeat(mean, counts, axis=0)
            # around their own mean draws vary less than around the true one
            lost = np.add.reduceat(weights**2, starts)
            kept = np.where(counts > 1, 1.0 - lost, 1.0)
            variance = _sums(apart**2, weights, starts)
            means.append(mean)
            stds.append(np.sqrt(variance / kept.reshape(-1, *[1] * (mean.ndim - 1))))
        return np.concatenate(means), np.concatenate(stds)

    def probabilities(self, X: Any) -> Array:
        """Mean of a classifier's probabilities."""
        if self.linear is not None and self.linear["link"] is not None:
            found = _integrated(LINKS[self.linear["link"]], *self._law(X))
        else:
            found = self._mean(self.estimator.predict_proba, X)
        return np.minimum(found, 1.0)  # rounding: weights may add up to a little more

    def decisions(self, X: Any) -> Array:
        """Mean of a classifier's scores, taken on the scale of probabilities.

        As shares of the classes, since scores have no bounds: one draw far from all
        training rows would outvote the others.
        """
        if self.linear is not None:
            mean = self._law(X)[0]
            return mean[:, 0] if self.linear["flat"] else mean

        def bounded(rows: Any) -> Array:
            scores = np.asarray(self.estimator.decision_function(rows))
            if scores.ndim == 1:
                return shares(scores)
            return np.hstack([shares(scores), logsumexp(scores, axis=1, keepdims=True)])

        mean = self._mean(bounded, X)
        if mean.ndim == 1:
            return logit(np.clip(mean, _TINY, 1 - 2**-53))
        return np.log(np.maximum(mean[:, :-1], _TINY)) + mean[:, -1:]

    def distance(self, masked: Any, whole: Any) -> float:
        """Mean squared difference between averages and the answers on whole rows."""
        model = self.estimator
        if not is_classifier(model):
            apart = self.predictions(masked)[0] - model.predict(whole)
        elif hasattr(model, "predict_proba"):
            apart = self.probabilities(masked) - model.predict_proba(whole)
        else:
            apart = shares(self.decisions(masked))
            apart = apart - shares(model.decision_function(whole))
        return float(np.mean(apart**2))

    def loss(self, masked: Any, wanted: Any) -> float:
        """Mean log-loss of a classifier's averages, squared error of a regressor's.

        A classifier without probabilities is judged by its scores on their scale.
        """
        model = self.estimator
        if not is_classifier(model):
            return float(np.mean((self.predictions(masked)[0] - wanted) ** 2))
        if hasattr(model, "predict_proba"):
            given = self.probabilities(masked)
        else:
            given = shares(self.decisions(masked))
            if given.ndim == 1:
                given = np.column_stack([1.0 - given, given])
        if given.shape[1] != len(model.classes_):
            return 0.0  # scores of pairs of classes: `predict` will refuse them
        hit = np.equal.outer(wanted, model.classes_)  # no hit: a class not fitted on
        return float(-np.log(np.maximum(given[hit], _UNLIKELY)).sum() / len(wanted))

    def _law(self, X: Any) -> tuple[Array, Array]:
        assert self.linear is not None
        coef, intercept = self.linear["coef"], self.linear["intercept"]
        law: tuple[Array, Array] = self.conditional.scores(X, coef, intercept)
        return law

    def _mean(self, ask: Callable[[Any], Any], X: Any) -> Array:
        blocks = self._blocks(X)
        return np.concatenate([_sums(np.asarray(ask(r)), w, s) for r, w, s in blocks])

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


def shares(scores: Array) -> Array:
    """Scores of classes on the scale of probabilities."""
    return expit(scores) if scores.ndim == 1 else softmax(scores, axis=1)


def _sums(values: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
    """Weighted sums of the draws of each row."""
    weights = weights.reshape(-1, *[1] * (values.ndim - 1))
    return np.add.reduceat(values * weights, starts, axis=0)


def linear_scores(
    model: Any, law: Any, X: Any, complete: NDArray[np.intp]
) -> dict[str, Any] | None:
    """The weights of a model that is linear in its rows, found by asking it.

    None if it is not linear at the complete training rows and beyond, or if the law
    says nothing about linear scores.
    """
    method = "decision_function" if is_classifier(model) else "predict"
    if not (hasattr(law, "scores") and hasattr(model, method) and len(complete)):
        return None

    def ask(codes: Array) -> Array:
        rows = law.cells_.table(codes, X)
        return np.asarray(getattr(model, method)(rows), dtype=np.float64)

    some = _safe_indexing(X, complete[:50])
    codes = np.asarray(law.cells_.codes(some), dtype=np.float64)
    coef, intercept, flat = _probed(ask, codes.mean(axis=0), law.cells_.scales)
    rng = np.random.default_rng(0)
    beyond = codes + 3 * law.cells_.scales * rng.standard_normal(codes.shape)
    tested = np.concatenate([codes, beyond])
    scores = tested @ coef.T + intercept
    answers = ask(tested).reshape(scores.shape)
    if not np.abs(scores - answers).max() <= _ROUNDING * np.abs(answers).max():
        return None
    link = None
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(law.cells_.table(tested, X))
        link = _link(scores, probabilities)
    return {"coef": coef, "intercept": intercept, "flat": flat, "link": link}


def _probed(
    ask: Callable[[Array], Array], centre: Array, scales: Array
) -> tuple[Array, Array, bool]:
    """Weights and constants by a step along each feature; whether scores are flat."""
    at_centre = ask(centre[None])
    flat, d = at_centre.ndim == 1, len(centre)
    coef = np.empty((at_centre.size, d))
    for start in range(0, d, 512):
        part = np.arange(start, min(start + 512, d))
        steps = np.tile(centre, (len(part), 1))
        steps[np.arange(len(part)), part] += scales[part]
        gains = ask(steps) - at_centre
        coef[:, part] = (gains[None] if flat else gains.T) / scales[part]
    return coef, at_centre.reshape(-1) - coef @ centre, flat


def _link(scores: Array, probabilities: Array) -> str | None:
    """Name of the function that makes these probabilities of these scores."""
    for name, link in LINKS.items():
        if (name == "expit") == (scores.shape[1] == 1) and np.allclose(
            link(scores), probabilities, rtol=0, atol=1e-7
        ):
            return name
    return None


def _integrated(
    link: Callable[[Array], Array], mean: Array, covariance: Array
) -> Array:
    """E link(s) for Gaussian scores s: of one by a sum over a grid, else by draws."""
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
