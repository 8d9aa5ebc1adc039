"""What decides which loss is best when pixels die: figure 3 of Chen et al. 2014.

    python benchmarks/nightmare.py

MNIST, 1,000 digits to train and 3,000 other training digits to judge by; no test digit
is looked at. Each line has the lowest error over C and the dropout rate, at each share
of dead pixels: without an intercept; with one, which never dies; with one, and the
pixels that are left scaled up by 1 / (1 - share). Pixels are raw (0 to 1) or of unit
variance. "CLT" is `expectation="gaussian"`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))  # experiments are beside this folder

from experiments.chen_fig1 import MODELS
from experiments.chen_fig3 import Nightmare, chosen_digits
from experiments.data import load
from experiments.tuning import fitted

from noiseproof import DropoutSVC
from noiseproof.evaluation import robustness_curve
from noiseproof.noise import Dropout

N_TRAIN, N_JUDGE = 1_000, 3_000
LEVELS = (0.5, 0.7, 0.9)
GRID = {"C": (0.1, 1.0, 10.0), "noise": (0.1, 0.3, 0.6, 0.9)}
WAYS = {  # whether there is an intercept, and what happens to pixels
    "no intercept": (False, "delete"),
    "intercept": (True, "delete"),
    "intercept, scaled up": (True, Dropout()),
}


def compare(pixels: str, X: Any, y: Any, ways: Iterable[str]) -> None:
    train, judge = slice(N_TRAIN), slice(N_TRAIN, None)
    models = {**MODELS, "Dropout-SVM, CLT": DropoutSVC(expectation="gaussian")}
    for name, model in models.items():
        for way in ways:
            intercept, perturb = WAYS[way]
            grid = {**GRID, "fit_intercept": [intercept]}
            model.set_params(warm_start=True, tol=1e-4)
            found = fitted(model, grid, X[train], y[train])
            curve = robustness_curve(
                found, X[judge], y[judge], perturb, LEVELS, n_repeats=2, random_state=0
            )
            best = 1 - curve.mean.max(axis=0)
            errors = " | ".join(f"{error:.3f}" for error in best)
            print(f"| {pixels} | {way} | {name} | {errors} |", flush=True)


if __name__ == "__main__":
    settings = replace(Nightmare(), n_train=N_TRAIN + N_JUDGE)
    (X, y), _ = chosen_digits(load("mnist"), settings)
    print("| pixels | intercept | model |", " | ".join(map(str, LEVELS)), "|")
    print("| --- " * (3 + len(LEVELS)) + "|")
    compare("raw", X, y, WAYS)
    scaled = StandardScaler(with_mean=False).fit_transform(X)
    compare("unit variance", scaled, y, ["no intercept"])
