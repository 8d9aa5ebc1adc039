"""Expected calibration error of dropout models, plain and calibrated.

    python benchmarks/calibration.py

Half of the rows (at most 2,000) train, the others (at most 3,000) test; columns are
standardised. The error is the mean over ten bins of confidence, weighted by their rows,
of the difference between confidence and accuracy. Missing: 30 % of the cells, where
the calibrated model is asked as it is, and averaged over what they may have been.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from recommend import keel
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import AverageOverMissing, DropoutLogisticRegression

RATE, MISSING = 0.3, 0.3
DATA: dict[str, Any] = {
    "satimage": lambda: keel("satimage"),
    "vehicle": lambda: keel("vehicle"),
    "segment": lambda: keel("segment"),
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
}


def main() -> None:
    print(
        "| data | accuracy | `LogisticRegression` | `noise=0.3` | calibrated | "
        "calibrated, 30 % missing | the same, averaged |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, load in DATA.items():
        X, y = load()
        X = np.asarray(X, dtype=float)
        halves = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
        X, test, y, truth = halves
        X, y, test, truth = X[:2000], y[:2000], test[:3000], truth[:3000]
        models = [
            make_pipeline(StandardScaler(), model).fit(X, y)
            for model in (
                LogisticRegression(max_iter=1000),
                DropoutLogisticRegression(RATE),
                DropoutLogisticRegression(RATE, calibrated=True),
            )
        ]
        errors = [calibration_error(m, test, truth) for m in models]
        holes = np.random.default_rng(0).random(test.shape) < MISSING
        damaged = np.where(holes, np.nan, test)
        averaged = AverageOverMissing(FrozenEstimator(models[-1]), random_state=0)
        averaged.fit(X, y)
        errors += [calibration_error(m, damaged, truth) for m in (models[-1], averaged)]
        cells = [f"{models[-1].score(test, truth):.3f}", *(f"{e:.3f}" for e in errors)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def calibration_error(model: Any, X: Any, y: Any) -> float:
    """Mean gap between confidence and accuracy, over ten bins."""
    p = model.predict_proba(X)
    confidence, right = p.max(axis=1), model.classes_[p.argmax(axis=1)] == y
    bins = np.minimum((10 * confidence).astype(int), 9)
    gaps = [
        np.mean(bins == b) * abs(confidence[bins == b].mean() - right[bins == b].mean())
        for b in np.unique(bins)
    ]
    return float(np.sum(gaps))


if __name__ == "__main__":
    main()
