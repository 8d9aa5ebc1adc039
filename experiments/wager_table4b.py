"""Table 4b of Wager et al. 2013: IMDB with 50,000 unlabelled reviews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Row,
    Settings,
    above,
    distinct,
    mean,
)
from experiments.tuning import cross_validated
from noiseproof import DropoutLogisticRegression
from noiseproof.datasets import Imdb

_FEATURES = {"imdb": "unigrams", "imdb-bigrams": "unigrams and bigrams"}


@dataclass(frozen=True)
class Reviews(Settings):
    """Which features, how many reviews, and the grids."""

    data: tuple[str, ...] = ("imdb", "imdb-bigrams")
    n_train: int = 25_000
    n_unlabeled: int = 50_000
    folds: int = 2
    rates: tuple[float, ...] = (0.5, 0.7)
    penalties: tuple[float, ...] = (0.1, 0.3, 1.0)
    discounts: tuple[float, ...] = (0.1, 0.4)


class WagerTable4b(Experiment[Reviews]):
    """Unlabelled reviews help even beside many labelled ones."""

    name = "wager-table4b"
    title = "IMDB with 50,000 unlabelled reviews"
    paper = "Wager, Wang and Liang 2013, table 4b"
    protocol = (
        "Word indicators; rate, C and the weight α of unlabelled reviews by "
        "cross-validation on the labelled training reviews. The test reviews are the "
        "25,000 of the data set, at every size."
    )
    sizes: ClassVar = {
        "tiny": Reviews(rates=(0.5,), penalties=(0.3, 1.0)),
        "quick": Reviews(
            data=("imdb",),
            n_train=4_000,
            n_unlabeled=10_000,
            rates=(0.5,),
            discounts=(0.4,),
        ),
        "full": Reviews(),
    }
    layout = Layout("accuracy", x="features", curve="method", digits=2)
    printed: ClassVar = {
        ("unigrams", "dropout"): 87.78,
        ("unigrams", "+unlabelled"): 89.52,
        ("unigrams and bigrams", "dropout"): 91.31,
        ("unigrams and bigrams", "+unlabelled"): 91.98,
    }

    def rows(self, settings: Reviews, data: Mapping[str, Any]) -> Iterator[Row]:
        for name, reviews in data.items():
            X, y, Z = sample(
                reviews, settings.n_train, settings.n_unlabeled, settings.seed
            )
            model = DropoutLogisticRegression(expectation="taylor", tol=1e-4)
            choose = partial(cross_validated, model, X=X, y=y, folds=settings.folds)
            grid = {"noise": settings.rates, "C": settings.penalties}
            shared = {"features": _FEATURES[name], "n_features": X.shape[1]}
            tested = choose(grid=grid).test(reviews.X_test, reviews.y_test)
            yield {**shared, "method": "dropout", **in_percent(tested)}
            grid = {**grid, "unlabeled_weight": settings.discounts}
            helped = choose(grid=grid, X_unlabeled=Z)
            tested = helped.test(reviews.X_test, reviews.y_test)
            yield {**shared, "method": "+unlabelled", **in_percent(tested)}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        return [
            above(
                f"Unlabelled reviews improve dropout with {features}",
                mean(rows, "accuracy", features=features, method="+unlabelled"),
                mean(rows, "accuracy", features=features, method="dropout"),
                2,
            )
            for features in distinct(rows, "features")
        ]


def sample(reviews: Imdb, n: int, n_unlabeled: int, seed: int) -> tuple[Any, Any, Any]:
    """Random labelled reviews, their labels, and random unlabelled reviews."""
    rng = np.random.default_rng(seed)
    labeled = rng.permutation(len(reviews.y_train))[:n]
    unlabeled = rng.permutation(reviews.X_unlabeled.shape[0])[:n_unlabeled]
    X, y = reviews.X_train[labeled], reviews.y_train[labeled]
    return X, y, reviews.X_unlabeled[unlabeled]


def in_percent(tested: dict[str, Any]) -> dict[str, Any]:
    """The accuracy instead of the error, in percent."""
    error = tested["error"]
    rest = {name: value for name, value in tested.items() if name != "error"}
    return {"accuracy": 100 * (1 - error), **rest}


EXPERIMENT = WagerTable4b()
