"""Numeric codes of the values of a table, and the way back from codes to tables.

A table is a NumPy array or a data frame. Each value has a code: a number is its own
code, a time is counted in microseconds, a text is its index in the list of the texts
seen in training, and a missing value is NaN. For distances and regressions codes are
converted to features: numbers in standard deviations from their mean, and one indicator
for each text of a column.
"""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._private import _safe_indexing
from noiseproof._rows import density
from noiseproof.conditionals.rounding import first_best, rounded

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_TIMES = {"M": "datetime64[us]", "m": "timedelta64[us]"}  # by kind of dtype
# a column with more texts than this, both in number and as a share of the rows, is not
# categorical
_FEW, _MANY = 20, 0.9


def holes(X: Any) -> Mask:
    """Which values of an array or a data frame are missing."""
    if not _is_frame(X):
        return np.asarray(np.isnan(X))
    numbers = _numbers(X)
    if numbers is not None:
        return np.asarray(np.isnan(numbers))
    columns = [_missing(column) for _, column in _columns(X)]
    return np.column_stack(columns) if columns else np.zeros(X.shape, dtype=bool)


def has_words(X: Any) -> bool:
    """Whether some column has values that are not numbers."""
    if not _is_frame(X):
        return bool(np.asarray(X).dtype.kind not in "buif")
    return any(_kind(column) == "words" for _, column in _columns(X))


def warn_of_many_words(name: Any, n_words: int, n_rows: int) -> None:
    """Warn if a text column has nearly as many different texts as rows."""
    if n_words > max(_FEW, _MANY * n_rows):
        warnings.warn(
            f"Column {name!r} has {n_words} different texts in {n_rows} rows; if it is "
            "an identifier of the rows, leave it out; if it holds numbers or dates as "
            "text, convert it first.",
            stacklevel=5,
        )


