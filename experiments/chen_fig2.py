"""Figure 2 of Chen et al. 2014: explicit corruption against its limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from scipy.stats import kendalltau
from sklearn.svm import LinearSVC

from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Row,
    Settings,
    below,
    close,
    distinct,
    mean,
)
from experiments.tuning import cross_validated
from noiseproof import CorruptedCopies, DropoutSVC


@dataclass(frozen=True)
class Copies(Settings):
    """Numbers of copies, and the grids of rate and C."""

    data: tuple[str, ...] = ("books",)
    copies: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    rates: tuple[float, ...] = (0.3, 0.5, 0.7, 0.9)
    penalties: tuple[float, ...] = (1e-2, 1e-1)
    folds: int = 3


class ChenFig2(Experiment[Copies]):
    """Many corrupted copies come near what one marginalised fit does."""

    name = "chen-fig2"
    title = "explicit corruption with more and more copies, and the limit"
    paper = "Chen, Zhu, Chen and Zhang 2014, figure 2"
    protocol = (
        "Rate and C by cross-validation on the training rows, for each number of "
        "copies anew, as in the paper. Copies go to scikit-learn's `LinearSVC` with "
        "the hinge loss; Dropout-SVM is the limit (a bound on it), and its line is "
        "repeated."
    )
    sizes: ClassVar = {
        "tiny": Copies(copies=(1, 8), rates=(0.5,), penalties=(0.1,), folds=2),
        "quick": Copies(copies=(1, 4, 16, 32), rates=(0.5, 0.7), folds=2),
        "full": Copies(),
    }
    layout = Layout(panel="data", x="copies", digits=4, log_x=True)

    def rows(self, settings: Copies, data: Mapping[str, Any]) -> Iterator[Row]:
        for name, (X, y, *test) in data.items():
            choose = partial(cross_validated, X=X, y=y, folds=settings.folds)
            rates, penalties = settings.rates, settings.penalties
            limit = choose(DropoutSVC(), grid={"noise": rates, "C": penalties}).test(
                *test
            )
            for copies in settings.copies:
                svm = LinearSVC(loss="hinge", random_state=0)
                model = CorruptedCopies(
                    svm, n_copies=copies, random_state=settings.seed
                )
                chosen = choose(model, grid={"noise": rates, "estimator__C": penalties})
                shared = {"data": name, "copies": copies}
                yield {**shared, "model": "explicit copies", **chosen.test(*test)}
                yield {**shared, "model": "Dropout-SVM", **limit}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        copies = distinct(rows, "copies")
        errors = [
            mean(rows, "error", model="explicit copies", copies=n) for n in copies
        ]
        limit = mean(rows, "error", model="Dropout-SVM")
        trend = kendalltau(copies, errors).statistic
        return [
            Claim(
                "The error falls as copies are added",
                trend < 0 and errors[-1] < errors[0],
                f"{errors[0]:.4f} with {copies[0]}, {errors[-1]:.4f} with "
                f"{copies[-1]}; Kendall's tau {trend:.2f}",
            ),
            below(
                "Dropout-SVM is better than any number of copies",
                limit,
                min(errors),
                4,
            ),
            close(
                f"{copies[-1]} copies come within 0.01 of it", errors[-1], limit, 0.01
            ),
        ]


EXPERIMENT = ChenFig2()
