"""How many support vectors Invar-SVM and VIR-SVM have, by C and by tol.

    python benchmarks/support_vectors.py

MNIST, 10 and 20 digits of each kind, 20 invariances, RBF kernel with γ = 0.02, errors
on 3,000 test digits.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parents[1]))  # experiments are beside this folder

from experiments.data import load
from experiments.teo_fig1 import FewDigits, draw, machines, support_vectors

GAMMA = 0.02


def compare(size: int, C: float, tol: float) -> None:
    settings = FewDigits(n_test=3000)
    X, y, X_test, y_test = draw(load("mnist"), size, settings)
    constants = {"gamma": GAMMA, "alpha": 1 / (C * len(y)), "tol": tol}
    found = {}
    for name in ("VIR-SVM", "Invar-SVM"):
        model: Any = clone(machines(len(y), settings)[name][0])
        inner = model.estimator if name == "VIR-SVM" else model
        inner.set_params(**constants)
        error = 1 - model.fit(X, y).score(X_test, y_test)
        found[name] = support_vectors(model)
        print(f"{name} {found[name]} (error {100 * error:.2f} %)", end="  ")
    ratio = found["Invar-SVM"] / found["VIR-SVM"]
    print(f"ratio {ratio:.2f}  [{size} a digit, C={C:g}, tol={tol:g}]", flush=True)


if __name__ == "__main__":
    for size in (10, 20):
        for C in (0.03, 0.1, 0.3, 1, 3, 10):
            compare(size, C, tol=1e-3)
    for tol in (0.01, 0.1):
        compare(20, C=10, tol=tol)
