"""Where the papers' data lies."""

from __future__ import annotations

import os
from pathlib import Path


def data_file(name: str, source: str, folder: str | Path | None = None) -> Path:
    """Path of a data file, or one sentence on how to get it.

    Parameters
    ----------
    name : str
        File name inside the folder.
    source : str
        Where the file can be had.
    folder : path, default=None
        The folder; None means the one named by the environment variable
        `NOISEPROOF_DATA`.

    Returns
    -------
    path : Path
        An existing file.
    """
    folder = folder or os.environ.get("NOISEPROOF_DATA")
    if folder is None:
        raise FileNotFoundError(
            f"Set the environment variable NOISEPROOF_DATA to a folder that holds "
            f"{name}; get it from {source}."
        )
    path = Path(folder) / name
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; get it from {source}.")
    return path
