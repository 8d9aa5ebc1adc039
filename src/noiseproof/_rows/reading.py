"""Read and check the data of estimators, and keep track of missing entries."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_X_y, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from noiseproof._private import _check_sample_weight
from noiseproof._rows.arrays import host, is_foreign
from noiseproof._rows.base import Array, Design
from noiseproof._rows.csr import CSRDesign
from noiseproof._rows.dense import DenseDesign
from noiseproof._rows.device import DeviceDesign
from noiseproof._rows.foreign import check_same_place, read_foreign
from noiseproof._rows.matrices import (
    canonical,
    check_indices,
    missing_features,
    zero_missing,
)

READ = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}


DESIGNS: dict[str, type[Design]] = {
    "device": DeviceDesign,
    "dense": DenseDesign,
    "csr": CSRDesign,
}


# designs with remote rows, to be released at the end of `freeing`
to_free: ContextVar[list[Any] | None] = ContextVar("to_free", default=None)


@contextmanager
def freeing() -> Iterator[None]:
    """Release what reading has put on a cluster, at the end of the context.

    This also happens after an exception, even if a traceback still refers to the data.
    """
    designs: list[Any] = []
    token = to_free.set(designs)
    try:
        yield
    finally:
        to_free.reset(token)
        for design in designs:
            design.release()


def is_lazy(X: Any) -> bool:
    """Return whether X is a Dask collection, which is defined by its graph."""
    return callable(getattr(X, "__dask_graph__", None))


def as_design(X: Any, has_missing: bool = False) -> Design:
    """Return a design for the storage of `X`; the last one listed is tried first."""
    if isinstance(X, Design):
        return X
    for design in reversed(DESIGNS.values()):
        if design.holds(X):
            return design(X, has_missing)
    raise TypeError(f"X is stored in a {type(X).__name__}, which no design can hold.")


def read(estimator: Any, X: Any, **options: Any) -> Any:
    """Validate X by `validate_data`, and make it canonical."""
    with naming_other_columns(estimator, X, **options):
        if _stays(estimator, X):
            return _read_foreign(estimator, X, **options)
        check_times(X)
        check_indices(X)  # first, because changing the format uses the indices
        return canonical(validate_data(estimator, X, **(READ | options)))


@contextmanager
def naming_other_columns(
    estimator: Any, X: Any, reset: bool = True, **options: Any
) -> Iterator[None]:
    """Mention `Served` in errors if the columns of X differ from those of training."""
    try:
        yield
    except ValueError as error:
        if reset or not _has_other_columns(estimator, X):
            raise
        raise ValueError(
            f"{str(error).strip()}\nnoiseproof.serving.Served accepts tables whose "
            "columns are absent, extra or in another order."
        ) from error


def _has_other_columns(estimator: Any, X: Any) -> bool:
    names = getattr(estimator, "feature_names_in_", None)
    if hasattr(X, "columns") and names is not None:
        return list(X.columns) != list(names)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[1] != estimator.n_features_in_


def _stays(estimator: Any, X: Any) -> bool:
    """Return whether X is of torch or CuPy, and the estimator supports that."""
    return is_foreign(X) and get_tags(estimator).array_api_support


def _read_foreign(
    estimator: Any, X: Any, reset: bool = True, ensure_min_samples: int = 1
) -> Any:
    """Validate X of torch or CuPy, without moving it."""
    X = validate_data(estimator, read_foreign(X), reset=reset, skip_check_array=True)
    if X.shape[0] < ensure_min_samples or not X.shape[1]:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
            "while a minimum of 1 is required."
        )
    return X


def read_training(
    estimator: Any, X: Any, y: Any, *, in_blocks: bool = False, **options: Any
) -> tuple[Any, Any]:
    """Validate X and y, and store the names and the number of the features.

    With `in_blocks`, Dask collections stay where they are, and X becomes a design.
    Targets of rows on a device are moved to NumPy, where their classes are found.
    """
    check_times(X)
    if in_blocks and is_lazy(X):
        from noiseproof._rows.blocks import labels_of, numbers_of

        rows = _read_blocks(estimator, X, reset=True)
        if options.get("y_numeric"):
            numbers = partial(numbers_of, name="y")
            return rows, rows.column(y, "y", numbers, np.float64)
        return rows, rows.column(y, "y", labels_of, object)
    y = host(y)
    if y is not None:  # else scikit-learn says that it is required
        check_targets(y)
    if _stays(estimator, X):
        X = _read_foreign(estimator, X)
        _, y = check_X_y(np.zeros((X.shape[0], 1)), y, **options)
        return X, y
    check_indices(X)
    X, y = validate_data(estimator, X, y, **(READ | options))
    return canonical(X), y


@contextmanager
def naming_times(X: Any) -> Iterator[None]:
    """Name the column of times in an error that it causes."""
    try:
        yield
    except TypeError as error:
        check_times(X, error)
        raise


def check_times(X: Any, cause: Exception | None = None) -> None:
    """Raise an error if X holds times, which scikit-learn may read as nanoseconds."""
    dtypes: Iterable[tuple[Any, Any]] = [(0, getattr(X, "dtype", None))]
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        dtypes = zip(map(str, X.columns), X.dtypes, strict=True)
    for name, dtype in dtypes:
        temporal = getattr(dtype, "is_temporal", None)  # a method of polars' types
        if temporal() if temporal else getattr(dtype, "kind", None) in ("M", "m"):
            raise TypeError(
                f"Column {name!r} of X holds times, which are no numbers; turn them "
                "into numbers, such as days since some date, or leave the column out."
            ) from cause


def check_targets(y: Any) -> None:
    """Raise an error if targets are None, NaN, or the missing value of pandas."""
    y = np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    missing: NDArray[np.bool_]
    if y.dtype.kind == "O":
        none = (type(None), type(getattr(sys.modules.get("pandas"), "NA", None)))
        listed = y.reshape(len(y), -1).tolist() if y.ndim else []
        missing = np.array([any(isinstance(cell, none) or cell != cell for cell in row)
                            for row in listed], dtype=bool)  # fmt: skip
    else:
        missing = np.asarray(np.atleast_2d((y != y).T).any(axis=0))
    if missing.any():
        raise ValueError(
            f"y is missing in {missing.sum()} of {len(missing)} rows, first in row "
            f"{missing.argmax()}; leave these rows out."
        )


def _read_blocks(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Read a Dask collection block by block, without moving it."""
    from noiseproof._rows.blocks import BlockDesign, check_blocks

    none = check_blocks(X)
    validate_data(estimator, none, reset=reset, skip_check_array=True)
    return BlockDesign(X, READ)


