"""Models in production: rows as they arrive, an HTTP service, and export formats.

`Served` keeps a fitted model together with a summary of its training table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from noiseproof.serving.answers import answer_columns as answer_columns
from noiseproof.serving.arrivals import RowsError
from noiseproof.serving.columns import KINDS as KINDS
from noiseproof.serving.columns import Column
from noiseproof.serving.encoders import encoder_of as encoder_of
from noiseproof.serving.export import as_sklearn
from noiseproof.serving.forms import FORMS as FORMS
from noiseproof.serving.onnx import to_onnx
from noiseproof.serving.served import Arrived, Served

if TYPE_CHECKING:
    from noiseproof.serving.service import PatientHTTP as PatientHTTP
    from noiseproof.serving.service import http_app

__all__ = [
    "Arrived",
    "Column",
    "RowsError",
    "Served",
    "as_sklearn",
    "http_app",
    "to_onnx",
]

_NEED_MORE_PACKAGES = ("http_app", "PatientHTTP")


def __getattr__(name: str) -> Any:
    if name in _NEED_MORE_PACKAGES:
        from noiseproof.serving import service

        return getattr(service, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
