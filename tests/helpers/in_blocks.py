"""Rows and targets as Dask collections."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp


def blocks(X, sizes):
    """X, dense or CSR, as a Dask array in chunks of so many rows."""
    import dask
    import dask.array as da

    if not sp.issparse(X):
        return da.from_array(X, chunks=(tuple(sizes), *X.shape[1:]))
    ends = np.cumsum([0, *sizes])
    return da.concatenate(
        [
            da.from_delayed(
                dask.delayed(X[low:high]),
                (high - low, X.shape[1]),
                meta=sp.csr_array((0, 0)),
            )
            for low, high in pairwise(ends.tolist())
        ]
    )


def even(n, parts):
    """Sizes of that many parts of n rows, about the same."""
    return np.diff(np.linspace(0, n, parts + 1).astype(int)).tolist()
