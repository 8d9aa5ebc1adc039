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
    assert found["a"].startswith("numbers too large to be told apart")


@pytest.mark.parametrize("cells", [[1, 2, 5], ["1", "2", "5"]])
def test_numbers_among_objects_are_read_as_text(cells):
    found = findings(pd.DataFrame({"a": pd.Series(cells, dtype=object)}))
    assert found == {"a": "read as text, though all cells are numbers"}
