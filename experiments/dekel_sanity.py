"""Sanity check of Dekel and Shamir 2008, section 4: features that know the label.

The paper: with one of the two copies of the label deleted both models err 0; with both
deleted the SVM errs 0.477 ± 0.004 and the linear program, with N = 20, 0.22 ± 0.002.

    python experiments/dekel_sanity.py --repetitions 100
"""

from __future__ import annotations

import numpy as np
from report import Row, arguments, plot, summary, write
from sklearn.svm import SVC

from noiseproof import RobustLPClassifier
from noiseproof.datasets import make_leaky_labels

VALUES = np.r_[np.ones(20), 10, 10]


def main() -> None:
    options = arguments(__doc__, repetitions=100)
    rows: list[Row] = []
    for seed in range(options.repetitions):
        X, y = make_leaky_labels(random_state=seed)
        models = {
            "SVM": SVC(kernel="linear"),
            "robust LP": RobustLPClassifier(20, feature_values=VALUES, C=3.0),
        }
        for name, model in models.items():
            model.fit(X[:500], y[:500])
            for n_deleted in range(3):
                test = X[500:].copy()
                test[:, 20 : 20 + n_deleted] = 0.0
                error = 1 - model.score(test, y[500:])
                rows.append({"model": name, "deleted": n_deleted, "error": error})
    table = summary(rows, ["model", "deleted"])
    write(table, options.out / "dekel_sanity")
    plot(table, "deleted", options.out / "dekel_sanity")


if __name__ == "__main__":
    main()
