"""Write files completely or not at all, and never over an input."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

PathLike = str | os.PathLike[str]


def check_output(path: PathLike, inputs: Iterable[PathLike] = ()) -> None:
    """Raise an error if `path` cannot be written to, or is one of the inputs.

    Inputs are recognised by other names and through links, too.
    """
    if _is_special(path):
        return
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot write {target.name}: the folder {target.parent} does not exist."
        )
    if target.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            f"Cannot write {target.name}: the folder {target.parent} is read-only."
        )
    for source in inputs:
        if target.exists() and os.path.exists(source) and target.samefile(source):
            raise ValueError(
                f"Cannot write {path}: it is the input {source}, which would be lost; "
                "choose another name for the output."
            )


@contextmanager
def atomic_write(path: PathLike) -> Iterator[BinaryIO]:
    """Yield a binary file to write to, which replaces `path` at the end.

    The bytes go to a hidden file in the same folder, which is flushed to disk and then
    renamed. So `path` has either the old or the new content at any time, even after a
    crash. Pipes and devices such as `/dev/null` are written to directly.
    """
    check_output(path)
    if _is_special(path):
        with open(path, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))  # a link stays, and its target is replaced
    # a short name, since the target's name may already have the maximum length
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # force the rename to the disk; Windows opens no folders
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_special(path: PathLike) -> bool:
    """Return whether a path is a pipe or a device, so neither a file nor a folder."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
