"""Tables as numbers: what conditionals compare, and the way back to rows.

A table is a NumPy array or a data frame. Its cells become codes: a number is its own
code, a word is its place in the list of the words seen, and NaN is a hole. For
distances and regressions codes become features: numbers in standard deviations from
their mean, and one indicator for each word of a column.
"""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noiseproof._rows import density

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_NUMBERS, _TIMES = "uif", "mM"  # kinds of dtypes
_ROWS = 2048  # in a block


def holes(X: Any) -> Mask:
    """Which cells of an array or a data frame are missing."""
    if not _is_frame(X):
        return np.asarray(np.isnan(X))
    columns = [_missing(column) for _, column in _columns(X)]
    return np.column_stack(columns) if columns else np.zeros(X.shape, dtype=bool)


def has_words(X: Any) -> bool:
    """Whether a column holds anything but numbers."""
    if not _is_frame(X):
        return bool(np.asarray(X).dtype.kind not in "buif")
    return any(_kind(column) == "words" for _, column in _columns(X))


class Cells:
    """The columns of a training table: names, kinds, words, means and scales.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The table.
    """

    def __init__(self, X: Any):
        _refuse_sparse(X)
        if _is_frame(X):
            pairs = list(_columns(X))
            self.names = [str(name) for name, _ in pairs]
            self.words = [
                _distinct(column) if _kind(column) == "words" else None
                for _, column in pairs
            ]
            self.times = [_unit(column) for _, column in pairs]
        else:
            X = _as_array(X)
            self.names = [f"{j}" for j in range(X.shape[1])]
            self.words = [None] * X.shape[1]
            self.times = [None] * X.shape[1]
        self._measure(self.codes(X))
        sizes = [1 if words is None else len(words) for words in self.words]
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.is_number = np.array([words is None for words in self.words])

    def _measure(self, codes: Array) -> None:
        """Means, scales and ranges, in blocks: a second copy might be large."""
        blocks = [codes[start : start + _ROWS] for start in range(0, len(codes), _ROWS)]
        counts = np.sum([(~np.isnan(block)).sum(axis=0) for block in blocks], axis=0)
        if not counts.any():
            raise ValueError(
                "Every cell of X is missing: there is nothing to learn from; pass rows "
                "with observed cells."
            )
        if not counts.all():
            never = self.names[int(np.argmin(counts))]
            raise ValueError(
                f"Column {never} of X has no value in any row, so nothing can be said "
                "about its missing cells; remove the column."
            )
        sums = [np.nansum(block, axis=0, dtype=np.float64) for block in blocks]
        self.means = np.sum(sums, axis=0) / counts
        squares = [np.nansum((block - self.means) ** 2, axis=0) for block in blocks]
        scales = np.sqrt(np.sum(squares, axis=0) / counts)
        self.scales = np.where(scales > 1e-12 * np.abs(self.means), scales, 1.0)
        self.low = np.fmin.reduce([np.fmin.reduce(block) for block in blocks])
        self.high = np.fmax.reduce([np.fmax.reduce(block) for block in blocks])

    def in_units(self, share: float) -> Cells:
        """The same, with scales between own ones (0) and a common one (1).

        Columns in one unit, such as pixels, are best compared as they are: a pixel that
        hardly ever varies should not count as much as the others.
        """
        varies = self.is_number & (self.high > self.low)
        if not varies.any():
            return self
        common = np.sqrt(np.mean(self.scales[varies] ** 2))
        other = copy(self)
        other.scales = self.scales ** (1 - share) * common**share
        return other

    def codes(self, X: Any) -> Array:
        """One number for each cell; an array of floats is its own codes."""
        _refuse_sparse(X)
        if not _is_frame(X):
            X = _as_array(X)
            self._check_width(X.shape[1], None)
            if np.isinf(X).any():
                raise ValueError(
                    "X holds an infinite value; use NaN for missing cells."
                )
            return X
        pairs = list(_columns(X))
        self._check_width(len(pairs), [str(name) for name, _ in pairs])
        codes = np.empty((len(X), len(pairs)))
        for j, (name, column) in enumerate(pairs):
            words = self.words[j]
            if words is None:
                codes[:, j] = _as_numbers(column, name, self.times[j])
            else:
                codes[:, j] = _places(column, words, name)
        return codes

    def features(self, codes: Array) -> tuple[Array, Mask]:
        """Features of the codes, zero where a cell is missing, and which are there."""
        observed = ~np.isnan(codes)
        Z = (codes - self.means) / self.scales
        Z[~observed] = 0.0
        if self.is_number.all():
            return Z, observed
        return self._with_indicators(codes, Z, observed)

    def _with_indicators(
        self, codes: Array, Z: Array, observed: Mask
    ) -> tuple[Array, Mask]:
        wide = np.zeros((len(codes), len(self.owner)))
        starts = np.searchsorted(self.owner, np.arange(codes.shape[1]))
        wide[:, starts[self.is_number]] = Z[:, self.is_number]
        for j in np.flatnonzero(~self.is_number):
            rows = np.flatnonzero(observed[:, j])
            wide[rows, starts[j] + codes[rows, j].astype(np.intp)] = 1.0
        return wide, observed[:, self.owner]

    def from_features(self, Z: Array) -> Array:
        """Codes nearest to given features: of a word the one with the largest."""
        starts = np.searchsorted(self.owner, np.arange(len(self.names)))
        codes = Z[..., starts] * self.scales + self.means
        for j in np.flatnonzero(~self.is_number):
            codes[..., j] = Z[..., self.owner == j].argmax(axis=-1)
        return codes

    def table(self, codes: Array, like: Any) -> Any:
        """Rows of codes as a table of the kind that `like` is."""
        if not _is_frame(like):
            return codes.astype(_as_array(like).dtype, copy=False)
        filled, kept = {}, {}
        for j, (name, column) in enumerate(_columns(like)):
            words, unit = self.words[j], self.times[j]
            if words is not None:
                values = words[codes[:, j].astype(np.intp)]
                truth = all(isinstance(word, bool | np.bool_) for word in words)
                filled[name] = values.astype(bool) if truth else values
                if str(column.dtype) == "category":
                    kept[name] = column.dtype
            elif unit is not None:
                filled[name] = codes[:, j].astype(np.int64).view(unit)
            else:
                filled[name] = codes[:, j]
        frame = type(like)(filled)
        for name, column in _columns(like):
            zone = getattr(column.dtype, "tz", None)
            if zone is not None:
                frame[name] = frame[name].dt.tz_localize("UTC").dt.tz_convert(zone)
        return frame.astype(kept) if kept else frame

    def _check_width(self, width: int, names: list[str] | None) -> None:
        if width != len(self.names):
            raise ValueError(
                f"X has {width} columns, but the training rows had {len(self.names)}; "
                "pass the same columns."
            )
        if names is not None and names != self.names:
            new = next(a for a, b in zip(names, self.names, strict=True) if a != b)
            raise ValueError(
                f"Column {new} of X is not where the training rows had it; pass the "
                f"columns {', '.join(self.names[:3])}, ... in that order."
            )


