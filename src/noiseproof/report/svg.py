"""Charts as SVG, made of numbers and `tag` only.

Colours come from the style sheet: an element of model i has the classes `m<i>`, by
which it is shown or hidden, and `c<i>`, its colour. Shapes tell models apart, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from noiseproof.report.html import Html, join, short, tag
from noiseproof.report.summary import Series

FLOOR = -1.0  # an R² below this only says "useless"

_WIDTH, _HEIGHT = 720, 400
_LEFT, _TOP, _RIGHT, _BOTTOM = 74, 16, _WIDTH - 150, _HEIGHT - 66  # ends of the axes
_APART = 17  # between the names at the ends of lines
_NAMED = 18  # letters of a name there
_STEPS = (1, 2, 2.5, 5, 10)  # between ticks, times a power of 10

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


Scale = Callable[[float], float]


def scale(low: float, high: float, start: float, end: float) -> Scale:
    """A linear map of [low, high] to [start, end]; what lies beyond is cut."""
    width = (high - low) or 1.0
    return lambda x: start + min(max((x - low) / width, 0.0), 1.0) * (end - start)


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About n round numbers from at most `low` to at least `high`.

    Examples
    --------
    >>> from noiseproof.report.svg import nice_ticks
    >>> nice_ticks(0.37, 0.96)
    [0.2, 0.4, 0.6, 0.8, 1.0]
    >>> nice_ticks(3, 3, n=1)
    [3.0, 4.0]
    """
    if high <= low:
        high = low + max(1.0, abs(low) * 1e-6)
    rough = (high - low) / n
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(s for s in _STEPS if s * power >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(i * step, digits) + 0.0 for i in range(first, last + 1)]


def marker(model: int, x: float = 6, y: float = 6, title: str | None = None) -> Html:
    """The mark of a model."""
    shape = _SHAPES[model % len(_SHAPES)]
    inside = None if title is None else tag("title", title)
    place = f"translate({x:.1f} {y:.1f})"
    return tag("path", inside, d=shape, transform=place, class_="mark")


def swatch(model: int) -> Html:
    """The mark of a model in its colour, to stand beside its name."""
    size = {"width": 12, "height": 12, "viewBox": "0 0 12 12"}
    return tag(
        "svg", marker(model), **size, aria_hidden="true", class_=f"swatch c{model}"
    )


def dot_strip(
    costs: Mapping[int, float], names: Sequence[str], low: float, high: float
) -> Html:
    """One line from `low` to `high` with the mark of each model at its cost.

    It is as wide as the page gives it: places are shares of the width.
    """
    place = scale(low, high, 3.0, 97.0)
    zero = f"{place(0.0):.2f}%"
    dots = [
        tag(
            *("svg", marker(i, 0, 10, f"{names[i]}: {cost:.3f}")),
            x=f"{place(cost):.2f}%",
            overflow="visible",
            class_=f"m{i} c{i}",
        )
        for i, cost in costs.items()
    ]
    far = max(map(place, costs.values()), default=place(0.0))
    return tag(
        "svg",
        tag("line", x1=zero, x2=zero, y1=0, y2=20, class_="zero"),
        tag("line", x1=zero, x2=f"{far:.2f}%", y1=10, y2=10, class_="stem"),
        *dots,
        height=20,
        aria_hidden="true",
        class_="strip",
    )


def line_chart(
    curves: Sequence[Curve], label: str, x_name: str, y_name: str, steps: bool = False
) -> Html:
    """Lines with intervals over common axes, named at their right ends.

    The curves have the same x, whose places are the attribute `data-x`; `label` says
    what the chart shows to those who do not see it; with `steps` a line keeps its
    height until the next x.
    """
    lines = [curve.line for curve in curves]
    xs = [number for line in lines for number in line.x]
    ys = [n for line in lines for n in (*(line.low or line.y), *(line.high or line.y))]
    x_ticks = [t for t in nice_ticks(min(xs), max(xs), 6) if min(xs) <= t <= max(xs)]
    if all(number == round(number) for number in xs):
        x_ticks = [t for t in x_ticks if t == round(t)]
    # all scores end at 1; an interval may reach beyond
    y_ticks = nice_ticks(max(min(ys), FLOOR), min(max(ys), 1.0))
    x = scale(min(xs), max(xs), _LEFT, _RIGHT)
    y = scale(y_ticks[0], y_ticks[-1], _BOTTOM, _TOP)
    grid = join(
        tag("line", x1=_LEFT, x2=_RIGHT, y1=_at(y(t)), y2=_at(y(t))) for t in y_ticks
    )
    turned = f"translate(18 {(_TOP + _BOTTOM) / 2:.1f}) rotate(-90)"
    axes = [
        *(_text(short(t), x(t), _BOTTOM + 22, "middle") for t in x_ticks),
        *(_text(short(t), _LEFT - 9, y(t) + 5, "end") for t in y_ticks),
        tag("line", x1=_LEFT, x2=_RIGHT, y1=_BOTTOM, y2=_BOTTOM),
        _text(x_name, (_LEFT + _RIGHT) / 2, _HEIGHT - 12, "middle"),
        tag("text", y_name, transform=turned, text_anchor="middle"),
    ]
    names = _spread([y(curve.line.y[-1]) for curve in curves])
    return tag(
        "svg",
        tag("g", grid, class_="grid"),
        tag("g", *axes, class_="axis"),
        tag("line", y1=_TOP, y2=_BOTTOM, class_="cursor", hidden=True),
        *(
            _drawn(curve, x, y, height, steps)
            for curve, height in zip(curves, names, strict=True)
        ),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=label,
        data_x=" ".join(_at(x(number)) for number in lines[0].x),
        class_="chart",
    )


def _at(place: float) -> str:
    return f"{place:.1f}"


def _text(text: str, x: float, y: float, anchor: str | None = None) -> Html:
    return tag("text", text, x=f"{x:.4g}", y=f"{y:.4g}", text_anchor=anchor)


def _drawn(curve: Curve, x: Scale, y: Scale, end: float, steps: bool) -> Html:
    """Interval, line, marks and name of one model."""
    line, band = curve.line, None
    if line.low is not None and line.high is not None:
        outline = [*zip(line.x, line.high, strict=True)]
        outline += [*zip(line.x, line.low, strict=True)][::-1]
        points = " ".join(f"{_at(x(a))},{_at(y(b))}" for a, b in outline)
        band = tag("polygon", points=points, class_="band")
    shown, name = curve.points or line, curve.name
    marks = [
        marker(curve.model, x(a), y(b), _told(name, shown, i))
        for i, (a, b) in enumerate(zip(shown.x, shown.y, strict=True))
    ]
    if len(name) > _NAMED:
        name = name[: _NAMED - 1] + "…"
    return tag(
        "g",
        band,
        tag("path", d=_path(line, x, y, steps), class_="line"),
        *marks,
        tag(
            "g",
            marker(curve.model, _RIGHT + 17, end),
            _text(name, _RIGHT + 27, end + 4),
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
    for below, above in pairwise(order[::-1]):
        moved[below] = min(moved[below], _BOTTOM)
        moved[above] = min(moved[above], moved[below] - _APART)
    return moved
