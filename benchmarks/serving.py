"""What `Served` adds to a model, for one row at a time.

python benchmarks/serving.py latency
"""

from __future__ import annotations

import pickle
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import AverageOverMissing, DropoutLogisticRegression
from noiseproof.serving import Served
from noiseproof.tables import TableEncoder

ROWS, COLUMNS, WORDS = 20_000, 30, 5
CALLS = 400


def table(seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Correlated numbers, the last columns words, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(ROWS, 6)) @ rng.normal(size=(6, COLUMNS))
    Z += rng.normal(size=Z.shape)
    X = pd.DataFrame(Z, columns=[f"c{j}" for j in range(COLUMNS)])
    return X, np.where(Z[:, 0] + Z[:, 1] > 0, "yes", "no")


def with_words(X: pd.DataFrame) -> pd.DataFrame:
    """The same with words in the last columns."""
    words = np.array(["red", "green", "blue"], dtype=object)
    names = X.columns[-WORDS:]
    return X.assign(**{n: words[np.digitize(X[n], [-1.0, 1.0])] for n in names})


def percentiles(asked: dict[str, Callable[[int], Any]]) -> dict[str, Any]:
    """p50 and p99 of each, and p50 of its CPU time, in milliseconds.

    They take turns, after a warm-up. On a busy machine only the CPU time is to be
    trusted.
    """
    times: dict[str, list[Any]] = {name: [] for name in asked}
    for turn in range(-20, CALLS):
        for name, ask in asked.items():
            start = np.array([time.perf_counter(), time.process_time()])
            ask(turn % CALLS)
            end = np.array([time.perf_counter(), time.process_time()])
            if turn >= 0:
                times[name].append(1e3 * (end - start))
    found = {}
    for name, values in times.items():
        wall, cpu = np.transpose(values)
        found[name] = (*np.percentile(wall, [50, 99]), np.median(cpu))
    return found


def peak(ask: Callable[[int], Any]) -> float:
    """Most memory that one call takes beside the model, in MB."""
    ask(0)
    tracemalloc.start()
    ask(1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def latency() -> None:
    """One row through `Served`, as a record, beside the model on a prepared frame."""
    numbers, y = table()
    words = with_words(numbers)
    boosting = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    linear = make_pipeline(TableEncoder(), DropoutLogisticRegression(0.1))
    models = {
        "logistic regression": (
            make_pipeline(StandardScaler(), LogisticRegression()),
            numbers,
        ),
        "boosting": (boosting, numbers),
        "TableEncoder, words": (linear, words),
        "averaged boosting": (
            AverageOverMissing(boosting, "donors", random_state=0),
            numbers,
        ),
    }
    print(f"{'one row; ms':32}{'model':>24}{'Served':>24}{'MB':>26}\n{'':32}"
          f"{'p50':>8}{'p99':>8}{'CPU':>8}{'p50':>8}{'p99':>8}{'CPU':>8}"
          f"{'model':>10}{'summary':>8}{'row':>8}")  # fmt: skip
    for name, (model, X) in models.items():
        model.fit(X, y)
        for gap in (False, True):
            if gap and name == "logistic regression":
                continue  # it refuses missing values
            show(f"{name}{', 3 missing' * gap}", model, X, gap)


def show(name: str, model: Any, X: pd.DataFrame, gap: bool) -> None:
    """Print a line; with a gap three values of each row are missing."""
    served, rows = Served(model, X), X.iloc[:CALLS].copy()
    if gap:
        rows[["c1", "c2", "c3"]] = np.nan
    records = rows.astype(object).where(rows.notna(), None).to_dict("records")
    asked = {
        "model": lambda i: model.predict_proba(rows.iloc[[i]]),
        "served": lambda i: served.predict_proba([records[i]]),
    }
    for i in range(20):
        np.testing.assert_array_equal(asked["model"](i), asked["served"](i))
    figures = [time for times in percentiles(asked).values() for time in times]
    whole, summary = (len(pickle.dumps(x)) / 2**20 for x in (model, served.columns))
    print(f"{name:32}{''.join(f'{time:8.2f}' for time in figures)}"
          f"{whole:10.3f}{summary:8.3f}{peak(asked['served']):8.2f}")  # fmt: skip


COMMANDS = {"latency": latency}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"python benchmarks/serving.py {'|'.join(COMMANDS)}")
    COMMANDS[sys.argv[1]]()
