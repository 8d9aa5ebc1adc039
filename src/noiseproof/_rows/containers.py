"""Delete entries of X, which may be dense, sparse or a data frame.

A perturbation decides which entries to delete. The container decides what they become:
zero, NaN, or the mean of their column, as an imputer would do. The model gets the same
kind of container: a sparse matrix stays sparse, and a frame keeps its names and, where
possible, its dtypes. A dense copy is made once and overwritten by every draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from noiseproof._rows.matrices import canonical, stack

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Column = tuple[Numbers, bool]  # numbers that order the values; whether they are strings
Span = tuple[Numbers, Numbers]

_FILLS = ("zero", "nan", "mean")
_NUMBERS = "buif"  # kinds of dtypes
_ENTRIES = 2**18  # entries of a sparse matrix that are ranked at a time


class Container:
    """Rows of one storage; `shape` is that of the entries which may be deleted."""

    shape: tuple[int, ...]

    @property
    def table_shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.shape[0], self.shape[-1]

    @property
    def features(self) -> Any:
        """The feature of each entry, as an index into arrays of features."""
        return slice(None)

    def column(self, j: int) -> Column:
        """Return numbers that order the values of a column, NaN where they are missing.

        The second result tells whether the values are strings, which are ordered
        alphabetically.
        """
        raise NotImplementedError

    def columns(self) -> Iterator[Column]:
        """Iterate over all columns."""
        return (self.column(j) for j in range(self.table_shape[1]))

    def spans(self, by: int | None = None) -> Iterator[tuple[Any, Numbers, Numbers]]:
        """Yield relative ranks of entries in their columns, or of rows in column `by`.

        Each item is an index of some entries, and the lower and upper ends of their
        ranks as fractions from 0 to 1. Equal values share a range; the ranges of a
        column fill [0, 1] without overlap. A missing value may have any rank, so its
        range is [0, 1].
        """
        shared = None if by is None else _span(self.column(by)[0])
        for j in range(self.table_shape[1]):
            yield (slice(None), j), *(shared or _span(self.column(j)[0]))

    def standing(self, labels: NDArray[np.intp]) -> Numbers:
        """Return the mean relative rank of a row's values in each group of columns."""
        total = np.zeros((self.table_shape[0], int(labels.max(initial=-1)) + 1))
        there = np.zeros(total.shape, dtype=np.int32)
        for (values, _), group in zip(self.columns(), labels, strict=True):
            known = values == values
            total[:, group] += np.where(known, np.add(*_span(values)) / 2, 0.0)
            there[:, group] += known
        return np.where(there > 0, total / np.maximum(there, 1), np.nan)

    def present(self) -> Mask:
        """Mark the entries that are neither zero nor missing."""
        raise NotImplementedError

    def starts(self) -> NDArray[Any]:
        """Return where each row starts among all entries, and where the last ends."""
        return np.arange(self.shape[0] + 1) * int(np.prod(self.shape[1:]))

    def of_columns(self, columns: NDArray[Any]) -> Mask:
        """Mark the entries of these columns."""
        mask = np.zeros(self.shape, dtype=bool)
        mask[:, columns] = True
        return mask

    def of_groups(self, gone: Mask, labels: NDArray[np.intp], pick: Any = None) -> Mask:
        """Mark the entries whose row has lost their group.

        `gone` has one pattern per row. If `pick` is given, `gone` is a list of patterns
        instead, and `pick` holds the index of each row's pattern.
        """
        return gone[:, labels] if pick is None else gone[pick[:, None], labels]

    def without(self, deleted: Mask) -> Any:
        """Return X without the marked entries; the next call overwrites the result."""
        raise NotImplementedError

    def numbers(self) -> Any:
        """Return X as a numeric array or CSR matrix."""
        raise NotImplementedError

    def like(self, X: Any) -> Any:
        """Put other numbers into the container of X."""
        return X

    def fork(self) -> Container:
        """Return the same X for another worker, with a buffer of its own."""
        return self


