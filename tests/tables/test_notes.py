"""Notes on columns say what is in them."""

import numpy as np
import pandas as pd
import pytest

from noiseproof.tables import column_notes, read_table

BIG = 2**63 - 1 - np.arange(40)  # as floats they are all the same


def findings(table):
    return {name: note.finding for note in column_notes(table) for name in note.columns}


def test_large_integers_that_differ_are_not_twins():
    found = findings(pd.DataFrame({"a": BIG, "b": BIG - 1, "c": BIG.copy()}))
    assert found["c"] == "the same as 'a'"
    assert "identifier" in found["b"]


def test_whole_numbers_and_the_same_as_floats_are_twins():
    found = findings(pd.DataFrame({"a": [1, 2, 4], "b": [1.0, 2.0, 4.0]}))
    assert found == {"b": "the same as 'a'"}


def test_integers_that_a_file_could_only_give_as_floats(tmp_path):
    """They differ in the file, so they are not called the same in every row."""
    numbers = [str(number) for number in (BIG.astype(np.uint64) + np.uint64(9))]
    pd.DataFrame({"a": numbers, "b": 7}).to_csv(tmp_path / "t.csv", index=False)
    found = findings(read_table(tmp_path / "t.csv").X)
    assert found["b"] == "the same in every row"
    assert found["a"].endswith("numbers too large to tell apart")


@pytest.mark.parametrize("cells", [[1, 2, 5], ["1", "2", "5"]])
def test_numbers_among_objects_are_read_as_text(cells):
    found = findings(pd.DataFrame({"a": pd.Series(cells, dtype=object)}))
    assert found == {"a": "read as text, though all values are numbers"}


IDS = np.array([1000025 + 977 * i for i in range(100)])
REPEATED = np.where(np.arange(100) < 6, IDS[0], IDS)  # 95 different numbers
NAMES = ["Id", "ID", "id", "patient_id", "PatientID", "sample.id", "customer id", "idx"]
NAMES += [
    "PatientNo",
    "OrderNumber",
    "Id_patient",
    "rownames",
    "Unnamed: 0",
    "case no",
    "Sample code number",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_named_identifier_may_have_repeats(name):
    found = findings(pd.DataFrame({name: REPEATED, "size": np.arange(100) % 7 / 2}))
    words = "probably an identifier: a different number in almost every row"
    assert found == {name: words}
    [note] = column_notes(pd.DataFrame({name: REPEATED}))
    assert note.answer == "--drop"
    assert findings(pd.DataFrame({name: IDS})) == {name: words.replace("almost ", "")}
    text = pd.Series(REPEATED).map("P{}".format)
    assert findings(pd.DataFrame({name: text}))[name].startswith("probably an ident")
    digits = pd.Series(REPEATED).map("{:09d}".format)  # they must not become numbers
    [note] = column_notes(pd.DataFrame({name: digits}))
    assert (
        note.finding == "probably an identifier: a different text in almost every row"
    )
    assert note.answer == "--drop"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", REPEATED),  # large numbers that hardly repeat, as quantities do
        ("income", IDS),
        ("paid", REPEATED),
        ("humid", REPEATED),
        ("casino", REPEATED),
        ("note", REPEATED),
        ("Id", IDS % 50),  # too many repeats
        ("Id", IDS + 0.5),  # not whole numbers
        ("Id", IDS[:20]),  # too few rows
    ],
)
def test_quantities_are_not_called_identifiers(name, values):
    assert not any(
        "identifier" in words
        for words in findings(pd.DataFrame({name: values})).values()
    )


def test_numbers_in_a_row_are_an_identifier_by_any_name():
    assert "identifier" in findings(pd.DataFrame({"a": np.arange(30)[::-1]}))["a"]
    with_repeat = np.r_[0, np.arange(29)]
    assert findings(pd.DataFrame({"a": with_repeat})) == {}
