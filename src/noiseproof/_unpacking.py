"""Zip archives of arrays from a stranger: what they unpack to is known beforehand."""

from __future__ import annotations

import math
from zipfile import ZipFile

from numpy.lib import format as npy

# What skops writes about 50,000 texts compresses 46 times. An archive may unpack to so
# many times its size, and to so many bytes in any case.
_RATIO, _SMALL = 64, 2**26


def check_unpacked(
    size: int, packed: int, what: str = "content", small: int = _SMALL
) -> None:
    """Refuse what would unpack out of all proportion to the archive it is in."""
    if size > small + _RATIO * packed:
        raise ValueError(
            f"its {what} would unpack from {packed:,} to {size:,} bytes, which is out "
            "of all proportion."
        )


def check_array(archive: ZipFile, name: str) -> None:
    """Refuse an array of objects, or one that is not as long as its header says."""
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
