"""Spambase, word frequencies of mail."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof.datasets.folder import data_file

_SOURCE = (
    "https://archive.ics.uci.edu/dataset/94/spambase (spambase.data, xz-compressed "
    "under this name)"
)


def load_spambase(
    *, folder: str | Path | None = None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read Spambase from `spambase.csv.xz` in the data folder.

    Parameters
    ----------
    folder : path, default=None
        The data folder; None means that of the environment variable `NOISEPROOF_DATA`.

    Returns
    -------
    X : array of shape (4601, 57)
        48 word frequencies, 6 character frequencies, 3 lengths of runs of capitals.
    y : array of int of shape (4601,)
        1 for spam, all of which comes first: shuffle before splitting.
    """
    with lzma.open(data_file("spambase.csv.xz", _SOURCE, folder), "rt") as stream:
        table = np.loadtxt(stream, delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)
