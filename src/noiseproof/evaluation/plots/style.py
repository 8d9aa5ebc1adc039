"""Charts on the axes of matplotlib, in one look: few lines, and colours as in reports.

Each line also has a style and a marker of its own, so that a copy in black and white
can be read as well.
"""

from __future__ import annotations

from typing import Any

from noiseproof._charts import COLOURS, Chart

_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h")
_MARKS = 8  # on a line of steps

ACCENT, QUIET = COLOURS[0], "#999999"


class Display:
    """A plot of results, in `ax_` of `figure_` after `plot`."""

    ax_: Any
    figure_: Any

    def _draw_on(self, ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
        """The axes given, or those of a new figure of this size in inches."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError(
                    "Plots need matplotlib: pip install 'noiseproof[plot]'."
                ) from error
            ax = plt.subplots(figsize=size, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def line_style(i: int) -> dict[str, Any]:
    """Colour, line style and marker of the i-th line, for `Axes.plot`."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": _LINES[i % len(_LINES)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "linewidth": 1.8,
        "markersize": 4.5,
    }


def tidy(ax: Any, grid: str = "both") -> None:
    """A faint grid behind the data and no box around it."""
    ax.grid(axis=grid, color="#DDDDDD", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def draw(ax: Any, chart: Chart) -> tuple[list[Any], list[Any]]:
    """Draw a chart; its lines, and the bands of their intervals."""
    lines, bands = [], []
    for name, series, number in chart.lines:
        style = line_style(number)
        if chart.steps:
            style |= {"drawstyle": "steps-post"}
            style |= {"markevery": max(1, len(series.x) // _MARKS)}
        lines += ax.plot(series.x, series.y, label=name or None, **style)
        if series.low is not None:
            band = {"color": style["color"], "alpha": 0.18, "linewidth": 0}
            bands.append(ax.fill_between(series.x, series.low, series.high, **band))
    ax.set(xlabel=chart.x_name, ylabel=chart.y_name)
    tidy(ax)
    return lines, bands
