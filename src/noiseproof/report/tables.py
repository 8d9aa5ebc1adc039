"""Tables of a page: words to the left, numbers to the right, a column per model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from noiseproof.report.charts import marker
from noiseproof.report.html import Html, tag

__all__ = ["model_columns", "model_table", "number", "section", "swatch", "table"]

Names = Mapping[int, str]  # of the models that a table is about, by their numbers


def number(value: float | None, digits: int = 3) -> str:
    """A score with equally many decimals everywhere; a dash for None.

    Examples
    --------
    >>> from noiseproof.report.tables import number
    >>> number(0.95), number(None), number(-0.0001), number(-1.5)
    ('0.950', '–', '0.000', '−1.500')
    """
    if value is None:
        return "–"
    if value == math.inf:
        return "∞"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def section(id_: str, title: str, *children: Any) -> Html:
    """A part of the page with its headline."""
    head = tag("h2", title, id=f"{id_}-title")
    return tag("section", head, *children, id=id_, aria_labelledby=f"{id_}-title")


def swatch(model: int) -> Html:
    """The mark of a model in its colour."""
    size = {"width": 12, "height": 12, "viewBox": "0 0 12 12"}
    return tag(
        "svg", marker(model), **size, aria_hidden="true", class_=f"swatch c{model}"
    )


def table(
    caption: str, head: Iterable[Html], rows: Iterable[Html], **more: Any
) -> Html:
    """A table of cells and rows; where it is too wide it scrolls on its own."""
    body = [tag("thead", tag("tr", *head)), tag("tbody", *rows)]
    return tag(
        "div",
        tag("table", tag("caption", caption), *body, **more),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def model_table(
    caption: str,
    first: str,
    names: Names,
    rows: Iterable[tuple[str, Mapping[int, str]]],
    **more: Any,
) -> Html:
    """A column per model; each row has a name and cells by model."""
    lines = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            *(tag("td", cells.get(i, "–"), class_=f"num m{i}") for i in names),
        )
        for name, cells in rows
    ]
    head = [tag("th", first, scope="col"), *model_columns(names)]
    return table(caption, head, lines, **more)


def model_columns(names: Names) -> list[Html]:
    """Heads of the columns of models."""
    return [
        tag("th", swatch(i), " ", name, scope="col", class_=f"num m{i}")
        for i, name in names.items()
    ]
