"""Tables of every kind can be read, kept and passed on."""

import builtins
import json
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from reading import Reader
from sklearn.linear_model import LogisticRegression

from noiseproof import DropoutSVC
from noiseproof.attacks import NormBall
from noiseproof.evaluation import (
    certify,
    contest,
    feature_fragility,
    robustness_curve,
)
from noiseproof.evaluation.results import Result


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
    assert "A &lt;table&gt;</caption>" in html
    assert "<td>age &amp; sex</td><td>0.500</td><td>3</td>" in html
    assert html.count("<tr>") == 3


def _shown(result, points):
    """The notebook's view, which is sound HTML and fetches nothing."""
    html = result._repr_html_()
    read = Reader(html)
    assert not read.attributes("src")
    assert html.count('class="mark"') - html.count('class="swatch') == points
    return read


def test_results_show_themselves_in_notebooks_with_a_chart(rng):
    X = rng.normal(size=(90, 3))
    y = X.sum(axis=1) > 0
    evil = "<script>"
    models = {evil: LogisticRegression().fit(X, y), "b": DropoutSVC(0.2).fit(X, y)}
    curve = robustness_curve(models, X, y, "delete", [0, 0.5, 1], n_repeats=2)
    read = _shown(curve, points=6)
    assert "share of values replaced by zero (the model is not told)" in read.text
    assert read.text.count(evil) == 2  # head of the table, legend
    assert read.attributes("role") == ["img"]
    _shown(robustness_curve(models, X, y, "delete", [0.5]), points=0)  # no line
    certificates = certify(models["b"], X, y)
    assert "certified accuracy" in _shown(certificates, points=0).text
    unlabelled = certify(models["b"], X, None, attack=NormBall())
    assert "predictions unchanged" in _shown(unlabelled, points=0).text
    _shown(feature_fragility(models["b"], X, y), points=3)
    contenders = {evil: LogisticRegression(), "b": DropoutSVC(0.2)}
    found = contest(contenders, X, y, "delete", 0.5, cv=2)
    assert found.verdict in _shown(found, points=4).text


def test_a_long_table_has_a_strip_for_each_row_it_shows(rng):
    X = rng.normal(size=(40, 30))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    _shown(feature_fragility(model, X, X[:, 0] > 0), points=17)


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
    kept = Table(own).columns
    own[0] = 9
    assert kept[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1
