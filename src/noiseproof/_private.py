"""What is used of scikit-learn though it is not public there, all in one place.

`Interval`, `StrOptions` and `HasMethods` describe legal parameters for
`BaseEstimator._validate_params`; third-party estimators are expected to use them.
`validate_parameter_constraints` does the same for the arguments of a function.
`_check_feature_names_in`, `_check_sample_weight`, `_safe_indexing` and what
`chosen_columns` reads have no public
counterpart. Callbacks are scikit-learn's from 1.9 on; before, stand-ins leave methods
as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    WRAPPERS = 1  # frames that `with_callbacks` puts around a method
except ImportError:  # scikit-learn before 1.9
    WRAPPERS = 0

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's own, which came with 1.9."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave a method as it is."""
        return method


def chosen_columns(transformer: Any, name: str) -> list[int]:
    """Numbers of the columns that a part of a fitted ColumnTransformer gets."""
    return list(transformer._transformer_to_input_indices[name])


@contextmanager
def without_array_libraries() -> Iterator[None]:
    """Look through scikit-learn's packages without importing torch, CuPy or Dask.

    Whoever lists all estimators (as skops does on import) imports every package of
    scikit-learn, and those that adapt these libraries import them, which takes seconds
    where they are installed. Empty modules stand in for such packages meanwhile.
    """
    adapters = "sklearn.externals.array_api_compat."
    names = {adapters + library for library in ("torch", "cupy", "dask")}
    empty = {name: ModuleType(name) for name in names - set(sys.modules)}
    sys.modules.update(empty)
    try:
        yield
    finally:
        for name in empty:
            del sys.modules[name]


def tree_nodes() -> Any:
    """The dtype of the nodes of HistGradientBoosting's trees."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    return PREDICTOR_RECORD_DTYPE


def grown_nodes() -> Any:
    """The dtype of the nodes of single trees and of forests."""
    from sklearn.tree._tree import NODE_DTYPE

    return NODE_DTYPE


__all__ = [
    "WRAPPERS",
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "StrOptions",
    "_check_feature_names_in",
    "_check_sample_weight",
    "_safe_indexing",
    "chosen_columns",
    "grown_nodes",
    "tree_nodes",
    "validate_parameter_constraints",
    "with_callbacks",
    "without_array_libraries",
]
