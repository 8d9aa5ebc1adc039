"""`python -m noiseproof`: see a plain SVM fall and a dropout SVM hold."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from noiseproof import DropoutSVC

_LEVELS = np.arange(0.0, 0.95, 0.1)
_REPEATS = 10


def main() -> None:
    """Train both on scikit-learn's digits and print accuracies as pixels die."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X / 16.0, y, test_size=0.5, random_state=0, stratify=y
    )
    plain = LinearSVC(C=1.0, random_state=0).fit(X_train, y_train)
    robust = DropoutSVC(noise=0.1, C=10.0).fit(X_train, y_train)
    rng = np.random.default_rng(0)
    print("Handwritten digits, 898 to train, 899 to test; after training, pixels die.")
    print("Accuracy, mean of", _REPEATS, "draws:\n")
    print(f"{'pixels dead':>11}  {'LinearSVC':>10}  {'DropoutSVC':>10}")
    for level in _LEVELS:
        masks = rng.random((_REPEATS, *X_test.shape)) >= level
        rows = [
            [model.score(X_test * mask, y_test) for mask in masks]
            for model in (plain, robust)
        ]
        before, after = (float(np.mean(row)) for row in rows)
        print(f"{level:>11.0%}  {before:>10.3f}  {after:>10.3f}  {_bar(before, after)}")


def _bar(before: float, after: float) -> str:
    """Accuracy of both as one line of marks."""
    low, high = sorted((round(40 * before), round(40 * after)))
    return "█" * low + ("▒" if after > before else "░") * (high - low)


if __name__ == "__main__":
    main()