class Cells:
    """The columns of a training table: names, kinds, texts, means and scales."""

    def __init__(self, X: Any):
        _refuse_sparse(X)
        if _is_frame(X):
            self.names = [str(name) for name, _ in _columns(X)]
            columns = [column for _, column in _columns(X)]
            kinds = [_kind(column) for column in columns]
        else:
            X = _as_array(X)
            columns = list(X.T)
            self.names = [str(j) for j in range(X.shape[1])]
            kinds = ["numbers"] * X.shape[1]
        self.times = [_TIMES.get(kind) for kind in kinds]
        self.words = [
            _distinct(column, name) if kind == "words" else None
            for column, name, kind in zip(columns, self.names, kinds, strict=True)
        ]
        self._measure(self.codes(X))
        sizes = [1 if words is None else len(words) for words in self.words]
        self.owner = np.repeat(np.arange(len(sizes)), sizes)  # column of each feature
        self.firsts = np.cumsum(sizes) - sizes  # first feature of each column
        self.is_number = np.array([words is None for words in self.words])

    def _measure(self, codes: Array) -> None:
        """Compute means, scales and ranges, one column at a time to save memory."""
        measured = np.array([_measured(column) for column in codes.T]).reshape(-1, 5)
        sizes, self.means, scales, self.low, self.high = measured.T
        if not sizes.any():
            raise ValueError(
                "All values of X are missing, so there is nothing to learn from; pass "
                "rows with observed values."
            )
        if not sizes.all():
            never = self.names[int(np.argmin(sizes))]
            raise ValueError(
                f"Column {never} of X is missing in all rows, so its distribution "
                "cannot be learned; remove the column."
            )
        self.scales = np.where(scales > 1e-12 * np.abs(self.means), scales, 1.0)

    def in_units(self, share: float) -> Cells:
        """A copy with other scales, from those of each column (0) to a common one (1).

        Columns with a common unit, such as pixels, are best compared on a common scale:
        a pixel that hardly ever varies should not count as much as the others.
        """
        varies = self.is_number & (self.high > self.low)
        if not varies.any():
            return self
        common = np.sqrt(np.mean(self.scales[varies] ** 2))
        other = copy(self)
        other.scales = self.scales ** (1 - share) * common**share
        return other

    def order(self, of_features: bool = False) -> NDArray[np.intp]:
        """An order of the columns, or of their features, that depends on their values.

        It is the order of their lowest values, highest values and means. Random numbers
        drawn in this order do not depend on the order of the columns in the table.
        """
        means = rounded(self.means.copy(), self.high - self.low)
        order = np.lexsort((means, self.high, self.low))
        if of_features:
            order = np.argsort(np.argsort(order)[self.owner], kind="stable")
        return order

    def chances(self, n: int, rng: np.random.Generator) -> Array:
        """Random numbers between 0 and 1, one for each value of n rows."""
        order = self.order()
        return rng.random((n, len(order)))[:, np.argsort(order)]

    def empty(self, X: Any) -> Mask:
        """Which rows have no usable value: all are missing, or texts never seen."""
        missing = holes(X)
        if not self.is_number.all():
            rows = np.flatnonzero(missing[:, self.is_number].all(axis=1))
            some = _safe_indexing(X, rows)
            missing[rows] = np.isnan(self.codes(some, warn=False))
        return np.asarray(missing.all(axis=1))

    def codes(self, X: Any, warn: bool = True) -> Array:
        """The codes of a table. For an array of floats these are its values."""
        _refuse_sparse(X)
        if not _is_frame(X):
            X = _as_array(X)
            self._check_width(X.shape[1], None)
            if np.isinf(X).any():
                raise ValueError(
                    "X holds an infinite value; use NaN for missing values."
                )
            return X
        names = [str(name) for name in X.columns]
        self._check_width(len(names), names)
        numbers = _numbers(X) if self._only_numbers else None
        if numbers is not None and not np.isinf(numbers).any():
            return numbers
        codes = np.empty((len(X), len(names)))
        for j, (name, column) in enumerate(_columns(X)):
            words = self.words[j]
            if words is None:
                codes[:, j] = _as_numbers(column, name, self.times[j])
            else:
                codes[:, j] = _places(column, words, name, warn)
        return codes

    @property
    def _only_numbers(self) -> bool:
        return not any(self.times) and all(words is None for words in self.words)

    def changed(self, X: Any) -> tuple[str, str, str] | None:
        """Find a column that now has another kind of values than in training.

        That is numbers or times instead of texts, or times instead of numbers. Returns
        its name, the kind in training and the kind now, or None if there is no such
        column.
        """
        pairs = list(_columns(X)) if _is_frame(X) else []
        for (name, column), words, unit in zip(
            pairs, self.words, self.times, strict=False
        ):
            held = "text" if words is not None else "numbers" if unit is None else None
            kind = _kind(column)
            now = "times" if kind in _TIMES else kind
            if held is not None and now not in ("words", held):
                return str(name), held, now
        return None

    def features(self, codes: Array) -> tuple[Array, Mask]:
        """Features of the codes, zero for missing values, and which are observed."""
        observed = ~np.isnan(codes)
        Z = codes - self.means
        Z /= self.scales
        Z[~observed] = 0.0
        if self.is_number.all():
            return Z, observed
        wide = Z[:, self.owner]
        for j in np.flatnonzero(~self.is_number):
            own = self.owner == j
            wide[:, own] = codes[:, [j]] == np.arange(own.sum())
        return wide, observed[:, self.owner]

    def from_features(self, Z: Array) -> Array:
        """Codes nearest to given features: of a word the one with the largest."""
        codes = Z[..., self.firsts] * self.scales + self.means
        for j in np.flatnonzero(~self.is_number):
            codes[..., j] = Z[..., self.owner == j].argmax(axis=-1)
        return codes

    def mean(self, codes: Array, weights: Array) -> Array:
        """Weighted means of codes (n, k, d); for texts the one of the most weight."""
        mean = np.einsum("nk,nkj->nj", weights, codes)
        for j in np.flatnonzero(~self.is_number):
            votes = np.zeros((len(codes), np.sum(self.owner == j)))
            places = codes[..., j].astype(np.intp)
            np.add.at(votes, (np.arange(len(codes))[:, None], places), weights)
            mean[:, j] = first_best(-votes)
        return mean

    def table(self, codes: Array, like: Any, rows: Any = None) -> Any:
        """Convert codes to a table like `like`, with the index labels of `rows`."""
        if not _is_frame(like):
            return codes.astype(_as_array(like).dtype, copy=False)
        if self._only_numbers and _numbers(like) is not None:
            index = None if rows is None else like.index[rows]
            return type(like)(codes, index=index, columns=like.columns)
        filled, dtypes = {}, {}
        for j, (_, column) in enumerate(_columns(like)):
            words, unit, values = self.words[j], self.times[j], codes[:, j]
            if words is not None:
                missing = np.isnan(values)
                values = words[np.where(missing, 0, values).astype(np.intp)]
                values[missing] = None
                true = all(isinstance(word, bool | np.bool_) for word in words)
                if true and not missing.any():
                    values = values.astype(bool)
            elif unit is not None:
                values = np.nan_to_num(values, nan=-(2.0**63))  # NaT
                values = values.astype(np.int64).view(unit)
            filled[str(j)] = values
            if str(column.dtype) == "category" or _zone(column) is not None:
                dtypes[str(j)] = column.dtype
        frame = _cast(type(like)(filled), dtypes)
        frame.columns = like.columns
        if rows is not None and hasattr(like, "index"):
            frame.index = like.index[rows]
        return frame

    def _check_width(self, width: int, names: list[str] | None) -> None:
        if width != len(self.names):
            raise ValueError(
                f"X has {width} columns, but it had {len(self.names)} in training; "
                "pass the same columns."
            )
        if names is not None and names != self.names:
            new = next(a for a, b in zip(names, self.names, strict=True) if a != b)
            raise ValueError(
                f"Column {new} of X is not at the same position as in training; pass "
                f"the columns {', '.join(self.names[:3])}, ... in that order."
            )


