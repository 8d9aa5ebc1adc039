"""Figure 2 of Dekel and Shamir 2008: a greedy adversary, by cross-validation.

The adversary deletes from each test row the features that help its class most, worth
up to N. Models train on the other folds, less 1/9 of them for tuning under the same
attack; the robust ones know N, and may prepare for half of it.

    python experiments/dekel_figure2.py --folds 10 --chunks 1     # about an hour
    python experiments/dekel_figure2.py --data mnist --folds 2 --rows 4000
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from report import Row, arguments, load, plot, summary, write
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from noiseproof import RobustLPClassifier, RobustPerceptron, mutual_info_values
from noiseproof.attacks import FeatureDeletion

CASES = {  # name: data, values, N
    "spambase_equal": ("spambase", None, (0, 1, 2, 3, 4, 5, 6)),
    "spambase_mutual_info": ("spambase", "mutual_info", (0, 2, 4, 6, 8, 10, 12)),
    "mnist_mutual_info": ("mnist", "mutual_info", (0, 25, 50, 100, 150, 200)),
}
RADII = (0.1, 1.0, 10.0)
PREPARED = (0.5, 1.0)  # for what part of N to train


def main() -> None:
    options = arguments(__doc__, folds=10, chunks=1, rows=0)
    for name, (data, values, budgets) in CASES.items():
        if data not in options.data:
            continue
        X, y = load(data)
        if options.rows:
            X, y = X[: options.rows], y[: options.rows]
        rows: list[Row] = []
        folds = StratifiedKFold(10, shuffle=True, random_state=0).split(X, y)
        for _, (train, test) in zip(range(options.folds), folds, strict=False):
            held = train[: len(train) // 9]
            fold = (train[len(held) :], held, test)
            rows += one_fold(X, y, fold, values, budgets, options.chunks)
        table = summary(rows, ["model", "budget"])
        write(table, options.out / f"dekel_figure2_{name}")
        plot(table, "budget", options.out / f"dekel_figure2_{name}")


def one_fold(
    X: Any, y: Any, fold: Any, values: str | None, budgets: Any, chunks: int
) -> list[Row]:
    """Errors of each model at each N, tuned there."""
    train, held, test = fold
    worth = np.ones(X.shape[1])
    if values == "mutual_info":
        worth = mutual_info_values(X[train], y[train])
    plain = fit([LinearSVC(loss="hinge", C=10.0**c) for c in range(-3, 2)], X, y, train)
    rows = []
    for budget in budgets:
        robust = [
            {"budget": prepared, "feature_values": worth, "C": C}
            for prepared in sorted({part * budget for part in PREPARED})
            for C in RADII
        ]
        programs = [
            RobustLPClassifier(**options, n_chunks=chunks, tol=1e-2, random_state=0)
            for options in robust
        ]
        perceptrons = [
            RobustPerceptron(**options, random_state=0) for options in robust
        ]
        families = {
            "SVM": plain,
            "robust LP": fit(programs, X, y, train),
            "robust Perceptron": fit(perceptrons, X, y, train),
        }
        adversary = FeatureDeletion(budget, worth, mode="greedy")
        for name, models in families.items():
            best = min(models, key=lambda m: error(m, adversary, X[held], y[held]))
            wrong = error(best, adversary, X[test], y[test])
            rows.append({"model": name, "budget": budget, "error": wrong})
    return rows


def fit(models: list[Any], X: Any, y: Any, train: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [model.fit(X[train], y[train]) for model in models]


def error(model: Any, adversary: FeatureDeletion, X: Any, y: Any) -> float:
    """Share of rows that the model gets wrong after the attack."""
    return 1 - model.score(adversary.worst(X, y, model.coef_, model.intercept_), y)


if __name__ == "__main__":
    main()
