"""Time and memory of certificates for the 10,000 MNIST test digits, ten classes.

    python benchmarks/certificates.py

A line per kind of certificate, after a warm-up of the compiled code: least seconds of
five runs, the ratio to the attack `FeatureDeletion(10)`, which answers for one budget
what a certificate answers for all, and what the call itself allocates at its peak. The
last line is the peak of the whole process, with the data and the training in it.
"""

from __future__ import annotations

import resource
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifier

from noiseproof.attacks import FeatureDeletion, FeatureScaling, NormBall
from noiseproof.datasets import load_mnist
from noiseproof.evaluation import certify, linear_view

REPEATS = 5


def seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def mebibytes(work: Callable[[], Any]) -> float:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main() -> None:
    X, y = load_mnist("train")
    model = RidgeClassifier().fit(X[:20_000], y[:20_000])
    X, y = load_mnist("test")
    rng = np.random.default_rng(0)
    kinds = {
        "equal values": {},
        "whole values 1 to 9": {"values": rng.integers(1, 10, X.shape[1])},
        "gamma values": {"values": rng.gamma(2.0, size=X.shape[1])},
        "FeatureScaling(0.5, 2)": {"attack": FeatureScaling(low=0.5, high=2.0)},
        "NormBall": {"attack": NormBall()},
    }
    view, peer = linear_view(model), FeatureDeletion(10)
    labels = view.encode(y)
    for options in kinds.values():
        certify(model, X[:50], y[:50], **options)
    peer.margin_drop(X[:50], labels[:50], view.coef, view.intercept)
    base = seconds(lambda: peer.margin_drop(X, labels, view.coef, view.intercept))
    print(f"{'FeatureDeletion(10)':<24}{base:>7.2f} s")
    for name, options in kinds.items():

        def work(options: dict[str, Any] = options) -> Any:
            return certify(model, X, y, **options)

        took, memory, found = seconds(work), mebibytes(work), work()
        print(
            f"{name:<24}{took:>7.2f} s  ratio {took / base:4.1f}  {memory:>4.0f} MiB  "
            f"exact {np.mean(found.exact):.4f}  median {np.median(found.budget):.3g}",
            flush=True,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak of the process: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
