"""Figure 3 of Chen et al. 2014: "nightmare at test time" on MNIST."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from experiments.chen_fig1 import MODELS
from experiments.data import Split
from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Part,
    Row,
    Settings,
    distinct,
    mean,
)
from experiments.tuning import fitted, tuned_curve
from noiseproof import InvariantSVC
from noiseproof.attacks import FeatureDeletion

_RIVALS = ("SVM", "FDROP", "MCF-Quadratic", "MCF-Logistic", "Dropout-Logistic")


@dataclass(frozen=True)
class Nightmare(Settings):
    """Rows, shares of dead pixels, and grids."""

    data: tuple[str, ...] = ("mnist",)
    n_train: int = 60_000
    n_test: int = 10_000
    levels: tuple[float, ...] = tuple(round(0.1 * k, 1) for k in range(10))
    repeats: int = 5
    rates: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    penalties: tuple[float, ...] = (1e-2, 1e-1)
    l2_penalties: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    intercepts: tuple[bool, ...] = (True, False)
    budgets: tuple[int, ...] = (1, 5, 10)
    alphas: tuple[float, ...] = (1e-3, 1e-2)


class ChenFig3(Experiment[Nightmare]):
    """Pixels of the test digits die at random."""

    name = "chen-fig3"
    title = "nightmare at test time, MNIST"
    paper = "Chen, Zhu, Chen and Zhang 2014, figure 3"
    protocol = (
        "At each share of dead pixels the constants, and whether there is an "
        "intercept (which never dies, and outweighs the pixels that are left), are "
        "those that do best on a fifth of the training digits whose pixels die alike; "
        "the model is then fitted to all training digits. Test pixels die anew in "
        "each of the repeats, whose mean is printed. FDROP is `InvariantSVC` with the "
        "deletion of a few pixels as its attack."
    )
    tried = (
        "What the paper leaves open was varied on 1,000 training digits and judged on "
        "other training digits (`python benchmarks/nightmare.py`); with all of them "
        "the order is the same. Without an "
        "intercept MCF-Logistic errs least: 0.168, 0.214 and 0.353 at 50, 70 and 90 % "
        "dead pixels, Dropout-SVM 0.180, 0.233 and 0.408. Part of that is the bound on "
        "the expected hinge: with `expectation='gaussian'` it is 0.171, 0.218 and "
        "0.384. Pixels of unit variance change little. What comes nearest to the "
        "paper's order is its intercept, a feature that never dies: then all err more, "
        "but at 90 % Dropout-SVM the least of the paper's models (0.743, MCF-Logistic "
        "0.744), and with `expectation='gaussian'` at 50 and 70 % as well (0.228 and "
        "0.405, MCF-Logistic 0.245 and 0.432). A user should want no intercept when "
        "pixels die unseen, or, if it is known how many are gone, one with the rest "
        "scaled up. In a first version all models had an intercept, and plain ones "
        "fewer C to choose from; `LinearSVC` was then the best at 90 % (seen on test "
        "digits). The choice of both was widened for every model alike."
    )
    sizes: ClassVar = {
        "tiny": Nightmare(
            levels=(0.0, 0.5),
            repeats=1,
            rates=(0.3, 0.7),
            penalties=(0.1,),
            l2_penalties=(0.1,),
            intercepts=(True,),
            budgets=(1,),
        ),
        "quick": Nightmare(
            n_train=1_500,
            n_test=2_000,
            levels=(0.0, 0.3, 0.5, 0.7, 0.9),
            repeats=3,
            rates=(0.1, 0.5, 0.9),
            penalties=(0.1,),
            budgets=(1, 5),
            alphas=(1e-2,),
        ),
        "full": Nightmare(),
    }
    layout = Layout(x="deleted")

    def parts(self, settings: Nightmare, data: Mapping[str, Any]) -> Iterator[Part]:
        train, test = chosen_digits(data["mnist"], settings)
        for label in families(settings):
            yield Part(label, partial(curve, label, train, test, settings))

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        levels = distinct(rows, "deleted")
        return [
            _beats(rows, rival, [v for v in levels if v > start])
            for rival, start in (
                *((rival, 0.4) for rival in _RIVALS),
                ("SVM", 0.1),
                ("FDROP", 0.1),
            )
        ]


def _beats(rows: Sequence[Row], rival: str, levels: Sequence[float]) -> Claim:
    """The claim that Dropout-SVM has the lower error at all these levels."""
    pairs = [
        tuple(mean(rows, "error", model=m, deleted=v) for m in ("Dropout-SVM", rival))
        for v in levels
    ]
    numbers = ", ".join(
        f"{ours:.3f} against {theirs:.3f} at {v:g}"
        for v, (ours, theirs) in zip(levels, pairs, strict=True)
    )
    return Claim(
        f"Dropout-SVM errs less than {rival} from {levels[0]:.0%} deletion on",
        all(ours < theirs for ours, theirs in pairs),
        numbers,
    )


def curve(label: str, train: Any, test: Any, settings: Nightmare) -> Iterator[Row]:
    """One model, tuned for each share of dead pixels."""
    model, grid = families(settings)[label]
    X, Z, y, t = train_test_split(
        *train, test_size=0.2, stratify=train[1], random_state=settings.seed
    )
    for point in tuned_curve(
        fitted(model, grid, X, y),
        (Z, t),
        test,
        "delete",
        settings.levels,
        seed=settings.seed,
        n_repeats=settings.repeats,
        refit=train,
        name="deleted",
    ):
        yield {"model": label, **point}


def chosen_digits(digits: Split, settings: Nightmare) -> tuple[Any, Any]:
    """Random training and test digits, CSR."""
    rng = np.random.default_rng(settings.seed)
    train = rng.permutation(len(digits.y_train))[: settings.n_train]
    test = rng.permutation(len(digits.y_test))[: settings.n_test]
    return (
        (sp.csr_array(digits.X_train[train]), digits.y_train[train]),
        (sp.csr_array(digits.X_test[test]), digits.y_test[test]),
    )


def families(settings: Nightmare) -> dict[str, tuple[Any, Any]]:
    """Each model with the grid of its constants."""
    intercepts = {"fit_intercept": settings.intercepts}
    plain = {"C": settings.l2_penalties, **intercepts}
    noisy = {"C": settings.penalties, "noise": settings.rates, **intercepts}
    worst = {
        "attack": [FeatureDeletion(budget) for budget in settings.budgets],
        "alpha": settings.alphas,
    }
    return {
        "SVM": (LinearSVC(random_state=0), plain),
        "FDROP": (InvariantSVC(solver="bundle", tol=1e-2), worst),
        **{
            label: (clone(model).set_params(warm_start=True), noisy)
            for label, model in MODELS.items()
        },
    }


EXPERIMENT = ChenFig3()
