"""Beyond the papers: every method on the same data, whatever happens to features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

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
from experiments.harm import DeleteGroups, Greedy
from experiments.tuning import fitted, tuned_curve
from noiseproof import (
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutRidgeClassifier,
    DropoutSVC,
    InvariantSVC,
    RobustLPClassifier,
    RobustPerceptron,
)
from noiseproof.attacks import FeatureDeletion
from noiseproof.noise import Dropout, Gaussian

Family = tuple[Any, Mapping[str, Sequence[Any]]]

SCIKIT_LEARN = (
    "LogisticRegression",
    "LinearSVC",
    "imputation + LogisticRegression",
    "HistGradientBoosting",
)
_DIGIT = 28  # side of a digit, in pixels
_KNOW_NAN = ("imputation + LogisticRegression", "HistGradientBoosting")


@dataclass(frozen=True)
class Harms(Settings):
    """Rows, repetitions, and grids."""

    data: tuple[str, ...] = ("spambase", "mnist-4-7")
    repetitions: int = 3
    n_train: int = 2000
    n_validation: int = 300
    n_test: int = 500
    penalties: tuple[float, ...] = (0.01, 0.1, 1.0)
    rates: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7)
    scales: tuple[float, ...] = (0.3, 1.0)
    budgets: tuple[int, ...] = (1, 3, 8)
    attacks: tuple[int, ...] = (2, 5)
    n_trees: int = 100
    side: int = 7


class Comparison(Experiment[Harms]):
    """Which method a user should pick, and when."""

    name = "harms"
    title = "lost, noisy and attacked features: which method to pick when"
    protocol = (
        "Two classes. Features are standardised by the training rows (digits are first "
        "averaged to 7 x 7 pixels), so that a deleted feature, replaced by zero, has "
        "its mean. Models are trained on clean rows. The hyperparameters of each "
        "method are those with the smallest error on validation rows whose features "
        "suffer the same as those of the test rows. Gradient boosting and the imputer "
        "(scikit-learn's iterative one) get deleted features as NaN, all other methods "
        "as zero. Deletion: each feature is deleted with this probability. Groups: "
        "five neighbouring features are deleted together, with this probability. "
        "Gaussian: noise of this scale is added to all features. Attack: an adversary "
        "who can query the model deletes this many features of each row, one after "
        "another. Scaling: the adversary halves or doubles them instead."
    )
    tried = (
        "On digits, neighbouring pixels say much about a deleted one, so imputation "
        "wins; no other method here uses neighbours. Copies of an imputing pipeline "
        "were not tried."
    )
    sizes: ClassVar = {
        "tiny": Harms(
            data=("spambase",),
            repetitions=1,
            n_train=100,
            n_validation=40,
            n_test=40,
            penalties=(0.1,),
            rates=(0.3,),
            scales=(0.3,),
            budgets=(1,),
            attacks=(1,),
            n_trees=3,
        ),
        "quick": Harms(
            data=("spambase",),
            repetitions=1,
            n_train=1000,
            n_validation=200,
            n_test=300,
            penalties=(0.01, 0.1),
            rates=(0.1, 0.5),
            budgets=(1, 3),
        ),
        "full": Harms(),
    }
    layout = Layout(panel="data", x="model", curve="harm")

    def rows(self, settings: Harms, data: Mapping[str, Any]) -> Iterator[Row]:
        """Each method under each harm."""
        for name, source in data.items():
            for repetition in range(settings.repetitions):
                seed = settings.seed + repetition
                train, validation, test = parts(source, settings, seed)
                for label, (model, grid) in families(settings).items():
                    models = fitted(model, grid, *train)
                    nan = label in _KNOW_NAN
                    for harm, (perturb, level, deleted_as) in harms(
                        settings.attacks, nan
                    ).items():
                        (point,) = tuned_curve(
                            models,
                            validation,
                            test,
                            perturb,
                            [level],
                            seed=seed,
                            deleted_as=deleted_as,
                        )
                        shared = {"data": name, "repetition": repetition}
                        yield {**shared, "model": label, "harm": harm, **point}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Whether a method of this package is the best, for each harm."""
        return [
            _winner(select(rows, data=name, harm=harm), name, harm)
            for name in distinct(rows, "data")
            for harm in distinct(rows, "harm")
        ]


