"""Models in files: written whole or not at all, read without running their code."""

from __future__ import annotations

from noiseproof._atomic import atomic_write as atomic_write
from noiseproof._atomic import check_output as check_output
from noiseproof.io.export import as_sklearn
from noiseproof.io.foreign import is_foreign as is_foreign
from noiseproof.io.foreign import open_foreign as open_foreign
from noiseproof.io.model import (
    FileFormatError,
    load,
    read_notes,
    save,
)
from noiseproof.io.model import load_with_notes as load_with_notes

__all__ = [
    "FileFormatError",
    "as_sklearn",
    "load",
    "read_notes",
    "save",
]
