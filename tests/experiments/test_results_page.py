"""The page of results is made from the files of runs."""

import runpy
from pathlib import Path

import pytest
from experiments import run

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.skipif(
    not DOCS.is_dir(), reason="an installed copy has no docs folder"
)


@pytest.fixture
def make_results():
    return runpy.run_path(str(DOCS / "make_results.py"))


def test_the_page_is_current(make_results):
    kept = (DOCS / "RESULTS.md").read_text(encoding="utf-8")
    assert kept == make_results["page"](), "run python docs/make_results.py"


def test_a_run_is_put_on_the_page(make_results, tmp_path):
    report = run("wager-table3", "tiny", tmp_path)
    page = make_results["page"](tmp_path)
    holding = sum(claim.holds for claim in report.claims)
    assert "| [wager-table3](#wager-table3-rare-but-useful-features) |" in page
    assert f"| {holding} of {len(report.claims)} |" in page
    assert (tmp_path / "wager-table3.md").read_text(encoding="utf-8") in page
    assert "dekel" not in page
