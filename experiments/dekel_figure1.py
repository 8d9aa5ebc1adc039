"""Figure 1 of Dekel and Shamir 2008: random deletion after training on 50 rows.

From each test row N of its non-zero features are deleted at random. Parameters are
tuned, for each N, on a validation set that suffers the same. Values are equal on
spambase and by mutual information on MNIST, as in the paper.

    python experiments/dekel_figure1.py --repetitions 20
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from report import Row, arguments, load, plot, summary, write
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from noiseproof import RobustLPClassifier

LEVELS = {"spambase": range(0, 21, 4), "mnist": range(0, 151, 25)}
VALUES = {"spambase": None, "mnist": "mutual_info"}
SHARES = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2)  # of all value: N in training
RADII = (0.1, 0.3, 1.0, 3.0)
N_TRAIN, N_VALIDATION, N_TEST = 50, 200, 2000


def main() -> None:
    options = arguments(__doc__, repetitions=20)
    for name in options.data:
        X, y = load(name)
        rows: list[Row] = []
        for seed in range(options.repetitions):
            rows += repetition(X, y, name, np.random.default_rng(seed))
        table = summary(rows, ["model", "deleted_features"])
        write(table, options.out / f"dekel_figure1_{name}")
        plot(table, "deleted_features", options.out / f"dekel_figure1_{name}")


def repetition(X: Any, y: Any, data: str, rng: Any) -> list[Row]:
    """Errors of each model, tuned at each level."""
    order = rng.permutation(len(y))
    cuts = np.cumsum([N_TRAIN, N_VALIDATION, N_TEST])
    train, validation, test, _ = np.split(order, cuts)
    families = {
        "SVM": [SVC(kernel="linear", C=10.0**c) for c in range(-2, 3)],
        "robust LP": [
            RobustLPClassifier(
                share * X.shape[1] // 1, feature_values=VALUES[data], C=C, tol=1e-4
            )
            for share in SHARES
            for C in RADII
        ],
    }
    fitted = {
        name: fit(models, X[train], y[train]) for name, models in families.items()
    }
    rows = []
    for level in LEVELS[data]:
        tuning, testing = (delete(X[part], level, rng) for part in (validation, test))
        for name, models in fitted.items():
            best = max(models, key=lambda m: m.score(tuning, y[validation]))
            error = 1 - best.score(testing, y[test])
            rows.append({"model": name, "deleted_features": level, "error": error})
    return rows


def fit(models: list[Any], X: Any, y: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [model.fit(X, y) for model in models]


def delete(X: Any, level: int, rng: Any) -> Any:
    """Delete `level` of the non-zero features of each row, or all if there are less."""
    keys = np.where(X != 0, rng.random(X.shape), np.inf)
    order = np.argsort(keys, axis=1)[:, :level]
    deleted = X.copy()
    np.put_along_axis(deleted, order, 0.0, axis=1)
    return deleted


if __name__ == "__main__":
    main()
