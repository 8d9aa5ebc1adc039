"""Charts: what they show, and that as SVG text.

A `Chart` describes lines over two axes. `to_svg` draws it for notebooks and the report,
and `noiseproof.evaluation.plots` on the axes of matplotlib. The SVG stands in HTML as
it is. Text and axes have the colour of the text around them, so they can be read on
light and on dark ground. Line number i has a colour and a mark of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

FLOOR = -1.0  # an R² below this only says "useless"

_WIDTH, _HEIGHT = 720, 370
_LEFT, _TOP, _RIGHT, _BOTTOM = 58, 42, _WIDTH - 16, _HEIGHT - 66  # ends of the axes
_STEPS = (1, 2, 2.5, 5, 10)  # between ticks, times a power of 10
# mid-tones, for light and dark ground, which the colour-blind can tell apart as well
COLOURS = (
    *("#2186c4", "#d9661f", "#12946f", "#c26aa0"),
    *("#8a6fe8", "#858585", "#b07d10", "#d1495b"),
)
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

Scale = Callable[[float], float]


class Svg(str):
    """Text that is HTML already, which Jinja knows by this method."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


@dataclass(frozen=True)
class Series:
    """Numbers y against x, with the ends of their intervals where there are any."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def nearest(self, x: float) -> int:
        """Where x is, or the number next to it."""
        return min(range(len(self.x)), key=lambda i: abs(self.x[i] - x))


class Line(NamedTuple):
    """A named series; `number` decides on its colour and its mark."""

    name: str
    series: Series
    number: int = 0


class Chart(NamedTuple):
    """Lines over common axes.

    With `steps` a line keeps its height until the next x; `reference` is a named height
    to compare with; without `marks` only the lines are drawn.
    """

    lines: Sequence[Line]
    x_name: str
    y_name: str
    steps: bool = False
    marks: bool = True
    reference: tuple[str, float] | None = None


def short(number: float) -> str:
    """A number as an axis shows it."""
    whole = abs(number) >= 1000 and number == round(number)
    return (f"{number:,.0f}" if whole else f"{number:.4g}").replace("-", "−")


def scale(low: float, high: float, start: float, end: float) -> Scale:
    """A linear map of [low, high] to [start, end]; what lies beyond is cut."""
    width = (high - low) or 1.0
    return lambda x: start + min(max((x - low) / width, 0.0), 1.0) * (end - start)


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About n round numbers from at most `low` to at least `high`.

    Examples
    --------
    >>> from noiseproof._charts import nice_ticks
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


def to_svg(chart: Chart) -> Svg:
    """The chart as SVG; the places of the first line's x are the attribute `data-x`."""
    lines, x_name, y_name, steps, marks, reference = chart
    every = [line.series for line in lines]
    xs = [number for own in every for number in own.x]
    ys = [n for own in every for n in (*(own.low or own.y), *(own.high or own.y))]
    ys += [reference[1]] if reference else []
    x_ticks = [t for t in nice_ticks(min(xs), max(xs), 6) if min(xs) <= t <= max(xs)]
    if all(number == round(number) for number in xs):
        x_ticks = [t for t in x_ticks if t == round(t)]
    # all scores end at 1; an interval may reach beyond
    y_ticks = nice_ticks(max(min(ys), FLOOR), min(max(ys), 1.0))
    x = scale(min(xs), max(xs), _LEFT, _RIGHT)
    y = scale(y_ticks[0], y_ticks[-1], _BOTTOM, _TOP)
    names = ", ".join(line.name for line in lines)
    svg = Element(
        "svg",
        {
            "viewBox": f"0 0 {_WIDTH} {_HEIGHT}",
            "role": "img",
            "aria-label": f"Line chart: {y_name} by {x_name}, of {names}.",
            "data-x": " ".join(f"{x(number):.1f}" for number in every[0].x),
            "class": "chart",
        },
    )
    _axes(svg, x, y, x_ticks, y_ticks, x_name, y_name)
    if reference:
        name, height = reference[0], y(reference[1])
        group = _add(svg, "g", class_="reference", opacity=0.7)
        line = _add(group, "line", x1=_LEFT, x2=_RIGHT, y1=height, y2=height)
        line.attrib |= {"stroke": "currentColor", "stroke-dasharray": "6 4"}
        _text(group, f"– – {name}", _RIGHT, 19, "end")  # where no curve can be
    cursor = _add(svg, "line", y1=_TOP, y2=_BOTTOM, class_="cursor")
    cursor.set("visibility", "hidden")  # until a script moves it
    for one in lines:
        group = _coloured(svg, "g", one.number, "series")
        _draw(group, one.series, x, y, steps)
        if marks:
            _marks(group, one, x, y)
    return Svg(tostring(svg, encoding="unicode"))


