"""Table 3 of Wager et al. 2013: rare but useful features.

Both models get their best constant over a grid, on all runs together, as the paper's
"tuning parameters were set to optimal values". The paper's are δ = 0.9 for dropout and
λ = 32 for L2, where it minimises Σ loss + λ/2 ‖β‖²: our C = 1 / λ. Dropout has no L2
penalty there; C = 1000 stands for none.

    python experiments/wager_table3.py --repetitions 100
"""

from __future__ import annotations

from typing import Any

import numpy as np
from report import Row, arguments, write
from sklearn.linear_model import LogisticRegression

from noiseproof import DropoutLogisticRegression
from noiseproof.datasets import make_rare_features

PAPER = {
    ("L2", "active"): 0.66,
    ("dropout", "active"): 0.73,
    ("L2", "all"): 0.53,
    ("dropout", "all"): 0.55,
}
NO_PENALTY = 1000.0


def models() -> dict[tuple[str, float], Any]:
    """Each method with each constant: λ, or the rate δ."""
    penalties = (8, 16, 32, 64, 128, 256, 512)
    rates = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
    # the simulation has no intercept, and the paper's model none either
    return {
        ("L2", lam): LogisticRegression(C=1 / lam, fit_intercept=False)
        for lam in penalties
    } | {
        ("dropout", rate): DropoutLogisticRegression(
            rate, C=NO_PENALTY, fit_intercept=False, expectation="gaussian", tol=1e-5
        )
        for rate in rates
    }


def main() -> None:
    options = arguments(__doc__, repetitions=100)
    scores: dict[tuple[str, float], list[tuple[float, float]]] = {}
    test = make_rare_features(10_000, cycle=False, random_state=10**6)
    for seed in range(options.repetitions):
        train = make_rare_features(75, random_state=seed)
        for key, model in models().items():
            right = model.fit(train.X, train.y).predict(test.X) == test.y
            pair = (float(right[test.active].mean()), float(right.mean()))
            scores.setdefault(key, []).append(pair)
    write(table(scores), options.out / "wager_table3")


def table(scores: dict[tuple[str, float], list[tuple[float, float]]]) -> list[Row]:
    """Accuracy at the best constant of each method, the paper's beside it."""
    rows: list[Row] = []
    for method in ("L2", "dropout"):
        means = {
            constant: np.mean(pairs, axis=0)
            for (name, constant), pairs in scores.items()
            if name == method
        }
        best = max(means, key=lambda constant: means[constant][0])
        errors = np.std(scores[method, best], axis=0) / np.sqrt(
            len(scores[method, best])
        )
        for column, instances in enumerate(("active", "all")):
            rows.append(
                {
                    "method": method,
                    "constant": f"{'lambda' if method == 'L2' else 'delta'} = {best}",
                    "instances": instances,
                    "accuracy": round(float(means[best][column]), 4),
                    "standard_error": round(float(errors[column]), 4),
                    "paper": PAPER[method, instances],
                }
            )
    return rows


if __name__ == "__main__":
    main()