def contain(X: Any, deleted_as: str) -> Container:
    """Return the container for X, or raise an error.

    Deleted entries of a sparse matrix are no longer stored, whatever `deleted_as` is.
    Deleted strings become None instead of zero, and the most frequent string of their
    column instead of its mean.
    """
    if deleted_as not in _FILLS:
        raise ValueError(f"deleted_as must be 'zero' or 'nan'; got {deleted_as!r}.")
    if sp.issparse(X):
        return _Sparse(X)
    X = in_pandas(X)
    if hasattr(X, "columns"):
        return (_Mixed if _is_mixed(X) else _Frame)(X, deleted_as)
    return _Dense(np.asarray(X), deleted_as)


def in_pandas(X: Any) -> Any:
    """Convert a polars frame to pandas if it has strings or times; return others as is.

    Pipelines find columns by name in either. NumPy cannot hold numbers, strings and
    times in one array.
    """
    if not hasattr(X, "to_pandas"):
        return X
    times = any(dtype.is_temporal() for dtype in getattr(X, "dtypes", ()))
    return X.to_pandas() if times or np.asarray(X).dtype == object else X


def _is_mixed(frame: Any) -> bool:
    """Return whether a frame is a pandas frame that is not one plain numeric array."""
    if not hasattr(frame, "iloc"):
        return False
    kinds = set(frame.dtypes)
    return len(kinds) > 1 or not (
        isinstance(kind := kinds.pop(), np.dtype) and kind.kind in _NUMBERS
    )


class _Dense(Container):
    def __init__(self, X: NDArray[Any], deleted_as: str):
        if X.ndim < 2 or X.dtype.kind not in _NUMBERS:
            raise ValueError(
                "X must be a numeric array with a row per sample; got "
                f"{X.ndim} dimension{'s' * (X.ndim != 1)} of dtype {X.dtype}."
            )
        self.X, self.deleted_as, self.shape = X, deleted_as, X.shape
        self._buffer: NDArray[Any] | None = None
        self._fill = _means(X) if deleted_as == "mean" else np.nan

    def column(self, j: int) -> Column:
        if self.X.ndim > 2:
            raise ValueError(
                f"X must be a table of rows and columns; got {self.X.ndim} dimensions."
            )
        return self.X[:, j].astype(np.float64), False

    def present(self) -> Mask:
        return (self.X != 0) & (self.X == self.X)

    def without(self, deleted: Mask) -> Any:
        if self._buffer is None:
            floats = self.deleted_as != "zero" and self.X.dtype.kind != "f"
            self._buffer = np.empty_like(self.X, dtype=np.float64 if floats else None)
        if self.deleted_as == "zero":  # 5 times faster than copying and overwriting
            return np.multiply(self.X, ~deleted, out=self._buffer)
        np.copyto(self._buffer, self.X)
        np.copyto(self._buffer, self._fill, where=deleted)
        return self._buffer

    def numbers(self) -> Any:
        return self.X

    def fork(self) -> Container:
        return type(self)(self.X, self.deleted_as)


class _Frame(_Dense):
    """A frame of one numeric dtype: handled as an array, with names put back on."""

    def __init__(self, frame: Any, deleted_as: str):
        super().__init__(np.asarray(frame), deleted_as)
        self.frame = frame

    def without(self, deleted: Mask) -> Any:
        return self.like(super().without(deleted))

    def like(self, X: Any) -> Any:
        if hasattr(self.frame, "iloc"):
            names = {"index": self.frame.index, "columns": self.frame.columns}
            return type(self.frame)(X, **names, copy=False)
        return type(self.frame)(X, schema=list(self.frame.columns))

    def fork(self) -> Container:
        return type(self)(self.frame, self.deleted_as)


