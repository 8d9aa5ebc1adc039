"""Donors against KNNImputer: time, growth, memory, one row alone, and costs.

    python benchmarks/missing.py
    python benchmarks/missing.py 150    # fewer rows to fill
    python benchmarks/missing.py alone  # single rows: wants a quiet machine
    python benchmarks/missing.py cost   # missing_cost beside predicting the same rows
    python benchmarks/missing.py incomplete  # memory of a fit on incomplete rows

Seconds are of processor time, of which a busy machine costs little, except for rows
alone. Data: MNIST's pixels, half of them missing (the folder NOISEPROOF_DATA); for rows
alone 20,000 x 30 random ones, for costs 10,000 x 50, for fits n x 20.
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
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression

from noiseproof import AverageOverMissing
from noiseproof.conditionals import Donors, JointGaussian
from noiseproof.evaluation import missing_cost

N, M = 10_000, 1000  # reference rows, and rows to fill


def main() -> None:
    if sys.argv[1:] == ["alone"]:
        alone()
        return
    if sys.argv[1:] == ["cost"]:
        cost()
        return
    if sys.argv[1:] == ["incomplete"]:
        incomplete()
        return
    X, _, T, _ = mnist()
    m = int(sys.argv[1]) if len(sys.argv) > 1 else M
    X, T = X[:N], T[:m]
    Q = np.where(np.random.default_rng(0).random(T.shape) < 0.5, np.nan, T)
    donors = Donors().fit(X)
    ours = seconds(lambda: donors.mean(Q))
    knn = KNNImputer(n_neighbors=5).fit(X)
    theirs = seconds(lambda: knn.transform(Q), repeats=1)
    print(f"{N:,} reference rows x 784, {m:,} rows with half of the pixels missing")
    print(f"  KNNImputer(5).transform {theirs:7.2f} s")
    print(f"  Donors().mean           {ours:7.2f} s   1/{theirs / ours:.0f}")
    gaussian = JointGaussian().fit(X)
    print(f"  JointGaussian().mean    {seconds(lambda: gaussian.mean(Q)):7.2f} s")
    growth(X, Q, donors, ours)
    memory(X, Q)


def growth(X: Any, Q: Any, donors: Any, whole: float) -> None:
    """Seconds for a quarter and a half, as shares of those for all."""
    print("time for a quarter and a half, by that for all:")
    of_rows = [seconds(lambda k=k: donors.mean(Q[::k])) / whole for k in (4, 2)]
    print(f"  of the rows           {of_rows[0]:.2f} {of_rows[1]:.2f}")
    fewer = [Donors(max_rows=N // k).fit(X) for k in (4, 2)]
    of_reference = [seconds(lambda d=d: d.mean(Q)) / whole for d in fewer]
    print(f"  of the reference rows {of_reference[0]:.2f} {of_reference[1]:.2f}")


def seconds(
    act: Callable[[], Any],
    repeats: int = 3,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Median of some turns."""
    times = []
    for _ in range(repeats):
        start = clock()
        act()
        times.append(clock() - start)
    return statistics.median(times)


def memory(X: Any, Q: Any) -> None:
    """Peaks of fitting and filling beside the caller's rows, by reference rows."""
    sizes, peaks = [], []
    for rows in (X[::2], X):
        model = Donors()
        tracemalloc.start()
        model.fit(rows)
        fit = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.reset_peak()
        model.mean(Q[:100])  # the answer has the size of the question: a small one
        fill = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        sizes.append(rows.nbytes / 2**20)
        peaks.append(max(fit, fill))
        print(
            f"reference rows {sizes[-1]:.0f} MiB: peak of fit {fit:.0f} MiB, of "
            f"filling 100 rows {fill:.0f} MiB"
        )
    slope = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0])
    print(f"  {slope:.2f} x the reference rows + {peaks[0] - slope * sizes[0]:.0f} MiB")


