"""Verbs that must not depend on how rows are stored, or where they stand."""

import numpy as np
import pytest
import scipy.sparse as sp
from odd_rows import with_stored_zeros

from noiseproof._rows import row_products, without_zeros


def test_without_zeros(rng):
    X = rng.normal(size=(5, 4)) * (rng.random((5, 4)) < 0.5)
    assert without_zeros(X) is X
    lean, full = sp.csr_matrix(X), with_stored_zeros(X)
    assert without_zeros(lean) is lean
    found = without_zeros(full)
    assert found.data.all()
    np.testing.assert_array_equal(found.toarray(), X)
    assert full.nnz == X.size  # what was given stays as it was
    full.data[0] = np.nan
    assert np.isnan(without_zeros(full).data[0])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_equal_rows_have_equal_products(store, rng):
    X, w = np.tile(rng.normal(size=(3, 37)), (9, 1)), rng.normal(size=37)
    products = row_products(store(X), w)
    np.testing.assert_allclose(products, X @ w)
    assert len(set(products)) == 3
