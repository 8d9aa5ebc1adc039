"""Labelled texts of the papers."""

from __future__ import annotations

import lzma
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noiseproof.datasets.folder import data_file

PAIRS = {
    "AthR": ("alt.atheism", "soc.religion.christian"),
    "XGraph": ("comp.windows.x", "comp.graphics"),
    "BbCrypt": ("rec.sport.baseball", "sci.crypt"),
}
_SENTENCES = {
    "RT": ("rt_polarity.tsv.xz", "Pang and Lee, sentence polarity data v1.0"),
    "Subj": ("subj.tsv.xz", "Pang and Lee, subjectivity data v1.0"),
    "IMDB-2k": ("imdb2k.tsv.xz", "Pang and Lee, polarity data v2.0"),
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


class Texts(NamedTuple):
    """Texts and their labels, 0 or 1."""

    texts: list[str]
    y: NDArray[np.int64]


def load_texts(name: str, folder: str | Path | None = None) -> Texts:
    """Sentences or messages of a two-class task of Wager et al. 2013, table 4a.

    Parameters
    ----------
    name : {"RT", "Subj", "IMDB-2k", "AthR", "XGraph", "BbCrypt"}
        The task.
    folder : path, default=None
        Where the data lies; None means the folder `NOISEPROOF_DATA`.

    Returns
    -------
    data : Texts
        `texts` and `y`, in the order of the file.
    """
    if name in PAIRS:
        return _newsgroups(PAIRS[name], folder)
    if name not in _SENTENCES:
        legal = ", ".join([*_SENTENCES, *PAIRS])
        raise ValueError(f"name={name!r} is not known; use one of {legal}.")
    rows = _fields(*_SENTENCES[name], folder=folder)
    return Texts([row[-1] for row in rows], np.array([int(row[0]) for row in rows]))


def _fields(name: str, source: str, folder: str | Path | None) -> list[list[str]]:
    path = data_file(name, source, folder)
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def _newsgroups(pair: tuple[str, str], folder: str | Path | None) -> Texts:
    source = "20 Newsgroups, bydate version"
    rows = _fields("newsgroups_pairs_text.tsv.xz", source, folder)
    rows = [row for row in rows if row[1] in pair]
    texts = [re.sub(r"\\(.)", lambda m: _ESCAPES[m[1]], row[3]) for row in rows]
    return Texts(texts, np.array([pair.index(row[1]) for row in rows]))
