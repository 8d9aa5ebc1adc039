"""Kernels by name, with scikit-learn's meaning of `gamma`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

Array = NDArray[np.float64]
Kernel = Callable[[Any, Any], Any]

_ENTRIES = 2**22  # of a kernel matrix made at a time


def kernel_function(kernel: str | Kernel, gamma: float) -> Kernel:
    """The matrix k(x, x') of two sets of rows, for "rbf" or a user's own."""
    return kernel if callable(kernel) else partial(rbf_kernel, gamma=gamma)


def kernel_scores(kernel: Kernel, X: Any, points: Any, A: Array) -> Array:
    """Σ_p k(x, x_p) A_p of each row of X, a batch of rows at a time."""
    scores = np.zeros((X.shape[0], A.shape[1]))
    if len(A):
        for rows in gen_batches(len(scores), max(1, _ENTRIES // len(A))):
            scores[rows] = np.asarray(kernel(X[rows], points)) @ A
    return scores


def settle_gamma(gamma: str | float, X: Any) -> float:
    """Turn "scale" into 1 / (d · variance of X) and "auto" into 1 / d."""
    if not isinstance(gamma, str):
        return float(gamma)
    variance = _variance(X) if gamma == "scale" else 1.0
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _variance(X: Any) -> float:
    """Variance of all entries of a dense or sparse X."""
    if not sp.issparse(X):
        return float(X.var())
    return float(X.multiply(X).mean() - X.mean() ** 2)
