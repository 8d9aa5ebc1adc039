"""Arrays of torch, on its CPU: what runs there runs on a GPU."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp


def on_torch(X):
    """X as a tensor, dense or CSR; the test is skipped where torch is not installed."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    if not sp.issparse(X):
        return torch.tensor(np.asarray(X))
    parts = [torch.tensor(part) for part in (X.indptr, X.indices, X.data)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse", UserWarning)  # in beta state
        return torch.sparse_csr_tensor(*parts, X.shape, check_invariants=False)


def tensors(*parts):
    """Each of them on torch."""
    return tuple(map(on_torch, parts))