def _winner(rows: Sequence[Row], data: str, harm: str) -> Claim:
    """The claim that a method of this package is the best under a harm."""
    errors = {
        model: mean(rows, "error", model=model) for model in distinct(rows, "model")
    }
    ours = min((m for m in errors if m not in SCIKIT_LEARN), key=lambda m: errors[m])
    theirs = min(SCIKIT_LEARN, key=lambda m: errors[m])
    return Claim(
        f"{data}, {harm}: a method of this package is the best",
        errors[ours] < errors[theirs],
        f"{ours} {errors[ours]:.3f}, {theirs} {errors[theirs]:.3f}",
    )


def harms(attacks: Sequence[int], nan: bool) -> dict[str, tuple[Any, float, str]]:
    """What happens, how much of it, and what a feature is that has died at random."""
    dead, attack = ("nan", np.nan) if nan else ("zero", 0.0)
    return {
        "clean": ("delete", 0.0, dead),
        "deletion 20 %": ("delete", 0.2, dead),
        "deletion 50 %": ("delete", 0.5, dead),
        "groups 30 %": (DeleteGroups(5), 0.3, dead),
        "Gaussian 0.5": (Gaussian(), 0.5, "zero"),
        "Gaussian 1": (Gaussian(), 1.0, "zero"),
        **{f"attack {k}": (Greedy((0.0,), attack), k, "zero") for k in attacks},
        **{f"scaling {k}": (Greedy((0.5, 2.0)), k, "zero") for k in attacks[-1:]},
    }


def families(settings: Harms) -> dict[str, Family]:
    """Each method with the grid of its constants."""
    C = {"C": settings.penalties}
    noises = [*map(Dropout, settings.rates), *map(Gaussian, settings.scales)]
    noisy = {**C, "noise": noises}
    robust = {**C, "budget": settings.budgets}
    imputed = make_pipeline(IterativeImputer(max_iter=2), LogisticRegression())
    trees = HistGradientBoostingClassifier(max_iter=settings.n_trees, random_state=0)
    copies = CorruptedCopies(trees, n_copies=4, random_state=0)
    return {
        "LogisticRegression": (LogisticRegression(max_iter=500), C),
        "LinearSVC": (LinearSVC(random_state=0), C),
        "imputation + LogisticRegression": (
            imputed,
            {"logisticregression__C": settings.penalties},
        ),
        "HistGradientBoosting": (trees, {"learning_rate": [0.03, 0.1]}),
        "DropoutSVC": (DropoutSVC(tol=1e-4), noisy),
        "DropoutLogisticRegression": (DropoutLogisticRegression(tol=1e-4), noisy),
        "DropoutRidgeClassifier": (DropoutRidgeClassifier(tol=1e-4), noisy),
        "RobustLPClassifier": (RobustLPClassifier(tol=1e-2), robust),
        "RobustPerceptron": (RobustPerceptron(random_state=0), robust),
        "InvariantSVC": (
            InvariantSVC(),
            {
                "alpha": [
                    1 / (penalty * settings.n_train) for penalty in settings.penalties
                ],
                "attack": [FeatureDeletion(k) for k in settings.budgets],
            },
        ),
        "CorruptedCopies of HistGradientBoosting": (
            copies,
            {"noise": [settings.rates[-1], Gaussian(settings.scales[0])]},
        ),
    }


def parts(source: Rows, settings: Harms, seed: int) -> list[tuple[Any, Any]]:
    """Random rows to train on, to tune with and to test on, standardised."""
    order = np.random.default_rng(seed).permutation(len(source.y))
    sizes = (settings.n_train, settings.n_validation, settings.n_test)
    chosen = np.split(order, np.cumsum(sizes))[:3]
    X = [smaller(source.X[part], settings.side) for part in chosen]
    scaler = StandardScaler().fit(X[0])
    return [(scaler.transform(x), source.y[k]) for x, k in zip(X, chosen, strict=True)]


def smaller(X: Any, side: int) -> Any:
    """Digits averaged to squares of this side; other rows as they are."""
    if X.shape[1] != _DIGIT**2:
        return X
    block = _DIGIT // side
    blocks = X.reshape(len(X), side, block, side, block)
    return blocks.mean(axis=(2, 4)).reshape(len(X), -1)


EXPERIMENT = Comparison()
