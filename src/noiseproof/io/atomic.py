"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write to, which takes the place of `path` at the end.

    The bytes go to a hidden file in the same folder, are forced to the disk, and then
    the file is renamed. Whoever opens `path`, at any time and after any crash, finds
    the old content or the new one. What is not a regular file (a pipe, `/dev/null`) is
    written to directly.

    Parameters
    ----------
    path : str or path
        The file to create or to replace.

    Yields
    ------
    file : binary file
        Open for writing.
    """
    path = Path(os.path.realpath(path))  # a link stays and its target is replaced
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot write {path.name}: the folder {path.parent} does not exist."
        )
    if path.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder.")
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Force the rename to the disk, where the system can."""
    with suppress(OSError):  # Windows opens no folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
