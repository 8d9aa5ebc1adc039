"""The cost of a missing column, measured without labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from noiseproof.serving.cells import Array
from noiseproof.serving.columns import Column

_ROWS, _LEAST, _MOST = 2_000, 5, 100  # in all, and for each column
_SECONDS = 10.0  # then the costs of other columns stay unknown

Assemble = Callable[[Sequence[Array]], Any]


def sample_size(n_rows: int, n_columns: int) -> int:
    """Number of training rows from which costs are measured."""
    return min(n_rows, int(np.clip(_ROWS // max(n_columns, 1), _LEAST, _MOST)))


def with_costs(
    model: Any, columns: Sequence[Column], sample: Sequence[Array], assemble: Assemble
) -> list[Column]:
    """Add to each column whether it may be missing, and what that costs.

    The sample has the values of some training rows, column by column.
    """
    complete = _answers(model, assemble(sample))
    found, end = [], time.monotonic() + _SECONDS
    for j, column in enumerate(columns):
        late = time.monotonic() > end
        answers = None if late else _without(model, sample, columns, j, assemble)
        # what was not tried is not forbidden
        column = replace(column, may_be_missing=late or answers is not None)
        if answers is not None:
            cost = _cost(model, complete, answers)
            column = replace(column, absence_cost=cost)
        found.append(column)
    return found


def _without(
    model: Any,
    sample: Sequence[Array],
    columns: Sequence[Column],
    j: int,
    assemble: Assemble,
) -> Array | None:
    """Answers for the sample with column j missing; None if the model refuses."""
    rows = list(sample)
    rows[j] = np.full_like(sample[j], columns[j].nothing)
    try:
        return _answers(model, assemble(rows))
    except Exception:  # whatever a model of theirs raises if it refuses
        return None


def _answers(model: Any, X: Any) -> Array:
    """Probabilities or predictions; an error if some are NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = not isinstance(getattr(model, "classes_", None), list)
        ask = getattr(model, "predict_proba", model.predict) if one else model.predict
        answers = np.asarray(ask(X))
    if answers.dtype.kind == "f" and np.isnan(answers).any():
        raise ValueError("The model predicts NaN.")
    return answers


def _cost(model: Any, complete: Array, answers: Array) -> float | None:
    if isinstance(getattr(model, "classes_", None), list):  # several outputs
        return None
    if hasattr(model, "predict_proba"):
        return float(complete.max(axis=1).mean() - answers.max(axis=1).mean())
    if hasattr(model, "classes_") or complete.dtype.kind not in "fiu":
        return None
    return float(np.sqrt(np.mean((answers - complete) ** 2)))
