"""Loaders of the papers' data, from a folder of the user's."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


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


_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist (four gzipped IDX files)"
_NAMES = {"train": "train", "test": "t10k"}


def load_mnist(
    subset: str = "train",
    *,
    digits: Collection[int] | None = None,
    folder: str | Path | None = None,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read MNIST from the folder `mnist` of the data folder.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        60,000 or 10,000 digits.
    digits : collection of int, default=None
        Which digits to keep; None means all.
    folder : path, default=None
        The data folder; None means that of the environment variable `NOISEPROOF_DATA`.

    Returns
    -------
    X : array of shape (n_samples, 784)
        Pixels from 0 to 1.
    y : array of int of shape (n_samples,)
        Digits.
    """
    if subset not in _NAMES:
        raise ValueError(f"subset must be 'train' or 'test'; got {subset!r}.")
    name = _NAMES[subset]
    images = _images(f"mnist/{name}-images-idx3-ubyte.gz", folder)[16:].reshape(-1, 784)
    y = _images(f"mnist/{name}-labels-idx1-ubyte.gz", folder)[8:].astype(int)
    if digits is not None:
        kept = np.isin(y, list(digits))
        images, y = images[kept], y[kept]
    return images / 255.0, y


def _images(name: str, folder: str | Path | None) -> NDArray[np.uint8]:
    with gzip.open(data_file(name, _MNIST, folder)) as stream:
        return np.frombuffer(stream.read(), np.uint8)


_SPAMBASE = (
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
    with lzma.open(data_file("spambase.csv.xz", _SPAMBASE, folder), "rt") as stream:
        table = np.loadtxt(stream, delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)


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


_WORDS = 37_751  # with 0 for a word outside the vocabulary


class Imdb(NamedTuple):
    """Indicator features of the labelled and unlabelled reviews."""

    X_train: Any
    y_train: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    X_unlabeled: Any


def load_imdb(
    bigrams: bool = False, min_count: int = 1, folder: str | Path | None = None
) -> Imdb:
    """Which words, or words and pairs of words, each review contains.

    Parameters
    ----------
    bigrams : bool, default=False
        Whether to add pairs of neighbouring words.
    min_count : int, default=1
        Pairs found in fewer of the labelled and unlabelled training reviews are left
        out; test reviews do not count.
    folder : path, default=None
        Where the data lies; None means the folder `NOISEPROOF_DATA`.

    Returns
    -------
    data : Imdb
        CSR matrices of float32 ones; 25,000 + 25,000 + 50,000 rows.
    """
    files = {name: _tokens(name, folder) for name in ("train", "test", "unlabelled")}
    parts = {name: _unigrams(z) for name, z in files.items()}
    if bigrams:
        keys = {name: _pairs(z) for name, z in files.items()}
        known = _common(
            np.concatenate([keys["train"][1], keys["unlabelled"][1]]), min_count
        )
        for name in parts:
            pairs = _indicators(*keys[name], known, parts[name].shape[0])
            parts[name] = sp.hstack(
                [parts[name], pairs], format="csr", dtype=np.float32
            )
    y = {n: (files[n]["rating"] >= 7).astype(np.int64) for n in ("train", "test")}
    return Imdb(
        parts["train"], y["train"], parts["test"], y["test"], parts["unlabelled"]
    )


def _tokens(name: str, folder: str | Path | None) -> dict[str, Any]:
    path = data_file(f"imdb_{name}.npz.xz", "Large Movie Review Dataset", folder)
    with lzma.open(path) as file, np.load(io.BytesIO(file.read())) as z:
        return dict(z)


def _ends(z: dict[str, Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(z["length"], dtype=np.int64)])


def _ones(columns: Any, indptr: Any, width: int) -> Any:
    """Indicators: a stored 1 for each feature that a row has, once."""
    data = np.ones(len(columns), dtype=np.float32)
    X = sp.csr_matrix((data, columns, indptr), shape=(len(indptr) - 1, width))
    X.sum_duplicates()
    X.data[:] = 1
    return X


def _unigrams(z: dict[str, Any]) -> Any:
    return _ones(z["tokens"].astype(np.int32), _ends(z), _WORDS)


def _pairs(z: dict[str, Any]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Row and key of each distinct pair of neighbouring words of a row."""
    ends = _ends(z)
    tokens = z["tokens"].astype(np.int64)
    keys = tokens[:-1] * _WORDS + tokens[1:]
    row = np.repeat(np.arange(len(ends) - 1), np.diff(ends))[:-1]
    inside = np.ones(len(keys), dtype=bool)
    inside[ends[1:-1] - 1] = False  # the last word of a review has no neighbour
    keys, row = keys[inside], row[inside]
    order = np.lexsort((keys, row))
    keys, row = keys[order], row[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]) | (row[1:] != row[:-1])
    return row[new].astype(np.int32), keys[new]


def _common(keys: NDArray[np.int64], min_count: int) -> NDArray[np.int64]:
    found, counts = np.unique(keys, return_counts=True)
    return np.asarray(found[counts >= min_count])


def _indicators(row: Any, keys: Any, known: NDArray[np.int64], n: int) -> Any:
    columns = np.searchsorted(known, keys)
    columns = np.minimum(columns, len(known) - 1)
    inside = known[columns] == keys
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[inside], minlength=n))])
    return _ones(columns[inside].astype(np.int32), indptr, len(known))
