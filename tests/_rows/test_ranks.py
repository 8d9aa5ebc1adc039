"""Where a value stands in its column, the same in every container."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import noiseproof._rows.containers as containers
from noiseproof._rows import contain

CELLS = st.sampled_from([-1.5, 0.0, 0.0, 1.0, 2.0, np.nan])
TABLES = arrays(
    np.float64, st.tuples(st.integers(1, 8), st.integers(2, 5)), elements=CELLS
)


def spans(X, by=None):
    """Lower and upper ends of all entries, as a table if there is one."""
    rows = contain(X, "nan")
    found = np.full((2, *rows.shape), np.nan)
    for entries, low, high in rows.spans(by):
        found[0][entries], found[1][entries] = low, high
    return found


def by_hand(column):
    """Shares of the values that are smaller, and that are not larger."""
    there = column[~np.isnan(column)]
    return [
        (0.0, 1.0)
        if np.isnan(x)
        else ((there < x).sum() / len(there), (there <= x).sum() / len(there))
        for x in column
    ]


@given(X=TABLES)
@settings(max_examples=60, deadline=None)
def test_spans_are_shares_of_smaller_values(X):
    low, high = spans(X)
    expected = np.array([by_hand(column) for column in X.T]).transpose(2, 1, 0)
    np.testing.assert_allclose([low, high], expected)
    driven = spans(X, by=1)
    for j in range(X.shape[1]):
        np.testing.assert_allclose(driven[:, :, j], expected[:, :, 1])


@given(X=TABLES, at_once=st.integers(1, 9), by=st.sampled_from([None, 0]))
@settings(max_examples=60, deadline=None)
def test_sparse_rows_are_ranked_among_their_zeros(X, at_once, by):
    rows = sp.csr_array(X)
    keep, containers._ENTRIES = containers._ENTRIES, at_once
    try:
        found = spans(rows, by)
    finally:
        containers._ENTRIES = keep
    stored = contain(rows, "nan").X.tocoo()
    np.testing.assert_allclose(found, spans(X, by)[:, *stored.coords])


def test_values_of_a_frame_are_in_their_own_order():
    sizes = pd.CategoricalDtype(["small", "big"], ordered=True)
    frame = pd.DataFrame(
        {
            "word": ["b", None, "a"],
            "object": pd.Series(["10", 9.5, None], dtype=object),
            "size": pd.Categorical(["big", "small", None], dtype=sizes),
            "day": pd.to_datetime(["2024-02-01", None, "2024-01-01"]),
            "whole": pd.array([3, None, 1], dtype="Int64"),
            "flag": [True, False, True],
        }
    )
    columns = list(contain(frame, "nan").columns())
    assert [words for _, words in columns] == [True, True, True, False, False, False]
    order = [np.argsort(x[~np.isnan(x)]).tolist() for x, _ in columns]
    assert order == [[1, 0], [0, 1], [1, 0], [1, 0], [1, 0], [1, 0, 2]]
    assert [int(np.isnan(x).sum()) for x, _ in columns] == [1, 1, 1, 1, 1, 0]


def test_standing_of_groups():
    X = np.array([[1.0, 3.0, 5.0], [2.0, np.nan, 5.0], [3.0, 1.0, 5.0]])
    found = contain(X, "nan").standing(np.array([0, 0, 1]))
    expected = [[(1 / 6 + 3 / 4) / 2, 0.5], [0.5, 0.5], [(5 / 6 + 1 / 4) / 2, 0.5]]
    np.testing.assert_allclose(found, expected)
    found = contain(np.full((2, 1), np.nan), "nan").standing(np.array([0]))
    assert np.isnan(found).all()


def test_images_have_no_columns():
    with pytest.raises(ValueError, match="a table of rows and columns; got 3 dim"):
        contain(np.ones((2, 3, 3)), "nan").column(0)


def test_frames_of_nothing_but_words():
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}, dtype=object)
    rows = contain(frame, "nan")
    assert rows.without(np.eye(2, dtype=bool)).isna().to_numpy().tolist() == [
        [True, False],
        [False, True],
    ]