class _Mixed(Container):
    """A pandas frame whose columns differ in dtype, and may hold strings."""

    def __init__(self, frame: Any, deleted_as: str):
        if deleted_as == "mean":  # the mean of integers may be a fraction
            whole = [n for n, dtype in frame.dtypes.items() if dtype.kind in "iub"]
            frame = frame.astype(dict.fromkeys(whole, float))
        self.frame, self.shape = frame, frame.shape
        self._fills = [_fill(column, deleted_as) for _, column in frame.items()]

    def column(self, j: int) -> Column:
        return _ordered(self.frame.iloc[:, j])

    def present(self) -> Mask:
        return self.frame.notna().to_numpy() & (self.frame != 0).to_numpy(bool)

    def without(self, deleted: Mask) -> Any:
        parts = zip(self.frame.items(), self._fills, deleted.T, strict=True)
        after = {i: c.mask(gone, fill) for i, ((_, c), fill, gone) in enumerate(parts)}
        found = type(self.frame)(after)
        found.columns = self.frame.columns
        return found

    def numbers(self) -> Any:
        return self.frame.to_numpy(dtype=np.float64)

    def like(self, X: Any) -> Any:
        names = {"index": self.frame.index, "columns": self.frame.columns}
        return type(self.frame)(X, **names)


def _ordered(column: Any) -> Column:
    """Implement `Container.column` for a column of pandas."""
    if column.dtype.kind in _NUMBERS:
        return column.to_numpy(np.float64, na_value=np.nan), False
    if column.dtype == object:  # it may hold numbers among strings
        column = column.map(str, na_action="ignore")
    words = column.dtype.kind not in "mM"  # dates are numbers, too
    return column.rank(method="dense").to_numpy(np.float64), words


def _span(values: Numbers) -> Span:
    """Return the lower and upper ends of the relative rank of each value.

    Ranks are fractions of the number of known values. Equal values share a range; that
    of a missing value is [0, 1].
    """
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    known = distinct == distinct
    upto = np.append(0, np.cumsum(counts * known)) / max(1, counts[known].sum())
    low, high = np.where(known, upto[:-1], 0.0), np.where(known, upto[1:], 1.0)
    return low[place], high[place]


def _means(X: NDArray[Any]) -> NDArray[np.float64]:
    """Compute the means of the known values by column; zero if there are none."""
    there = X == X
    total = np.where(there, X, 0).sum(axis=0, dtype=np.float64)
    return np.asarray(total / np.maximum(there.sum(axis=0), 1))


def _fill(column: Any, deleted_as: str) -> Any:
    """Return what deleted values of a column of pandas become."""
    if deleted_as == "nan":
        return np.nan
    if column.dtype.kind in _NUMBERS:
        return column.dtype.type(0) if deleted_as == "zero" else column.mean()
    if deleted_as == "zero":
        return None
    common = column.mode()
    return common.iloc[0] if len(common) else None


