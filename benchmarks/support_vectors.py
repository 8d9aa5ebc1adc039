"""How many support vectors Invar-SVM and VIR-SVM have, by γ, C and tol.

    python benchmarks/support_vectors.py

MNIST, 10 and 20 digits of each kind, 20 invariances, RBF kernel, errors on 3,000 other
training digits. Half of the support vectors takes a small γ, a small C and a loose tol.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).parents[1]))  # experiments are beside this folder

from experiments.data import Split, load
from experiments.teo_fig1 import FewDigits, draw, machines, support_vectors


def compare(digits: Any, gamma: float, C: float, tol: float) -> None:
    X, y, X_other, y_other = digits
    constants = {"gamma": gamma, "alpha": 1 / (C * len(y)), "tol": tol}
    found = {}
    for name in ("VIR-SVM", "Invar-SVM"):
        model: Any = clone(machines(len(y), FewDigits())[name][0])
        getattr(model, "estimator", model).set_params(**constants)
        error = 1 - model.fit(X, y).score(X_other, y_other)
        found[name] = support_vectors(model)
        print(f"{name} {found[name]} (error {100 * error:.2f} %)", end="  ")
    ratio = found["Invar-SVM"] / found["VIR-SVM"]
    size = len(y) // len(set(y))
    told = f"{size} a digit, gamma={gamma:g}, C={C:g}, tol={tol:g}"
    print(f"ratio {ratio:.2f}  [{told}]", flush=True)


if __name__ == "__main__":
    mnist = load("mnist")
    X, X_other, y, y_other = train_test_split(
        mnist.X_train, mnist.y_train, test_size=3000, random_state=0
    )
    for size in (10, 20):
        digits = draw(Split(X, y, X_other, y_other), size, FewDigits())
        for constants in product((0.02, 0.04), (1, 3, 10), (1e-3, 0.1)):
            compare(digits, *constants)