def alone() -> None:
    """One row after another with 20,000 x 30 reference rows, beside the plain models.

    Rows of averages are incomplete, those of plain models complete.
    """
    rng = np.random.default_rng(0)
    X, y = correlated(rng, 20_000, 30)
    Q = np.where(rng.random((500, 30)) < 0.3, np.nan, X[:500])
    boosting = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    linear = LogisticRegression().fit(X, y)
    forest = RandomForestClassifier(random_state=0).fit(X, y)

    def blend(members: list[Any]) -> Any:
        named = [(str(i), FrozenEstimator(member)) for i, member in enumerate(members)]
        return VotingClassifier(named, voting="soft").fit(X[:100], y[:100])

    def average(model: Any, law: str = "donors") -> Any:
        return AverageOverMissing(FrozenEstimator(model), law).fit(X)

    averaged = [average(boosting), average(linear), average(forest)]
    models = [
        ("boosting", boosting),
        ("  Donors", averaged[0]),
        ("  JointGaussian", average(boosting, "joint-gaussian")),
        ("boosting and linear", blend([boosting, linear])),
        ("  Donors", blend(averaged[:2])),
        ("forest", forest),
        ("  Donors", averaged[2]),
        ("boosting, linear and forest", blend([boosting, linear, forest])),
        ("  Donors", blend(averaged)),
    ]
    print("20,000 x 30 reference rows, one row alone: median and 99 %, and median of")
    print("the processor time, in ms")
    for name, model in models:
        rows = Q if name.startswith(" ") else X[:500]
        model.predict_proba(rows[:1])
        found = []
        for row in rows:
            start, used = time.perf_counter(), time.process_time()
            model.predict_proba(row[None])
            found.append((time.perf_counter() - start, time.process_time() - used))
        took, work = 1000 * np.array(found).T
        middle, slow = np.quantile(took, [0.5, 0.99])
        print(f"  {name:29} {middle:5.1f} {slow:6.1f} {np.median(work):6.1f}")


def cost() -> None:
    """Seconds of `missing_cost`, and of predicting the same rows once."""
    rng = np.random.default_rng(0)
    X, y = correlated(rng, 2 * N, 50)
    boosting = HistGradientBoostingClassifier(random_state=0)
    model = AverageOverMissing(boosting, "donors", random_state=0).fit(X[:N], y[:N])
    Q = np.where(rng.random((N, 50)) < 0.3, np.nan, X[N:])
    model.predict(Q[:200])
    missing_cost(model, Q[:200])  # compiles
    print("averaged boosting, 10,000 x 50 training rows, 30 % of the values missing:")
    for n in (200, 1000, N):
        rows = Q[:n]
        predicting = seconds(lambda rows=rows: model.predict(rows))
        ours = seconds(lambda rows=rows: missing_cost(model, rows))
        print(f"  {n:6,} rows: predict {predicting:5.2f} s, missing_cost {ours:5.2f} s "
              f"({ours / predicting:.1f} times)")  # fmt: skip


def incomplete() -> None:
    """Peaks of fits on training rows of which 10 % of the values are missing."""
    rng = np.random.default_rng(0)
    linear, boosting = LogisticRegression(), HistGradientBoostingClassifier()
    print("averaged models, 20 columns, 10 % of the training values missing:")
    for base, n in (linear, 50_000), (linear, 100_000), (boosting, 100_000):
        X, y = correlated(rng, n, 20)
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
        model = AverageOverMissing(base, random_state=0)
        model.fit(X[:2000], y[:2000])  # what is compiled and imported once
        tracemalloc.start()
        start = time.process_time()
        model.fit(X, y)
        took = time.process_time() - start
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"  {type(base).__name__}, {n:,} rows, {X.nbytes / 2**20:.0f} MiB: peak "
            f"{peak / 2**20:.0f} MiB ({peak / X.nbytes:.1f} times), {took:.0f} s"
        )


def correlated(rng: Any, n: int, d: int) -> tuple[Any, Any]:
    """Rows with five common factors, and two classes."""
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d))
    X += rng.normal(size=X.shape)
    return X, (X[:, :3].sum(axis=1) + rng.normal(size=n) > 0).astype(int)


if __name__ == "__main__":
    main()
