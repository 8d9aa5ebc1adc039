"""Data and stopwatch shared by the benchmarks. Data: the folder NOISEPROOF_DATA."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning


def folder() -> Path:
    """The folder with the papers' data, or a clear end."""
    path = os.environ.get("NOISEPROOF_DATA")
    if not path:
        sys.exit("Set NOISEPROOF_DATA to the folder that holds the data sets.")
    return Path(path)


def counts(name: str) -> tuple[Any, Any, Any, Any]:
    """Word counts: X_train, y_train, X_test, y_test, CSR of float64."""
    with lzma.open(folder() / f"{name}.npz.xz") as file:
        z = np.load(io.BytesIO(file.read()))
    X = sp.csr_matrix(
        (z["data"].astype(float), z["indices"].astype("int32"), z["indptr"]),
        shape=tuple(z["shape"]),
    )
    n = int(z["n_train"])
    return X[:n], z["y"][:n], X[n:], z["y"][n:]


def mnist() -> tuple[Any, Any, Any, Any]:
    """MNIST with pixels in [0, 1]: X_train, y_train, X_test, y_test."""

    def read(name: str, skip: int) -> Any:
        with gzip.open(folder() / "mnist" / f"{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8)[skip:]

    return (
        read("train-images-idx3", 16).reshape(-1, 784) / 255.0,
        read("train-labels-idx1", 8),
        read("t10k-images-idx3", 16).reshape(-1, 784) / 255.0,
        read("t10k-labels-idx1", 8),
    )


TEXT = {
    "books": lambda: counts("amazon_books_5000"),
    "kitchen": lambda: counts("amazon_kitchen_5000"),
    "newsgroups": lambda: counts("newsgroups20_counts"),
}


def stored_lines(
    path: Path, key: str, order: Iterable[str], judge: Callable[[str], dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Lines of a CSV file by `key`, those named on the command line (or all) made anew.

    The file is written after each, so that a run may be stopped.
    """
    order = list(order)
    found: dict[str, dict[str, Any]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            found = {row[key]: row for row in csv.DictReader(file)}
    for name in sys.argv[1].split(",") if len(sys.argv) > 1 else order:
        found[name] = judge(name)
        print(*found[name].values(), flush=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(found[name]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(found[known] for known in order if known in found)
    return found


def seconds(
    models: dict[str, Any], X: Any, y: Any, repeats: int, warm_up: int = 1
) -> dict[str, float]:
    """Median seconds of each model's fit after a warm-up, taking turns."""
    times: dict[str, list[float]] = {name: [] for name in models}
    with warnings.catch_warnings():
        # the peers stop at their default max_iter with a warning; that is their time
        warnings.simplefilter("ignore", ConvergenceWarning)
        for turn in range(-warm_up, repeats):
            for name, model in models.items():
                start = time.perf_counter()
                model.fit(X, y)
                if turn >= 0:
                    times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}
