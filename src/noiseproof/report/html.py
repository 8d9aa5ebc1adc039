"""HTML in which a text can never become a tag, and the tables made of it.

Elements are made by `tag` only, which escapes every child and every attribute that is
not the work of `tag` itself. So no name of a feature, class or file needs a thought.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from html import escape
from typing import Any
from unicodedata import bidirectional

_VOID = {"input", "meta", "br"}
_TURNING = {"R", "AL", "RLE", "RLO", "LRE", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI"}
_ISOLATE, _END = "\u2068", "\u2069"  # FSI and PDI
_OPENING = {"\u2066", "\u2067", _ISOLATE}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def join(children: Iterable[Any]) -> Html:
    """Children one after the other, escaped unless they are HTML; None is left out."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(str(child))
            for child in children
            if child is not None
        )
    )


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element.

    Underscores in names of attributes become hyphens, and one at the end is dropped;
    False and None leave an attribute out, True gives its bare name.

    Examples
    --------
    >>> from noiseproof.report.html import tag
    >>> tag("p", "1 < 2", tag("b", "!"), class_="note")
    '<p class="note">1 &lt; 2<b>!</b></p>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def isolated(thing: Any) -> Any:
    """All texts of a summary such that none changes the order of what stands beside it.

    A text that runs from right to left, or that holds characters which turn the order
    round, is put between Unicode's marks of isolation; they work where there can be no
    element, too: in titles, labels and charts.
    """
    if isinstance(thing, str):
        return _isolated_text(thing)
    if isinstance(thing, Mapping):
        return {isolated(key): isolated(value) for key, value in thing.items()}
    if isinstance(thing, tuple):
        return tuple(map(isolated, thing))
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = {f.name: isolated(getattr(thing, f.name)) for f in fields(thing)}
        return replace(thing, **parts)
    return thing


def _isolated_text(text: str) -> str:
    if text.isascii() or _TURNING.isdisjoint(map(bidirectional, text)):
        return text
    kept, depth = [], 0
    for letter in text:
        depth += letter in _OPENING
        if letter == _END:
            if not depth:
                continue  # it would end our own isolation
            depth -= 1
        kept.append(letter)
    return _ISOLATE + "".join(kept) + _END * (depth + 1)


def number(value: float | None, digits: int = 3) -> str:
    """A score with equally many decimals everywhere; a dash for None."""
    if value is None:
        return "–"
    if value == math.inf:
        return "∞"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def short(number: float) -> str:
    """A number as an axis shows it."""
    whole = abs(number) >= 1000 and number == round(number)
    return (f"{number:,.0f}" if whole else f"{number:.4g}").replace("-", "−")


def section(id_: str, title: str, *children: Any) -> Html:
    """A part of the page with its headline."""
    head = tag("h2", title, id=f"{id_}-title")
    return tag("section", head, *children, id=id_, aria_labelledby=f"{id_}-title")


def facts(pairs: Iterable[tuple[str, Any]], class_: str) -> Html:
    """Names, each with what is to be said of it."""
    rows = [tag("div", tag("dt", name), tag("dd", fact)) for name, fact in pairs]
    return tag("dl", *rows, class_=class_)


def table(caption: str, head: Iterable[Html], rows: Iterable[Html]) -> Html:
    """A table of cells and rows; where it is too wide it scrolls on its own."""
    body = [tag("thead", tag("tr", *head)), tag("tbody", *rows)]
    return tag(
        "div",
        tag("table", tag("caption", caption), *body),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def heads(*names: str, numeric: bool = False) -> list[Html]:
    """Heads of columns of words, or of numbers."""
    return [tag("th", n, scope="col", class_="num" if numeric else None) for n in names]
