"""Check a built site: python docs/check_site.py [FOLDER FOR SCREENSHOTS].

Every link within the site leads to a page and, if it names one, to a place on it; no
page asks for anything outside; a browser opens the main pages without an error; no line
of code is cut on a desktop; and the search finds something. With a folder, it also
keeps pictures of the main pages on a desktop and on a phone, in light and in dark.
"""

from __future__ import annotations

import shutil
import sys
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parent / "_build" / "html"
SHOWN = {
    "landing": "index.html",
    "start": "start.html",
    "guide": "missing.html",
    "choosing": "choosing.html",
    "gallery": "auto_examples/index.html",
    "example": "auto_examples/plot_certificate.html",
    "api": "api/index.html",
    "estimator": "api/noiseproof.DropoutSVC.html",
    "demo": "demo.html",
}
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}

_WIDE_CODE = """() => [...document.querySelectorAll("pre")]
  .filter(pre => pre.scrollWidth > pre.clientWidth)
  .map(pre => pre.innerText.split("\\n").reduce((a, b) => a.length < b.length ? b : a))
"""


class Page(HTMLParser):
    """Links, places and what a page loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Note what the tag refers to."""
        found = dict(attrs)
        self.places.update(found[key] for key in ("id", "name") if found.get(key))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag == "link" and "stylesheet" in (found.get("rel") or ""):
            self.loads.append(found["href"])
        elif tag in ("script", "img", "iframe") and found.get("src"):
            self.loads.append(found["src"])


def broken() -> list[str]:
    """A line for each link that leads nowhere and each thing loaded from outside."""
    found = [path for path in SITE.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Page(path) for path in found}
    wrong = []
    for path, page in pages.items():
        here = path.relative_to(SITE)
        wrong += [f"{here} loads {u}" for u in page.loads if urlsplit(u).netloc]
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            if not target.exists():
                wrong.append(f"{here} links to {link}, which is not there")
            elif target in pages and parts.fragment and "_modules" not in here.parts:
                # (pages of source code guess the place of a name that has two homes)
                known = pages[target].places
                if unquote(parts.fragment) not in known:
                    wrong.append(f"{here} links to {link}, which has no such place")
    return wrong


def visited(pictures: Path | None) -> list[str]:
    """What the browser complains about on the main pages."""
    from playwright.sync_api import sync_playwright

    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    wrong: list[str] = []
    with sync_playwright() as driver:
        options = ["--no-sandbox", "--disable-gpu"]  # root gets no sandbox
        browser = driver.chromium.launch(executable_path=binary, args=options)
        for size, scheme in product(SIZES, ("light", "dark")):
            viewport = dict(zip(("width", "height"), SIZES[size], strict=True))
            context = browser.new_context(viewport=viewport, color_scheme=scheme)
            tab = context.new_page()
            tab.on("console", lambda said: wrong.extend(_error(said)))
            tab.on("pageerror", lambda error: wrong.append(str(error)))
            tab.on("request", lambda request: wrong.extend(_outside(request.url)))
            for name, page in SHOWN.items():
                tab.goto((SITE / page).as_uri())
                if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    wrong.append(f"{page} is wider than a {size}")
                if pictures:
                    tab.screenshot(path=pictures / f"{name}-{size}-{scheme}.png")
            context.close()
        wrong += _cut(browser)
        wrong += _searched(browser)
        browser.close()
    return wrong


def _error(said: Any) -> list[str]:
    return [f"{said.location['url']}: {said.text}"] if said.type == "error" else []


def _outside(url: str) -> list[str]:
    return [] if url.startswith(("file:", "data:", "blob:")) else [f"asked for {url}"]


def _cut(browser: Any) -> list[str]:
    """Pages with a line of code that is wider than its box on a desktop."""
    width, height = SIZES["desktop"]
    tab = browser.new_page(viewport={"width": width, "height": height})
    wrong = []
    for path in sorted(SITE.rglob("*.html")):
        here = path.relative_to(SITE)
        if here.parts[0] in ("_static", "_modules"):
            continue
        tab.goto(path.as_uri())
        wrong += [f"{here} cuts the code: {line}" for line in tab.evaluate(_WIDE_CODE)]
    return wrong


def _searched(browser: Any) -> list[str]:
    tab = browser.new_page()
    tab.goto((SITE / "search.html").as_uri() + "?q=certify")
    try:
        tab.wait_for_selector("#search-results li a", timeout=20_000)
    except Exception:
        return ["the search finds nothing"]
    return []


def main() -> int:
    """Print what is wrong; 0 if nothing is."""
    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    wrong = broken() + visited(pictures)
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
