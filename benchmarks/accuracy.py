"""Test error of the best dropout model and the best plain one over the same grid.

    python benchmarks/accuracy.py
    python benchmarks/accuracy.py books

Chosen on the test set for both sides alike, as the target figures were: this compares
what the methods can reach, not what cross-validation would pick.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from common import TEXT
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from noiseproof import DropoutSVC

CS = (0.01, 0.1, 1.0)
FINER = (0.01, 0.03, 0.1, 0.3, 1.0)
VARIANTS = ({}, {"expectation": "gaussian"}, {"fit_intercept": False})


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in sys.argv[1:] or TEXT:
        data = TEXT[name]()
        large = name == "newsgroups"
        rates = [0.3, 0.5, 0.7] if large else (np.arange(1, 10) / 10).tolist()
        for Cs in (CS,) if large else (CS, FINER):
            print(f"{name}, C in {Cs}, rates {rates}")
            for loss in ("squared_hinge", "hinge"):
                models = {f"C={C}": LinearSVC(C=C, loss=loss) for C in Cs}
                print(f"  LinearSVC(loss={loss!r})", best(models, data), flush=True)
            for options in VARIANTS[: 1 if large else None]:
                models = {
                    f"rate={rate}, C={C}": DropoutSVC(rate, C=C, **options)
                    for rate in rates
                    for C in Cs
                }
                print(f"  DropoutSVC {options or ''}", best(models, data), flush=True)


def best(models: dict[str, Any], data: tuple[Any, ...]) -> str:
    """Test error of the best of the models, and which it is."""
    X, y, X_test, y_test = data
    error, setting = min(
        (1 - model.fit(X, y).score(X_test, y_test), setting)
        for setting, model in models.items()
    )
    return f"{error:.4f} ({setting})"


if __name__ == "__main__":
    main()
