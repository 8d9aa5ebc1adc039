"""Donors against KNNImputer: time, growth, memory, and one row alone.

    python benchmarks/missing.py
    python benchmarks/missing.py 150    # fewer rows to fill

Data: MNIST's pixels, half of them missing (the folder NOISEPROOF_DATA); for one row
alone 10,000 x 50 random rows.
"""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from common import mnist
from sklearn.impute import KNNImputer
from sklearn.linear_model import SGDRegressor

from noiseproof import AverageOverMissing
from noiseproof.conditionals import Donors, JointGaussian


def main() -> None:
    X, _, T, _ = mnist()
    n, m = 10_000, int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    X, T = X[:n], T[:m]
    Q = np.where(np.random.default_rng(0).random(T.shape) < 0.5, np.nan, T)
    donors = Donors().fit(X)
    ours = seconds(lambda: donors.mean(Q))
    knn = KNNImputer(n_neighbors=5).fit(X)
    theirs = seconds(lambda: knn.transform(Q), repeats=1)
    print(f"{n:,} reference rows x 784, {m:,} rows with half of the pixels missing")
    print(f"  KNNImputer(5).transform {theirs:7.2f} s")
    print(f"  Donors().mean           {ours:7.2f} s   1/{theirs / ours:.0f}")
    gaussian = JointGaussian().fit(X)
    print(f"  JointGaussian().mean    {seconds(lambda: gaussian.mean(Q)):7.2f} s")
    half = Donors(max_rows=n // 2).fit(X)
    fewer = seconds(lambda: half.mean(Q)), seconds(lambda: donors.mean(Q[::2]))
    print(f"  half of the reference rows: {fewer[0] / ours:.2f}")
    print(f"  half of the rows:           {fewer[1] / ours:.2f}")
    memory(X, Q)
    alone()


def seconds(act: Callable[[], Any], repeats: int = 3) -> float:
    """Median of some turns."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def memory(X: Any, Q: Any) -> None:
    """Peak while a model is fitted and fills rows, beside the rows themselves."""
    model = AverageOverMissing(SGDRegressor(max_iter=1, tol=None, eta0=1e-6), "donors")
    tracemalloc.start()
    model.fit(X, X[:, 0])
    fit = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    model.predict(Q)
    predict = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = X.nbytes / 2**20
    print(f"  reference rows {size:.0f} MiB; peak of fit {fit / 2**20:.0f} MiB,")
    predict /= 2**20
    print(f"  of predict {predict:.0f} MiB: {predict / size:.2f} x")


def alone() -> None:
    """One row with 10,000 x 50 reference rows, beside the model's own time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 50)) @ rng.normal(size=(50, 50))
    model = AverageOverMissing(
        SGDRegressor(max_iter=1, tol=None, eta0=1e-6), "donors"
    ).fit(X, X[:, 0])
    row = np.where(rng.random((1, 50)) < 0.5, np.nan, X[:1])
    took = seconds(lambda: model.predict(row), repeats=50)
    print(f"one row alone, 10,000 x 50 reference rows: {1000 * took:.1f} ms")


if __name__ == "__main__":
    main()
