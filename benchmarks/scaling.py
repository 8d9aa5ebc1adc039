"""Fit time against the number of rows, as an exponent; peak memory against X.

python benchmarks/scaling.py
python benchmarks/scaling.py memory newsgroups   # 20 classes; needs the data
"""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
import threading
import time

import numpy as np
import scipy.sparse as sp
from common import TEXT

from noiseproof import DropoutSVC

FEATURES, PER_ROW = 20_000, 60


def sparse_problem(n: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Text-like rows: Zipf-distributed features with counts."""
    rng = np.random.default_rng(0)
    popularity = 1 / np.arange(1, FEATURES + 1) ** 0.8
    edges = np.cumsum(popularity / popularity.sum())
    columns = np.searchsorted(edges, rng.random(n * PER_ROW)).astype(np.int32)
    columns = np.minimum(columns, FEATURES - 1)
    X = sp.csr_matrix(
        (np.ones(n * PER_ROW), columns, np.arange(0, n * PER_ROW + 1, PER_ROW)),
        shape=(n, FEATURES),
    )
    X.sum_duplicates()
    w = rng.normal(size=FEATURES)
    y = X @ w + rng.normal(size=n) * 3 > 0
    return X, y


def dense_problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 400))
    return X, X @ rng.normal(size=400) + rng.normal(size=n) * 5 > 0


def exponent() -> None:
    sizes, times = [10_000, 30_000, 100_000, 300_000, 1_000_000], []
    DropoutSVC(0.5, C=0.01).fit(*sparse_problem(1000))
    for n in sizes:
        X, y = sparse_problem(n)
        start = time.perf_counter()
        # the loss keeps its weight against the penalty as rows are added
        model = DropoutSVC(0.5, C=1000 / n).fit(X, y)
        times.append(time.perf_counter() - start)
        print(f"{n:>9} rows  {X.nnz:>10} entries  {times[-1]:>7.2f} s  "
              f"{model.n_iter_} steps", flush=True)  # fmt: skip
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"time grows as rows ^ {slope:.2f}")


PROBLEMS = {
    "sparse": lambda: sparse_problem(300_000),
    "dense": lambda: dense_problem(150_000),
    "newsgroups": lambda: TEXT["newsgroups"]()[:2],
}


def memory(kind: str) -> None:
    """Peak memory added by a fit, in units of X; run in a process of its own."""
    X, y = PROBLEMS[kind]()
    arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    size = sum(array.nbytes for array in arrays)
    some = slice(None, None, max(1, len(y) // 500))
    DropoutSVC(0.5, C=0.01).fit(X[some], y[some])  # compile before measuring
    # give back what was freed, which the fit would else use again unseen
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before, peak, ended = resident(), [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.002):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    DropoutSVC(0.5, C=0.01).fit(X, y)
    ended.set()
    watcher.join()
    added = peak[0] - before
    print(f"{kind}: X {size / 2**20:.0f} MiB, a fit adds {added / 2**20:.0f} MiB: "
          f"peak {1 + added / size:.2f} times X")  # fmt: skip


def resident() -> int:
    """Bytes of memory that this process has now; Linux only."""
    with open("/proc/self/statm", encoding="utf-8") as status:
        return int(status.read().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        memory(sys.argv[2])
    else:
        exponent()
        for kind in ("sparse", "dense"):
            subprocess.run([sys.executable, __file__, "memory", kind], check=True)
