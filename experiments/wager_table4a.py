"""Table 4a of Wager et al. 2013: unlabelled rows make a better dropout penalty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
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
)
from experiments.tuning import cross_validated
from experiments.wager_table4b import in_percent
from noiseproof import DropoutLogisticRegression
from noiseproof.datasets import Texts

_TOKENISED = ("RT", "Subj", "IMDB-2k")  # split on white space; else on words
METHODS = ("L2", "dropout", "+unlabelled")


@dataclass(frozen=True)
class Thirds(Settings):
    """Random splits and grids."""

    data: tuple[str, ...] = ("Subj", "RT", "IMDB-2k", "XGraph", "BbCrypt")
    splits: int = 5
    folds: int = 3
    l2_penalties: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    penalties: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)
    rates: tuple[float, ...] = (0.5, 0.7)
    discounts: tuple[float, ...] = (0.1, 0.4)


class WagerTable4a(Experiment[Thirds]):
    """Train, unlabelled and test parts of equal size."""

    name = "wager-table4a"
    title = "unlabelled rows make a better penalty"
    paper = "Wager, Wang and Liang 2013, table 4a"
    protocol = (
        "Three random parts of equal size: train, unlabelled, test. Unigram and bigram "
        "indicators of the first two; all constants by cross-validation on the "
        "training part. Dropout uses the quadratic penalty, as in the paper, which "
        "splits words its own way."
    )
    sizes: ClassVar = {
        "tiny": Thirds(
            data=("RT", "XGraph"),
            splits=1,
            folds=2,
            l2_penalties=(1.0,),
            penalties=(1.0,),
            rates=(0.5,),
        ),
        "quick": Thirds(
            data=("RT", "XGraph"),
            splits=1,
            l2_penalties=(0.1, 0.3, 1.0),
            penalties=(0.3, 1.0, 3.0),
            rates=(0.5,),
            discounts=(0.4,),
        ),
        "full": Thirds(),
    }
    layout = Layout("accuracy", x="data", curve="method", digits=2)
    printed: ClassVar = {
        (data, method): accuracy
        for data, accuracies in {
            "Subj": (88.96, 90.85, 91.48),
            "RT": (73.49, 75.18, 76.56),
            "IMDB-2k": (80.63, 81.23, 80.33),
            "XGraph": (83.10, 84.64, 85.41),
            "BbCrypt": (97.28, 98.49, 99.24),
        }.items()
        for method, accuracy in zip(METHODS, accuracies, strict=True)
    }

    def rows(self, settings: Thirds, data: Mapping[str, Any]) -> Iterator[Row]:
        for name, texts in data.items():
            for split in range(settings.splits):
                X, y, Z, X_test, y_test = thirds(name, texts, settings.seed + split)
                for method, chosen in fitted(X, y, Z, settings):
                    shared = {"data": name, "split": split, "method": method}
                    yield {**shared, **in_percent(chosen.test(X_test, y_test))}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        return [
            claim
            for name in distinct(rows, "data")
            for claim in _claims(name, partial(mean, rows, "accuracy", data=name))
        ]


def _claims(name: str, accuracy: Any) -> Iterator[Claim]:
    l2, dropout, helped = (accuracy(method=method) for method in METHODS)
    yield above(f"Dropout beats L2 on {name}", dropout, l2, 2)
    yield above(f"Unlabelled rows improve dropout on {name}", helped, dropout, 2)


def thirds(name: str, texts: Texts, seed: int) -> tuple[Any, Any, Any, Any, Any]:
    """X, y, unlabelled rows, test rows and their labels."""
    order = np.random.default_rng(seed).permutation(len(texts.y))
    train, unlabeled, test = np.array_split(order, 3)
    words = CountVectorizer(
        binary=True,
        ngram_range=(1, 2),
        token_pattern=r"\S+" if name in _TOKENISED else r"(?u)\b\w+\b",
        dtype=np.float64,
    )
    words.fit([texts.texts[i] for i in np.concatenate([train, unlabeled])])
    X, Z, X_test = (
        words.transform([texts.texts[i] for i in part])
        for part in (train, unlabeled, test)
    )
    return X, texts.y[train], Z, X_test, texts.y[test]


def fitted(X: Any, y: Any, Z: Any, settings: Thirds) -> Iterator[tuple[str, Any]]:
    """Each method with its constants chosen on X and y."""
    choose = partial(cross_validated, X=X, y=y, folds=settings.folds)
    dropout = DropoutLogisticRegression(expectation="taylor", tol=1e-4)
    grid = {"noise": settings.rates, "C": settings.penalties}
    plain = LogisticRegression(max_iter=1000)
    yield "L2", choose(plain, {"C": settings.l2_penalties})
    yield "dropout", choose(dropout, grid)
    grid = {**grid, "unlabeled_weight": settings.discounts}
    yield "+unlabelled", choose(dropout, grid, X_unlabeled=Z)


EXPERIMENT = WagerTable4a()
