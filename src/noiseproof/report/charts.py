"""Charts as SVG, made of numbers and `tag` only.

Colours come from the style sheet: an element of model i has the classes `m<i>`, by
which it is shown or hidden, and `c<i>`, its colour. Shapes tell models apart, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from noiseproof.report.html import Html, join, tag
from noiseproof.report.scales import Scale, nice_ticks, short
from noiseproof.report.summary import Series

__all__ = ["Curve", "dot_strip", "line_chart", "marker"]

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 150, 16, 66
_FLOOR = -1.0  # an R² below this only says "useless"
_APART = 17  # between the names at the ends of lines
_NAMED = 18  # letters of a name there

# relative to the point, each about as large as a circle of radius 4
_SHAPES = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-4.8L4.6,3.4H-4.6z",
    "M0,-5.2L5.2,0L0,5.2L-5.2,0z",
    "M0,4.8L4.6,-3.4H-4.6z",
    "M-5,-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
    "M-5,-2h10v4h-10z",
    "M-2,-5h4v10h-4z",
)


@dataclass(frozen=True)
class Curve:
    """A line of model number `model`; `points` are drawn on it as marks."""

    model: int
    name: str
    line: Series
    points: Series | None = None


def marker(model: int, x: float = 6, y: float = 6, title: str | None = None) -> Html:
    """The mark of a model."""
    shape = _SHAPES[model % len(_SHAPES)]
    inside = () if title is None else (tag("title", title),)
    place = f"translate({x:.1f} {y:.1f})"
    return tag("path", *inside, d=shape, transform=place, class_="mark")


def line_chart(
    curves: Sequence[Curve], label: str, x_name: str, y_name: str, steps: bool = False
) -> Html:
    """Lines with intervals over common axes, named at their right ends.

    Parameters
    ----------
    curves : list of Curve
        With the same x.
    label : str
        What the chart shows, for those who do not see it.
    x_name, y_name : str
        Of the axes.
    steps : bool, default=False
        Whether a line keeps its height until the next x.

    Returns
    -------
    svg : Html
        With `data-x`, the places of all x.
    """
    x, y, x_ticks, y_ticks = _scales(curves)
    ends = _spread([y(curve.line.y[-1]) for curve in curves])
    grid = join(
        tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=_at(y(t)), y2=_at(y(t)))
        for t in y_ticks
    )
    return tag(
        "svg",
        tag("g", grid, class_="grid"),
        tag("g", *_axes(x, y, x_ticks, y_ticks, x_name, y_name), class_="axis"),
        tag("line", y1=_TOP, y2=_HEIGHT - _BOTTOM, class_="cursor", hidden=True),
        *(
            _drawn(curve, x, y, end, steps)
            for curve, end in zip(curves, ends, strict=True)
        ),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=label,
        data_x=" ".join(_at(x(number)) for number in curves[0].line.x),
        class_="chart",
    )


def dot_strip(
    costs: Mapping[int, float], names: Sequence[str], low: float, high: float
) -> Html:
    """One line from `low` to `high` with the mark of each model at its cost.

    It is as wide as the page gives it: places are shares of the width.
    """
    scale = Scale(low, high, 3.0, 97.0)
    zero = f"{scale(0.0):.2f}%"
    dots = [
        tag(
            *("svg", marker(i, 0, 10, f"{names[i]}: {cost:.3f}")),
            x=f"{scale(cost):.2f}%",
            overflow="visible",
            class_=f"m{i} c{i}",
        )
        for i, cost in costs.items()
    ]
    far = max(map(scale, costs.values()), default=scale(0.0))
    return tag(
        "svg",
        tag("line", x1=zero, x2=zero, y1=0, y2=20, class_="zero"),
        tag("line", x1=zero, x2=f"{far:.2f}%", y1=10, y2=10, class_="stem"),
        *dots,
        height=20,
        aria_hidden="true",
        class_="strip",
    )


def _scales(
    curves: Sequence[Curve],
) -> tuple[Scale, Scale, list[float], list[float]]:
    """Of both axes, with their ticks."""
    xs = [number for curve in curves for number in curve.line.x]
    ends = (curve.line.low or curve.line.y for curve in curves)
    ys = [number for end in ends for number in end]
    ys += [number for c in curves for number in (c.line.high or c.line.y)]
    x_ticks = [t for t in nice_ticks(min(xs), max(xs), 6) if min(xs) <= t <= max(xs)]
    if all(number == round(number) for number in xs):
        x_ticks = [t for t in x_ticks if t == round(t)]
    # all scores end at 1; an interval may reach beyond
    y_ticks = nice_ticks(max(min(ys), _FLOOR), min(max(ys), 1.0))
    x = Scale(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT)
    y = Scale(y_ticks[0], y_ticks[-1], _HEIGHT - _BOTTOM, _TOP)
    return x, y, x_ticks, y_ticks


def _axes(
    x: Scale,
    y: Scale,
    x_ticks: list[float],
    y_ticks: list[float],
    x_name: str,
    y_name: str,
) -> list[Html]:
    bottom, middle = _HEIGHT - _BOTTOM, (_TOP + _HEIGHT - _BOTTOM) / 2
    below = [
        tag("text", short(t), x=_at(x(t)), y=bottom + 22, text_anchor="middle")
        for t in x_ticks
    ]
    beside = [
        tag("text", short(t), x=_LEFT - 9, y=_at(y(t) + 5), text_anchor="end")
        for t in y_ticks
    ]
    centre = (_LEFT + _WIDTH - _RIGHT) / 2
    return [
        *below,
        *beside,
        tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=bottom, y2=bottom),
        tag("text", x_name, x=centre, y=_HEIGHT - 12, text_anchor="middle"),
        tag(
            *("text", y_name),
            transform=f"translate(18 {middle:.1f}) rotate(-90)",
            text_anchor="middle",
        ),
    ]


def _drawn(curve: Curve, x: Scale, y: Scale, end: float, steps: bool) -> Html:
    """Interval, line, marks and name of one model."""
    line = curve.line
    shown = curve.points or line
    band = None
    if line.low is not None and line.high is not None:
        outline = [*zip(line.x, line.high, strict=True)]
        outline += [*zip(line.x, line.low, strict=True)][::-1]
        points = " ".join(f"{_at(x(a))},{_at(y(b))}" for a, b in outline)
        band = tag("polygon", points=points, class_="band")
    name = curve.name
    if len(name) > _NAMED:
        name = name[: _NAMED - 1] + "…"
    return tag(
        "g",
        band,
        tag("path", d=_path(line, x, y, steps), class_="line"),
        *(
            marker(
                curve.model, x(shown.x[i]), y(shown.y[i]), _told(curve.name, shown, i)
            )
            for i in range(len(shown.x))
        ),
        tag(
            "g",
            marker(curve.model, _WIDTH - _RIGHT + 17, end),
            tag("text", name, x=_WIDTH - _RIGHT + 27, y=_at(end + 4)),
            class_="name",
        ),
        class_=f"series m{curve.model} c{curve.model}",
    )


def _path(line: Series, x: Scale, y: Scale, steps: bool) -> str:
    first, *rest = zip(map(x, line.x), map(y, line.y), strict=True)
    path = f"M{_at(first[0])},{_at(first[1])}"
    for a, b in rest:
        path += f"H{_at(a)}V{_at(b)}" if steps else f"L{_at(a)},{_at(b)}"
    return path


def _told(name: str, line: Series, i: int) -> str:
    interval = ""
    if line.low is not None and line.high is not None:
        interval = f" ({line.low[i]:.3f} to {line.high[i]:.3f})"
    return f"{name} at {short(line.x[i])}: {line.y[i]:.3f}{interval}"


def _spread(heights: list[float]) -> list[float]:
    """Heights moved apart so that the names there do not overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + _APART)
    lowest = _HEIGHT - _BOTTOM
    for below, above in pairwise(order[::-1]):
        moved[below] = min(moved[below], lowest)
        moved[above] = min(moved[above], moved[below] - _APART)
    return moved


def _at(place: float) -> str:
    return f"{place:.1f}"
