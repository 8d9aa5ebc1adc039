"""The Large Movie Review Dataset (Maas et al. 2011) as sparse indicators."""

from __future__ import annotations

import io
import lzma
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof.datasets.folder import data_file

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
    files = {name: _read(name, folder) for name in ("train", "test", "unlabelled")}
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


def _read(name: str, folder: str | Path | None) -> dict[str, Any]:
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
