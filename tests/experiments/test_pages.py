"""Tables say what the rows say."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from experiments.experiment import (
    Claim,
    Experiment,
    Layout,
    Settings,
    above,
    below,
    close,
    mean,
)
from experiments.pages import FAILS, HOLDS, cells, page, tables
from experiments.runner import run_experiment

ROWS = [
    {"data": "a", "level": 0.5, "model": "M", "error": 0.25},
    {"data": "a", "level": 0.5, "model": "M", "error": 0.75},
    {"data": "a", "level": 0.5, "model": "N", "error": 0.125, "C": 3},
    {"data": "b", "level": 1.0, "model": "N", "error": 1.0},
]


class Example(Experiment[Settings]):
    name = "example"
    title = "an example"
    paper = "A paper"
    protocol = "Nothing is tuned."
    sizes: ClassVar = {"tiny": Settings()}
    layout = Layout(panel="data")
    printed: ClassVar = {("a", 0.5, "N"): 0.12}

    def rows(self, settings, data):
        yield from ROWS

    def claims(self, rows: Sequence[dict]) -> list[Claim]:
        return [
            below("M beats N", mean(rows, "error", model="M"), 0.1),
            above("M is bad", mean(rows, "error", model="M"), 0.1),
        ]


def test_cells_are_means_with_standard_errors():
    found = cells(ROWS, Example.layout)
    assert found["a", 0.5, "M"] == (0.5, 0.25)
    assert found["b", 1.0, "N"].mean == 1.0
    assert np.isnan(found["b", 1.0, "N"].error)


def test_a_table_for_each_panel_with_the_papers_numbers():
    assert tables(Example(), ROWS) == (
        "**a**\n\n| level | M | N |\n| --- | --- | --- |\n"
        "| 0.5 | 0.500 ± 0.250 | 0.125 (0.12) |\n\n"
        "**b**\n\n| level | N |\n| --- | --- |\n| 1 | 1.000 |"
    )


def test_the_page_prints_every_verdict():
    example = Example()
    text = page(example, "tiny", Settings(), ROWS, example.claims(ROWS), 1.0)
    assert f"{FAILS} M beats N (0.500 against 0.100)." in text
    assert f"{HOLDS} M is bad (0.500 against 0.100)." in text
    assert "seed = 0" in text
    text = page(example, "full", Settings(), ROWS, [], 1.0)
    assert "`noiseproof reproduce example --full`, 1 s of processor time" in text
    assert "numpy" in text


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (below("", 1.0, 2.0), True),
        (below("", 2.0, 2.0), False),
        (above("", 3.0, 2.0), True),
        (above("", 2.0, 2.0), False),
        (close("", 2.1, 2.0, 0.2), True),
        (close("", 2.3, 2.0, 0.2), False),
    ],
)
def test_verdicts_are_computed(claim, holds):
    assert claim.holds is holds


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    run_experiment(Example(), "tiny", tmp_path, None)
    before = (tmp_path / "example.csv").read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", _fail)
    with pytest.raises(OSError, match="disk"):
        run_experiment(Example(), "tiny", tmp_path, None)
    assert (tmp_path / "example.csv").read_bytes() == before
    assert before == (
        b"data,level,model,error,C\na,0.5,M,0.25,\na,0.5,M,0.75,\n"
        b"a,0.5,N,0.125,3\nb,1.0,N,1.0,\n"
    )


def _fail(*_):
    raise OSError("no disk")