def read_weights(sample_weight: Any, X: Any) -> Array:
    """Read one weight per row of X; all weights are 1 if none are given."""
    rows = np.empty((X.shape[0], 0)) if is_foreign(X) else X
    if isinstance(rows, Design):
        from noiseproof._rows.blocks import weights_of

        if sample_weight is None:
            return rows.full(1.0)
        return X.column(sample_weight, "sample_weight", weights_of, np.float64)
    weights: Array = _check_sample_weight(
        host(sample_weight), rows, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():  # scikit-learn 1.7 accepts these
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def distinct(y: Any) -> tuple[NDArray[Any], Any]:
    """Return the distinct labels, and which of them each row has, as `y` is stored."""
    if is_lazy(y):
        from noiseproof._rows.blocks import distinct_labels

        classes = distinct_labels(y)
        return classes, y.map_blocks(lambda part: classes.searchsorted(part), dtype=int)
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)


def look_up(table: Array, labels: Any) -> Any:
    """Return `table[labels]`, as the same kind of array as `labels`."""
    if is_lazy(labels):
        return labels.map_blocks(lambda part: table[part], dtype=table.dtype)
    return table[labels]


def read_new(estimator: Any, X: Any) -> Any:
    """Validate X for prediction, and replace missing entries by zeros."""
    if _stays(estimator, X) or is_foreign(getattr(estimator, "coef_", None)):
        check_same_place(estimator, X)
    X = read(estimator, X, reset=False)
    missing = missing_features(X)
    if missing is None:
        return X
    check_missing(estimator, missing)
    return zero_missing(X)


def read_unlabeled(estimator: Any, X_unlabeled: Any) -> list[Any]:
    """Read unlabelled rows, one container or a list, without the empty ones."""
    if X_unlabeled is None:
        return []
    several = isinstance(X_unlabeled, list | tuple) and all(
        len(getattr(part, "shape", ())) == 2 for part in X_unlabeled
    )
    parts = X_unlabeled if several else [X_unlabeled]
    parts = [
        _read_blocks(estimator, Z, reset=False)
        if is_lazy(Z)
        else read(estimator, Z, reset=False, ensure_min_samples=0)
        for Z in parts
    ]
    return [Z for Z in parts if Z.shape[0]]


def remember_missing(estimator: Any, X: Any, *, afresh: bool) -> bool:
    """Check training data for missing entries; return whether there are any.

    The estimator gets `missing_in_training_`, a mask of the features with missing
    entries. If `afresh`, earlier training data is forgotten; otherwise X is added to
    it.
    """
    if afresh:
        estimator.__dict__.pop("missing_in_training_", None)
    missing = X.missing if isinstance(X, Design) else missing_features(X)
    if missing is not None:
        check_missing(estimator, missing)
    found = np.zeros(X.shape[1], dtype=bool) if missing is None else missing
    seen = getattr(estimator, "missing_in_training_", found)
    estimator.missing_in_training_ = seen | found
    return missing is not None


def check_missing(estimator: Any, missing: NDArray[np.bool_]) -> None:
    """Apply the estimator's `missing` policy to features missing in new data."""
    if estimator.missing == "error":
        raise ValueError(
            f"X has missing entries (NaN) in {_names(estimator, missing)}, and "
            "missing='error' forbids them; impute them or use missing='allow'."
        )
    seen = host(getattr(estimator, "missing_in_training_", None))
    new = missing if seen is None else missing & ~seen
    if estimator.missing == "warn" and seen is not None and new.any():
        warnings.warn(
            f"Never missing in training, but now: {_names(estimator, new)}; a missing "
            "feature adds nothing to the score.",
            UserWarning,
            stacklevel=4,
        )


def _names(estimator: Any, missing: NDArray[np.bool_]) -> str:
    columns = np.flatnonzero(missing)
    names = getattr(estimator, "feature_names_in_", None)
    shown = [repr(str(names[j])) if names is not None else str(j) for j in columns[:5]]
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    plural = "s" if len(columns) > 1 else ""
    return f"feature{plural} {', '.join(shown)}{more}"
