"""Tables of every kind can be read, kept and passed on."""

import builtins
import json
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

from noiseproof.evaluation.results import Result, frozen


@dataclass(frozen=True, repr=False, eq=False)
class Table(Result):
    columns: dict

    def _title(self):
        return "A <table>"

    def _columns(self):
        return self.columns


@pytest.fixture
def table():
    return Table(
        {
            "feature": np.array(["age & sex", "b"]),
            "cost": np.array([0.5, 12.0]),
            "count": np.array([3, 40]),
            "budget": np.array([np.inf, 2.0]),
            "tiny": np.array([1e-7, 1.0]),
            "exact": np.array([True, False]),
        }
    )


def test_words_stand_left_and_numbers_right(table):
    assert repr(table).splitlines() == [
        "A <table>",
        "",
        "feature      cost  count  budget   tiny  exact",
        "age & sex   0.500      3     inf  1e-07  True",
        "b          12.000     40       2      1  False",
    ]


def test_the_notebook_table_is_escaped(table):
    html = table._repr_html_()
    assert "<caption>A &lt;table&gt;</caption>" in html
    assert "<td>age &amp; sex</td><td>0.500</td><td>3</td>" in html
    assert html.count("<tr>") == 3


def test_long_tables_show_both_ends():
    lines = repr(Table({"n": np.arange(1000)})).splitlines()
    assert len(lines) < 25
    assert lines[3].strip() == "0"
    assert lines[-1].strip() == "999"
    assert sum(line.strip() == "..." for line in lines) == 1


def test_an_empty_table_has_its_names():
    assert repr(Table({"n": np.array([]), "m": np.array([])})).endswith("n  m")


def test_dictionaries_are_fit_for_json(table):
    assert json.loads(json.dumps(table.to_dict())) == table.to_dict()
    assert table.to_dict()["count"] == [3, 40]


def test_frames_have_the_columns(table):
    frame = table.to_frame()
    assert list(frame.columns) == list(table.columns)
    assert frame["cost"].tolist() == [0.5, 12.0]


def test_without_pandas_a_sentence_says_what_to_install(table, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **named):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'noiseproof\[cli\]'"):
        table.to_frame()


def test_nothing_can_be_written(table):
    with pytest.raises(FrozenInstanceError):
        table.columns = {}
    own = np.arange(3)
    kept = frozen(own)
    own[0] = 9
    assert kept[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1
