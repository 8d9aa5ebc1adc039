"""The container around a saved model: who wrote it, and whether it is still whole.

| bytes     | content                                                     |
|-----------|-------------------------------------------------------------|
| 8         | magic, `89 4E 50 46 0D 0A 1A 0A`                            |
| 2         | version of the format, little-endian like all numbers       |
| 4         | length H of the header                                      |
| 8         | length P of the payload                                     |
| H         | header: JSON in UTF-8                                       |
| P         | payload                                                     |
| 32        | SHA-256 of everything before                                |
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

# a high byte and both line ends, so that a transfer as text is noticed
MAGIC = b"\x89NPF\r\n\x1a\n"
FORMAT = 1
_START = struct.Struct("<8sHIQ")
_DIGEST = hashlib.sha256().digest_size


class FileFormatError(ValueError):
    """A file that is no saved model, not a whole one, or not a safe one."""


def pack(header: dict[str, Any], payload: bytes) -> bytes:
    """The bytes of a file."""
    head = json.dumps(header).encode()
    body = _START.pack(MAGIC, FORMAT, len(head), len(payload)) + head + payload
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes, name: str) -> tuple[dict[str, Any], bytes]:
    """Header and payload, or one clear sentence about the file of that name."""
    if not data:
        raise FileFormatError(f"{name} is empty, not a saved model.")
    if not data.startswith(MAGIC[: len(data)]):
        raise FileFormatError(f"{name} is not a model saved by noiseproof.")
    if len(data) < _START.size:
        raise FileFormatError(f"{name} is cut short: {len(data)} bytes are left.")
    _, version, head, body = _START.unpack_from(data)
    if version > FORMAT:
        raise FileFormatError(
            f"{name} has format {version}, but this noiseproof reads formats up to "
            f"{FORMAT}: upgrade noiseproof."
        )
    expected = _START.size + head + body + _DIGEST
    if len(data) < expected:
        raise FileFormatError(
            f"{name} is cut short: {len(data)} of {expected} bytes are left."
        )
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise FileFormatError(f"{name} was altered: its checksum is wrong.")
    try:
        header = json.loads(data[_START.size : _START.size + head])
    except ValueError as error:
        raise FileFormatError(f"{name} has a broken header: {error}.") from error
    if len(data) != expected or not isinstance(header, dict):
        raise FileFormatError(f"{name} has a broken header.")
    return header, data[_START.size + head : -_DIGEST]
