"""Table 4a of Wager et al. 2013: unlabelled rows make a better dropout penalty.

Each data set is split in three equal parts: train, unlabelled, test. Unigram and bigram
indicators; constants by 3-fold cross-validation on the training part only. Dropout uses
the quadratic penalty, as the paper does.

    python experiments/wager_table4a.py --repetitions 5 --data RT Subj XGraph BbCrypt
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn
from report import Row, arguments, summary, write
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from noiseproof import DropoutLogisticRegression
from noiseproof.datasets import load_texts

PAPER = {
    "Subj": (88.96, 90.85, 91.48),
    "RT": (73.49, 75.18, 76.56),
    "IMDB-2k": (80.63, 81.23, 80.33),
    "XGraph": (83.10, 84.64, 85.41),
    "BbCrypt": (97.28, 98.49, 99.24),
}
METHODS = ("L2", "dropout", "+unlabelled")
TOKENISED = ("RT", "Subj", "IMDB-2k")  # split on white space; else on words


def main() -> None:
    options = arguments(__doc__, repetitions=5)
    names = options.data if options.data != ["spambase", "mnist"] else list(PAPER)
    sklearn.set_config(enable_metadata_routing=True)
    rows: list[Row] = []
    for name in names:
        for seed in range(options.repetitions):
            accuracies = split(name, seed)
            rows += [
                {"data": name, "method": method, "error": 100 * (1 - accuracy)}
                for method, accuracy in zip(METHODS, accuracies, strict=True)
            ]
            print(name, seed, np.round(accuracies, 4), flush=True)
    table = [
        {
            "data": row["data"],
            "method": row["method"],
            "accuracy": round(100 - row["error"], 2),
            "standard_error": row["standard_error"],
            "paper": dict(zip(METHODS, PAPER[row["data"]], strict=True))[row["method"]],
        }
        for row in summary(rows, ["data", "method"])
    ]
    write(table, options.out / "wager_table4a")


def split(name: str, seed: int) -> list[float]:
    """Test accuracy of the three methods on one random split."""
    texts, y = load_texts(name)
    order = np.random.default_rng(seed).permutation(len(y))
    train, unlabeled, test = np.array_split(order, 3)
    words = CountVectorizer(
        binary=True,
        ngram_range=(1, 2),
        token_pattern=r"\S+" if name in TOKENISED else r"(?u)\b\w+\b",
        dtype=np.float64,
    )
    seen = np.concatenate([train, unlabeled])
    words.fit([texts[i] for i in seen])
    X, Z, X_test = (
        words.transform([texts[i] for i in part]) for part in (train, unlabeled, test)
    )
    plain = search(LogisticRegression(max_iter=1000), {"C": [0.1, 0.3, 1, 3, 10]})
    dropout = DropoutLogisticRegression(expectation="taylor", tol=1e-4)
    grid: dict[str, Any] = {"noise__rate": [0.5, 0.7], "C": [0.3, 1, 3, 10]}
    supervised = search(dropout, grid)
    dropout.set_fit_request(X_unlabeled=True)
    helped = search(dropout, {**grid, "unlabeled_weight": [0.1, 0.4]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = [
            plain.fit(X, y[train]),
            supervised.fit(X, y[train]),
            helped.fit(X, y[train], X_unlabeled=[Z]),
        ]
    return [float(model.score(X_test, y[test])) for model in fitted]


def search(model: Any, grid: dict[str, Any]) -> GridSearchCV:
    return GridSearchCV(sklearn.base.clone(model), grid, cv=3)


if __name__ == "__main__":
    main()
