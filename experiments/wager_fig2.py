"""Figure 2 of Wager et al. 2013: accuracy against unlabelled and labelled reviews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from sklearn.linear_model import LogisticRegression

from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Row,
    Settings,
    above,
    distinct,
    mean,
    select,
)
from experiments.tuning import Chosen, cross_validated
from experiments.wager_table4b import in_percent, sample
from noiseproof import DropoutLogisticRegression
from noiseproof.datasets import Imdb

_LEFT, _RIGHT = "more unlabelled reviews", "more labelled reviews"
_ALPHA = 0.4  # the paper's discount of unlabelled reviews


@dataclass(frozen=True)
class Amounts(Settings):
    """Reviews of each panel, and the grids."""

    data: tuple[str, ...] = ("imdb",)
    n_labeled: int = 10_000
    unlabeled: tuple[int, ...] = (0, 10_000, 20_000, 30_000, 40_000)
    labeled: tuple[int, ...] = (3_000, 6_000, 9_000, 12_000, 15_000)
    n_unlabeled: int = 25_000
    folds: int = 3
    rates: tuple[float, ...] = (0.5, 0.7)
    penalties: tuple[float, ...] = (0.1, 0.3, 1.0)
    l2_penalties: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


class WagerFig2(Experiment[Amounts]):
    """Unlabelled reviews help more the more there are, and at any number of labels."""

    name = "wager-fig2"
    title = "accuracy on IMDB against the number of reviews"
    paper = "Wager, Wang and Liang 2013, figure 2"
    protocol = (
        "Unigram indicators; α = 0.4 as in the paper; C and the rate by "
        "cross-validation on the labelled reviews, for every point. L2 and dropout do "
        "not use unlabelled reviews: their lines on the left are level. All 25,000 "
        "test reviews at every size."
    )
    sizes: ClassVar = {
        "tiny": Amounts(
            n_labeled=40,
            unlabeled=(0, 100),
            labeled=(30, 60),
            n_unlabeled=100,
            folds=2,
            rates=(0.5,),
            penalties=(1.0,),
            l2_penalties=(1.0,),
        ),
        "quick": Amounts(
            n_labeled=3_000,
            unlabeled=(0, 5_000, 20_000),
            labeled=(1_000, 3_000),
            n_unlabeled=10_000,
            folds=2,
            rates=(0.5,),
            penalties=(0.3, 1.0),
            l2_penalties=(0.01, 0.1, 1.0),
        ),
        "full": Amounts(),
    }
    layout = Layout("accuracy", panel="panel", x="reviews", curve="method", digits=2)

    def rows(self, settings: Amounts, data: Mapping[str, Any]) -> Iterator[Row]:
        reviews = data["imdb"]

        def points(panel: str, x: int, models: Mapping[str, Chosen]) -> Iterator[Row]:
            for method, chosen in models.items():
                tested = in_percent(chosen.test(reviews.X_test, reviews.y_test))
                yield {"panel": panel, "reviews": x, "method": method, **tested}

        n = settings.n_labeled
        without = labeled_only(reviews, n, settings)
        for m in settings.unlabeled:
            helped = with_unlabeled(reviews, n, m, settings)
            yield from points(_LEFT, m, {**without, "+unlabelled": helped})
        for n in settings.labeled:
            without = labeled_only(reviews, n, settings)
            helped = with_unlabeled(reviews, n, settings.n_unlabeled, settings)
            yield from points(_RIGHT, n, {**without, "+unlabelled": helped})

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        left, right = (select(rows, panel=panel) for panel in (_LEFT, _RIGHT))
        helped = partial(mean, left, "accuracy", method="+unlabelled")
        amounts = distinct(left, "reviews")
        found = [
            above(
                f"{amounts[-1]} unlabelled reviews are better than none",
                helped(reviews=amounts[-1]),
                helped(reviews=amounts[0]),
                2,
            )
        ]
        for n in distinct(right, "reviews"):
            accuracy = partial(mean, right, "accuracy", reviews=n)
            l2, dropout, more = (
                accuracy(method=m) for m in ("L2", "dropout", "+unlabelled")
            )
            found.append(
                Claim(
                    f"With {n} labels, L2 < dropout < dropout with unlabelled reviews",
                    l2 < dropout < more,
                    f"{l2:.2f}, {dropout:.2f}, {more:.2f}",
                )
            )
        return found


def labeled_only(reviews: Imdb, n: int, settings: Amounts) -> dict[str, Chosen]:
    """L2 and dropout, tuned and fitted on n labelled reviews."""
    X, y, _ = sample(reviews, n, 0, settings.seed)
    choose = partial(cross_validated, X=X, y=y, folds=settings.folds)
    plain = LogisticRegression(max_iter=1000)
    return {
        "L2": choose(plain, {"C": settings.l2_penalties}),
        "dropout": choose(_dropout(), _grid(settings)),
    }


def with_unlabeled(reviews: Imdb, n: int, m: int, settings: Amounts) -> Chosen:
    """Dropout, tuned and fitted on n labelled reviews and m others."""
    X, y, Z = sample(reviews, n, m, settings.seed)
    return cross_validated(
        _dropout(), _grid(settings), X, y, folds=settings.folds, X_unlabeled=Z
    )


def _dropout() -> DropoutLogisticRegression:
    return DropoutLogisticRegression(
        expectation="taylor", unlabeled_weight=_ALPHA, tol=1e-4
    )


def _grid(settings: Amounts) -> dict[str, Any]:
    return {"noise": settings.rates, "C": settings.penalties}


EXPERIMENT = WagerFig2()
