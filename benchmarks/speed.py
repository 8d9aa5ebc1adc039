"""How long a robust fit takes beside scikit-learn's plain one, in the same run.

    python benchmarks/speed.py                 # books, kitchen, newsgroups
    python benchmarks/speed.py text books      # one of them
    python benchmarks/speed.py plain           # beside liblinear's plain hinge loss
    python benchmarks/speed.py shapes          # tall and thin; seven classes
    python benchmarks/speed.py mnist           # 60,000 x 784, ten classes
    python benchmarks/speed.py copies          # explicit corruption, 64 copies
    python benchmarks/speed.py copies newsgroups   # one setting, far over 15 minutes

Each line is a ratio of medians: ours / peer. Below 1 we are faster.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from common import TEXT, mnist, seconds
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from noiseproof import CorruptedCopies, DropoutLogisticRegression, DropoutSVC

RATES = (0.5, 0.7, 0.9)
LITTLE = (0.0, 0.001, 0.01, 0.1)
CS = (0.01, 0.1, 1.0)


def text(*names: str) -> None:
    print("data          C  rate                 peer   peer s   ours s  ratio")
    for name in names or TEXT:
        X, y, *_ = TEXT[name]()
        repeats, warm_up = (1, 0) if name == "newsgroups" else (15, 1)
        DropoutSVC().fit(X[::20], y[::20])  # compile before any timing
        for C in CS:
            for peer, ours in (
                (LinearSVC(C=C), DropoutSVC),
                (LogisticRegression(C=C), DropoutLogisticRegression),
            ):
                models = {str(rate): ours(rate, C=C) for rate in RATES}
                took = seconds({"peer": peer, **models}, X, y, repeats, warm_up)
                base = took.pop("peer")
                for rate, own in took.items():
                    print(
                        f"{name:<10}{C:>5}{rate:>6}{type(peer).__name__:>21}"
                        f"{base:>9.4f}{own:>9.4f}{own / base:>7.2f}",
                        flush=True,
                    )


def plain(*names: str) -> None:
    """From no noise to much of it, beside the plain hinge loss of liblinear."""
    print("data          C  rate   peer s   ours s  ratio")
    for name in names or ("books", "kitchen"):
        X, y, *_ = TEXT[name]()
        for C in CS:
            models = {str(rate): DropoutSVC(rate, C=C) for rate in LITTLE + RATES}
            peer = LinearSVC(C=C, loss="hinge", random_state=0)
            took = seconds({"peer": peer, **models}, X, y, repeats=9)
            base = took.pop("peer")
            for rate, own in took.items():
                shown = f"{name:<10}{C:>5}{rate:>6}{base:>9.4f}{own:>9.4f}"
                print(f"{shown}{own / base:>7.2f}", flush=True)


def shapes() -> None:
    """Dense data with few features, beside the solvers that are made for it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 30))
    w = 2 * rng.standard_normal(30) / np.sqrt(30)
    contests = {
        "1,000,000 x 30, two classes": (
            (X, X @ w + rng.logistic(size=len(X)) > 0),
            LogisticRegression(solver="newton-cholesky"),
            DropoutLogisticRegression(),
        ),
        "200,000 x 50, seven classes": (
            make_classification(
                200_000, 50, n_informative=20, n_classes=7, n_clusters_per_class=1,
                class_sep=2.0, random_state=0,
            ),
            LogisticRegression(),
            DropoutSVC(),
        ),
    }  # fmt: skip
    for name, (data, peer, ours) in contests.items():
        took = seconds({"peer": peer, "ours": ours}, *data, repeats=3)
        print(f"{name}: {peer.solver} {took['peer']:.2f} s, {type(ours).__name__} "
              f"{took['ours']:.2f} s, ratio {took['ours'] / took['peer']:.2f}",
              flush=True)  # fmt: skip


def images() -> None:
    X, y, X_test, y_test = mnist()
    models = {
        "LinearSVC(dual=False)": LinearSVC(dual=False),
        "DropoutSVC(0.3)": DropoutSVC(0.3),
        "DropoutSVC(0.5)": DropoutSVC(0.5),
        "DropoutLogisticRegression(0.5)": DropoutLogisticRegression(0.5),
    }
    base = 0.0
    for name, model in models.items():  # minutes each: one fit, nothing to compile
        start = time.perf_counter()
        model.fit(X, y)
        took = time.perf_counter() - start
        base = base or took
        error = 1 - model.score(X_test, y_test)
        ratio = took / base
        print(
            f"{name:<32}{took:>7.1f} s  ratio {ratio:.2f}  error {error:.4f}",
            flush=True,
        )


def copied(model: LinearSVC, rate: float) -> CorruptedCopies:
    return CorruptedCopies(model, rate, 64, random_state=0)


def copies(*names: str) -> None:
    """Every setting beside its own, and each side at its best over all of them.

    The best is chosen on the test set, for both sides alike.
    """
    for name in names or ("books", "kitchen"):
        X, y, X_test, y_test = TEXT[name]()
        DropoutSVC().fit(X[::20], y[::20])  # compile before any timing
        errors: dict[str, list[tuple[float, str]]] = {}
        for C in (0.1,) if name == "newsgroups" else CS:
            for rate in (0.5,) if name == "newsgroups" else RATES:
                models = {
                    "variational": DropoutSVC(rate, C=C),
                    "gaussian": DropoutSVC(rate, C=C, expectation="gaussian"),
                    "copies": copied(LinearSVC(C=C), rate),
                    "copies, hinge": copied(LinearSVC(C=C, loss="hinge"), rate),
                }
                took = seconds(models, X, y, repeats=1, warm_up=0)
                shown = f"{name:<8} rate={rate} C={C:<5}"
                for key, model in models.items():
                    error = 1 - model.score(X_test, y_test)
                    share = took["copies"] / took[key]
                    errors.setdefault(key, []).append((error, f"rate={rate} C={C}"))
                    shown += f" {key} {error:.4f} in 1/{share:.0f} of the time;"
                print(shown, flush=True)
        best = (
            f"{key} {min(tried)[0]:.4f} ({min(tried)[1]})"
            for key, tried in errors.items()
        )
        print(f"{name:<8} best:", "; ".join(best), flush=True)


if __name__ == "__main__":
    what, *names = sys.argv[1:] or ["text"]
    commands = {"text": text, "plain": plain, "shapes": shapes}
    commands |= {"mnist": images, "copies": copies}
    commands[what](*names)
