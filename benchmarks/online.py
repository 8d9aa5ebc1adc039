"""One online pass over IMDB unigrams beside scikit-learn's SGDClassifier.

python benchmarks/online.py
"""

from __future__ import annotations

import numpy as np
from common import seconds
from sklearn.linear_model import SGDClassifier

from noiseproof import DropoutSGDClassifier
from noiseproof.datasets import load_imdb


def main() -> None:
    data = load_imdb()
    X, y = data.X_train.astype(np.float64), data.y_train
    models = {
        "SGDClassifier, 1 pass": SGDClassifier(
            loss="log_loss", max_iter=1, tol=None, random_state=0
        ),
        "DropoutSGDClassifier, 1 pass": DropoutSGDClassifier(
            max_iter=1, tol=None, random_state=0
        ),
        "SGDClassifier, 5 passes": SGDClassifier(
            loss="log_loss", max_iter=5, tol=None, random_state=0
        ),
    }
    took = seconds(models, X, y, repeats=9)
    base = took["SGDClassifier, 1 pass"]
    for name, model in models.items():
        accuracy = model.score(data.X_test, data.y_test)
        ratio = took[name] / base
        print(
            f"{name:<30}{took[name]:.3f} s  ratio {ratio:.2f}  accuracy {accuracy:.4f}"
        )


if __name__ == "__main__":
    main()