def _measured(column: Array) -> list[float]:
    """Number, mean, standard deviation, minimum and maximum of the observed values."""
    x = column[~np.isnan(column)].astype(np.float64)
    return [len(x), x.mean(), x.std(), x.min(), x.max()] if len(x) else [0.0] * 5


def _refuse_sparse(X: Any) -> None:
    if density(X) is not None:
        raise TypeError(
            "X must not be a sparse matrix, since all values of a row are compared, "
            "zeros included; pass X.toarray() if it fits into memory."
        )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def _as_array(X: Any) -> Array:
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions; got {X.ndim}.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _columns(frame: Any) -> Any:
    """Names and columns of a pandas or polars frame."""
    if hasattr(frame, "items"):
        return frame.items()
    return zip(frame.columns, frame.iter_columns(), strict=True)


def _numbers(frame: Any) -> Array | None:
    """The values of a pandas frame of NumPy's numbers; None for any other frame.

    Reading one column after another takes longer than a prediction for a single row.
    """
    for dtype in frame.dtypes:
        if not (isinstance(dtype, np.dtype) and dtype.kind in "uif"):
            return None
    values: Array = frame.to_numpy(dtype=np.float64)
    return values


def _missing(column: Any) -> Mask:
    if hasattr(column, "isna"):
        return np.asarray(column.isna(), dtype=bool)
    missing = np.asarray(column.is_null(), dtype=bool)
    values = np.asarray(column)
    return missing | np.isnan(values) if values.dtype.kind == "f" else missing


def _kind(column: Any) -> str:
    """Kind of a column: "numbers", "words", "M" (dates) or "m" (durations)."""
    if hasattr(column, "infer_objects"):  # an object column may have numbers only
        column = column.infer_objects()
    kind = getattr(column.dtype, "kind", None)
    if kind is None:  # polars
        kind = np.asarray(column.drop_nulls()).dtype.kind
    if kind in _TIMES:
        return str(kind)
    numbers = kind in "uif" and str(column.dtype) != "category"
    return "numbers" if numbers else "words"


def _zone(column: Any) -> Any:
    """The time zone of a column of pandas or polars."""
    return getattr(column.dtype, "tz", getattr(column.dtype, "time_zone", None))


def _cast(frame: Any, dtypes: dict[str, Any]) -> Any:
    """Convert some columns of a frame to other types. Times are in UTC."""
    if not dtypes or hasattr(frame, "cast"):  # polars
        return frame.cast(dtypes) if dtypes else frame
    for name in dtypes:
        if frame[name].dtype.kind == "M":
            frame[name] = frame[name].dt.tz_localize("UTC")
    return frame.astype(dtypes)


def _as_numbers(column: Any, name: Any, unit: str | None) -> Array:
    missing = _missing(column)
    values = np.zeros(len(missing))
    try:
        if unit is None:
            present = np.asarray(column)[~missing]
        else:
            present = np.asarray(column, dtype=unit)[~missing].view(np.int64)
        values[~missing] = present.astype(np.float64)
    except (TypeError, ValueError) as error:
        cells = np.asarray(column, dtype=object)[~missing].tolist()
        odd = next(cell for cell in cells if not _is_readable(cell, unit))
        kind = "numbers" if unit is None else "times"
        raise ValueError(
            f"Column {name} of X held {kind} in training, but now it holds "
            f"{odd!r}; pass {kind} or missing values."
        ) from error
    if not np.isfinite(values).all():
        raise ValueError(
            f"Column {name} of X holds an infinite value; use NaN for missing values."
        )
    values[missing] = np.nan
    return values


def _is_readable(cell: Any, unit: str | None) -> bool:
    try:
        np.array([cell]).astype(np.float64 if unit is None else unit)
    except (TypeError, ValueError):
        return False
    return True


def _distinct(column: Any, name: str) -> Array:
    """The texts of a column, in an order that does not depend on that of the rows."""
    values = np.asarray(column, dtype=object)[~_missing(column)]
    words = sorted(set(values.tolist()), key=lambda word: (type(word).__name__, word))
    warn_of_many_words(name, len(words), len(column))
    return np.array([*words, None], dtype=object)[:-1]


def _places(column: Any, words: Array, name: Any, warn: bool) -> Array:
    """Indices of texts in the list. Unknown texts become NaN, with a warning."""
    place = {word: float(i) for i, word in enumerate(words.tolist())}
    which, values = _factorized(column)
    new = next((value for value in values if value not in place), None)
    if warn and new is not None:
        warnings.warn(
            f"Column {name} of X holds {new!r}, which did not occur in training; such "
            "values are treated as missing.",
            stacklevel=4,
        )
    return np.array([place.get(value, np.nan) for value in values] + [np.nan])[which]


def _factorized(column: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Index of each value in a list of values, and the list; -1 for a missing value."""
    if hasattr(column, "factorize"):  # pandas compares the values in a compiled loop
        which, values = column.factorize()
        return which, np.asarray(values, dtype=object).tolist()
    missing = _missing(column)
    values = np.asarray(column, dtype=object)[~missing].tolist()
    which = np.full(len(missing), -1)
    which[~missing] = np.arange(len(values))
    return which, values
