"""InvariantSVC against scikit-learn's support vector machines.

Ratios come from one run. Needs the environment variable NOISEPROOF_DATA.

    python benchmarks/invariant.py                # both
    python benchmarks/invariant.py digits --samples 20
    python benchmarks/invariant.py text
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import counts, mnist
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from noiseproof import InvariantSVC
from noiseproof.attacks import FeatureDeletion, digit_invariances

PAIRS = {"AthR": (0, 15), "XGraph": (5, 1), "BbCrypt": (9, 11)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="|".join(PARTS))
    parser.add_argument("--samples", type=int, default=50, help="of each digit")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # of LinearSVC, at defaults
    for name in options.parts or PARTS:
        PARTS[name](options)


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Shortest of some runs, and the last answer."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - start)
    return min(times), answer


def digits(options: argparse.Namespace) -> None:
    """RBF, 20 transforms: all virtual examples given to SVC, or generated as needed."""
    X, y, X_test, y_test = mnist()
    rng = np.random.default_rng(0)
    size = options.samples
    chosen = [rng.permutation(np.flatnonzero(y == digit))[:size] for digit in range(10)]
    X, y = X[np.concatenate(chosen)], y[np.concatenate(chosen)].astype(int)
    attack = digit_invariances()
    InvariantSVC(attack, kernel="rbf", alpha=0.1).fit(X[::size], y[::size])  # compile
    for gamma, C in ((0.02, 1.0), (0.02, 10.0)):
        model = InvariantSVC(attack, kernel="rbf", gamma=gamma, alpha=1 / (C * len(y)))
        ours, _ = timed(lambda m=model: m.fit(X, y))
        copies, origin = attack.copies(X)
        svc = SVC(gamma=gamma, C=C)
        theirs, _ = timed(lambda m=svc, Z=copies, z=y[origin]: m.fit(Z, z))
        print(f"\n{len(y)} digits, {len(copies):,} candidates, gamma={gamma}, C={C:g}")
        for name, seconds, fitted in (
            ("InvariantSVC", ours, model),
            ("SVC", theirs, svc),
        ):
            error = 1 - fitted.score(X_test[:2000], y_test[:2000])
            print(
                f"  {name:14s}{seconds:7.1f} s  {fitted.n_support_.sum():5d} support "
                f"vectors  error {error:.3f}"
            )
        print(f"  relative gap {model.gap_ / model.objective_:.1e}, ratio of times "
              f"{ours / theirs:.2f}")  # fmt: skip


def text(options: argparse.Namespace) -> None:
    """Word deletion on pairs of newsgroups, plain LinearSVC beside it."""
    X, y, *_ = counts("newsgroups20_counts")
    print("\nsolver='bundle', FeatureDeletion(1), alpha = 2 / n (C = 1); LinearSVC()")
    ratios = []
    for name, pair in PAIRS.items():
        rows = np.isin(y, pair)
        A, b = X[rows], (y[rows] == pair[1]).astype(int)
        model = InvariantSVC(FeatureDeletion(1), solver="bundle", alpha=2 / len(b))
        model.fit(A, b)  # compile
        ours, _ = timed(lambda m=model, A=A, b=b: m.fit(A, b), 5)
        theirs, _ = timed(lambda A=A, b=b: LinearSVC().fit(A, b), 5)
        ratios.append(ours / theirs)
        print(
            f"  {name:8s} ours {ours:.3f} s, {model.n_iter_} passes, relative gap "
            f"{model.gap_ / model.objective_:.1e}; LinearSVC {theirs:.3f} s; ratio "
            f"{ours / theirs:.1f}"
        )
    print(f"  geometric mean of the ratios {np.exp(np.mean(np.log(ratios))):.1f}")


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "digits": digits,
    "text": text,
}

if __name__ == "__main__":
    main()
