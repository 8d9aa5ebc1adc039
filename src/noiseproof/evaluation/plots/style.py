"""One look for all displays: few lines, colours that colour-blind people can tell.

The colours are those of Okabe and Ito, in an order in which neighbours also differ in
lightness; each comes with a line style and a marker of its own, so that a copy in black
and white can be read as well.
"""

from __future__ import annotations

from typing import Any

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "h")

ACCENT, QUIET = _COLOURS[0], "#999999"


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
        "color": _COLOURS[i % len(_COLOURS)],
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
