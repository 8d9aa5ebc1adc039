"""Tables that containers have returned, one below the other."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from noiseproof._rows import contain, stacked

NUMBERS = np.array([[1.0, 0.0], [2.0, 3.0], [0.0, 4.0]])
TABLES = {
    "array": NUMBERS,
    "csr": sp.csr_array(NUMBERS),
    "pandas": pd.DataFrame(NUMBERS, columns=["a", "b"], index=[5, 5, 7]),
    "words": pd.DataFrame({"a": [1, 2, 3], "b": pd.Categorical(["x", "y", "x"])}),
    "polars": pl.DataFrame(NUMBERS, schema=["a", "b"]),
}


@pytest.mark.parametrize("kind", TABLES)
def test_stacked_tables_are_the_parts_in_order(kind):
    X = TABLES[kind]
    deleted_as = "zero" if kind == "csr" else "nan"
    rows = contain(X, deleted_as)
    masks = np.zeros((2, *rows.shape), dtype=bool)
    masks[1].flat[1] = True
    parts = [rows.fork().without(mask) for mask in masks]
    if kind in ("pandas", "words"):
        parts = [part.reset_index(drop=True) for part in parts]
    found = stacked(parts)
    assert type(found) is type(parts[0])
    assert found.shape == (6, 2)
    for i, part in enumerate(parts):
        own = found[3 * i : 3 * i + 3]
        if kind == "csr":
            np.testing.assert_array_equal(own.toarray(), part.toarray())
        elif hasattr(part, "iloc"):
            pd.testing.assert_frame_equal(own.reset_index(drop=True), part)
        else:
            np.testing.assert_array_equal(own, part)
