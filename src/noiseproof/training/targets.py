"""Tell classes from quantities, and check a target."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target

from noiseproof._rows import check_targets

_FEW = 20  # at most this many distinct whole numbers are classes in any case
_MANY = 100  # more than this many are a quantity in any case, such as a count


def task_of(y: Any) -> str:
    """Tell whether a target calls for classification or for regression.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The target.

    Returns
    -------
    task : {"classification", "regression"}
        Numbers call for regression if they have fractions, if more than 100 of them
        are distinct, or if the number of distinct ones exceeds both 20 and a tenth of
        the rows.

    See Also
    --------
    train : Uses this if no task is given.

    Examples
    --------
    >>> from noiseproof.training import task_of
    >>> task_of([1, 2, 1, 1])
    'classification'
    >>> task_of([0.3, 1.5, 2.25])
    'regression'
    """
    y = np.asarray(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about many classes
        kind = type_of_target(y)
    if kind not in ("binary", "multiclass"):
        return "regression"
    most = np.clip(len(y) / 10, _FEW, _MANY)
    many = y.dtype.kind in "iuf" and len(np.unique(y)) > most
    return "regression" if many else "classification"


def read_target(X: Any, y: Any, task: str | None) -> tuple[Any, str]:
    """The target as an array, and the task; X and y are checked."""
    shape = np.shape(X)
    if len(shape) != 2 or min(shape) == 0:
        raise ValueError(
            "X must be a table with at least one row and one column; got "
            f"{f'shape {shape}' if shape else repr(X)}."
        )
    check_consistent_length(X, y)
    check_targets(y)
    y = column_or_1d(y)
    assert_all_finite(y, input_name="y")
    task = task or task_of(y)
    if task == "regression" and y.dtype.kind not in "iuf":
        raise ValueError(
            f"A regression needs numbers in y, which holds classes, such as {y[0]!s}."
        )
    if len(np.unique(y)) < 2:
        raise ValueError(f"There is nothing to learn: every y is {y[0]!s}.")
    return y, task


def check_task(estimator: Any, y: Any, task: str) -> None:
    """Refuse an estimator that does not suit the task."""
    name = type(estimator).__name__
    if is_regressor(estimator) == (task == "regression"):
        return
    if task == "classification":
        raise ValueError(
            f"{name} is a regressor, but the task is a classification: use a "
            "classifier, such as DropoutLogisticRegression (dropout-logistic)."
        )
    raise ValueError(
        f"y has {len(np.unique(y))} different numbers in {len(y)} rows, so it is a "
        "quantity rather than a class: use a regressor, such as DropoutRidge "
        f"(dropout-ridge), in place of {name}, or set the task to classification."
    )
