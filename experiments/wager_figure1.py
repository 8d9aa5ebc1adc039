"""Figure 1 of Wager et al. 2013: the penalty and its quadratic approximation.

Left: logistic regression under Gaussian perturbations of the score, for several mean
parameters p. Right: both penalties along the training on AthR, 1,000 rows.

    python experiments/wager_figure1.py
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from report import Row, arguments, write
from scipy.special import logit
from sklearn.feature_extraction.text import CountVectorizer

import noiseproof
from noiseproof.datasets import load_texts
from noiseproof.noise import Gaussian

RATE = 0.5


def main() -> None:
    options = arguments(__doc__, rows=1000)
    left, right = penalties_by_noise(), penalties_by_step(options.rows)
    write(left, options.out / "wager_figure1a")
    write(right, options.out / "wager_figure1b")
    plot(left, right, options.out / "wager_figure1.png")


def penalties_by_noise() -> list[Row]:
    """R and R^q of one row with mean parameter p under score noise σ."""
    rows = []
    for p in (0.5, 0.73, 0.82, 0.88, 0.95):
        for sigma in np.linspace(0.1, 1.5, 15):
            # one feature with weight 1: noise on it is noise on the score
            r = noiseproof.penalty(
                "logistic", "gaussian", Gaussian(sigma), [[logit(p)]], [1.0]
            )
            rows.append({"p": p, "sigma": round(float(sigma), 2), **both(r)})
    return rows


def penalties_by_step(n: int) -> list[Row]:
    """R and R^q at the model that training has reached after each step."""
    texts, y = load_texts("AthR")
    order = np.random.default_rng(0).permutation(len(y))[:n]
    words = CountVectorizer(binary=True, dtype=np.float64)
    X, y = words.fit_transform([texts[i] for i in order]), y[order]
    rows = []
    for step in range(1, 31):
        model = noiseproof.DropoutLogisticRegression(
            RATE, C=10.0, solver="lbfgs", expectation="gaussian", max_iter=step
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # stopping early is the point
            model.fit(X, y)
        r = noiseproof.penalty(
            "logistic", "gaussian", RATE, X, model.coef_[0], model.intercept_[0]
        )
        rows.append({"step": step, **both(r)})
    return rows


def both(r: Any) -> Row:
    return {"penalty": round(r.value, 4), "quadratic": round(r.quadratic, 4)}


def plot(left: list[Row], right: list[Row], path: Any) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("No plot: install the extra `plot` for matplotlib.")
        return
    figure = Figure(figsize=(9, 4), layout="constrained")
    by_noise, by_step = figure.subplots(1, 2)
    for number, p in enumerate(dict.fromkeys(row["p"] for row in left)):
        own = [row for row in left if row["p"] == p]
        sigma = [row["sigma"] for row in own]
        color = f"C{number}"
        by_noise.plot(sigma, [r["penalty"] for r in own], color=color, label=f"p = {p}")
        by_noise.plot(sigma, [r["quadratic"] for r in own], "--", color=color)
    by_noise.set(xlabel="noise σ on the score", ylabel="penalty")
    by_noise.legend(title="dashed: quadratic")
    steps = [row["step"] for row in right]
    by_step.plot(steps, [row["penalty"] for row in right], label="penalty")
    by_step.plot(steps, [row["quadratic"] for row in right], "--", label="quadratic")
    by_step.set(xlabel="L-BFGS step", title="AthR")
    by_step.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