class _Sparse(Container):
    """A CSR matrix, from which a deletion drops stored entries."""

    def __init__(self, X: Any):
        rows = canonical(X)
        if np.any(rows.data == 0):
            rows = rows.copy()
            rows.eliminate_zeros()
        self.X, self.shape = rows, rows.data.shape
        self._buffers: tuple[NDArray[Any], NDArray[Any]] | None = None

    @property
    def table_shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    @property
    def features(self) -> Any:
        return self.X.indices

    def column(self, j: int) -> Column:
        return self.X[:, [j]].toarray().ravel().astype(np.float64), False

    def columns(self) -> Iterator[Column]:
        by_column = self.X.tocsc()
        for j in range(self.X.shape[1]):
            yield by_column[:, [j]].toarray().ravel().astype(np.float64), False

    def spans(self, by: int | None = None) -> Iterator[tuple[Any, Numbers, Numbers]]:
        n, ends = self.X.nnz, self.X.indptr
        if by is None:
            order = np.argsort(self.X.indices, kind="stable")
            ends = np.cumsum(np.bincount(self.X.indices, minlength=self.X.shape[1]))
        else:
            low, high = _span(self.column(by)[0])
        new = np.flatnonzero(np.diff(ends // _ENTRIES))  # whole columns, or whole rows
        for begin, end in pairwise(np.unique([0, *ends[new], n]).tolist()):
            if by is None:
                yield order[begin:end], *self._own_spans(order[begin:end])
            else:
                row = np.searchsorted(ends, np.arange(begin, end), side="right") - 1
                yield slice(begin, end), low[row], high[row]

    def _own_spans(self, entries: NDArray[np.intp]) -> Span:
        """Return the spans of the stored entries of some columns, counting zeros."""
        column, x = self.X.indices[entries], self.X.data[entries]
        column = column - column.min(initial=0)
        order = np.lexsort((x, column))
        by_column, by_value = column[order], x[order]
        new = np.diff(by_column, prepend=-1) != 0
        new[1:] |= by_value[1:] != by_value[:-1]
        first = np.flatnonzero(new)
        run, size = np.cumsum(new) - 1, np.diff(first, append=len(x))
        stored = np.bincount(column)
        begin = (np.cumsum(stored) - stored)[by_column]
        zeros = np.where(by_value > 0, (self.X.shape[0] - stored)[by_column], 0)
        low = first[run] - begin + zeros
        gone = np.bincount(column, weights=x != x)[by_column]
        there = np.maximum(self.X.shape[0] - gone, 1)
        known = by_value == by_value
        found = np.empty((2, len(x)))
        found[0, order] = np.where(known, low / there, 0.0)
        found[1, order] = np.where(known, (low + size[run]) / there, 1.0)
        return found[0], found[1]

    def _rows(self) -> NDArray[np.intp]:
        """Return the row of each stored entry."""
        return np.repeat(np.arange(self.X.shape[0]), np.diff(self.X.indptr))

    def present(self) -> Mask:
        return self.X.data == self.X.data

    def starts(self) -> NDArray[Any]:
        return self.X.indptr

    def of_columns(self, columns: NDArray[Any]) -> Mask:
        return np.isin(self.X.indices, columns)

    def of_groups(self, gone: Mask, labels: NDArray[np.intp], pick: Any = None) -> Mask:
        row = self._rows() if pick is None else pick[self._rows()]
        return np.asarray(gone[row, labels[self.X.indices]])

    def without(self, deleted: Mask) -> Any:
        X, kept = self.X, np.flatnonzero(~deleted)
        if self._buffers is None:
            self._buffers = np.empty_like(X.data), np.empty_like(X.indices)
        data, indices = (buffer[: len(kept)] for buffer in self._buffers)
        X.data.take(kept, out=data, mode="clip")  # this mode needs no temporary copy
        X.indices.take(kept, out=indices, mode="clip")
        ends = np.searchsorted(kept, X.indptr).astype(X.indptr.dtype)
        return type(X)((data, indices, ends), shape=X.shape)

    def numbers(self) -> Any:
        return self.X

    def fork(self) -> Container:
        return _Sparse(self.X)


def n_missing(X: Any) -> int:
    """Count missing values, one column at a time to save memory."""
    if sp.issparse(X):
        return int(np.count_nonzero(X.data != X.data))
    if hasattr(X, "iloc"):
        return int(sum(column.isna().sum() for _, column in X.items()))
    if hasattr(X, "null_count"):  # polars, where NaN is not null
        nans = (c.is_nan().sum() for c in X.iter_columns() if c.dtype.is_float())
        return sum(c.null_count() for c in X.iter_columns()) + sum(n or 0 for n in nans)
    return sum(int(np.count_nonzero(column != column)) for column in np.asarray(X).T)


def stacked(tables: list[Any]) -> Any:
    """Stack tables that one container has returned: arrays, CSR matrices or frames."""
    if hasattr(tables[0], "iloc"):
        import pandas as pd

        return pd.concat(tables, ignore_index=True)
    if hasattr(tables[0], "vstack"):  # polars
        return reduce(lambda above, below: above.vstack(below), tables)
    return stack(tables)
