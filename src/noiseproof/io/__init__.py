"""Saving and loading of models, without running code from a file."""

from __future__ import annotations

from noiseproof._atomic import atomic_write as atomic_write
from noiseproof._atomic import check_output as check_output
from noiseproof._contents import kept_rows as kept_rows
from noiseproof._contents import treatment_of as treatment_of
from noiseproof.io.foreign import is_foreign as is_foreign
from noiseproof.io.foreign import open_foreign as open_foreign
from noiseproof.io.mlflow import log_mlflow, save_mlflow
from noiseproof.io.model import (
    FileFormatError,
    load,
    read_notes,
    save,
    trusted_types,
)
from noiseproof.io.model import load_with_notes as load_with_notes
from noiseproof.serving import as_sklearn

__all__ = [
    "FileFormatError",
    "as_sklearn",
    "load",
    "log_mlflow",
    "read_notes",
    "save",
    "save_mlflow",
    "trusted_types",
]
