"""Models and transformers of scikit-learn that skl2onnx converts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import SGDClassifier
from sklearn.tree import BaseDecisionTree

from noiseproof._contents import parts
from noiseproof.serving.onnx.answers import Answer
from noiseproof.serving.onnx.graph import ML, ML_OPSET, OPSET
from noiseproof.serving.onnx.rows import Rows, look_up

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
_TYPES: dict[str, Any] = {
    "tensor(double)": _DOUBLE,
    "tensor(float)": _SINGLE,
    "tensor(int64)": np.dtype(np.int64),
    "tensor(string)": np.dtype(object),
}


def answered(model: Any, rows: Rows, method: str) -> Answer:
    """The answer of a scikit-learn model, by the graph that skl2onnx makes of it.

    The graph is in double precision if possible, as in scikit-learn. Single trees and
    forests take rows in single precision.
    """
    for part in parts(model):
        if isinstance(part, SGDClassifier) and part.loss == "modified_huber":
            raise TypeError(
                "SGDClassifier(loss='modified_huber') cannot be written to ONNX, since "
                "skl2onnx computes other probabilities; use loss='log_loss'."
            )
    members = np.ravel(getattr(model, "estimators_", [model]))
    trees = any(isinstance(member, BaseDecisionTree) for member in members)
    options: list[dict[str, Any]] = [{}]
    if method == "decision_function":
        options = [{"zipmap": False, "raw_scores": True}, {"raw_scores": True}]
    elif method == "predict_proba":
        options = [{"zipmap": False}, {}]
    kinds = [_SINGLE] if trees else [_DOUBLE, _SINGLE]
    outputs = _inlined(model, rows, kinds, options)
    if not is_classifier(model):
        return Answer(outputs[0].double())
    values = outputs[1].double()
    if method == "decision_function" and len(model.classes_) == 2:
        values = values.take([-1], axis=1)
    return Answer(values, look_up(outputs[0], model.classes_).reshape(-1))


def transformed(step: Any, rows: Rows) -> Rows:
    """Rows after a transformer of scikit-learn, in their own precision."""
    found = _inlined(step, rows, [_DOUBLE, _SINGLE], [{}])[0]
    return Rows((found.cast(rows.dtype),))


def _inlined(model: Any, rows: Rows, kinds: list[Any], options: list[Any]) -> Any:
    """The outputs of a model's graph, which becomes part of the graph of the rows."""
    proto, kind, dtypes = _converted(model, rows, kinds, options)
    given = {
        entry.name: part if part.is_text else part.cast(kind)
        for entry, part in zip(proto.graph.input, rows.parts, strict=True)
    }
    return rows.graph.inline(proto, given, dtypes)


def _converted(
    model: Any, rows: Rows, kinds: list[Any], options: list[Any]
) -> tuple[Any, Any, list[Any]]:
    """A graph that onnxruntime runs, its precision, and the types of its outputs."""
    problem: Exception | None = None
    for kind, chosen in ((kind, chosen) for kind in kinds for chosen in options):
        try:
            proto = _convert(model, rows, kind, chosen)
            return proto, kind, _tried(proto)
        except Exception as error:  # whatever skl2onnx and onnxruntime raise
            problem = error
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    raise TypeError(
        f"{type(model).__name__} cannot be written to ONNX, since skl2onnx does not "
        f"convert it ({lines[0][:120]}); save it with noiseproof.save instead."
    ) from problem


def _convert(model: Any, rows: Rows, kind: Any, options: dict[str, Any]) -> Any:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        StringTensorType,
    )

    number = DoubleTensorType if kind == _DOUBLE else FloatTensorType
    if rows.names is None:
        types = [("X", number([None, model.n_features_in_]))]
    else:
        types = [
            (name, (StringTensorType if part.is_text else number)([None, 1]))
            for name, part in zip(rows.names, rows.parts, strict=True)
        ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proto = convert_sklearn(
            model,
            initial_types=types,
            options={id(model): options} if options else None,
            target_opset={"": OPSET, ML: ML_OPSET},
        )
    if {entry.domain for entry in proto.opset_import} - {"", ML}:
        raise TypeError("its graph needs operators that ONNX does not have")
    return proto


def _tried(proto: Any) -> list[Any]:
    """The types of the outputs of a graph, found by running it on a row."""
    session = session_of(proto.SerializeToString())
    blank = np.array([[""]], dtype=object)
    feed = {
        entry.name: blank
        if entry.type == "tensor(string)"
        else np.zeros((1, entry.shape[1]), dtype=_TYPES[entry.type])
        for entry in session.get_inputs()
    }
    session.run(None, feed)
    return [_TYPES[entry.type] for entry in session.get_outputs()]


def session_of(content: bytes) -> Any:
    """A session of onnxruntime that logs errors only."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        content, options, providers=["CPUExecutionProvider"]
    )