def _refuse_sparse(X: Any) -> None:
    if density(X) is not None:
        raise TypeError(
            "X is a sparse matrix, and rows are compared cell by cell, zeros included; "
            "pass X.toarray() if it fits in memory."
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


def _missing(column: Any) -> Mask:
    if hasattr(column, "isna"):
        return np.asarray(column.isna(), dtype=bool)
    missing = np.asarray(column.is_null(), dtype=bool)
    values = np.asarray(column)
    return missing | np.isnan(values) if values.dtype.kind == "f" else missing


def _kind(column: Any) -> str:
    """Whether a column holds numbers, times or words."""
    kind = getattr(column.dtype, "kind", None)
    if kind is None:  # polars
        kind = np.asarray(column.drop_nulls()).dtype.kind
    if str(column.dtype) == "category":
        return "words"
    return "numbers" if kind in _NUMBERS else "times" if kind in _TIMES else "words"


def _unit(column: Any) -> str | None:
    """The dtype in which times are counted, if a column holds times."""
    if _kind(column) != "times":
        return None
    return "datetime64[us]" if _plain(column).dtype.kind == "M" else "timedelta64[us]"


def _plain(column: Any) -> Array:
    """A column as an array; times that know their zone are those of UTC."""
    zoned = getattr(column.dtype, "tz", None) is not None
    return np.asarray(column.dt.tz_convert(None) if zoned else column)


def _as_numbers(column: Any, name: Any, unit: str | None) -> Array:
    missing = _missing(column)
    values = np.zeros(len(missing))
    try:
        present = _plain(column)[~missing]
        if unit is not None:
            present = present.astype(unit).view(np.int64)
        values[~missing] = present.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {name} of X held numbers in training, but now it holds "
            f"{np.asarray(column)[~missing][0]!r}; pass numbers or missing cells."
        ) from error
    if not np.isfinite(values).all():
        raise ValueError(
            f"Column {name} of X holds an infinite value; use NaN for missing cells."
        )
    values[missing] = np.nan
    return values


def _distinct(column: Any) -> Array:
    """The words of a column, in an order that does not depend on that of the rows."""
    values = np.asarray(column, dtype=object)[~_missing(column)]
    words = sorted(set(values.tolist()), key=lambda word: (type(word).__name__, word))
    return np.array([*words, None], dtype=object)[:-1]


def _places(column: Any, words: Array, name: Any) -> Array:
    """Places of words in the list; one that is not there is a hole, with a warning."""
    missing = _missing(column)
    place = {word: float(i) for i, word in enumerate(words.tolist())}
    values = np.asarray(column, dtype=object)[~missing].tolist()
    new = next((value for value in values if value not in place), None)
    if new is not None:
        warnings.warn(
            f"Column {name} of X holds {new!r}, which no training row had: no row "
            "resembles it, so such cells count as missing.",
            stacklevel=4,
        )
    codes = np.full(len(missing), np.nan)
    codes[~missing] = [place.get(value, np.nan) for value in values]
    return codes
