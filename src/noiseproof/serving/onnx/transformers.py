"""Steps before the last one of a pipeline, in a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from noiseproof.estimators import Indicators
from noiseproof.serving.onnx.foreign import transformed
from noiseproof.serving.onnx.graph import Tensor, concat
from noiseproof.serving.onnx.inputs import opened
from noiseproof.serving.onnx.rows import Rows, look_up, number_of
from noiseproof.tables import TableEncoder


def transform(step: Any, rows: Rows) -> Rows:
    """Rows after a fitted transformer."""
    step = opened(step)
    if step is None or isinstance(step, str):  # passthrough
        return rows
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            rows = transform(part, rows)
        return rows
    if isinstance(step, TableEncoder):
        return _encoded(step, rows)
    if isinstance(step, Indicators):
        return _indicated(step, rows)
    if isinstance(step, SimpleImputer) and _fills_numbers(step, rows):
        X = rows.matrix()
        return Rows((X.isnan().where(step.statistics_, X),))
    if isinstance(step, FunctionTransformer) and step.func is None:
        return rows
    if type(step) in _SCALERS and not getattr(step, "clip", False):
        return Rows((_scaled(step, rows.matrix()),))
    return transformed(step, rows)


def _indicated(step: Indicators, rows: Rows) -> Rows:
    """`Indicators.transform`: columns that mark missing values in others."""
    if rows.names is None:
        X = rows.matrix()
        missing = X.take(step.columns, axis=1).isnan()
        return Rows((concat([X, missing.cast(X.dtype)], axis=1),))
    names = [rows.names[column] for column in step.columns]
    columns = [rows.column(name) for name in names]
    new = [look_up(x, [""]) >= 0 if x.is_text else x.isnan() for x in columns]
    return Rows(
        (*rows.parts, *(missing.double() for missing in new)),
        (*rows.names, *(f"{name} is missing" for name in names)),
    )


def _fills_numbers(step: Any, rows: Rows) -> bool:
    """Whether an imputer only replaces NaN by numbers."""
    numbers = np.asarray(step.statistics_).dtype.kind == "f"
    whole = numbers and not np.isnan(step.statistics_).any()
    plain = not step.add_indicator and isinstance(step.missing_values, float)
    return whole and plain and not any(part.is_text for part in rows.parts)


_SCALERS: dict[type, list[tuple[str, str]]] = {
    MaxAbsScaler: [("Div", "scale_")],
    MinMaxScaler: [("Mul", "scale_"), ("Add", "min_")],
    RobustScaler: [("Sub", "center_"), ("Div", "scale_")],
    StandardScaler: [("Sub", "mean_"), ("Div", "scale_")],
}


def _scaled(step: Any, X: Tensor) -> Tensor:
    """Scaled rows, rounded as in scikit-learn.

    StandardScaler computes in the precision of the rows; the others round to it.
    """
    for kind, name in _SCALERS[type(step)]:
        amount = getattr(step, name)
        if amount is None or (name == "mean_" and not step.with_mean):
            continue
        own = X if isinstance(step, StandardScaler) else X.double()
        amount = X.graph.constant(np.asarray(amount, dtype=own.dtype))
        X = own.op(kind, amount).cast(X.dtype)
    return X


def _encoded(encoder: Any, rows: Rows) -> Rows:
    """`TableEncoder.transform`: scaled numbers, and one feature for each text value."""
    if rows.names is None:
        return transform(encoder.encoder_, rows)
    strange = {name: number for name, _, number in encoder.coerced_}
    (_, scaler, numbers), (_, _, texts) = encoder.encoder_.transformers_[:2]
    parts = []
    if len(numbers):
        columns = [_number(rows.column(n), n, strange.get(n)) for n in numbers]
        parts.append(transform(scaler, Rows((concat(columns, axis=1),))).matrix())
    known = encoder.known_texts()
    parts += [_one_hot(rows.column(name), known[name]) for name in texts]
    return Rows((concat(parts, axis=1),))


def _number(column: Tensor, name: str, strange: float | None) -> Tensor:
    """A column of numbers, with NaN for the number that means missing."""
    if column.is_text:
        raise TypeError(
            f"Column {name} holds numbers written as text, which ONNX cannot read; "
            "convert it to numbers before training."
        )
    return column if strange is None else column.equals(strange).where(np.nan, column)


def _one_hot(column: Tensor, texts: list[str]) -> Tensor:
    """One feature for each text, all zero for a missing or unknown one."""
    if column.is_text:
        return look_up(column, texts).equals(np.arange(len(texts))[None]).double()
    codes = [number_of(text) for text in texts]  # of numbers that are categories
    return column.equals(np.array([codes])).double()
