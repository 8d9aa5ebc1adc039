"""Fits on a GPU beside the same fits on the CPU of the same machine, in one run.

    python benchmarks/gpu.py                  # everything
    python benchmarks/gpu.py wide mnist       # some of: check, wide, mnist, text, tol

check   all losses on torch and CuPy arrays, dense and CSR, against NumPy
wide    60,000 x 8,192 float32, ten classes
mnist   60,000 x 784 float32, ten classes
text    newsgroups, 20 classes, CSR of float64
tol     how far down the objective goes with float32 data

MNIST and newsgroups are read from the folder NOISEPROOF_DATA; without it stand-ins of
the same shape are generated, which the lines say. OMP_NUM_THREADS limits the CPU's
threads (a few may be faster than many), and NOISEPROOF_PATIENCE its seconds. Times are
those of one fit, the best of three on the GPU, after a small one that loads the
libraries; the data is there already, on both sides. Goals are printed as reached or
missed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from common import TEXT, mnist

from noiseproof import (
    DropoutExponentialClassifier,
    DropoutLogisticRegression,
    DropoutPoissonRegressor,
    DropoutRidge,
    DropoutRidgeClassifier,
    DropoutSVC,
)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = bool(os.environ.get("NOISEPROOF_SMALL"))  # to try the program without a GPU
PATIENCE = int(os.environ.get("NOISEPROOF_PATIENCE", 600))  # seconds a CPU may take
MODELS = (DropoutLogisticRegression(0.5), DropoutSVC(0.5))

warnings.filterwarnings("ignore", "Sparse", UserWarning)  # torch: in beta state


def to_device(X: Any) -> Any:
    """A torch array, dense or CSR, on the device."""
    if not sp.issparse(X):
        return torch.asarray(np.ascontiguousarray(X), device=DEVICE)
    parts = (
        torch.asarray(part, device=DEVICE) for part in (X.indptr, X.indices, X.data)
    )
    return torch.sparse_csr_tensor(*parts, X.shape, check_invariants=False)


def to_cupy(X: Any) -> Any:
    import cupy
    import cupyx.scipy.sparse

    return (
        cupyx.scipy.sparse.csr_matrix(sp.csr_matrix(X))
        if sp.issparse(X)
        else cupy.asarray(X)
    )


def seconds(model: Any, X: Any, y: Any) -> float:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    model.fit(X, y)
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def objective(model: Any) -> Any:
    found = model.objective_
    return np.atleast_1d(found.cpu().numpy() if torch.is_tensor(found) else found)


def compare(
    name: str, X: Any, y: Any, limit: float | None, share: float, models: Any = MODELS
) -> None:
    """GPU and CPU on the same rows; the goals, if there are any."""
    there, labels = to_device(X), torch.asarray(y, device=DEVICE)
    for model in models:
        for rows in (X[:500], to_device(X[:500])):  # loads and compiles
            model.fit(rows, y[:500])
        if DEVICE == "cuda":
            torch.cuda.reset_peak_memory_stats()
            held = torch.cuda.memory_allocated()
        fast = min(seconds(model, there, labels) for _ in range(3))
        own, steps = objective(model), model.n_iter_
        memory = ""
        if DEVICE == "cuda":
            extra = torch.cuda.max_memory_allocated() - held
            memory = f", {held / 2**30:.2f} + {extra / 2**30:.2f} GiB"
        print(
            f"{name:<28} {type(model).__name__:<26} {DEVICE} {fast:7.3f} s "
            f"({steps} steps{memory})",
            flush=True,
        )
        slow, words = on_cpu(model, X, y, own)
        print(
            f"{'':<55} NumPy {slow:7.3f} s, {slow / fast:.1f} times as long; {words}",
            flush=True,
        )
        if limit is not None:
            goal(f"under {limit} s", fast < limit)
        goal(f"at most 1/{1 / share:.0f} of the CPU's", fast <= share * slow)


def on_cpu(model: Any, X: Any, y: Any, own: Any) -> tuple[float, str]:
    """Seconds on NumPy arrays, which may be stopped after `PATIENCE`."""

    def give_up(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        slow = seconds(model, X, y)
    except TimeoutError:
        return PATIENCE, "stopped there, so more than that"
    finally:
        signal.alarm(0)
    gap = np.max(np.abs(own / objective(model) - 1))
    return slow, f"objectives differ by {gap:.1e}"


def goal(words: str, reached: bool) -> None:
    print(f"{'':<55} {words}: {'reached' if reached else 'MISSED'}", flush=True)


def wide() -> None:
    """Random features of ten clusters: dense, correlated, as embeddings are."""
    n, d = (2000, 256) if SMALL else (60_000, 8_192)
    g = torch.Generator(DEVICE).manual_seed(0)
    y = torch.randint(0, 10, (n,), generator=g, device=DEVICE)
    centers = torch.randn(10, 64, generator=g, device=DEVICE)
    Z = centers[y] + 2 * torch.randn(n, 64, generator=g, device=DEVICE)
    X = torch.relu(Z @ torch.randn(64, d, generator=g, device=DEVICE) / 16)
    X = X.cpu().numpy()
    compare(f"generated, {n:,} x {d:,}", X, y.cpu().numpy(), 1.5, 1 / 20)


def images() -> tuple[str, Any, Any]:
    """MNIST's pixels as float32, or a stand-in: smooth strokes, mostly zeros."""
    if "NOISEPROOF_DATA" in os.environ:
        X, y, *_ = mnist()
        return "MNIST", X.astype(np.float32), y.astype(np.int64)
    n, rng = 2000 if SMALL else 60_000, np.random.default_rng(0)
    y = rng.integers(0, 10, n)
    x = np.arange(28)
    rows = np.exp(-((x - 14 - rng.normal(0, 4, (10, 12, 1))) ** 2) / 8)
    columns = np.exp(-((x - 14 - rng.normal(0, 4, (10, 12, 1))) ** 2) / 8)
    strokes = np.einsum("csr,csx->csrx", rows, columns).reshape(10, 12, 784)
    size = rng.gamma(1, 1, (n, 12)).astype(np.float32)
    X = np.empty((n, 784), np.float32)
    for label in range(10):
        X[y == label] = size[y == label] @ strokes[label].astype(np.float32)
    X += rng.normal(0, 0.3, X.shape).astype(np.float32)
    X = np.clip(X - np.quantile(X[:1000], 0.8), 0, 1)
    return "stand-in of MNIST", X, y


