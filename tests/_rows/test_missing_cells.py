"""Missing cells are counted in every container."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from noiseproof._rows import n_missing

TABLE = pd.DataFrame({"a": [1.0, np.nan, 0.0], "b": ["x", None, None]})
NUMBERS = np.array([[0.0, np.nan], [2.0, np.nan], [np.nan, 0.0]])


@pytest.mark.parametrize(
    "X",
    [
        TABLE,
        pl.DataFrame({"a": [1.0, float("nan"), 0.0], "b": ["x", None, None]}),
        NUMBERS,
        NUMBERS.tolist(),
        sp.csr_array(NUMBERS),
        sp.csc_array(NUMBERS),
    ],
    ids=["pandas", "polars", "array", "list", "csr", "csc"],
)
def test_missing_cells_are_counted(X):
    assert n_missing(X) == 3
