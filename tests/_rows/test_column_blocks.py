"""Verbs for columns and for zeros that are stored."""

import numpy as np
import pytest
import scipy.sparse as sp

from noiseproof._rows import column_blocks, without_zeros


@pytest.mark.parametrize("kind", [np.array, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("size", [1, 14, 1000])
def test_columns_in_blocks_are_all_columns(kind, size, rng):
    X = rng.normal(size=(7, 5)) * (rng.random((7, 5)) < 0.5)
    blocks = list(column_blocks(kind(X), size))
    assert all(isinstance(block, sp.csc_array) for _, block in blocks)
    np.testing.assert_array_equal(sp.hstack([b for _, b in blocks]).toarray(), X)
    np.testing.assert_array_equal(
        np.concatenate([np.arange(5)[columns] for columns, _ in blocks]), np.arange(5)
    )


def test_stored_zeros_go_from_a_copy():
    X = sp.csr_array(([0.0, 1.0], ([0, 1], [1, 2])), shape=(2, 3))
    assert without_zeros(X).nnz == 1
    assert X.nnz == 2
    full = sp.csr_array(np.eye(3))
    assert without_zeros(full) is full
    dense = np.zeros((2, 2))
    assert without_zeros(dense) is dense
