"""Figure 1 of Wager et al. 2013: the penalty and its quadratic approximation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

from noiseproof import DropoutLogisticRegression, NoisingPenalty, penalty
from noiseproof.datasets.text import Texts
from noiseproof.experiments.experiment import (
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
from noiseproof.noise import Gaussian

_RATE = 0.5
_SCORES, _STEPS = "noise on the score", "quasi-Newton steps on AthR"


@dataclass(frozen=True)
class Penalties(Settings):
    """Mean parameters and noise of the left panel, rows and steps of the right one."""

    data: tuple[str, ...] = ("AthR",)
    probabilities: tuple[float, ...] = (0.5, 0.73, 0.82, 0.88, 0.95)
    scales: tuple[float, ...] = tuple(round(0.1 * k, 1) for k in range(1, 16))
    n_rows: int = 1000
    steps: tuple[int, ...] = tuple(range(1, 31))


class WagerFig1(Experiment[Penalties]):
    """How far ½ A'' Var is from E[A] - A."""

    name = "wager-fig1"
    title = "the noising penalty and its quadratic approximation"
    paper = "Wager, Wang and Liang 2013, figure 1"
    protocol = (
        "Nothing is tuned. Left: one row with mean parameter p and Gaussian noise of "
        "scale σ on its score. Right: dropout of rate 0.5 on word indicators of AthR, "
        "both penalties at the model that each L-BFGS step has reached with C = 10."
    )
    sizes: ClassVar = {
        "tiny": Penalties(scales=(0.5, 1.5), n_rows=60, steps=(1, 3)),
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
        for step, found in training(data["AthR"], settings):
            yield from _pair(_STEPS, step, "", found)

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


def training(texts: Texts, settings: Penalties) -> Iterator[tuple[int, NoisingPenalty]]:
    """Steps, and the penalties at the model that training has then reached."""
    rng = np.random.default_rng(settings.seed)
    order = rng.permutation(len(texts.y))[: settings.n_rows]
    words = CountVectorizer(binary=True, dtype=np.float64)
    X, y = words.fit_transform([texts.texts[i] for i in order]), texts.y[order]
    for step in settings.steps:
        model = DropoutLogisticRegression(
            _RATE, C=10.0, solver="lbfgs", expectation="gaussian", max_iter=step
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the point is to stop
            model.fit(X, y)
        coef, intercept = model.coef_[0], model.intercept_[0]
        yield step, penalty("logistic", "gaussian", _RATE, X, coef, intercept)


EXPERIMENT = WagerFig1()