def text_rows() -> tuple[str, Any, Any]:
    """Newsgroups' counts, or a stand-in: topics with words of Zipf's law."""
    if "NOISEPROOF_DATA" in os.environ:
        X, y, *_ = TEXT["newsgroups"]()
        return "newsgroups", sp.csr_array(X), np.asarray(y)
    n, d, words = (1000, 5000, 50) if SMALL else (11_314, 62_061, 140)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, n)
    topics = [rng.permutation(d) for _ in range(20)]
    chance = 1 / np.arange(1, d + 1)
    chance /= chance.sum()
    ranks = rng.choice(d, (n, words), p=chance)
    own = rng.random((n, words)) < 0.3
    columns = np.where(own, np.stack(topics)[y[:, None], ranks], ranks)
    starts = np.arange(n + 1) * words
    X = sp.csr_array((np.ones(n * words), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    return "stand-in of newsgroups", X, y


def tolerances() -> None:
    """Suboptimality that fits of float32 reach, by a fit of float64 at tol=1e-12."""
    name, X, y = images()
    X, y = X[:10_000], torch.asarray(y[:10_000], device=DEVICE)
    for model in MODELS:
        model = type(model)(0.5)
        best = objective(model.set_params(tol=1e-12).fit(to_device(X.astype(float)), y))
        print(f"{type(model).__name__} on 10,000 rows of {name}, float32", flush=True)
        for tol in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.set_params(tol=tol).fit(to_device(X), y)
            above = np.max(objective(model) / best - 1)
            said = ", warned" if caught else ""
            print(f"    tol={tol:g}: {above:.1e} above the lowest{said}", flush=True)


def check() -> None:
    """Largest relative difference of the objectives, over all losses."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(100, 8))) * (rng.random((100, 8)) < 0.5)
    scores = X @ rng.normal(size=(8, 10)) + rng.normal(size=(100, 10))
    tasks = [
        (DropoutSVC(), "variational"),
        (DropoutSVC(), "gaussian"),
        *((DropoutLogisticRegression(), e) for e in ("variational", "jensen")),
        *((DropoutLogisticRegression(), e) for e in ("taylor", "gaussian")),
        (DropoutRidgeClassifier(), None),
        (DropoutExponentialClassifier(), None),
        (DropoutRidge(), None),
        (DropoutPoissonRegressor(), "exact"),
        (DropoutPoissonRegressor(), "taylor"),
    ]
    y = scores.argmax(axis=1)
    places = {"cupy": to_cupy} if DEVICE == "cuda" else {}
    for place, move in (places | {"torch": to_device}).items():
        worst = max(_difference(*task, move, X, y) for task in tasks)
        print(f"all losses on {place}, {DEVICE}: objectives differ by {worst:.1e}")


def _difference(model: Any, expectation: Any, move: Any, X: Any, y: Any) -> float:
    """Two classes, dense, and ten, CSR; regressions of the number of the class."""
    model.set_params(tol=1e-9)
    if expectation is not None:
        model.set_params(expectation=expectation)
    worst = 0.0
    for rows, targets in ((X, y > 4), (sp.csr_array(X), y)):
        targets = targets.astype(float)
        lowest = objective(model.fit(rows, targets))
        found = model.fit(move(rows), move(targets)).objective_
        found = found.get() if hasattr(found, "get") else objective(model)
        worst = max(worst, np.max(np.abs(found / lowest - 1)))
    return worst


def main(*chosen: str) -> None:
    if DEVICE == "cuda":
        print(torch.cuda.get_device_name(), "torch", torch.__version__, end=", ")
    print(f"{os.cpu_count()} cores", flush=True)
    runs = {
        "check": check,
        "text": lambda: compare(*text_rows(), None, 1 / 3),
        "mnist": lambda: compare(*images(), 0.5, 1.0),
        "tol": tolerances,
        "wide": wide,
    }
    for name in chosen or runs:
        runs[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
