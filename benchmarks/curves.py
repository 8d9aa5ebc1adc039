"""What a robustness curve costs beside its bare arithmetic.

Bare: draw a mask, multiply X by it, multiply by the weights; nothing else, not even the
metric. The curve must do the same, and ask the model. Ratios come from one run.

    python benchmarks/curves.py            # 10,000 x 784 rows, made up
    python benchmarks/curves.py --repeats 3 --rows 2000
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from noiseproof.evaluation import robustness_curve

LEVELS = np.arange(10) / 10
DENSITY = 0.2  # that of MNIST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    for classes in (10, 2):
        X, y = rows(options.rows, classes)
        model = LinearSVC(max_iter=20, tol=1.0).fit(X[:1000], y[:1000])
        print(f"\n{X.shape[0]:,} x {X.shape[1]}, {classes} classes, 10 levels")
        compare("dense", X, y, model, options)
        compare("CSR", sp.csr_array(X), y, model, options)


def rows(n: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 784)) * (rng.random((n, 784)) < DENSITY)
    return X, (X @ rng.normal(size=(784, classes))).argmax(axis=1)


def compare(storage: str, X: Any, y: Any, model: Any, options: Any) -> None:
    """Shortest of some turns of each, in turn, and the memory of a curve."""
    works: dict[str, Callable[[], Any]] = {
        "bare": lambda: bare(X, model.coef_.T, options.repeats),
        "curve": lambda: curve(X, y, model, options.repeats),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.turns):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    best = {name: min(values) for name, values in times.items()}
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    print(
        f"  {storage:5}  bare {best['bare']:6.2f} s  curve {best['curve']:6.2f} s  "
        f"ratio {best['curve'] / best['bare']:.2f}  "
        f"memory {peak(lambda: curve(X, y, model, 1)) / size:.2f} of X"
    )


def bare(X: Any, weights: Any, repeats: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        for level in LEVELS:
            if sp.issparse(X):
                kept = rng.random(X.nnz, dtype=np.float32) >= level
                Z = sp.csr_array((X.data * kept, X.indices, X.indptr), X.shape)
            else:
                Z = X * (rng.random(X.shape, dtype=np.float32) >= level)
            Z @ weights


def curve(X: Any, y: Any, model: Any, repeats: int) -> Any:
    options = {"n_repeats": repeats, "random_state": 0}
    return robustness_curve(model, X, y, "delete", LEVELS, **options)


def peak(work: Callable[[], Any]) -> int:
    """Bytes allocated at once, at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    main()