def dot_strip(
    dots: Mapping[int, float],
    low: float,
    high: float,
    names: Sequence[str] = (),
    spread: float = 0.0,
) -> Svg:
    """One line from `low` to `high` with the mark of each number at its value.

    It is as wide as it may be: places are shares of the width. A bar leads from zero,
    or from the end next to it, to the farthest dot; `spread` is drawn on both sides of
    the first one.
    """
    place = scale(low, high, 3.0, 97.0)
    strip = Element("svg", {"height": "20", "class": "strip", "aria-hidden": "true"})
    zero = f"{place(0.0):.2f}%"
    _add(strip, "line", x1=zero, x2=zero, y1=0, y2=20, stroke="currentColor")
    far = max(map(place, dots.values()), default=place(0.0))
    stem = {"x1": zero, "x2": f"{far:.2f}%", "y1": 10, "y2": 10}
    _add(strip, "line", **stem, stroke="currentColor", opacity=0.3, class_="stem")
    for i, value in dots.items():
        name = f"{names[i]}: {value:.3f}" if names else f"{value:.3f}"
        if spread > 0 and i == next(iter(dots)):
            ends = [f"{place(value + side * spread):.2f}%" for side in (-1, 1)]
            span = {"x1": ends[0], "x2": ends[1], "y1": 10, "y2": 10}
            _add(strip, "line", **span, stroke="currentColor", stroke_width=3)
        dot = _coloured(strip, "svg", i)
        dot.attrib |= {"x": f"{place(value):.2f}%", "overflow": "visible"}
        _mark(dot, i, 0, 10, name)
    return Svg(tostring(strip, encoding="unicode"))


def swatch(number: int) -> Svg:
    """The mark of a line in its colour, to stand beside its name."""
    found = _coloured(Element("span"), "svg", number, "swatch")
    size = {"width": "12", "height": "12", "viewBox": "0 0 12 12"}
    found.attrib |= {**size, "aria-hidden": "true"}
    _mark(found, number, 6, 6)
    return Svg(tostring(found, encoding="unicode"))


def _add(parent: Element, kind: str, text: Any = None, **attributes: Any) -> Element:
    """A child with attributes: class_ is class, stroke_width is stroke-width."""
    written = {
        key.rstrip("_").replace("_", "-"): v if isinstance(v, str) else f"{v:.5g}"
        for key, v in attributes.items()
    }
    child = SubElement(parent, kind, written)
    child.text = text
    return child


def _coloured(parent: Element, kind: str, number: int, class_: str = "") -> Element:
    """An element of line `number`; a style sheet may hide all of class m<i>."""
    classes = f"{class_} m{number}".strip()
    return _add(parent, kind, class_=classes, color=COLOURS[number % len(COLOURS)])


def _text(parent: Element, text: str, x: float, y: float, anchor: str) -> None:
    """Words at a place."""
    found = _add(parent, "text", text, x=x, y=y, text_anchor=anchor)
    found.attrib |= {"fill": "currentColor", "font-size": "12.5"}


def _mark(
    parent: Element, number: int, x: float, y: float, title: str | None = None
) -> None:
    """The mark of a line at a place."""
    shape, place = _SHAPES[number % len(_SHAPES)], f"translate({x:.1f} {y:.1f})"
    found = _add(parent, "path", d=shape, transform=place, class_="mark")
    found.set("fill", "currentColor")
    if title:
        _add(found, "title", title)


def _axes(
    chart: Element,
    x: Scale,
    y: Scale,
    x_ticks: Iterable[float],
    y_ticks: Iterable[float],
    x_name: str,
    y_name: str,
) -> None:
    """Ticks, their grid, and the names of both axes."""
    grid = _add(chart, "g", class_="grid", stroke="currentColor", opacity=0.15)
    axis = _add(chart, "g", class_="axis", opacity=0.8)
    for t in y_ticks:
        _add(grid, "line", x1=_LEFT, x2=_RIGHT, y1=y(t), y2=y(t))
        _text(axis, short(t), _LEFT - 8, y(t) + 4.5, "end")
    for t in x_ticks:
        _text(axis, short(t), x(t), _BOTTOM + 24, "middle")
    _text(axis, y_name, 0, 19, "start")
    _text(axis, x_name, (_LEFT + _RIGHT) / 2, _HEIGHT - 10, "middle")


def _draw(group: Element, series: Series, x: Scale, y: Scale, steps: bool) -> None:
    """Interval and line."""
    if series.low is not None and series.high is not None:
        ends = [*zip(series.x, series.high, strict=True)]
        ends += [*zip(series.x, series.low, strict=True)][::-1]
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in ends)
        band = _add(group, "polygon", points=points, class_="band")
        band.attrib |= {"fill": "currentColor", "opacity": "0.16"}
    first, *rest = zip(map(x, series.x), map(y, series.y), strict=True)
    path = f"M{first[0]:.1f},{first[1]:.1f}"
    for a, b in rest:
        path += f"H{a:.1f}V{b:.1f}" if steps else f"L{a:.1f},{b:.1f}"
    drawn = _add(group, "path", d=path, class_="line", fill="none", stroke_width=2.2)
    drawn.set("stroke", "currentColor")


def _marks(group: Element, line: Line, x: Scale, y: Scale) -> None:
    """A mark for each point, with its numbers as a title."""
    own = line.series
    for i, (a, b) in enumerate(zip(own.x, own.y, strict=True)):
        title = f"{line.name} at {short(a)}: {b:.3f}"
        if own.low is not None and own.high is not None:
            title += f" ({own.low[i]:.3f} to {own.high[i]:.3f})"
        _mark(group, line.number, x(a), y(b), title)
