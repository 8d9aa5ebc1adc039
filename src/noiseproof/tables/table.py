"""What is read from a file: features, and perhaps a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


class TableError(ValueError):
    """A file that cannot be used as a table."""


@dataclass(frozen=True)
class Table:
    """Features and target of one file.

    Parameters
    ----------
    X : DataFrame, array or CSR matrix of shape (n_samples, n_features)
        Features: a frame where the file has names, NaN or None where a cell is empty.
    y : array of shape (n_samples,) or None
        The target, if the file has one.
    target : str or None
        Name of the target.
    first_index : int or None
        0 or 1: where an svmlight file starts to count its features.
    """

    X: Any
    y: NDArray[Any] | None = None
    target: str | None = None
    first_index: int | None = None

    @property
    def names(self) -> list[str]:
        """Names of the features, where the file has them."""
        return list(getattr(self.X, "columns", []))


def check_target(y: NDArray[Any], path: str, name: str) -> NDArray[Any]:
    """The target with whole numbers as integers, or one sentence about empty cells."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise TableError(f"{path}: the target {name!r} must be one column.")
    numeric = y.dtype.kind == "f"
    empty = np.isnan(y) if numeric else np.array([cell is None for cell in y], bool)
    if empty.any():
        raise TableError(
            f"{path}: the target {name!r} is empty in {empty.sum()} of {len(y)} rows, "
            f"first in row {np.argmax(empty) + 1}; delete these rows or fill them in."
        )
    if numeric and not np.isfinite(y).all():
        raise TableError(f"{path}: the target {name!r} holds an infinite value.")
    if numeric and (y == np.round(y)).all() and np.abs(y).max(initial=0) < 2**53:
        return y.astype(np.int64)
    return y.astype(str) if y.dtype.kind == "O" else y


def check_matrix(X: Any, path: str) -> Any:
    """A matrix of numbers without infinite ones, or one clear sentence."""
    if X.ndim != 2 or 0 in X.shape:
        raise TableError(
            f"{path}: X must have rows and columns; it has shape {X.shape}."
        )
    if X.dtype.kind not in "fiub":
        raise TableError(f"{path}: X must hold numbers; its type is {X.dtype}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if np.isinf(X.data if sp.issparse(X) else X).any():
        raise TableError(
            f"{path}: X holds an infinite value; leave it out (NaN means missing)."
        )
    return X
