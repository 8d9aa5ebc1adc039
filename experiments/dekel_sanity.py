"""Sanity check of Dekel and Shamir 2008, section 4: features that know the label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.svm import SVC

from experiments.experiment import Claim, Experiment, Layout, Row, Settings, below, mean
from experiments.tuning import cross_validated
from noiseproof import RobustLPClassifier
from noiseproof.datasets import make_leaky_labels

_HONEST, _LEAKS, _BUDGET = 20, 2, 20
_VALUES = np.r_[np.ones(_HONEST), 10, 10]


@dataclass(frozen=True)
class Leaks(Settings):
    """Number of repetitions, and grids."""

    repetitions: int = 100
    n_samples: int = 1000
    folds: int = 5
    penalties: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    radii: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)


class DekelSanity(Experiment[Leaks]):
    """Two features are the label; then they are deleted."""

    name = "dekel-sanity"
    title = "features that know the label, deleted after training"
    paper = "Dekel and Shamir 2008, section 4"
    protocol = (
        "The paper states neither how its rows were drawn nor C and γ. The generator "
        "`make_leaky_labels` was made to come near the paper's numbers. SVM has its "
        "default C = 1; the linear program's C, and that of the tuned SVM, come from "
        "cross-validation on the training half, with both leaks deleted from the "
        "held-out folds."
    )
    sizes: ClassVar = {
        "tiny": Leaks(
            repetitions=1, n_samples=100, folds=2, penalties=(1.0,), radii=(1.0, 3.0)
        ),
        "quick": Leaks(repetitions=20, folds=3),
        "full": Leaks(),
    }
    layout = Layout(x="deleted")
    printed: ClassVar = {
        (1, "SVM"): 0,
        (1, "robust LP"): 0,
        (2, "SVM"): 0.477,
        (2, "robust LP"): 0.22,
    }

    def rows(self, settings: Leaks, data: Mapping[str, Any]) -> Iterator[Row]:
        for repetition in range(settings.repetitions):
            seed = settings.seed + repetition
            X, y = make_leaky_labels(settings.n_samples, _HONEST, random_state=seed)
            half = len(y) // 2
            models = fit(X[:half], y[:half], settings)
            for deleted in range(_LEAKS + 1):
                test = without(X[half:], deleted)
                for name, model in models.items():
                    yield {
                        "deleted": deleted,
                        "model": name,
                        "repetition": repetition,
                        "C": model.C,
                        "error": 1 - model.score(test, y[half:]),
                    }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        error = partial(mean, rows, "error")
        svm, program = (error(model=m, deleted=2) for m in ("SVM", "robust LP"))
        one = [error(model=m, deleted=1) for m in ("SVM", "robust LP")]
        return [
            Claim(
                "With one leak deleted neither the SVM nor the linear program errs",
                max(one) < 0.001,
                f"{one[0]:.4f} and {one[1]:.4f}",
            ),
            Claim(
                "With both deleted the SVM errs nearly always as a coin (0.4 or more)",
                svm >= 0.4,
                f"{svm:.3f}; the paper has 0.477",
            ),
            Claim(
                "With both deleted the linear program is within 0.03 of the best "
                "possible 0.2",
                program < 0.23,
                f"{program:.3f}; the paper has 0.22",
            ),
            below(
                "It beats an SVM whose C was tuned for the deletion",
                program,
                error(model="tuned SVM", deleted=2),
            ),
        ]


def fit(X: Any, y: Any, settings: Leaks) -> dict[str, Any]:
    """The models, their constants chosen on these rows."""

    def score(model: Any, X: Any, y: Any) -> float:
        return float(model.score(without(X, _LEAKS), y))

    svm = SVC(kernel="linear")
    program = RobustLPClassifier(_BUDGET, feature_values=_VALUES)
    choose = partial(cross_validated, X=X, y=y, folds=settings.folds, score=score)
    return {
        "SVM": svm.fit(X, y),
        "tuned SVM": choose(svm, {"C": settings.penalties}).model,
        "robust LP": choose(program, {"C": settings.radii}).model,
    }


def without(X: Any, deleted: int) -> Any:
    """Rows without the first leaks."""
    X = X.copy()
    X[:, _HONEST : _HONEST + deleted] = 0.0
    return X


EXPERIMENT = DekelSanity()
