"""HTML in which a text can never become a tag.

Elements are made by `tag` only, which escapes every child and every attribute that is
not the work of `tag` itself. So no name of a feature, class or file needs a thought.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

__all__ = ["Html", "join", "raw", "tag"]

_VOID = {"input", "meta", "br"}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def raw(text: str) -> Html:
    """Text of this package itself, such as a style sheet, that needs no escape."""
    return Html(text)


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
        f" {_name(key)}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
