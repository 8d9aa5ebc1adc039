"""What a partition ensemble of boosted trees proves, and what it costs in accuracy.

    NOISEPROOF_DATA=... python benchmarks/proofs.py [spambase 4-7 ten ten-all ...]

A line per number of parts and way of voting. Changed and deleted features are medians
over test rows of how many can be changed to whatever values, or go missing, while the
prediction provably stays what it is and right; a row that is wrong counts as 0. That
is one less than `budget`, the number from which on a change is possible. The ten
classes of MNIST are learnt from 10,000 rows or from all, in few iterations, and both
kinds of MNIST are judged by 2,000 rows, to keep it short.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from noiseproof import PartitionEnsemble
from noiseproof.datasets import load_mnist, load_spambase
from noiseproof.evaluation import certify

Data = tuple[Any, Any, Any, Any]


def halves(X: Any, y: Any) -> Data:
    parts = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    return parts[0], parts[2], parts[1], parts[3]


def mnist(rows: int, digits: Any = None) -> Data:
    X, y = load_mnist("train", digits=digits)
    Z, z = load_mnist("test", digits=digits)
    return X[:rows], y[:rows], Z[:2_000], z[:2_000]


CASES: dict[str, tuple[Callable[[], Data], list[int], dict[str, Any]]] = {
    "spambase": (lambda: halves(*load_spambase()), [5, 11, 19], {"max_iter": 50}),
    "breast-cancer": (
        lambda: halves(*load_breast_cancer(return_X_y=True)),
        [5, 9, 15],
        {"max_iter": 50},
    ),
    "4-7": (lambda: mnist(20_000, (4, 7)), [15, 45, 99], {"max_iter": 20}),
    "ten": (lambda: mnist(10_000), [60], {"max_iter": 8, "learning_rate": 0.4}),
    "ten-all": (lambda: mnist(60_000), [60], {"max_iter": 8, "learning_rate": 0.4}),
}


def main(names: list[str]) -> None:
    print(f"{'data':<14} parts  vote      plain  accuracy  changed  deleted  seconds")
    for name in names or list(CASES):
        read, numbers, options = CASES[name]
        X, y, Z, z = read()
        boosted = HistGradientBoostingClassifier(early_stopping=False, **options)
        plain = boosted.fit(X, y).score(Z, z)
        for n_parts in numbers:
            start = time.perf_counter()
            model = PartitionEnsemble(boosted, n_parts, random_state=0).fit(X, y)
            took = time.perf_counter() - start
            for vote in ["majority", "pairwise"][: 1 + (len(model.classes_) > 2)]:
                found = certify(model.set_params(vote=vote), Z, z)
                both = [found.budget, found.deletion_budget]
                medians = [np.median(found.correct * np.fmin(b - 1, 784)) for b in both]
                print(
                    f"{name:<14}{len(model.parts_):>6}  {vote:<8}{plain:>7.3f}"
                    f"{found.accuracy_at(0):>10.3f}{medians[0]:>9.0f}"
                    f"{medians[1]:>9.0f}{took:>9.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
