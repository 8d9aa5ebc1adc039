"""Test error of the best dropout model and the best plain one over the same grid.

    python benchmarks/accuracy.py

Chosen on the test set for both sides alike, as the target figures were: this compares
what the methods can reach, not what cross-validation would pick.
"""

from __future__ import annotations

import warnings

import numpy as np
from common import TEXT
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from noiseproof import DropoutSVC

CS = (0.01, 0.1, 1.0)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, load in TEXT.items():
        X, y, X_test, y_test = load()
        rates = (0.3, 0.5, 0.7) if name == "newsgroups" else np.arange(1, 10) / 10
        plain = min((1 - LinearSVC(C=C).fit(X, y).score(X_test, y_test), C) for C in CS)
        robust = min(
            (1 - DropoutSVC(rate, C=C).fit(X, y).score(X_test, y_test), rate, C)
            for rate in map(float, rates)
            for C in CS
        )
        print(
            f"{name:<11} LinearSVC {plain[0]:.4f} (C={plain[1]})   DropoutSVC "
            f"{robust[0]:.4f} (rate={robust[1]}, C={robust[2]})",
            flush=True,
        )


if __name__ == "__main__":
    main()
