"""CSR matrices that are not what they should be."""

import numpy as np
import scipy.sparse as sp


def stored_twice(X):
    """X as CSR with two halves stored for each entry."""
    A = sp.csr_matrix(X)
    halves, columns = np.repeat(A.data / 2, 2), np.repeat(A.indices, 2)
    return sp.csr_matrix((halves, columns, 2 * A.indptr), shape=A.shape)


def out_of_range(X):
    """X as CSR with a column index far beyond the last."""
    A = sp.csr_matrix(X)
    A.indices[3] = 10**8
    return A


def with_stored_zeros(X):
    """X as CSR with every entry stored, zeros as well."""
    n, d = X.shape
    parts = np.ravel(X), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)
    return sp.csr_matrix(parts, shape=(n, d))
