"""Protection from compressed files that would unpack to huge amounts of data.

Zip archives of arrays state their unpacked size beforehand. Compressed texts do not, so
their bytes are counted while they are read.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from numpy.lib import format as npy

# An archive may unpack to this many times its size, and to this many bytes in any case.
# For comparison, what skops writes about 50,000 texts compresses 46 times.
_RATIO, _SMALL = 64, 2**26
_TEXT_RATIO = 256  # a one-hot table of 200 columns compresses 140 times
_CHUNK = 2**18
_XZ_MEMORY = 2**27  # bytes that a decoder may ask for; `xz -9` needs half of that


def check_unpacked(
    size: int, packed: int, what: str = "content", small: int = _SMALL
) -> None:
    """Raise an error if content would unpack to far more than its archive's size."""
    if size > small + _RATIO * packed:
        raise ValueError(
            f"its {what} would unpack from {packed:,} to {size:,} bytes, which is out "
            "of all proportion."
        )


class UnpackingError(ValueError):
    """A compressed file that is damaged, or that unpacks out of all proportion."""


def open_packed(path: Path) -> IO[bytes]:
    """Open a compressed file for reading; its suffix must be one of `PACKED`."""
    chunks = PACKED[path.suffix.lower()](path)
    return io.BufferedReader(_Bounded(chunks, path.stat().st_size))


class _Bounded(io.RawIOBase):
    """A file made of chunks of bytes, with a limit on their total size."""

    def __init__(self, chunks: Iterator[bytes], packed: int):
        self._chunks, self._rest = chunks, b""
        self._packed, self._size = packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            self._rest = self._rest or next(filter(None, self._chunks), b"")
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise UnpackingError(f"it cannot be unpacked: {error}.") from error
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        self._size += n
        most = _SMALL + _TEXT_RATIO * self._packed
        if self._size > most:
            raise UnpackingError(
                f"its text unpacks from {self._packed:,} to more than {most:,} bytes, "
                "which is out of all proportion; if you trust it, unpack it yourself."
            )
        return n


def _read_by(open_file: Callable[[Path], Any]) -> Callable[[Path], Iterator[bytes]]:
    """Return a function that yields the chunks of a file that a library unpacks."""

    def chunks(path: Path) -> Iterator[bytes]:
        with open_file(path) as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    return chunks


def _open_zstd(path: Path) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            "Reading .zst files needs pyarrow: pip install 'noiseproof[cli]'."
        ) from error
    return pa.input_stream(str(path), compression="zstd")


def _read_xz(path: Path) -> Iterator[bytes]:
    """Yield chunks of all streams of a file; `lzma.open` would not limit the memory."""
    with path.open("rb") as file:
        rest = file.read(_CHUNK)
        while rest:
            stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
            while True:
                yield stream.decompress(rest, _CHUNK)
                if stream.eof:
                    break
                rest = file.read(_CHUNK) if stream.needs_input else b""
                if stream.needs_input and not rest:
                    raise EOFError("the file ends too early")
            rest = stream.unused_data.lstrip(b"\0")  # zeros may follow a stream
            while not rest and (more := file.read(_CHUNK)):
                rest = more.lstrip(b"\0")


PACKED: dict[str, Callable[[Path], Iterator[bytes]]] = {
    ".gz": _read_by(gzip.open),
    ".bz2": _read_by(bz2.open),
    ".xz": _read_xz,
    ".zst": _read_by(_open_zstd),
}


def check_array(archive: ZipFile, name: str) -> None:
    """Raise an error if an array holds objects, or contradicts its header's size."""
    with archive.open(name) as file:
        read = (
            npy.read_array_header_1_0
            if npy.read_magic(file) == (1, 0)
            else npy.read_array_header_2_0
        )
        shape, _, dtype = read(file)
        length = archive.getinfo(name).file_size - file.tell()
    if dtype.hasobject:
        raise ValueError("it holds objects, which only code from the file could make.")
    # items of size 0 would cost nothing however many there are
    if math.prod(shape) * max(dtype.itemsize, 1) != length:
        raise ValueError(f"an array of shape {shape} is not as long as it says.")
