"""Averaging against fill-ins, with the same models: accuracy and log-loss.

    python benchmarks/missing_quality.py
    python benchmarks/missing_quality.py digits,wine 3

Models are fitted on complete halves of the data (at most 1,500 rows); of the cells of
at most 600 other rows a share is missing at random. Imputers get standardised features,
which are then scaled back; "KNN raw" gets them as they are, as averaging does. Each
cell of the table is a mean over seeds; `*` marks the best, `~` what is within one
standard error of it, the error being that of the paired differences over seeds. The
last lines count the cells where averaging is at least so near to the best fill-in.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from noiseproof import AverageOverMissing
from noiseproof.datasets import load_spambase

DATA = {
    "digits": lambda: load_digits(return_X_y=True),
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "spambase": load_spambase,
}
MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "SVC": make_pipeline(StandardScaler(), SVC()),
    "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
}
FILLS = {
    "mean": SimpleImputer(),
    "KNN": KNNImputer(),
    "KNN raw": KNNImputer(),
    "iterative": IterativeImputer(max_iter=5, n_nearest_features=20, random_state=0),
}
AVERAGES = {"donors": "donors", "Gaussian": "joint-gaussian", "auto": "auto"}
Scores = dict[tuple[str, str, float], dict[str, list[tuple[float, float]]]]


def main() -> None:
    names = sys.argv[1].split(",") if len(sys.argv) > 1 else list(DATA)
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    warnings.simplefilter("ignore")
    print(" " * 24 + ", ".join([*FILLS, *AVERAGES]) + ": accuracy | log-loss")
    wins = {
        measure: np.zeros((2, len(AVERAGES))) for measure in ("accuracy", "log-loss")
    }
    for name in names:
        scores: Scores = {}
        for seed in range(seeds):
            judge(name, seed, scores)
        for key, row in scores.items():
            show(key, row, wins)
    for measure, (within, cells) in wins.items():
        for average, a, b in zip(AVERAGES, within, cells, strict=True):
            print(
                f"{measure}: {average} best or within a standard error: {a:.0f}/{b:.0f}"
            )


def judge(name: str, seed: int, scores: Scores) -> None:
    """All models, all rates, all methods, on one split."""
    rng = np.random.default_rng(seed)
    X, y = DATA[name]()
    order = rng.permutation(len(y))
    n = min(len(y) // 2, 1500)
    train, test = order[:n], order[n : n + 600]
    X, T = X[train], X[test]
    models = {label: model.fit(X, y[train]) for label, model in MODELS.items()}
    averages = {
        (label, average): AverageOverMissing(
            FrozenEstimator(model), law, random_state=0
        ).fit(X)
        for label, model in models.items()
        for average, law in AVERAGES.items()
    }
    for rate in (0.2, 0.5, 0.8):
        Q = np.where(rng.random(T.shape) < rate, np.nan, T)
        filled = {
            fill: fill_in(imputer, X, Q, scaled=fill != "KNN raw")
            for fill, imputer in FILLS.items()
        }
        for label, model in models.items():
            row = scores.setdefault((name, label, rate), {})
            for fill, rows in filled.items():
                row.setdefault(fill, []).append(measure(model, rows, y[test]))
            for average in AVERAGES:
                averaged = averages[label, average]
                row.setdefault(average, []).append(measure(averaged, Q, y[test]))


def fill_in(imputer: Any, X: Any, Q: Any, scaled: bool) -> Any:
    """Rows without holes."""
    if not scaled:
        return imputer.fit(X).transform(Q)
    scaler = StandardScaler().fit(X)
    filled = imputer.fit(scaler.transform(X)).transform(scaler.transform(Q))
    return np.where(np.isnan(Q), scaler.inverse_transform(filled), Q)


def measure(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Accuracy and log-loss, NaN where there are no probabilities."""
    if not hasattr(model, "predict_proba"):
        return float(np.mean(model.predict(X) == y)), np.nan
    p = np.clip(model.predict_proba(X), 1e-6, 1)
    classes = model.classes_[p.argmax(axis=1)]
    return float(np.mean(classes == y)), log_loss(y, p / p.sum(axis=1, keepdims=True))


def show(key: Any, row: dict[str, list[tuple[float, float]]], wins: Any) -> None:
    """A line of the table, and who was good enough."""
    text = f"{key[0]:9} {key[1]:9} {key[2]:.1f} "
    for column, measured in enumerate(wins):
        values = {method: np.array(pairs)[:, column] for method, pairs in row.items()}
        if np.isnan(next(iter(values.values()))).any():
            continue
        sign = 1 if column == 0 else -1
        best = max(values, key=lambda method: sign * values[method].mean())
        fill = max(FILLS, key=lambda method: sign * values[method].mean())
        for method, got in values.items():
            mark = "*" if method == best else "~" if near(values[best], got) else " "
            text += f" {got.mean():.3f}{mark}"
        for i, average in enumerate(AVERAGES):
            better = sign * values[average].mean() >= sign * values[fill].mean()
            wins[measured][0, i] += better or near(values[fill], values[average])
            wins[measured][1, i] += 1
        text += "  |" if column == 0 else ""
    print(text, flush=True)


def near(best: Any, other: Any) -> bool:
    """Whether the mean difference is at most its standard error."""
    apart = best - other
    return abs(apart.mean()) <= apart.std(ddof=1) / np.sqrt(len(apart)) + 1e-12


if __name__ == "__main__":
    main()
