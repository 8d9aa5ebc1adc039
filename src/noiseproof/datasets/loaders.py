"""Loaders of the papers' data, from a folder that the user provides."""

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

from noiseproof._docs import shared_docs

Folder = str | Path | None

PAIRS = {
    "AthR": ("alt.atheism", "soc.religion.christian"),
    "XGraph": ("comp.windows.x", "comp.graphics"),
    "BbCrypt": ("rec.sport.baseball", "sci.crypt"),
}
_NEWSGROUPS = "newsgroups_pairs_text.tsv.xz", "20 Newsgroups, bydate version"
_SENTENCES = {
    "RT": ("rt_polarity.tsv.xz", "Pang and Lee, sentence polarity data v1.0"),
    "Subj": ("subj.tsv.xz", "Pang and Lee, subjectivity data v1.0"),
    "IMDB-2k": ("imdb2k.tsv.xz", "Pang and Lee, polarity data v2.0"),
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_WORDS = 37_751  # vocabulary size of the IMDB reviews, with 0 for unknown words


def data_file(name: str, source: str, folder: Folder = None) -> Path:
    """Find a file in the data folder, or raise an error that says where to get it."""
    folder = folder or os.environ.get("NOISEPROOF_DATA")
    if not folder:
        raise FileNotFoundError(
            "Set the environment variable NOISEPROOF_DATA to a folder that contains "
            f"{name}. Get this file from {source}."
        )
    path = Path(folder) / name
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}. Get it from {source}.")
    return path


