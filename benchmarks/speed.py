"""How long a robust fit takes beside scikit-learn's plain one, in the same run.

    python benchmarks/speed.py                 # books, kitchen, newsgroups
    python benchmarks/speed.py text books      # one of them
    python benchmarks/speed.py mnist           # 60,000 x 784, ten classes
    python benchmarks/speed.py copies          # explicit corruption, 64 copies

Each line is a ratio of medians: ours / peer. Below 1 we are faster.
"""

from __future__ import annotations

import sys
import time

from common import TEXT, mnist, seconds
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from noiseproof import CorruptedCopies, DropoutLogisticRegression, DropoutSVC

RATES = (0.5, 0.7, 0.9)
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


def copies() -> None:
    for name in ("books", "kitchen"):
        X, y, X_test, y_test = TEXT[name]()
        for C in (0.01, 0.1):
            models = {
                "DropoutSVC": DropoutSVC(0.5, C=C),
                "64 copies": CorruptedCopies(LinearSVC(C=C), 0.5, 64, random_state=0),
            }
            took = seconds(models, X, y, repeats=1)
            shown = (
                f"{m} {took[m]:.3f} s, error {1 - model.score(X_test, y_test):.4f}"
                for m, model in models.items()
            )
            share = took["64 copies"] / took["DropoutSVC"]
            print(f"{name:<8} C={C:<5}", "; ".join(shown), f"; 1/{share:.0f}")


if __name__ == "__main__":
    what, *names = sys.argv[1:] or ["text"]
    {"text": text, "mnist": images, "copies": copies}[what](*names)
