"""Mean ranks of methods over data sets, and which of them can be told apart."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

_LEVEL = 0.05  # of significance


@dataclass(frozen=True)
class Ranks:
    """Rank of each method on each data set, 1 for the best.

    Parameters
    ----------
    names : sequence of str
        The methods.
    table : array of shape (n_sets, n_methods)
        Their ranks; means over the cases of a data set, if it has several, since these
        are not independent.
    """

    names: Sequence[str]
    table: Any

    @property
    def means(self) -> Any:
        """Mean rank of each method."""
        return self.table.mean(axis=0)

    @property
    def by_name(self) -> dict[str, float]:
        """The same, by method."""
        return dict(zip(self.names, self.means.tolist(), strict=True))

    @property
    def first(self) -> str:
        """The method with the smallest mean rank."""
        return self.names[int(self.means.argmin())]

    @property
    def p_value(self) -> float:
        """Of Friedman's test that all methods are alike."""
        return float(friedmanchisquare(*self.table.T).pvalue)

    @property
    def critical_difference(self) -> float:
        """Mean ranks further apart than this differ significantly (Nemenyi's test)."""
        n, k = self.table.shape
        reach = studentized_range.ppf(1 - _LEVEL, k, np.inf) / np.sqrt(2)
        return float(reach * np.sqrt(k * (k + 1) / (6 * n)))

    @property
    def cliques(self) -> list[tuple[int, int]]:
        """First and last place of methods, by mean rank, that are not told apart.

        Those that lie within another clique are left out.
        """
        means = np.sort(self.means)
        found: list[tuple[int, int]] = []
        for first, mean in enumerate(means):
            inside = means <= mean + self.critical_difference
            last = int(np.flatnonzero(inside)[-1])
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return found


def ranks(errors: Mapping[Any, Sequence[Mapping[str, float]]]) -> Ranks:
    """Ranks from the errors of each method in each case of each data set."""
    names = list(next(iter(errors.values()))[0])
    table = [
        np.mean([rankdata([case[name] for name in names]) for case in cases], axis=0)
        for cases in errors.values()
    ]
    return Ranks(names, np.array(table))


def diagram(found: Ranks) -> bytes | None:
    """A critical-difference diagram as PNG, or None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    order = np.argsort(found.means, kind="stable")
    k, half = len(order), (len(order) + 1) // 2
    bars = len(found.cliques)
    depth = 1.0 + 0.35 * bars  # of the first name, below the axis
    figure = Figure(figsize=(9, 0.3 * (half + depth) + 1), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(0.5, k + 0.5), ylim=(half + depth, -1.5))
    axes.spines[["left", "right", "bottom"]].set_visible(False)
    axes.spines["top"].set_position(("data", 0))
    axes.xaxis.set_ticks_position("top")
    axes.set_yticks([])
    for i, (first, last) in enumerate(found.cliques):
        ends = np.sort(found.means)[[first, last]] + (-0.06, 0.06)
        axes.plot(ends, [0.5 + 0.35 * i] * 2, color="black", lw=3)
    for place, method in enumerate(order):
        mean, left = found.means[method], place < half
        y = depth + (place if left else k - 1 - place)
        side = 0.5 if left else k + 0.5
        axes.plot([mean, mean, side], [0, y, y], color="grey", lw=0.8)
        name = f"{found.names[method]} ({mean:.1f})"
        align = "right" if left else "left"
        axes.text(side, y, f" {name} ", ha=align, va="center", clip_on=False)
    reach = min(found.critical_difference, k - 1)
    axes.plot([1, 1 + reach], [-1.2] * 2, color="black", marker="|")
    axes.text(1 + reach, -1.2, f"  critical difference {reach:.1f}", va="center")
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=80)
    return stream.getvalue()
