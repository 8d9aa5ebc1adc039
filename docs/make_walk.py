"""Put the current line numbers into docs/walk.md: python docs/make_walk.py."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).with_name("walk.md")
LINK = re.compile(r"\[`(\w+)`\]\((\.\./[\w/.]+)#L\d+\)")


def page() -> str:
    """The page with each link at the line where the named thing is defined."""
    return LINK.sub(_link, PAGE.read_text(encoding="utf-8"))


def _link(found: re.Match[str]) -> str:
    name, path = found.groups()
    lines = (PAGE.parent / path).read_text(encoding="utf-8").splitlines()
    defined = re.compile(rf"\s*(def|class) {name}\b")
    line = next(i for i, text in enumerate(lines, 1) if defined.match(text))
    return f"[`{name}`]({path}#L{line})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