@shared_docs
def load_mnist(
    subset: str = "train",
    *,
    digits: Collection[int] | None = None,
    folder: Folder = None,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read MNIST from the gzipped IDX files in the folder `mnist` of the data folder.

    Parameters
    ----------
    subset : {"train", "test"}, default="train"
        Which part to read: 60,000 or 10,000 digits.
    digits : collection of int, default=None
        Which digits to keep; None means all.
    {folder}

    Returns
    -------
    X : array of shape (n_samples, 784)
        Pixels, from 0 to 1.
    y : array of int of shape (n_samples,)
        Digits.

    See Also
    --------
    load_spambase : A table of counts.

    Examples
    --------
    >>> from noiseproof.datasets import load_mnist
    >>> X, y = load_mnist("test", digits=(4, 7))  # doctest: +SKIP
    """
    prefixes = {"train": "train", "test": "t10k"}
    if subset not in prefixes:
        raise ValueError(f"subset must be 'train' or 'test'; got {subset!r}.")
    images = _bytes(f"mnist/{prefixes[subset]}-images-idx3-ubyte.gz", folder)[16:]
    images = images.reshape(-1, 784)
    y = _bytes(f"mnist/{prefixes[subset]}-labels-idx1-ubyte.gz", folder)[8:].astype(int)
    if digits is not None:
        kept = np.isin(y, list(digits))
        images, y = images[kept], y[kept]
    return images / 255.0, y


def _bytes(name: str, folder: Folder) -> NDArray[np.uint8]:
    source = f"https://ossci-datasets.s3.amazonaws.com/{name}"
    with gzip.open(data_file(name, source, folder)) as stream:
        return np.frombuffer(stream.read(), np.uint8)


@shared_docs
def load_spambase(*, folder: Folder = None) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read Spambase from `spambase.csv.xz` in the data folder.

    Parameters
    ----------
    {folder}

    Returns
    -------
    X : array of shape (4601, 57)
        48 frequencies of words, 6 frequencies of characters, and 3 lengths of runs of
        capital letters.
    y : array of int of shape (4601,)
        1 for spam, 0 otherwise. All spam comes first: shuffle the rows before splitting
        them.

    See Also
    --------
    load_mnist : Handwritten digits.

    Examples
    --------
    >>> from noiseproof.datasets import load_spambase
    >>> X, y = load_spambase()  # doctest: +SKIP
    """
    source = (
        "https://archive.ics.uci.edu/dataset/94/spambase (spambase.data, "
        "xz-compressed under this name)"
    )
    with lzma.open(
        data_file("spambase.csv.xz", source, folder), "rt", encoding="utf-8"
    ) as stream:
        table = np.loadtxt(stream, delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)


class Texts(NamedTuple):
    """Texts and their labels, 0 or 1."""

    texts: list[str]
    y: NDArray[np.int64]


@shared_docs
def load_texts(name: str, *, folder: Folder = None) -> Texts:
    """Read the texts of a two-class task of Wager et al. 2013, table 4a.

    The files are xz-compressed and have tab-separated fields. Those of "RT", "Subj" and
    "IMDB-2k" begin with the label and end with the text. The others have the part, the
    newsgroup, a number and the text, with backslash escapes.

    Parameters
    ----------
    name : {"RT", "Subj", "IMDB-2k", "AthR", "XGraph", "BbCrypt"}
        The task.
    {folder}

    Returns
    -------
    data : Texts
        A named tuple of `texts` and `y`, in the order of the file.

    See Also
    --------
    load_imdb : 50,000 reviews.

    Examples
    --------
    >>> from noiseproof.datasets import load_texts
    >>> texts = load_texts("RT")  # doctest: +SKIP
    """
    if name not in _SENTENCES and name not in PAIRS:
        legal = ", ".join([*_SENTENCES, *PAIRS])
        raise ValueError(f"name must be one of {legal}; got {name!r}.")
    path = data_file(*_SENTENCES.get(name, _NEWSGROUPS), folder=folder)
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    if name in _SENTENCES:
        return Texts([row[-1] for row in rows], np.array([int(row[0]) for row in rows]))
    pair = PAIRS[name]
    rows = [row for row in rows if row[1] in pair]
    texts = [re.sub(r"\\(.)", lambda m: _ESCAPES[m[1]], row[3]) for row in rows]
    return Texts(texts, np.array([pair.index(row[1]) for row in rows]))


class Imdb(NamedTuple):
    """Indicator features and labels of the reviews."""

    X_train: Any
    y_train: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    X_unlabeled: Any


@shared_docs
def load_imdb(
    *, bigrams: bool = False, min_count: int = 1, folder: Folder = None
) -> Imdb:
    """Read which words, or words and pairs of words, each IMDB review contains.

    The files are `imdb_train.npz.xz`, `imdb_test.npz.xz` and `imdb_unlabelled.npz.xz`.
    Each contains the numbers of the words as `tokens`, the number of words of each
    review as `length`, and the stars as `rating`.

    Parameters
    ----------
    bigrams : bool, default=False
        Whether to add pairs of neighbouring words.
    min_count : int, default=1
        Minimum number of training reviews, labelled or not, in which a pair must occur.
        Other pairs are left out.
    {folder}

    Returns
    -------
    data : Imdb
        A named tuple of `X_train`, `y_train`, `X_test`, `y_test` and `X_unlabeled`,
        with 25,000, 25,000 and 50,000 rows. The matrices are CSR, with float32 ones.

    See Also
    --------
    load_texts : Smaller collections of texts.

    {References: Wager 2013}

    Examples
    --------
    >>> from noiseproof.datasets import load_imdb
    >>> data = load_imdb()  # doctest: +SKIP
    """
    files, ends, parts = {}, {}, {}
    for name in ("train", "test", "unlabelled"):
        path = data_file(f"imdb_{name}.npz.xz", "Large Movie Review Dataset", folder)
        with lzma.open(path) as file, np.load(io.BytesIO(file.read())) as z:
            files[name] = dict(z)
        lengths = np.cumsum(files[name]["length"], dtype=np.int64)
        ends[name] = np.concatenate([[0], lengths])
        words = files[name]["tokens"].astype(np.int32)
        parts[name] = _indicators(words, ends[name], _WORDS)
    if bigrams:
        pairs = {name: _pairs(files[name]["tokens"], ends[name]) for name in files}
        trained = np.concatenate([pairs["train"][1], pairs["unlabelled"][1]])
        found, counts = np.unique(trained, return_counts=True)
        known = found[counts >= min_count]
        for name, (row, keys) in pairs.items():
            both = [parts[name], _known_pairs(row, keys, known, parts[name].shape[0])]
            parts[name] = sp.hstack(both, format="csr", dtype=np.float32)
    y = {n: (files[n]["rating"] >= 7).astype(np.int64) for n in ("train", "test")}
    return Imdb(
        parts["train"], y["train"], parts["test"], y["test"], parts["unlabelled"]
    )


def _indicators(columns: Any, indptr: Any, width: int) -> Any:
    """Build a CSR matrix with a single stored 1 for each feature that a row has."""
    data = np.ones(len(columns), dtype=np.float32)
    X = sp.csr_matrix((data, columns, indptr), shape=(len(indptr) - 1, width))
    X.sum_duplicates()
    X.data[:] = 1
    return X


def _pairs(tokens: Any, ends: Any) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return row and key of each distinct pair of neighbouring words of a row."""
    tokens = tokens.astype(np.int64)
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


def _known_pairs(row: Any, keys: Any, known: Any, n: int) -> Any:
    columns = np.searchsorted(known, keys)
    inside = np.append(known, -1)[columns] == keys
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[inside], minlength=n))])
    return _indicators(columns[inside].astype(np.int32), indptr, len(known))
