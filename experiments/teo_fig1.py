"""Figure 1 of Teo et al. 2008: digits, with and without 20 invariances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

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
from experiments.tuning import cross_validated
from noiseproof import InvariantSVC, VirtualExamples
from noiseproof.attacks import digit_invariances

ERROR, SUPPORT = "error in %", "support vectors"  # the two plots of the figure
LOOSE = ", loosely solved"
_HALF = (0.4, 0.6)  # what "roughly half" may be


@dataclass(frozen=True)
class FewDigits(Settings):
    """Training digits of each kind, test digits, and grids."""

    data: tuple[str, ...] = ("mnist",)
    samples: tuple[int, ...] = (10, 20, 30, 40, 50)
    n_test: int = 10_000
    gammas: tuple[float, ...] = (0.005, 0.01, 0.02, 0.04)
    penalties: tuple[float, ...] = (1.0, 10.0)
    folds: int = 3
    loose_gamma: float = 0.02
    loose_penalty: float = 1.0
    loose_tol: float = 0.1


class TeoFig1(Experiment[FewDigits]):
    """Knowledge of what may happen to a digit makes up for few digits."""

    name = "teo-fig1"
    title = "few digits, with and without 20 invariances"
    paper = "Teo, Globerson, Roweis and Smola 2008, figure 1"
    protocol = (
        "γ of the RBF kernel and C by cross-validation on the training digits, for "
        "each machine and sample size anew; α = 1 / (C n) for n digits. STD-SVM is "
        "`InvariantSVC` without an attack, VIR-SVM the same on the digits and their "
        "20 transforms, Invar-SVM the same with the transforms as its attack, so that "
        "the three differ in nothing else. Larger samples hold the smaller ones. The "
        "paper does not say how it chose its constants. Loosely solved: "
        "γ, C and tol are `loose_gamma`, `loose_penalty` and `loose_tol`."
    )
    tried = (
        "Half of the support vectors is what machines have that are smoother, "
        "penalised more and solved less exactly than the best in cross-validation: "
        "loosely solved, with γ = 0.02, C = 1 and tol = 0.1 (SVMStruct, the paper's "
        "solver, by default stops at violations of 0.1). Column generation adds the "
        "worst transform of each digit in each round, so few have been added when it "
        "stops early, while nearly every copy is a support vector of VIR-SVM at so "
        "small a C. None of the three suffices alone: "
        "`python benchmarks/support_vectors.py` varies them on other training digits. "
        "With C so large that all constraints are met the two are the same machine. "
        "The loosely solved machines err more; take the others."
    )
    sizes: ClassVar = {
        "tiny": FewDigits(
            samples=(2, 4),
            gammas=(0.1,),
            penalties=(10.0,),
            folds=2,
            loose_tol=0.001,  # here the zero function is within 1 % of the optimum
        ),
        "quick": FewDigits(
            samples=(10, 20, 30),
            gammas=(0.01, 0.02, 0.04),
            penalties=(10.0,),
            folds=2,
        ),
        "full": FewDigits(),
    }
    layout = Layout("value", x="samples", curve="machine", panel="measure", digits=2)

    def parts(self, settings: FewDigits, data: Mapping[str, Any]) -> Iterator[Part]:
        for size in settings.samples:
            digits = draw(data["mnist"], size, settings)
            for name in machines(1, settings):
                work = partial(point, size, name, digits, settings)
                yield Part(f"{size} digits {name}", work)
            loose = replace(
                settings,
                gammas=(settings.loose_gamma,),
                penalties=(settings.loose_penalty,),
            )
            for name in ("VIR-SVM", "Invar-SVM"):
                work = partial(point, size, name, digits, loose, LOOSE)
                yield Part(f"{size} digits {name}{LOOSE}", work)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        found = [
            _less(rows, ERROR, "Invar-SVM", "STD-SVM"),
            _less(rows, ERROR, "VIR-SVM", "STD-SVM"),
            _less(rows, SUPPORT, "STD-SVM", "Invar-SVM"),
        ]
        return [*found, _half(rows, ""), _half(rows, LOOSE)]


def _half(rows: Sequence[Row], how: str) -> Claim:
    """The claim about the numbers of support vectors."""
    pairs = _pairs(rows, SUPPORT + how, "Invar-SVM", "VIR-SVM")
    ratio = float(np.mean([ours / theirs for ours, theirs in pairs.values()]))
    return Claim(
        f"Invar-SVM has roughly half of VIR-SVM's support vectors{how}, from "
        f"{_HALF[0]} to {_HALF[1]} of them in the mean over sample sizes",
        _HALF[0] <= ratio <= _HALF[1],
        f"ratio {ratio:.2f}: {_numbers(pairs, 0)}",
    )


def _less(rows: Sequence[Row], measure: str, ours: str, theirs: str) -> Claim:
    """The claim that one machine has the lower value for all sample sizes."""
    pairs = _pairs(rows, measure, ours, theirs)
    verb = "errs less" if measure == ERROR else "has fewer support vectors"
    return Claim(
        f"{ours} {verb} than {theirs} at every sample size",
        all(low < high for low, high in pairs.values()),
        _numbers(pairs, 2 if measure == ERROR else 0),
    )


def _pairs(
    rows: Sequence[Row], measure: str, ours: str, theirs: str
) -> dict[int, tuple[float, float]]:
    """Values of two machines by sample size."""
    return {
        size: (
            mean(rows, "value", measure=measure, machine=ours, samples=size),
            mean(rows, "value", measure=measure, machine=theirs, samples=size),
        )
        for size in distinct(rows, "samples")
    }


def _numbers(pairs: Mapping[int, tuple[float, float]], digits: int) -> str:
    return ", ".join(
        f"{ours:.{digits}f} against {theirs:.{digits}f} at {size}"
        for size, (ours, theirs) in pairs.items()
    )


def point(
    size: int, name: str, digits: Any, settings: FewDigits, how: str = ""
) -> Iterator[Row]:
    """Error and support vectors of one machine."""
    X, y, *test = digits
    model, grid = machines(len(y), settings)[name]
    if how == LOOSE:
        getattr(model, "estimator", model).set_params(tol=settings.loose_tol)
    chosen = cross_validated(model, grid, X, y, folds=settings.folds)
    tested = chosen.test(*test)
    values = {
        ERROR: 100 * tested.pop("error"),
        SUPPORT: support_vectors(chosen.model),
    }
    for measure, value in values.items():
        shared = {"measure": measure + how, "samples": size, "machine": name}
        yield {**shared, "value": value, **tested}


def draw(digits: Split, size: int, settings: FewDigits) -> tuple[Any, Any, Any, Any]:
    """So many random training digits of each kind, and random test digits."""
    rng = np.random.default_rng(settings.seed)
    test = rng.permutation(len(digits.y_test))[: settings.n_test]
    kinds = np.unique(digits.y_train)
    chosen = [rng.permutation(np.flatnonzero(digits.y_train == k)) for k in kinds]
    train = np.concatenate([rows[:size] for rows in chosen])
    return (
        digits.X_train[train],
        digits.y_train[train],
        digits.X_test[test],
        digits.y_test[test],
    )


def machines(n: int, settings: FewDigits) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Each machine with the grid of its constants."""
    attack, plain = digit_invariances(), InvariantSVC(kernel="rbf")
    alphas = [round(1 / (C * n), 8) for C in settings.penalties]
    grid = {"gamma": settings.gammas, "alpha": alphas}
    inner = {f"estimator__{name}": values for name, values in grid.items()}
    return {
        "STD-SVM": (plain, grid),
        "VIR-SVM": (VirtualExamples(plain, attack), inner),
        "Invar-SVM": (InvariantSVC(attack, kernel="rbf"), grid),
    }


def support_vectors(model: Any) -> int:
    """How many there are, also in a model that was fitted to copies."""
    return int(np.sum(getattr(model, "estimator_", model).n_support_))


EXPERIMENT = TeoFig1()
