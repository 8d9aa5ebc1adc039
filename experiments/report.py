"""Tables and plots for the experiments of Dekel and Shamir 2008."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler

from noiseproof.datasets import load_mnist, load_spambase

Row = dict[str, Any]


def arguments(description: str | None, **defaults: int) -> argparse.Namespace:
    """The command line: whole numbers by name, and the folder for results."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--data", nargs="+", default=["spambase", "mnist"])
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def load(name: str) -> tuple[Any, Any]:
    """Features from 0 to 1 and labels in ±1, in a fixed random order."""
    if name == "spambase":
        X, y = load_spambase()
        X, y = MaxAbsScaler().fit_transform(np.log1p(X)), np.where(y == 1, 1, -1)
    else:
        X, y = load_mnist(digits=(4, 7))
        y = np.where(y == 7, 1, -1)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def summary(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """Mean error and its standard error over repetitions."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row["error"])
    return [
        dict(zip(by, key, strict=True))
        | {
            "error": round(float(np.mean(errors)), 4),
            "standard_error": round(_standard_error(errors), 4),
            "repetitions": len(errors),
        }
        for key, errors in groups.items()
    ]


def _standard_error(errors: list[float]) -> float:
    if len(errors) < 2:
        return float("nan")
    return float(np.std(errors, ddof=1) / np.sqrt(len(errors)))


def write(rows: Sequence[Row], path: Path) -> None:
    """One table as CSV and as Markdown; printed too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(rows[0])
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    lines = [names, ["---"] * len(names), *([str(r[n]) for n in names] for r in rows)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


def plot(rows: Sequence[Row], x: str, path: Path) -> None:
    """Error against a budget, a curve a model; skipped without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("No plot: install the extra `plot` for matplotlib.")
        return
    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.add_subplot()
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model]
        axes.errorbar(
            [row[x] for row in own],
            [row["error"] for row in own],
            yerr=[row["standard_error"] for row in own],
            label=model,
            marker="o",
        )
    axes.set(xlabel=x.replace("_", " "), ylabel="test error", title=path.stem)
    axes.legend()
    figure.savefig(path.with_suffix(".png"), dpi=150)
