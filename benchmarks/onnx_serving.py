"""Averaged models in ONNX beside the same models in Python: time and difference.

    python benchmarks/onnx_serving.py
    python benchmarks/onnx_serving.py 100    # fewer rows

10,000 x 50 random training rows, and rows of which a random share is missing, as
float32. Both sides take turns, with one thread each. `apart` is the largest difference
of probabilities, one row at a time and in batches of 100.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from noiseproof import AverageOverMissing, to_onnx

N, D, ROWS, BATCH = 10_000, 50, 1000, 100


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    X, y = make_classification(
        N + count, D, n_informative=30, n_redundant=10, random_state=0
    )
    rng = np.random.default_rng(0)
    rows = X[N:].astype(np.float32)
    rows[rng.random(rows.shape) < rng.random((count, 1))] = np.nan
    print(f"{N:,} x {D} training rows, {count:,} rows with random patterns; ms a row")
    print(f"{'':34}{'one row alone':^26}{'in batches':^18}")
    print(f"{'':34}{'ONNX':>8}{'p99':>8}{'Python':>10}{'ONNX':>8}{'Python':>10}"
          f"{'apart':>10}{'labels':>8}{'MB':>6}")  # fmt: skip
    for name, model in models().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations are enough here
            model.fit(X[:N], y[:N])
        print(f"{name:34}{measured(model, rows)}", flush=True)


def models() -> dict[str, Any]:
    """Averaged models, by name."""
    boosting, plain = HistGradientBoostingClassifier(), LogisticRegression(max_iter=500)
    network = make_pipeline(StandardScaler(), MLPClassifier((50,), max_iter=5))
    machine = make_pipeline(StandardScaler(), SVC())
    trees = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)

    def averaged(model: Any, law: str = "donors") -> Any:
        return AverageOverMissing(model, law)

    members = [("boosting", averaged(boosting)), ("linear", averaged(plain))]
    return {
        "boosting, donors": averaged(boosting),
        "boosting, joint Gaussian": averaged(boosting, "joint-gaussian"),
        "logistic regression, donors": averaged(plain),
        "logistic, joint Gaussian": averaged(plain, "joint-gaussian"),
        "random forest, donors": averaged(trees),
        "neural network, donors": averaged(network),
        "SVC (scores), donors": averaged(machine),
        "blend of two averages, donors": VotingClassifier(members, voting="soft"),
    }


def measured(model: Any, rows: Any) -> str:
    """A line of the table."""
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        to_onnx(model, path)
        size = os.path.getsize(path) / 1e6
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options)

    def ours(part: Any) -> list[Any]:
        return session.run(None, {"X": part})

    with threadpool_limits(1):
        theirs = getattr(model, method)
        alone = [rows[i : i + 1] for i in range(len(rows))]
        batches = [rows[i : i + BATCH] for i in range(0, len(rows), BATCH)]
        (fast, onnx), (slow, _) = turns(alone, ours, theirs)
        (quick, stacked), (steady, whole) = turns(batches, ours, theirs)
        labels = model.predict(rows)
    wanted = np.concatenate(whole)
    apart = max(
        float(np.abs(np.concatenate([answer[1] for answer in found]) - wanted).max())
        for found in (onnx, stacked)
    )
    differ = int((np.concatenate([answer[0] for answer in stacked]) != labels).sum())
    per = BATCH if len(rows) >= BATCH else len(rows)
    p50, p99 = statistics.median(fast), float(np.quantile(fast, 0.99))
    return (
        f"{p50:8.2f}{p99:8.2f}{statistics.median(slow):10.2f}"
        f"{statistics.median(quick) / per:8.2f}{statistics.median(steady) / per:10.2f}"
        f"{apart:10.1e}{differ:8d}{size:6.1f}"
    )


def turns(parts: Any, *acts: Callable[[Any], Any]) -> list[tuple[list[float], Any]]:
    """Milliseconds and answers of each function for each part, taking turns."""
    for act in acts:
        act(parts[0])
    results: list[tuple[list[float], list[Any]]] = [([], []) for _ in acts]
    for part in parts:
        for act, (times, answers) in zip(acts, results, strict=True):
            start = time.perf_counter()
            answers.append(act(part))
            times.append(1e3 * (time.perf_counter() - start))
    return results


if __name__ == "__main__":
    main()
