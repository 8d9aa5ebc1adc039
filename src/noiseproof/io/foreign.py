"""Models of others: skops files, ONNX files, and objects named `module:name`."""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from noiseproof._atomic import PathLike
from noiseproof.io.model import FileFormatError, read_skops

_NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def is_foreign(path: PathLike) -> bool:
    """Whether `open_foreign` reads this: it has such a suffix, or is `module:name`."""
    text = os.fspath(path)
    named = _NAMED.fullmatch(text) is not None and not Path(text).exists()
    return named or Path(text).suffix in (".skops", ".onnx")


def open_foreign(path: PathLike) -> Any:
    """Open a fitted model that was not saved by noiseproof.

    `model.skops` is read like the files of `noiseproof.load`, without running code from
    the file. `model.onnx` is run by onnxruntime. For `module:name` the module is
    imported, also from the working folder, which runs its code. The name is that of the
    model, or of a function without arguments that returns it.
    """
    text = os.fspath(path)
    if text.endswith(".skops"):
        return read_skops(Path(text).read_bytes(), text)
    if text.endswith(".onnx"):
        return OnnxModel(text)
    module, name = text.split(":")
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{text} cannot be imported: {error}.") from error
    finally:
        sys.path.remove(os.getcwd())
    if callable(found) and not hasattr(found, "predict"):
        found = found()
    if not hasattr(found, "predict"):
        raise TypeError(f"{text} is not a model: it has no method predict.")
    return found


class OnnxModel:
    """A model in an ONNX file, with `predict`.

    It gets one array of numbers, or a column for each of its inputs, by name. Missing
    values (NaN) are refused, unless the file says that it takes them, as files written
    by `to_onnx` do.
    """

    def __init__(self, path: PathLike):
        try:
            import onnxruntime
        except ImportError as error:
            raise ImportError(
                "ONNX files need onnxruntime: pip install onnxruntime."
            ) from error
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(os.fspath(path), options)
        except Exception as error:  # its own kinds of errors
            line = str(error).strip().splitlines()[0]
            raise FileFormatError(f"{path} is not an ONNX model: {line}") from error
        self._inputs = self._session.get_inputs()
        about = self._session.get_modelmeta().custom_metadata_map
        self._takes_missing = "missing_values" in about
        outputs = [output.name for output in self._session.get_outputs()]
        found = [n for n in outputs if "prob" in n.lower() or "score" in n.lower()]
        self._answer = next((n for n in outputs if n not in found), outputs[0])

    def predict(self, X: Any) -> Any:
        """Predict the class or target of each row."""
        answer = self._session.run([self._answer], self._fed(X))[0]
        answer = np.asarray(answer)
        return answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer

    def _fed(self, X: Any) -> dict[str, Any]:
        """Rows as the inputs of the session."""
        if len(self._inputs) == 1:
            return {self._inputs[0].name: self._held(X, self._inputs[0])}
        fed = {}
        for wanted in self._inputs:
            if wanted.name not in getattr(X, "columns", ()):
                raise ValueError(f"The ONNX model needs a column {wanted.name!r}.")
            fed[wanted.name] = self._held(X[wanted.name], wanted)[:, None]
        return fed

    def _held(self, values: Any, wanted: Any) -> Any:
        """Values as an input takes them, with NaN if the model takes missing values."""
        if not self._takes_missing:
            return _held(values, wanted)
        if hasattr(values, "isna"):
            missing = np.asarray(values.isna(), dtype=bool)
        else:
            missing = np.isnan(np.asarray(values, dtype=np.float64))
        if wanted.type not in _DTYPES:
            return np.where(missing, "", values).astype(object)
        held = _held(np.where(missing, 0.0, values), wanted)
        return np.where(missing, np.nan, held).astype(held.dtype)


_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
}


def _held(values: Any, wanted: Any) -> Any:
    """Values as an input takes them; an error if its type cannot represent them."""
    if wanted.type not in _DTYPES:
        return np.asarray(values, dtype=object)
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        values = values.astype(np.float64)
    dtype = np.dtype(_DTYPES[wanted.type])
    with np.errstate(over="ignore", invalid="ignore"):
        held = values.astype(dtype)
    if dtype.kind == "f":
        good, what = np.isfinite(held), "finite"
    else:  # numbers that round to 2^63 would become -2^63
        good, what = (held == values) & (values < 2.0**63), "whole"
    if not good.all():
        raise ValueError(
            f"The input {wanted.name!r} of the ONNX model takes {what} numbers of type "
            f"{dtype}, not {values[~good][0]}; leave out rows with missing values."
        )
    return held
