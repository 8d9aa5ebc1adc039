"""The pages say what the code does."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(
    not DOCS.is_dir(), reason="an installed copy has no docs folder"
)

PAGES = sorted(
    page
    for page in (ROOT / "README.md", *DOCS.glob("*.md"))
    if page.exists()
    and page.name != "api.md"
    and "```python" in page.read_text("utf-8")
)

# Data and models that a page calls by names the reader brings along
_DIGITS = """
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
X, y = load_digits(return_X_y=True)
X = X / 16
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:400], y[300:400]
X_new, Z = X_test, X[400:600]
my_old_model = plain = LogisticRegression(max_iter=1000).fit(X_train, y_train)
model = robust = plain
"""
_BRINGS = {
    "README.md": _DIGITS,
    "files.md": _DIGITS,
    "guide.md": _DIGITS,
    "report.md": _DIGITS,
    "gpu.md": 'import pytest; pytest.importorskip("torch")',
    "invariances.md": _DIGITS
    + """
X_text, y_text = X[:100], y[:100]
keep = y[:60] < 3
X_mnist, y_mnist = X[:60][keep], y[:60][keep]
sentences = [X[i : i + 3] for i in range(0, 30, 3)]
tags = [y[i : i + 3] % 2 for i in range(0, 30, 3)]
""",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page, tmp_path, monkeypatch):
    """All Python of a page, from top to bottom, as a reader would type it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict = {}
    exec(_BRINGS.get(page.name, ""), names)
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S):
        exec(compile(code, str(page), "exec"), names)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


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
