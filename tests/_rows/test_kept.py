"""Kept rows come back as they were, from memory and from a file."""

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import noiseproof
from noiseproof._rows import KeptRows


def frame():
    days = pd.to_datetime(["2020-01-01", None, "2021-06-01"])
    return pd.DataFrame(
        {
            "float": [1.0, np.nan, 3.0],
            "whole": [1, 2, 3],
            "flag": [True, False, True],
            "word": ["a", None, "c"],
            "mixed": pd.Series(["a", 3, None], dtype=object),
            "kind": pd.Categorical(["x", None, "y"], ["y", "x", "z"], ordered=True),
            "number kind": pd.Categorical([1, 2, 1]),
            "day": days,
            "hour": days.tz_localize("Europe/Berlin"),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "text": pd.array(["a", None, "b"], dtype="string"),
            7: [0.5, 1.5, 2.5],
        }
    )


def again(rows, tmp_path):
    noiseproof.save(rows, tmp_path / "rows.npf")
    return noiseproof.load(tmp_path / "rows.npf")


def test_frames_of_pandas(tmp_path):
    X = frame()
    kept = KeptRows(X)
    assert kept.shape == X.shape
    for rows in (kept, again(kept, tmp_path)):
        pd.testing.assert_frame_equal(rows.take(), X)
        some = X.iloc[[2, 0]].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows.take(np.array([2, 0])), some)
    X.loc[0, "float"] = 99.0  # somebody changes the table afterwards
    X.loc[0, "kind"] = "z"
    pd.testing.assert_frame_equal(kept.take(), frame())


@pytest.mark.parametrize(
    "X",
    [
        np.arange(6.0).reshape(3, 2),
        np.arange(6, dtype=np.float32).reshape(3, 2),
        sp.csr_array(np.eye(3)),
        pl.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, 3]}),
    ],
    ids=["float64", "float32", "csr", "polars"],
)
def test_other_containers(X, tmp_path):
    expected = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    for rows in (KeptRows(X), again(KeptRows(X), tmp_path)):
        found = rows.take([2, 1])
        assert type(found) is type(X)
        assert rows.shape == X.shape
        found = found.toarray() if sp.issparse(found) else np.asarray(found)
        np.testing.assert_array_equal(found, expected[[2, 1]])


@pytest.mark.parametrize("other", [{}, {"day": [datetime(2024, 1, 1), None]}])
def test_words_and_times_of_polars_become_pandas(other):
    X = pl.DataFrame({"a": [1.0, 2.0], "b": ["x", None], **other})
    pd.testing.assert_frame_equal(KeptRows(X).take(), X.to_pandas())
