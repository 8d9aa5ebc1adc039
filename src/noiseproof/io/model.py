"""Saving and loading of models: the file format, and what may be inside.

| bytes     | content                                                     |
|-----------|-------------------------------------------------------------|
| 8         | magic, `89 4E 50 46 0D 0A 1A 0A`                            |
| 2         | version of the format, little-endian like all numbers       |
| 4         | length H of the header                                      |
| 8         | length P of the payload                                     |
| H         | header: JSON in UTF-8                                       |
| P         | payload: an archive of skops                                |
| 32        | SHA-256 of everything before                                |
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

from noiseproof._atomic import PathLike, atomic_write
from noiseproof._contents import kept_rows, parts, replaced
from noiseproof._docs import shared_docs
from noiseproof._private import (
    HARMLESS_PARTS,
    metric_functions,
    skops_archive,
    without_array_libraries,
)
from noiseproof._rows import host, is_foreign
from noiseproof._version import __version__
from noiseproof.io.archive import check_archive
from noiseproof.io.carried import Carrier, carry, restore
from noiseproof.io.checks import CHECKS, check_model, type_name

# a high byte and both line ends, so that a transfer as text is noticed
MAGIC = b"\x89NPF\r\n\x1a\n"
FORMAT = 1
_START = struct.Struct("<8sHIQ")
_DIGEST = hashlib.sha256().digest_size
_ROWS = "training_rows"  # of the header: whether the model contains some


class FileFormatError(ValueError):
    """Error for a file that is not a saved model, is damaged, or is not safe to load.

    See Also
    --------
    noiseproof.load : Raises it.
    """


@shared_docs
def save(
    model: Any,
    path: PathLike,
    *,
    notes: dict[str, Any] | None = None,
    trusted: Iterable[Any] = (),
    rows: bool = True,
) -> None:
    """Save a model so that `load` can read it without running code from the file.

    What `save` has written, `load` can read: the bytes are loaded once before the file
    is written. The file is written completely or not at all, so a crash leaves an older
    file in place.

    The file contains arrays and JSON, as skops writes them, the version of noiseproof,
    whether there are training rows among the arrays, and a checksum. Fitted attributes
    are restored bit by bit. Arrays of torch or CuPy are restored as NumPy arrays.
    Models of LightGBM, XGBoost and CatBoost are saved in their own text formats.

    Parameters
    ----------
    model : estimator or Served
        An estimator of this package or of scikit-learn, or a pipeline or search that
        contains such estimators, fitted or not. A noise, an attack or conformal sets
        can be saved as well.
    path : str or path
        The file to create or to replace, such as `model.npf`.
    notes : dict, default=None
        Notes for `read_notes`: anything that JSON can represent.
    {trusted}
        Pass the same types to `load`.
    rows : bool, default=True
        Whether the file may contain rows of the training data. Some models keep such
        rows, for example as support vectors or to impute missing values.

    Raises
    ------
    TypeError
        If the model contains what `load` would refuse, such as a user-defined function.
    ValueError
        If the model contains rows of the training data and `rows=False`.

    {See Also: load, as_sklearn}

    Examples
    --------
    >>> import os, tempfile
    >>> import noiseproof
    >>> path = os.path.join(tempfile.mkdtemp(), "noise.npf")
    >>> noiseproof.save(noiseproof.noise.Dropout(0.25), path)
    >>> noiseproof.load(path)
    Dropout(rate=0.25)
    """
    _skops()  # what is lacking is said first
    name, kept = type(model).__name__, kept_rows(model)
    if kept and not rows:
        raise ValueError(
            f"{name} cannot be saved with rows=False: it contains rows of the training "
            f"data, as {kept}."
        )
    header = {"noiseproof": __version__, _ROWS: kept is not None, "notes": notes or {}}
    try:
        data = pack(header, _archived(carry(_on_host(model))))
        _read(unpack(data, name)[1], trusted)  # whatever is written can be read
    except _UntrustedError as error:
        raise TypeError(
            f"{name} cannot be saved: it contains {error}, which load does not trust. "
            "Replace it, or pass its name in `trusted` to save and load."
        ) from error
    except Exception as error:  # what a part of the model raises when it is asked
        raise TypeError(f"{name} cannot be saved: {_first_line(error)}") from error
    with atomic_write(path) as file:
        file.write(data)


def _on_host(model: Any) -> Any:
    """The model with NumPy arrays in place of those of torch and CuPy."""
    found = {id(part): host(part) for part in parts(model) if is_foreign(part)}
    return replaced(model, found)


def _archived(model: Any) -> bytes:
    """The model as skops writes it, compressed unless `load` would refuse that."""
    payload = skops_archive(model, ZIP_DEFLATED)
    try:
        check_archive(payload)
    except ValueError:
        payload = skops_archive(model)
        check_archive(payload)
    return payload


@shared_docs
def load(path: PathLike, *, trusted: Iterable[Any] = ()) -> Any:
    """Load a model that `save` has written, without running code from the file.

    Parameters
    ----------
    path : str or path
        The file, or a pipe.
    {trusted}
        Trust only types whose code is harmless, whatever attributes they are given.

    Returns
    -------
    model : estimator
        The model as it was saved.

    Raises
    ------
    FileFormatError
        A `ValueError`, if the file is not a saved model, is damaged, comes from a newer
        version, contains types that are not trusted, needs far more memory than its
        size suggests, or contains a model whose arrays do not fit together.

    {See Also: save, read_notes}

    Examples
    --------
    >>> import os, tempfile
    >>> import noiseproof
    >>> model = noiseproof.DropoutSVC(noise=0.1).fit([[-1.0], [1.0]], [0, 1])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npf")
    >>> noiseproof.save(model, path)
    >>> noiseproof.load(path).predict([[0.9]])
    array([1])
    """
    return load_with_notes(path, trusted=trusted)[0]


def load_with_notes(
    path: PathLike, *, trusted: Iterable[Any] = ()
) -> tuple[Any, dict[str, Any]]:
    """Load model and notes in one go, because a pipe can be read only once."""
    _skops()  # what is lacking is said first
    name = os.fspath(path)
    header, payload = unpack(_bytes_of(path), name)
    return read_skops(payload, name, trusted), _notes(header)


def _bytes_of(path: PathLike) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: there is no such file.") from error


def read_skops(payload: bytes, name: str, trusted: Iterable[Any] = ()) -> Any:
    """Load the model in an archive of skops, if all of its types are trusted."""
    try:
        check_archive(payload)
        return _read(payload, trusted)
    except _UntrustedError as error:
        raise FileFormatError(
            f"{name} was not loaded: it contains {error}, which load does not trust."
        ) from error
    except Exception as error:  # a forged file can make it fail in any way
        raise FileFormatError(
            f"{name} contains no model that can be read: {_first_line(error)}"
        ) from error


def _read(payload: bytes, trusted: Iterable[Any]) -> Any:
    """Load the model in a checked archive, and check its types and arrays."""
    types: list[str] = _skops().get_untrusted_types(data=payload)
    own = {kind if isinstance(kind, str) else type_name(kind) for kind in trusted}
    refused = set(types) - _trusted_types() - own
    if refused:
        raise _UntrustedError(_listed(refused))
    model = restore(_skops().loads(payload, trusted=types))
    check_model(model)
    return model


class _UntrustedError(TypeError):
    """Error for an archive with types that are not trusted."""


@shared_docs
def read_notes(path: PathLike) -> dict[str, Any]:
    """Read the notes in a file, without loading the model.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    notes : dict
        The notes given to `save`, and `training_rows`: whether the file contains rows
        of the training data.

    {See Also: save}

    Examples
    --------
    >>> import os, tempfile
    >>> import noiseproof
    >>> model = noiseproof.DropoutSVC(noise=0.1).fit([[-1.0], [1.0]], [0, 1])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npf")
    >>> noiseproof.save(model, path, notes={"by": "Ada"})
    >>> noiseproof.io.read_notes(path)
    {'by': 'Ada', 'training_rows': False}
    """
    return _notes(unpack(_bytes_of(path), os.fspath(path))[0])


@shared_docs
def trusted_types(model: Any) -> list[str]:
    """List the types that other readers of skops files must trust to load a model.

    `noiseproof.load` trusts them without being told. MLflow and `skops.io.load` need
    this list.

    Parameters
    ----------
    model : estimator
        The model that skops will write.

    Returns
    -------
    names : list of str
        Full names of types, all of which `load` trusts.

    Raises
    ------
    TypeError
        If the model contains types that `load` does not trust.

    {See Also: save}

    Examples
    --------
    >>> import noiseproof
    >>> model = noiseproof.DropoutSVC().fit([[-1.0], [1.0]], [0, 1])
    >>> noiseproof.io.trusted_types(model)
    ['noiseproof.estimators.dropout_svc.DropoutSVC', 'noiseproof.noise.dropout.Dropout']
    """
    found = set(_skops().get_untrusted_types(data=skops_archive(model)))
    refused = found - _trusted_types()
    if refused:
        raise TypeError(
            f"{type(model).__name__} contains {_listed(refused)}, which belongs "
            "neither to noiseproof nor to scikit-learn. Decide yourself whether to "
            "trust it."
        )
    return sorted(found)


def pack(header: dict[str, Any], payload: bytes) -> bytes:
    """Assemble the bytes of a file."""
    head = json.dumps(header).encode()
    body = _START.pack(MAGIC, FORMAT, len(head), len(payload)) + head + payload
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Split the bytes of a file into header and payload, after checking them."""
    if not data:
        raise FileFormatError(f"{name} is empty, not a saved model.")
    if not data.startswith(MAGIC[: len(data)]):
        raise FileFormatError(f"{name} is not a model saved by noiseproof.")
    if len(data) < _START.size:
        raise FileFormatError(f"{name} is incomplete: it has only {len(data)} bytes.")
    _, version, head, body = _START.unpack_from(data)
    if version > FORMAT:
        raise FileFormatError(
            f"{name} has format {version}, but this version of noiseproof reads "
            f"formats up to {FORMAT}: upgrade noiseproof."
        )
    expected = _START.size + head + body + _DIGEST
    if len(data) < expected:
        raise FileFormatError(
            f"{name} is incomplete: it has {len(data)} of {expected} bytes."
        )
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise FileFormatError(f"{name} is damaged: its checksum is wrong.")
    try:
        header = json.loads(data[_START.size : _START.size + head])
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{name} has a broken header: {error}.") from error
    if len(data) != expected or not isinstance(header, dict):
        raise FileFormatError(f"{name} has a broken header.")
    return header, data[_START.size + head : -_DIGEST]


def _notes(header: dict[str, Any]) -> dict[str, Any]:
    """The notes, and whether there are training rows (older files do not say)."""
    notes = header.get("notes")
    own = {_ROWS: header[_ROWS]} if type(header.get(_ROWS)) is bool else {}
    return (notes if isinstance(notes, dict) else {}) | own


def _skops() -> Any:
    # imported at the first use: it reads all of scikit-learn, for a second
    try:
        with without_array_libraries():
            import skops.io
    except ImportError as error:
        raise ImportError(
            "Saving and loading models needs skops: pip install 'noiseproof[io]'."
        ) from error
    return skops.io


@cache
def _trusted_types() -> frozenset[str]:
    """Full names of the types that are trusted, and of scikit-learn's metrics."""
    own = CHECKS.keys() | {type_name(Carrier)}
    return HARMLESS_PARTS | own | set(map(type_name, metric_functions()))


def _listed(names: Iterable[str]) -> str:
    names = sorted(names)
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
