"""Tables of numbers and words: how they are read, and what goes missing in them."""

from __future__ import annotations

import lzma
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from noiseproof.datasets import data_file

TABFSBENCH = "TabFSBench (Cheng et al., ICML 2025)"
MLBENCH = (
    "R's package mlbench (the folder data of CRAN's mlbench_*.tar.gz, or of "
    "usr/lib/R/site-library/mlbench in Debian's r-cran-mlbench)"
)
TARGETS = {
    "abalone": "Age",
    "bike": "count",
    "concrete": "csMPa",
    "laptop": "Price_euros",
    "credit": "class",
    "electricity": "class",
    "heart": "HeartDisease",
    "iris": "Species",
    "eyemovements": "label",
}
QUANTITIES = ("abalone", "bike", "concrete", "laptop", "Ozone")  # not classes
WITH_HOLES = {
    "Soybean": "Class",
    "HouseVotes84": "Class",
    "PimaIndiansDiabetes2": "diabetes",
    "BreastCancer": "Class",
    "Ozone": "V4",
}
_RARE = 3  # a word that is in fewer rows counts as "other"


class Table(NamedTuple):
    """A data frame of floats and categories, with classes from 0 or a quantity."""

    X: Any
    y: Any

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 if the target is a quantity."""
        return int(self.y.max()) + 1 if self.y.dtype.kind == "i" else 0

    @property
    def task(self) -> str:
        """What to predict, as `recommend` calls it."""
        return "classification" if self.n_classes else "regression"


class Divided(NamedTuple):
    """Rows to train on and rows to test on."""

    train: Table
    test: Table


def divided(table: Table, n_train: int, n_test: int, seed: int) -> Divided:
    """Random rows to train on, at most four fifths, and others to test on.

    Each class has its share of both.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table.y))
    if table.n_classes:
        order = order[np.argsort(table.y[order], kind="stable")]
    is_test = np.arange(len(order)) % 5 == rng.integers(5)
    parts = (order[~is_test], n_train), (order[is_test], n_test)
    found = []
    for rows, most in parts:
        n = min(most, len(rows))
        rows = rng.permutation(rows[np.arange(n) * len(rows) // n])
        found.append(Table(table.X.iloc[rows].reset_index(drop=True), table.y[rows]))
    return Divided(*found)


def words(X: Any) -> list[str]:
    """Columns that hold words."""
    return [name for name in X if X[name].dtype == "category"]


def as_table(frame: Any, target: str, is_quantity: bool) -> Table:
    """Numbers as floats, words as categories, rare ones as one."""
    import pandas as pd

    frame = frame[frame[target].notna()].reset_index(drop=True)
    y = frame.pop(target).to_numpy()
    for name in frame:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            frame[name] = column.astype(float)
            continue
        column = column.astype(object)
        counts = column.value_counts()
        rare = column.isin(counts.index[counts < _RARE])
        frame[name] = column.mask(rare, "other").astype(str).where(column.notna())
        frame[name] = frame[name].astype("category")
    if is_quantity:
        return Table(frame, y.astype(float))
    return Table(frame, np.unique(y.astype(str), return_inverse=True)[1])


def read_tabfsbench(name: str) -> Table:
    """A table of TabFSBench; of a time stamp, year, month, day of the week and hour."""
    import pandas as pd

    with lzma.open(
        data_file(f"tabfsbench/{name}.csv.xz", TABFSBENCH), "rt", encoding="utf-8"
    ) as file:
        frame = pd.read_csv(file)
    if "datetime" in frame:
        stamps = pd.to_datetime(frame.pop("datetime"), format="mixed", yearfirst=True)
        for part in ("year", "month", "day_of_week", "hour"):
            frame[part] = getattr(stamps.dt, part)
    return as_table(frame, TARGETS[name], name in QUANTITIES)


def read_mlbench(name: str) -> Table:
    """A table of R's package mlbench; grades count as numbers."""
    if find_spec("rdata") is None:
        raise ModuleNotFoundError(
            f"The data {name} are in R's format; pip install rdata to read them."
        )
    import rdata

    path = data_file(f"mlbench/{name}.rda", MLBENCH)
    frame = rdata.read_rda(path, default_encoding="ascii")[name]
    frame = frame.drop(columns="Id", errors="ignore")
    for column in words(frame):
        if frame[column].cat.ordered:
            codes = frame[column].cat.codes
            frame[column] = codes.where(codes >= 0).astype(float)
    return as_table(frame, WITH_HOLES[name], name in QUANTITIES)


def from_source(source: Any) -> Table:
    """A table of any data: as it is, or of arrays of numbers and classes."""
    import pandas as pd

    if isinstance(source, Table):
        return source
    X, y = (np.concatenate(parts) for parts in (source[::2], source[1::2]))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return Table(frame.astype(float), np.unique(y, return_inverse=True)[1])


def without(X: Any, gone: Any) -> Any:
    """The table without some values: a mask of them, or names of columns."""
    if np.ndim(gone) == 1:
        gone = np.broadcast_to(np.isin(X.columns, gone), X.shape)
    return X.mask(gone)
