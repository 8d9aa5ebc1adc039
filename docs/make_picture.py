"""Draw the picture of README.md from docs/results/vanishing.csv.

python docs/make_picture.py
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # experiments are beside the package, not in it

from experiments.vanishing import EXPERIMENT  # noqa: E402

SOURCE, PICTURE = (
    HERE / "results" / "vanishing.csv",
    HERE / "pictures" / "vanishing.svg",
)
LINES = {  # of `drawn`: label, its colour, line style and where the label stands
    "mean fill": ("mean imputation", "#8793a1", ":", -4),
    "own NaN": ("NaN handled by the trees", "#8793a1", "--", -4),
    "KNNImputer": ("KNNImputer", "#d9661f", "-.", -4),
    "averaged": ("AverageOverMissing", "#0a6db5", "-", 2),
    "auto": ("found by recommend", "#12946f", "-", -10),
}


def relative_errors() -> dict[str, dict[float, float]]:
    """Mean error relative to retraining, by method and share of columns gone."""
    with SOURCE.open(encoding="utf-8", newline="") as file:
        rows: list[Any] = list(csv.DictReader(file))
    for row in rows:
        row |= {key: float(row[key]) for key in ("share", "score")}
        row["log_loss"] = float(row["log_loss"]) if row["log_loss"] else None
    drawn, layout = EXPERIMENT.drawn(rows)
    found: dict[str, dict[float, list[float]]] = {}
    for row in drawn:
        of_method = found.setdefault(str(row["method"]), {})
        of_method.setdefault(row[layout.x], []).append(row[layout.value])
    return {
        method: {share: float(np.mean(each)) for share, each in shares.items()}
        for method, shares in found.items()
    }


def picture(found: dict[str, dict[float, float]]) -> Figure:
    """The four ways to use one boosted model when columns are gone."""
    figure = Figure(figsize=(7.2, 3.5), layout="constrained", facecolor="white")
    ax = figure.subplots()
    for method, (label, colour, style, nudge) in LINES.items():
        x, y = zip(*found[method].items(), strict=True)
        ax.plot(x, y, style, color=colour, lw=2.6)
        ax.annotate(
            label,
            (x[-1], y[-1]),
            (8, nudge),
            textcoords="offset points",
            color=colour,
            weight="bold" if style == "-" else "normal",
        )
    ax.axhline(1, color="#333333", lw=1)
    ax.set(xlim=(0.18, 1.06), xticks=x, yticks=np.arange(1.0, 1.6, 0.1))
    ax.set(
        xlabel="share of the columns that are gone",
        ylabel="error, relative to boosting\nretrained without the columns",
    )
    ax.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1, 0))
    ax.set_title("Boosted trees when columns vanish: mean over nine tables", loc="left")
    ax.grid(axis="y", color="#dddddd", lw=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return figure


if __name__ == "__main__":
    mpl.rcParams |= {"font.size": 10.5, "svg.hashsalt": "", "font.family": "sans-serif"}
    picture(relative_errors()).savefig(PICTURE, metadata={"Date": None})
