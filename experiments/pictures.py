"""The plot of one experiment."""

from __future__ import annotations

import io
from collections.abc import Sequence
from numbers import Real
from typing import Any

from experiments.experiment import Experiment, Layout, Row, distinct, select
from experiments.pages import cells
from noiseproof.evaluation.plots import line_style, tidy


def picture(experiment: Experiment[Any], rows: Sequence[Row]) -> bytes | None:
    """A PNG with an axes for each panel, or None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    rows, layout = experiment.drawn(rows)
    panels = [None] if layout.panel is None else distinct(rows, layout.panel)
    height = (
        max(3.6, 0.35 * len(distinct(rows, layout.x))) if _named(rows, layout) else 3.6
    )
    figure = Figure(figsize=(6 * len(panels), height), layout="constrained")
    for axes, panel in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        own = rows if layout.panel is None else select(rows, **{layout.panel: panel})
        draw(axes, own, layout)
        axes.set_title(experiment.title if panel is None else str(panel))
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=80)
    return stream.getvalue()


def _named(rows: Sequence[Row], layout: Layout) -> bool:
    """Whether x is a name and not a number."""
    return not all(isinstance(row[layout.x], Real) for row in rows)


def draw(axes: Any, rows: Sequence[Row], layout: Layout) -> None:
    """Each curve with its standard errors; names go down the side, without lines."""
    found = cells(rows, layout)
    named = _named(rows, layout)
    for i, curve in enumerate(distinct(rows, layout.curve)):
        points = [(key[-2], cell) for key, cell in found.items() if key[-1] == curve]
        x, y = [place for place, _ in points], [cell.mean for _, cell in points]
        error = [cell.error for _, cell in points]
        style = {"label": str(curve), **line_style(i)}
        if named:
            axes.errorbar(y, x, xerr=error, **style | {"linestyle": ""})
        else:
            axes.errorbar(x, y, yerr=error, **style)
    x_name, y_name = (name.replace("_", " ") for name in (layout.x, layout.value))
    axes.set(xlabel=y_name if named else x_name, ylabel=x_name if named else y_name)
    if named:
        axes.invert_yaxis()  # the first name on top
    tidy(axes)
    if layout.log_x:
        axes.set_xscale("log", base=2)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
