"""Steps before a model that scale and shift each feature by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

__all__ = ["affine"]

Array = NDArray[np.float64]


def affine(step: Any, d: int) -> tuple[Array, Array]:
    """Scale and shift, one per feature, of a step or of a pipeline of such steps."""
    one, zero = np.ones(d), np.zeros(d)
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return one, zero
    if isinstance(step, Pipeline):
        scale, shift = one, zero
        for _, inner in step.steps:
            by, plus = affine(inner, d)
            scale, shift = scale * by, shift * by + plus
        return scale, shift
    for kind, read in _SCALERS.items():
        if isinstance(step, kind) and not getattr(step, "clip", False):
            by, plus = read(step)
            return one * by, zero + plus
    if isinstance(step, FunctionTransformer) and step.func is None:
        return one, zero
    raise TypeError(
        f"The step {type(step).__name__} before the linear model does not scale and "
        "shift each feature by itself, so the pipeline has no weights per feature."
    )


def _standard(step: StandardScaler) -> tuple[Any, Any]:
    by = 1.0 / step.scale_ if step.with_std else 1.0
    return by, -step.mean_ * by if step.with_mean else 0.0


def _robust(step: RobustScaler) -> tuple[Any, Any]:
    by = 1.0 / step.scale_ if step.with_scaling else 1.0
    return by, -step.center_ * by if step.with_centering else 0.0


_SCALERS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    StandardScaler: _standard,
    RobustScaler: _robust,
    MinMaxScaler: lambda step: (step.scale_, step.min_),
    MaxAbsScaler: lambda step: (1.0 / step.scale_, 0.0),
}
