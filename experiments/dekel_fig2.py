"""Figure 2 of Dekel and Shamir 2008: a greedy adversary, by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from experiments.data import Rows
from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Row,
    Settings,
    below,
    distinct,
    mean,
)
from experiments.tuning import fitted, tuned_curve
from noiseproof import RobustLPClassifier, RobustPerceptron, mutual_info_values
from noiseproof.attacks import FeatureDeletion

Case = tuple[str, str, tuple[int, ...]]  # data, feature values, budgets

_CASES: tuple[Case, ...] = (
    ("spambase", "equal", (0, 1, 2, 3, 4, 5, 6)),
    ("spambase", "mutual_info", (0, 2, 4, 6, 8, 10, 12)),
    ("mnist-4-7", "mutual_info", (0, 25, 50, 100, 150, 200)),
)


@dataclass(frozen=True)
class Folds(Settings):
    """Rows, folds, chunks of the linear program, and grids."""

    data: tuple[str, ...] = ("spambase", "mnist-4-7")
    cases: tuple[Case, ...] = _CASES
    n_rows: int = 20_000
    folds: int = 10
    chunk: int = 500
    radii: tuple[float, ...] = (0.1, 1.0, 10.0)
    penalties: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0)


class DekelFig2(Experiment[Folds]):
    """The adversary deletes what helps a row's class most, worth up to N."""

    name = "dekel-fig2"
    title = "a greedy adversary deletes features worth N"
    paper = "Dekel and Shamir 2008, figure 2"
    protocol = (
        "10-fold cross-validation; a ninth of the training rows tunes the models under "
        "the attack to come, as in the paper. The robust models may choose C and the "
        "budget they train for, among those of the figure; the SVM its C. The linear "
        "program averages the weights of chunks of the training rows, as the paper's "
        "does. The budgets of the figure were set when earlier results had been seen."
    )
    sizes: ClassVar = {
        "tiny": Folds(
            cases=tuple((name, values, (0, 2)) for name, values, _ in _CASES),
            n_rows=100,
            folds=1,
            radii=(1.0,),
            penalties=(0.1,),
        ),
        "quick": Folds(n_rows=1500, folds=2, radii=(0.1, 1.0)),
        "full": Folds(),
    }
    layout = Layout(panel="case", x="budget")

    def rows(self, settings: Folds, data: Mapping[str, Any]) -> Iterator[Row]:
        for name, values, budgets in settings.cases:
            source = Rows(*(part[: settings.n_rows] for part in data[name]))
            folds = StratifiedKFold(10, shuffle=True, random_state=settings.seed)
            for fold, (train, test) in enumerate(
                islice(folds.split(*source), settings.folds)
            ):
                cut = len(train) // 9
                parts = [
                    (source.X[part], source.y[part])
                    for part in (train[cut:], train[:cut], test)
                ]
                for point in one_fold(parts, values, budgets, settings):
                    yield {"case": f"{name}, {values}", "fold": fold, **point}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        under = [row for row in rows if row["budget"] > 0]
        return [
            below(
                f"Under attack the {model} beats the SVM, {case}",
                mean(under, "error", case=case, model=model),
                mean(under, "error", case=case, model="SVM"),
            )
            for case in distinct(rows, "case")
            for model in ("robust LP", "robust Perceptron")
        ]


def one_fold(
    parts: Sequence[tuple[Any, Any]],
    values: str,
    budgets: Sequence[int],
    settings: Folds,
) -> Iterator[Row]:
    """Errors of each model at each budget, tuned there."""
    (X, y), validation, test = parts
    worth = np.ones(X.shape[1]) if values == "equal" else mutual_info_values(X, y)
    robust = {"budget": budgets, "C": settings.radii, "feature_values": [worth]}
    program = RobustLPClassifier(
        n_chunks=max(1, len(y) // settings.chunk), tol=1e-2, random_state=0
    )
    families: dict[str, tuple[Any, Any]] = {
        "SVM": (LinearSVC(loss="hinge", random_state=0), {"C": settings.penalties}),
        "robust LP": (program, robust),
        "robust Perceptron": (RobustPerceptron(random_state=0), robust),
    }
    attack = FeatureDeletion(0, worth, mode="greedy")
    judge = partial(
        tuned_curve,
        validation=validation,
        test=test,
        perturb=attack,
        levels=budgets,
        seed=settings.seed,
        name="budget",
    )
    for label, (model, grid) in families.items():
        for point in judge(fitted(model, grid, X, y)):
            yield {"model": label, **point}


EXPERIMENT = DekelFig2()
