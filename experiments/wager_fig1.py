"""Figure 1 of Wager et al. 2013: the penalty and its quadratic approximation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Row,
    Settings,
    above,
    below,
    mean,
    select,
)
from experiments.tuning import cross_validated
from noiseproof import DropoutLogisticRegression, NoisingPenalty, penalty
from noiseproof.datasets import Texts
from noiseproof.noise import Gaussian

_RATE = 0.5
_SCORES, _STEPS = "noise on the score", "quasi-Newton steps on AthR"
_BY_C = "last step on AthR, by log10(C)"


@dataclass(frozen=True)
class Penalties(Settings):
    """Mean parameters and noise of the left panel, rows and steps of the right one."""

    data: tuple[str, ...] = ("AthR",)
    probabilities: tuple[float, ...] = (0.5, 0.73, 0.82, 0.88, 0.95)
    scales: tuple[float, ...] = tuple(round(0.1 * k, 1) for k in range(1, 16))
    n_rows: int = 1000
    steps: tuple[int, ...] = tuple(range(1, 31))
    penalties: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    folds: int = 3


class WagerFig1(Experiment[Penalties]):
    """How far ½ A'' Var is from E[A] - A."""

    name = "wager-fig1"
    title = "the noising penalty and its quadratic approximation"
    paper = "Wager, Wang and Liang 2013, figure 1"
    protocol = (
        "First: one row with mean parameter p and Gaussian noise of scale σ on its "
        "score. Then: dropout of rate 0.5 on word indicators of AthR, both penalties "
        "at the model that each L-BFGS step has reached; C by cross-validation (the "
        "column `C` of the CSV file has it), since the paper does not give its own."
    )
    tried = (
        "Other C, in the last table: the smaller C, and so the weights, the nearer the "
        "two penalties stay."
    )
    sizes: ClassVar = {
        "tiny": Penalties(
            scales=(0.5, 1.5), n_rows=60, steps=(1, 3), penalties=(1.0,), folds=2
        ),
        "quick": Penalties(steps=(1, 2, 4, 6, 8, 10, 15, 20)),
        "full": Penalties(),
    }
    layout = Layout("penalty", panel="panel", x="x", curve="curve")

    def rows(self, settings: Penalties, data: Mapping[str, Any]) -> Iterator[Row]:
        for p in settings.probabilities:
            for scale in settings.scales:
                # one feature with weight 1: noise on it is noise on the score
                found = penalty(
                    "logistic", "gaussian", Gaussian(scale), [[logit(p)]], [1.0]
                )
                yield from _pair(_SCORES, scale, f" at p = {p:g}", found)
        yield from training(data["AthR"], settings)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        widest = max(row["x"] for row in select(rows, panel=_SCORES))
        at = partial(mean, rows, "penalty", panel=_SCORES, x=widest)
        steps = select(rows, panel=_STEPS)
        exact, quadratic = (
            np.array([row["penalty"] for row in select(steps, curve=curve)])
            for curve in ("exact", "quadratic")
        )
        ratios = quadratic / exact
        near = float(np.mean(np.abs(ratios - 1) < 0.2))
        return [
            above(
                f"The approximation is too high at p = 0.5, σ = {widest:g}",
                at(curve="quadratic at p = 0.5"),
                at(curve="exact at p = 0.5"),
            ),
            below(
                f"It is too low for a confident prediction, p = 0.95, σ = {widest:g}",
                at(curve="quadratic at p = 0.95"),
                at(curve="exact at p = 0.95"),
            ),
            Claim(
                "It is within a fifth of the exact penalty for most of the training",
                near > 0.5,
                f"at {near:.0%} of the steps looked at",
            ),
            Claim(
                "It deteriorates only slightly (a fifth at most) at convergence",
                bool(abs(ratios[-1] - 1) < 0.2),
                f"quadratic / exact = {ratios[-1]:.2f} at the last step",
            ),
        ]


def _pair(panel: str, x: float, which: str, found: NoisingPenalty) -> Iterator[Row]:
    yield {"panel": panel, "x": x, "curve": f"exact{which}", "penalty": found.value}
    yield {
        "panel": panel,
        "x": x,
        "curve": f"quadratic{which}",
        "penalty": found.quadratic,
    }


def training(texts: Texts, settings: Penalties) -> Iterator[Row]:
    """Penalties at the models that training reaches, at the best C and then by C."""
    rng = np.random.default_rng(settings.seed)
    order = rng.permutation(len(texts.y))[: settings.n_rows]
    words = CountVectorizer(binary=True, dtype=np.float64)
    X, y = words.fit_transform([texts.texts[i] for i in order]), texts.y[order]
    model = DropoutLogisticRegression(_RATE, expectation="gaussian")
    grid = {"C": settings.penalties}
    best = cross_validated(model, grid, X, y, folds=settings.folds).model.C
    model.solver = "lbfgs"
    for step in settings.steps:
        for row in _pair(_STEPS, step, "", _after(model, best, step, X, y)):
            yield {**row, "C": best}
    for C in settings.penalties:
        found = _after(model, C, max(settings.steps), X, y)
        yield from _pair(_BY_C, float(np.log10(C)), "", found)


def _after(model: Any, C: float, steps: int, X: Any, y: Any) -> NoisingPenalty:
    """Penalties at the model that so many steps reach."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the point is to stop
        model = clone(model).set_params(C=C, max_iter=steps).fit(X, y)
    coef, intercept = model.coef_[0], model.intercept_[0]
    return penalty("logistic", "gaussian", _RATE, X, coef, intercept)


EXPERIMENT = WagerFig1()
