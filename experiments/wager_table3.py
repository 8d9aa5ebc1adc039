"""Table 3 of Wager et al. 2013: rare but useful features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression

from experiments.experiment import Claim, Experiment, Layout, Row, Settings, mean
from noiseproof import DropoutLogisticRegression
from noiseproof.datasets import make_rare_features

_NO_PENALTY = 1000.0  # dropout has no L2 penalty in the paper; this C stands for none
_TEST_SEED, _TUNING_SEED = 10**6, 10**7  # apart from those of the training sets


@dataclass(frozen=True)
class Simulation(Settings):
    """Number of training sets, to tune and to report, and the grids."""

    tuning_runs: int = 20
    runs: int = 100
    n_test: int = 10_000
    penalties: tuple[float, ...] = tuple(2.0**k for k in range(3, 20, 2))
    rates: tuple[float, ...] = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


class WagerTable3(Experiment[Simulation]):
    """Dropout learns rare features that L2 drowns among 1000 nuisance ones."""

    name = "wager-table3"
    title = "rare but useful features"
    paper = "Wager, Wang and Liang 2013, table 3"
    protocol = (
        "The paper sets its constants to roughly optimal values, δ = 0.9 and λ = 32 "
        "(our C = 1 / λ). Ours are the best on active instances over simulation runs "
        "of their own; the runs reported are fresh ones."
    )
    sizes: ClassVar = {
        "tiny": Simulation(
            tuning_runs=1, runs=2, n_test=400, penalties=(32.0, 512.0), rates=(0.7,)
        ),
        "quick": Simulation(tuning_runs=10, runs=50),
        "full": Simulation(),
    }
    layout = Layout("accuracy", x="instances", curve="method")
    printed: ClassVar = {
        ("active", "L2"): 0.66,
        ("active", "dropout"): 0.73,
        ("all", "L2"): 0.53,
        ("all", "dropout"): 0.55,
    }

    def rows(self, settings: Simulation, data: Mapping[str, Any]) -> Iterator[Row]:
        best = {
            method: tune(grid, settings) for method, grid in models(settings).items()
        }
        theirs = models(replace(settings, penalties=(32.0,), rates=(0.9,)))
        for method, grid in theirs.items():
            best[f"{method}, paper's constant"] = next(iter(grid.items()))
        test = make_rare_features(settings.n_test, cycle=False, random_state=_TEST_SEED)
        for run in range(settings.runs):
            for method, (constant, model) in best.items():
                active, everywhere = accuracies(model, settings.seed + run, test)
                shared = {"method": method, "constant": constant, "run": run}
                yield {"instances": "active", **shared, "accuracy": active}
                yield {"instances": "all", **shared, "accuracy": everywhere}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        cases = (("active", ""), ("all", ""), ("active", ", paper's constant"))
        return [_beats(rows, instances, which) for instances, which in cases]


def _beats(rows: Sequence[Row], instances: str, which: str) -> Claim:
    """The claim that dropout is better, on active instances clearly so."""
    dropout, l2 = (
        mean(rows, "accuracy", instances=instances, method=method + which)
        for method in ("dropout", "L2")
    )
    lead = 0.05 if instances == "active" else 0.0
    return Claim(
        f"Dropout{which} beats L2 on {instances} instances by more than {lead}",
        dropout - l2 > lead,
        f"{dropout:.3f} against {l2:.3f}",
    )


def models(settings: Simulation) -> dict[str, dict[str, Any]]:
    """Each method with each constant: λ, or the rate δ; no intercept, as simulated."""
    return {
        "L2": {
            f"lambda = {penalty:g}": LogisticRegression(
                C=1 / penalty, fit_intercept=False
            )
            for penalty in settings.penalties
        },
        "dropout": {
            f"delta = {rate:g}": DropoutLogisticRegression(
                rate,
                C=_NO_PENALTY,
                fit_intercept=False,
                expectation="gaussian",
                tol=1e-5,
            )
            for rate in settings.rates
        },
    }


def tune(grid: dict[str, Any], settings: Simulation) -> tuple[str, Any]:
    """The constant that does best on active instances of tuning runs."""
    test = make_rare_features(
        settings.n_test, cycle=False, random_state=_TUNING_SEED + _TEST_SEED
    )
    seeds = [_TUNING_SEED + run for run in range(settings.tuning_runs)]
    scores = {
        constant: np.mean([accuracies(model, seed, test)[0] for seed in seeds])
        for constant, model in grid.items()
    }
    best = max(scores, key=lambda constant: scores[constant])
    return best, grid[best]


def accuracies(model: Any, seed: int, test: Any) -> tuple[float, float]:
    """Share of active, and of all, test rows right after training on 75 rows."""
    train = make_rare_features(75, random_state=seed)
    right = model.fit(train.X, train.y).predict(test.X) == test.y
    return float(right[test.active].mean()), float(right.mean())


EXPERIMENT = WagerTable3()
