"""The same fits by this tree and by another one, turn and turn about.

    git worktree add ../before REVISION
    python benchmarks/against.py ../before
    python benchmarks/against.py ../before kitchen mnist    # some of the data

Each tree has a process of its own, which imports its package and compiles first. Then
they take turns with each fit, so that whatever else the machine does slows both. Each
line is a ratio of the fastest fits: this tree / the other. Below 1 this tree is faster.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
REPEATS = {"newsgroups": 3, "mnist": 3, "tall": 5, "classes": 3}
MODELS = {
    "svc": ("DropoutSVC", {}),
    "logistic": ("DropoutLogisticRegression", {}),
    "ridge": ("DropoutRidgeClassifier", {}),
    "lbfgs": ("DropoutLogisticRegression", {"solver": "lbfgs"}),
}
CELLS = [
    *((data, model, 0.1, rate) for data in ("books", "kitchen")
      for model in ("svc", "logistic", "ridge", "lbfgs") for rate in (0.5, 0.9)),
    ("newsgroups", "svc", 0.1, 0.5),
    ("newsgroups", "svc", 0.1, 0.9),
    ("newsgroups", "logistic", 0.1, 0.5),
    ("mnist", "svc", 0.1, 0.5),
    ("mnist", "logistic", 0.1, 0.5),
    ("tall", "logistic", 0.1, 0.3),
    ("tall", "svc", 0.1, 0.3),
    ("classes", "svc", 0.1, 0.3),
]  # fmt: skip


def data_of(name: str) -> tuple:
    from common import TEXT, mnist
    from sklearn.datasets import make_classification

    if name in TEXT:
        return TEXT[name]()[:2]
    if name == "mnist":
        X, y, *_ = mnist()
        return X[:20_000], y[:20_000]
    rows, columns, classes = (300_000, 30, 2) if name == "tall" else (50_000, 50, 7)
    return make_classification(
        rows, columns, n_informative=20, n_classes=classes, random_state=0
    )


def answer() -> None:
    """Fit what is asked for, line by line, and print the seconds."""
    from common import seconds

    import noiseproof

    known: tuple = (None, None)
    for line in sys.stdin:
        name, model, C, rate = line.split()
        if known[0] != name:
            known = name, data_of(name)
        label, options = MODELS[model]
        fitted = getattr(noiseproof, label)(float(rate), C=float(C), **options)
        took = seconds({"": fitted}, *known[1], repeats=1, warm_up=0)[""]
        print(took, flush=True)


def worker(tree: Path) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    return subprocess.Popen(
        [sys.executable, HERE, "--answer"],
        env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def ask(process: subprocess.Popen, cell: tuple) -> float:
    process.stdin.write(" ".join(map(str, cell)) + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main(other: str, *names: str) -> None:
    ours, theirs = worker(HERE.parents[1]), worker(Path(other).resolve())
    print("data        model        C  rate    other s    ours s  ratio", flush=True)
    for cell in CELLS:
        if names and cell[0] not in names:
            continue
        times = [
            (ask(ours, cell), ask(theirs, cell))
            for _ in range(1 + REPEATS.get(cell[0], 15))
        ][1:]  # the first compiles and reads the data
        here, there = (min(side) for side in zip(*times, strict=True))
        name, model, C, rate = cell
        print(
            f"{name:<11} {model:<9} {C:>4g} {rate:>5g} {there:>10.4f} {here:>9.4f} "
            f"{here / there:>6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    answer() if sys.argv[1:2] == ["--answer"] else main(*sys.argv[1:])
