"""Models in files: written whole or not at all, read without running their code.

>>> import os, tempfile
>>> import noiseproof
>>> from noiseproof import DropoutSVC
>>> model = DropoutSVC(noise=0.1).fit([[-1.0], [1.0]], [0, 1])
>>> path = os.path.join(tempfile.mkdtemp(), "model.npf")
>>> noiseproof.save(model, path)
>>> noiseproof.load(path).predict([[0.9]])
array([1])
"""

from __future__ import annotations

from noiseproof.io.atomic import atomic_write, check_output
from noiseproof.io.export import as_sklearn
from noiseproof.io.foreign import is_foreign, open_foreign
from noiseproof.io.model import (
    FileFormatError,
    load,
    load_with_notes,
    read_notes,
    save,
)

__all__ = [
    "FileFormatError",
    "as_sklearn",
    "atomic_write",
    "check_output",
    "is_foreign",
    "load",
    "load_with_notes",
    "open_foreign",
    "read_notes",
    "save",
]
