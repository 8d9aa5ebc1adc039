"""The pages say what the code does."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="an installed copy has no docs folder")
def test_the_api_page_is_current():
    page = runpy.run_path(str(DOCS / "make_api.py"))["page"]()
    assert (DOCS / "api.md").read_text(encoding="utf-8") == page, (
        "run python docs/make_api.py"
    )


@pytest.mark.skipif(not DOCS.is_dir(), reason="an installed copy has no docs folder")
def test_the_walk_links_to_the_lines_it_names():
    script = runpy.run_path(str(DOCS / "make_walk.py"))
    text = (DOCS / "walk.md").read_text(encoding="utf-8")
    assert len(script["LINK"].findall(text)) >= 20
    assert text.count("](../src/") == len(script["LINK"].findall(text))
    assert text == script["page"](), "run python docs/make_walk.py"
