"""Test error of the best dropout model and the best plain one over the same grid.

    python benchmarks/accuracy.py
    python benchmarks/accuracy.py books

Chosen on the test set for both sides alike, as the target figures were: this compares
what the methods can reach, not what cross-validation would pick.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from common import TEXT
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from noiseproof import DropoutSVC

CS = (0.01, 0.1, 1.0)
VARIANTS = ({}, {"expectation": "gaussian"}, {"fit_intercept": False})


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in sys.argv[1:] or TEXT:
        X, y, X_test, y_test = TEXT[name]()

        def error(model, X=X, y=y, X_test=X_test, y_test=y_test) -> float:
            return 1 - model.fit(X, y).score(X_test, y_test)

        rates = [0.3, 0.5, 0.7] if name == "newsgroups" else np.arange(1, 10) / 10
        plain = min((error(LinearSVC(C=C)), C) for C in CS)
        print(f"{name:<11} LinearSVC {plain[0]:.4f} (C={plain[1]})", flush=True)
        for options in VARIANTS if name != "newsgroups" else VARIANTS[:1]:
            best, rate, C = min(
                (error(DropoutSVC(float(rate), C=C, **options)), rate, C)
                for rate in rates
                for C in CS
            )
            shown = f"{best:.4f} (rate={rate}, C={C}) {options or ''}"
            print(f"{name:<11} DropoutSVC {shown}", flush=True)


if __name__ == "__main__":
    main()
