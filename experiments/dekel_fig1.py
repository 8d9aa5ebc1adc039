"""Figure 1 of Dekel and Shamir 2008: random deletion after training on 50 rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.svm import SVC

from experiments.data import Rows
from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Row,
    Settings,
    distinct,
    mean,
    select,
)
from experiments.tuning import fitted, tuned_curve
from noiseproof import RobustLPClassifier

_LEVELS = {  # numbers of deleted features
    "spambase": (0, 4, 8, 12, 16, 20),
    "mnist-4-7": (0, 25, 50, 75, 100, 125, 150),
}


@dataclass(frozen=True)
class SmallSample(Settings):
    """Parts of the data, repetitions, and grids."""

    data: tuple[str, ...] = ("spambase", "mnist-4-7")
    repetitions: int = 20
    n_train: int = 50
    n_validation: int = 200
    n_test: int = 2000
    shares: tuple[float, ...] = (0.0, 0.01, 0.03, 0.1, 0.2, 0.4)
    radii: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    penalties: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    values: tuple[str | None, ...] = (None, "mutual_info")


class DekelFig1(Experiment[SmallSample]):
    """N non-zero features of each test row die at random."""

    name = "dekel-fig1"
    title = "random deletion after training on 50 rows"
    paper = "Dekel and Shamir 2008, figure 1"
    protocol = (
        "As in the paper, a validation set of 200 other rows tunes the models, for "
        "each number of deletions, under the same deletions. The linear program may "
        "choose its N (a share of the number of features), C and feature values; the "
        "SVM its C. The grids are powers of ten or about thirds of them, "
        "the same for both data sets. Repetitions draw all three parts anew."
    )
    sizes: ClassVar = {
        "tiny": SmallSample(
            repetitions=2,
            n_validation=50,
            n_test=50,
            shares=(0.0, 0.1),
            radii=(1.0,),
            penalties=(1.0,),
            values=(None,),
        ),
        "quick": SmallSample(repetitions=4, shares=(0.0, 0.03, 0.1, 0.3)),
        "full": SmallSample(),
    }
    layout = Layout(panel="data", x="deleted")

    def rows(self, settings: SmallSample, data: Mapping[str, Any]) -> Iterator[Row]:
        for name, source in data.items():
            for repetition in range(settings.repetitions):
                seed = settings.seed + repetition
                train, validation, test = parts(source, settings, seed)
                levels = _LEVELS[name]
                for label, (model, grid) in families(source, settings).items():
                    models = fitted(model, grid, *train)
                    for point in tuned_curve(
                        models,
                        validation,
                        test,
                        "delete_count",
                        levels,
                        seed=seed,
                        name="deleted",
                    ):
                        shared = {"data": name, "repetition": repetition}
                        yield {**shared, "model": label, **point}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        return [wins(name, select(rows, data=name)) for name in distinct(rows, "data")]


def wins(name: str, rows: Sequence[Row]) -> Claim:
    """The claim that the linear program has the lower mean error under deletion."""
    under = [row for row in rows if row["deleted"] > 0]
    levels = distinct(under, "deleted")
    program, svm = (mean(under, "error", model=m) for m in ("robust LP", "SVM"))
    better = sum(
        mean(rows, "error", model="robust LP", deleted=level)
        < mean(rows, "error", model="SVM", deleted=level)
        for level in levels
    )
    return Claim(
        f"The linear program beats the SVM on {name} under deletion",
        program < svm and 2 * better > len(levels),
        f"mean error {program:.3f} against {svm:.3f}, better at {better} of "
        f"{len(levels)} levels",
    )


def parts(source: Rows, settings: SmallSample, seed: int) -> list[tuple[Any, Any]]:
    """Random rows to train on, to tune with and to test on."""
    order = np.random.default_rng(seed).permutation(len(source.y))
    sizes = (settings.n_train, settings.n_validation, settings.n_test)
    chosen = np.split(order, np.cumsum(sizes))[:3]
    return [(source.X[part], source.y[part]) for part in chosen]


def families(source: Rows, settings: SmallSample) -> dict[str, tuple[Any, Any]]:
    """Each model with the grid of its constants."""
    budgets = sorted({int(share * source.X.shape[1]) for share in settings.shares})
    program = {
        "budget": budgets,
        "C": settings.radii,
        "feature_values": settings.values,
    }
    return {
        "SVM": (SVC(kernel="linear"), {"C": settings.penalties}),
        "robust LP": (RobustLPClassifier(tol=1e-3), program),
    }


EXPERIMENT = DekelFig1()
