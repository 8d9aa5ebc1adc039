"""Check and convert matrices of torch and CuPy, dense or CSR."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows.arrays import (
    DeviceArray,
    device_of,
    given,
    host,
    is_foreign,
    namespace,
)


def is_sparse(X: Any) -> bool:
    """Return whether an array of torch or CuPy is sparse."""
    return "sparse" in str(getattr(X, "layout", "")) or hasattr(X, "format")


def csr_parts(X: Any) -> tuple[Any, Any, Any]:
    """Return row pointers, columns and values of a CSR matrix."""
    if hasattr(X, "indptr"):
        return X.indptr, X.indices, X.data
    return X.crow_indices(), X.col_indices(), X.values()


def entry_rows(indptr: Any, indices: Any) -> Any:
    """Return the row of each entry of a CSR matrix."""
    xp, n_stored = namespace(indices), indices.shape[0]
    place = xp.arange(n_stored, dtype=indptr.dtype, device=device_of(indices))
    return xp.searchsorted(indptr[1:], place, side="right")


def build_csr(indptr: Any, indices: Any, data: Any, shape: tuple[int, int]) -> Any:
    """Build a CSR matrix of the library that the parts belong to."""
    if "torch" not in type(data).__module__:
        from cupyx.scipy.sparse import csr_matrix

        return csr_matrix((data, indices, indptr), shape=shape)
    import torch

    with warnings.catch_warnings():  # torch warns that its CSR support is in beta state
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(
            indptr, indices, data, shape, check_invariants=False
        )


def scores(X: Any, coef: Any, intercept: Any) -> DeviceArray:
    """Compute scores w·x + b, (n, k)."""
    coef = coef if coef.ndim == 2 else coef[None, :]
    if values(X).dtype != coef.dtype:  # one of them is float32
        X, coef = _with_type(X, "float64"), _with_type(coef, "float64")
    return DeviceArray(X @ coef.T) + given(intercept)


def _with_type(X: Any, name: str) -> Any:
    """Cast the entries of X to another type."""
    data = values(X)
    xp = namespace(data)
    return _with_values(X, xp.astype(data, getattr(xp, name), copy=False))


def _with_values(X: Any, data: Any) -> Any:
    """Return a matrix with other values for the stored entries."""
    if not is_sparse(X):
        return data
    return build_csr(*csr_parts(X)[:2], data, tuple(X.shape))


def _place(X: Any) -> str:
    """Describe the library and the device of an array."""
    if not is_foreign(X):
        return "NumPy's, on the CPU"
    library = type(X).__module__.partition(".")[0].replace("cupyx", "cupy")
    return f"{library}'s, on {getattr(X, 'device', None) or device_of(values(X))}"


def check_same_place(estimator: Any, X: Any) -> None:
    """Raise an error if X is not on the device of the weights, as scikit-learn does."""
    coef = getattr(estimator, "coef_", None)
    if _place(X) != _place(coef):
        raise ValueError(
            f"X must use the same namespace and device as the X of fit: it is "
            f"{_place(X)}, and the weights of {type(estimator).__name__} are "
            f"{_place(coef)}; move X there, or fit on such data."
        )


def values(X: Any) -> Any:
    """Return the stored entries."""
    return csr_parts(X)[2] if is_sparse(X) else X


def missing_features(X: Any) -> NDArray[np.bool_] | None:
    """Mark features with missing entries (NaN); return None if there are none."""
    xp = namespace(values(X))
    if not bool(xp.isnan(xp.sum(values(X)))):
        return None
    holes = xp.isnan(values(X))
    if not bool(xp.any(holes)):  # the sum overflowed, with huge entries of both signs
        return None
    if not is_sparse(X):
        return np.asarray(host(xp.any(holes, axis=0)))
    missing = np.zeros(X.shape[1], dtype=bool)
    missing[host(csr_parts(X)[1][holes])] = True
    return missing


def zero_missing(X: Any) -> Any:
    """Replace missing entries (NaN) by zeros."""
    data = values(X)
    xp = namespace(data)
    return _with_values(X, xp.where(xp.isnan(data), xp.zeros_like(data), data))


def read_foreign(X: Any) -> Any:
    """Convert X to float32 or float64 for `DeviceDesign`, or raise an error."""
    name = f"{type(X).__module__.partition('.')[0]} array"
    if getattr(X, "requires_grad", False):
        raise ValueError(
            "X is a tensor that requires gradients, which a fit would not keep; pass "
            "X.detach()."
        )
    # CuPy's sparse matrices have a property `device` that raises
    if not is_sparse(X) and str(X.device).startswith("mps"):
        raise ValueError("X is on an MPS device, which has no float64; pass X.cpu().")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D {name} instead; X must have a row per "
            "sample."
        )
    if is_sparse(X):
        _check_sparse(X, name)
    data = values(X)
    xp = namespace(data)
    if not xp.isdtype(data.dtype, ("bool", "real floating", "integral")):
        raise ValueError(f"X must hold real numbers; got a {name} of {data.dtype}.")
    if data.dtype not in (xp.float32, xp.float64):
        X = _with_type(X, "float64")
    # a sum is not finite if an entry is not, and takes no temporary array
    if not bool(xp.isfinite(xp.sum(data))) and bool(xp.any(xp.isinf(data))):
        raise ValueError(
            "Input X contains infinity; a missing entry is NaN, and others must be "
            "finite."
        )
    return X


def _check_sparse(X: Any, name: str) -> None:
    """Raise an error if X is not CSR, has invalid indices, or has duplicate entries."""
    kind = getattr(X, "format", None) or str(X.layout).rpartition("_")[2]
    if kind != "csr":
        raise ValueError(
            f"X is a sparse {name} stored as {kind.upper()}; convert it to CSR, with "
            "X.to_sparse_csr() or X.tocsr()."
        )
    indptr, indices, data = csr_parts(X)
    xp, (n, d) = namespace(data), X.shape
    counts = indptr[1:] - indptr[:-1]
    fits = indptr.shape[0] == n + 1 and indices.shape == data.shape
    fits = fits and bool(indptr[0] == 0) and bool(indptr[-1] == data.shape[0])
    if not fits or (n and bool(xp.any(counts < 0))):
        raise ValueError(
            "X is not a valid CSR matrix: its index arrays do not fit each other; "
            "build it again from rows and columns."
        )
    if bool(xp.any((indices < 0) | (indices >= d))):
        raise ValueError(
            "X is not a valid CSR matrix: it has a column index outside 0 to "
            f"{d - 1}; build it again from rows and columns."
        )
    keys = xp.sort(entry_rows(indptr, indices) * d + indices)
    if bool(xp.any(keys[1:] == keys[:-1])):
        raise ValueError(
            "X stores an entry twice; build it again with the sums of such entries."
        )
