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
from sklearn.preprocessing import Normalizer

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
_STRONG = "quasi-Newton steps on AthR, strong penalty"
_RATIO = "quadratic / exact at the last step on AthR, by log10(C)"
_ACCURACY = "accuracy in cross-validation on AthR, by log10(C)"


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
    strong: float = 0.1


class WagerFig1(Experiment[Penalties]):
    """How far ½ A'' Var is from E[A] - A."""

    name = "wager-fig1"
    title = "the noising penalty and its quadratic approximation"
    paper = "Wager, Wang and Liang 2013, figure 1"
    protocol = (
        "First: one row with mean parameter p and Gaussian noise of scale σ on its "
        "score. Then: dropout of rate 0.5 on word indicators of AthR, both penalties "
        "at the model that each L-BFGS step has reached; C by cross-validation (the "
        "column `C` of the CSV file has it), since the paper does not give its own, "
        "and once more with the strong penalty of C = `strong`."
    )
    tried = (
        "What decides is how far the L2 penalty lets training go. With a strong one "
        "the claims hold. With the C that cross-validation takes, predictions become "
        "so confident that the approximation is far too low, at the same accuracy. The "
        "last two tables vary C and the features: indicators, counts, and indicators "
        "in rows of length 1, for which C means another strength. All show the same. "
        "For predictions a user may take any such C; where the size of the penalty "
        "itself matters and C is large, `expectation='gaussian'` and not `'taylor'`."
    )
    sizes: ClassVar = {
        "tiny": Penalties(
            scales=(0.5, 1.5), n_rows=60, steps=(1, 3), penalties=(1.0,), folds=2
        ),
        "quick": Penalties(steps=(1, 2, 4, 6, 8, 10, 15, 20)),
        "full": Penalties(),
    }
    layout = Layout("value", panel="panel", x="x", curve="curve")

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
        at = partial(mean, rows, "value", panel=_SCORES, x=widest)
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
            *_near(rows, _STEPS, ""),
            *_near(rows, _STRONG, ", with a strong penalty"),
        ]

    def drawn(self, rows: Sequence[Row]) -> tuple[Sequence[Row], Layout]:
        shown = (_SCORES, _STEPS, _STRONG)
        return [row for row in rows if row["panel"] in shown], self.layout


def _near(rows: Sequence[Row], panel: str, how: str) -> Iterator[Claim]:
    """The claims about training."""
    exact, quadratic = (
        np.array([row["value"] for row in select(rows, panel=panel, curve=curve)])
        for curve in ("exact", "quadratic")
    )
    ratios = quadratic / exact
    near = float(np.mean(np.abs(ratios - 1) < 0.2))
    yield Claim(
        f"It is within a fifth of the exact penalty for most of the training{how}",
        near > 0.5,
        f"at {near:.0%} of the steps looked at",
    )
    yield Claim(
        f"It deteriorates only slightly (a fifth at most) at convergence{how}",
        bool(abs(ratios[-1] - 1) < 0.2),
        f"quadratic / exact = {ratios[-1]:.2f} at the last step",
    )


def _pair(panel: str, x: float, which: str, found: NoisingPenalty) -> Iterator[Row]:
    shared = {"panel": panel, "x": x}
    yield {**shared, "curve": f"exact{which}", "value": found.value}
    yield {**shared, "curve": f"quadratic{which}", "value": found.quadratic}


def training(texts: Texts, settings: Penalties) -> Iterator[Row]:
    """Penalties at the models that training reaches, then by C and features."""
    rng = np.random.default_rng(settings.seed)
    order = rng.permutation(len(texts.y))[: settings.n_rows]
    words = CountVectorizer(dtype=np.float64)
    counts, y = words.fit_transform([texts.texts[i] for i in order]), texts.y[order]
    X = counts.sign()
    model = DropoutLogisticRegression(_RATE, expectation="gaussian")
    choose = partial(cross_validated, model, y=y, folds=settings.folds)
    best = choose({"C": settings.penalties}, X).model.C
    for panel, C in ((_STEPS, best), (_STRONG, settings.strong)):
        for step in settings.steps:
            for row in _pair(panel, step, "", _after(model, C, step, X, y)):
                yield {**row, "C": C}
    features = {
        "indicators": X,
        "counts": counts,
        "indicators, length 1": Normalizer().transform(X),
    }
    for C in settings.penalties:
        for name, some in features.items():
            shared = {"x": float(np.log10(C)), "curve": name, "C": C}
            found = _after(model, C, max(settings.steps), some, y)
            ratio, accuracy = found.quadratic / found.value, choose({"C": [C]}, some)
            yield {"panel": _RATIO, **shared, "value": ratio}
            yield {"panel": _ACCURACY, **shared, "value": accuracy.score}


def _after(model: Any, C: float, steps: int, X: Any, y: Any) -> NoisingPenalty:
    """Penalties at the model that so many steps reach."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the point is to stop
        few = {"C": C, "max_iter": steps, "solver": "lbfgs"}
        model = clone(model).set_params(**few).fit(X, y)
    coef, intercept = model.coef_[0], model.intercept_[0]
    return penalty("logistic", "gaussian", _RATE, X, coef, intercept)


EXPERIMENT = WagerFig1()
