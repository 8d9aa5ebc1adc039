"""The inputs of a graph: the columns of the table on which the model was fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from noiseproof._private import chosen_columns
from noiseproof.estimators import (
    AverageOverMissing,
    ConformalRegressor,
    CorruptedCopies,
    VirtualExamples,
)
from noiseproof.serving.onnx.graph import Graph
from noiseproof.serving.onnx.rows import Rows, are_flags, number_of, texts_of
from noiseproof.tables import TableEncoder

Columns = dict[str, bool]  # names, and whether the column holds text


def opened(model: Any) -> Any:
    """The model that predicts, taken out of `Served`, searches and other wrappers."""
    if hasattr(model, "model") and hasattr(model, "contract"):  # a `Served`
        return opened(model.model)
    if isinstance(model, FrozenEstimator):
        return opened(model.estimator)
    if hasattr(model, "best_estimator_"):
        return opened(model.best_estimator_)
    if isinstance(model, CorruptedCopies | VirtualExamples | ConformalRegressor):
        return opened(getattr(model, "estimator_", None))
    return model


def reader_of(model: Any) -> Any:
    """The part of a model that gets the table first."""
    model = opened(model)
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        return reader_of(steps[0])
    if isinstance(model, VotingClassifier | VotingRegressor):
        return reader_of(model.estimators_[0])
    if isinstance(model, TransformedTargetRegressor):
        return reader_of(model.regressor_)
    if isinstance(model, CalibratedClassifierCV):
        return reader_of(model.calibrated_classifiers_[0].estimator)
    return model


def declared(graph: Graph, model: Any, dtype: Any) -> Rows:
    """Declare the inputs of a graph: a matrix X, or each column by its name."""
    reader = reader_of(model)
    columns = _columns_of(reader)
    if columns is None:
        return Rows((graph.input("X", dtype, reader.n_features_in_),))
    parts = [
        graph.input(name, object if text else np.float64, 1)
        for name, text in columns.items()
    ]
    return Rows(tuple(parts), tuple(columns))


def _columns_of(reader: Any) -> Columns | None:
    """The columns of a table, or None if it was an array."""
    if isinstance(reader, AverageOverMissing):
        return _of_cells(reader)
    names = getattr(reader, "feature_names_in_", None)
    if names is None:
        return None
    if isinstance(reader, TableEncoder):
        return _of_encoder(reader)
    texts = _of_transformer(reader) if isinstance(reader, ColumnTransformer) else set()
    return {str(name): j in texts for j, name in enumerate(names)}


def _of_cells(model: Any) -> Columns | None:
    """The columns as the conditional of an averaged model knows them."""
    cells = getattr(model.conditional_, "cells_", None)
    if cells is None:
        return None
    named = hasattr(model, "feature_names_in_")
    if cells.is_number.all() and not (named or any(cells.times)):
        return None
    for name, words, unit in zip(cells.names, cells.words, cells.times, strict=True):
        if unit is not None:
            raise TypeError(
                f"Column {name} contains times, for which ONNX has no type; train with "
                "a number in its place, such as days since a date."
            )
        _check_texts(name, [] if words is None else texts_of(words))
    return {
        name: words is not None and not are_flags(words)
        for name, words in zip(cells.names, cells.words, strict=True)
    }


def _of_encoder(encoder: Any) -> Columns:
    """The columns that a `TableEncoder` uses; codes among them are numbers."""
    known = encoder.known_texts()
    for name, texts in known.items():
        _check_texts(name, texts)
    codes = {
        name
        for name in encoder.categorical
        if not np.isnan([number_of(text) for text in known.get(name, [])]).any()
    }
    return {
        str(name): name in known and name not in codes
        for name in encoder.feature_names_in_
        if name not in encoder.empty_columns_
    }


def _of_transformer(transformer: Any) -> set[int]:
    """Indices of the columns that a `ColumnTransformer` encodes as text."""
    found: set[int] = set()
    for name, part, _ in transformer.transformers_:
        steps = part.steps if isinstance(part, Pipeline) else [(name, part)]
        for _, step in steps:
            known = getattr(step, "categories_", [])
            places = chosen_columns(transformer, name)[: len(known)]
            kinds = [np.asarray(texts).dtype.kind for texts in known]
            found |= {p for p, k in zip(places, kinds, strict=True) if k in "OUS"}
    return found


def _check_texts(name: str, texts: list[str]) -> None:
    """Raise an error if different words are the same as text."""
    if "" in texts:
        raise ValueError(
            f'Column {name} held empty text in training, but "" means a missing value '
            "in ONNX; train with another word in its place, such as 'none'."
        )
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise ValueError(
            f"Column {name} contains different values that are all written {twice!r}, "
            "and "
            "ONNX has only text; train with one type of value in a column."
        )
