"""Values are missing as they are in other rows, such as yesterday's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from noiseproof._rows import Container, density, in_pandas
from noiseproof.noise.missingness import Draw, Mask, Missingness


class MissingLike(Missingness):
    """Make values missing with the patterns of the rows of another table.

    Each row of X gets the pattern of missing values of a row of the other table, drawn
    with replacement. So columns that are missing together in that table are missing
    together in X, whatever the reason. The patterns are independent of the values and
    of the order of X.

    Parameters
    ----------
    rows : array or data frame of shape (m, n_features), default=None
        Rows with missing values (NaN), such as yesterday's batch. Pass a table of True
        (missing) and False (observed), such as `batch.isna()`, if the object should not
        contain the values of the batch. Columns of data frames are matched by name. A
        column of X that `rows` does not have is always missing, and additional columns
        of `rows` are ignored.
    share : float, default=1.0
        Share of the rows of X that get a pattern. The others stay as they are. This is
        the level in a curve.

    See Also
    --------
    Missing : Makes values missing at given rates.

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.noise import MissingLike
    >>> batch = [[1.0, np.nan, np.nan], [3.0, 4.0, 5.0]]
    >>> MissingLike(batch).sample(np.ones((4, 3)), rng=0)
    array([[ 1.,  1.,  1.],
           [ 1.,  1.,  1.],
           [ 1.,  1.,  1.],
           [ 1., nan, nan]])
    """

    level_name = "share"
    _levels = (0, 0.25, 0.5, 0.75, 1)

    def __init__(self, rows: Any = None, share: float = 1.0):
        self.rows = rows
        self.share = share

    @property
    def label(self) -> str:
        return "share of rows with missing values as in the rows given"

    def on(self, features: Sequence[Any], n_rows: float | None = None) -> Self:
        """The noise with patterns for these features in this order."""
        gone = _missing(self.rows)
        place = {name: j for j, name in enumerate(getattr(self.rows, "columns", ()))}
        unnamed = all(str(f) in (str(j), f"x{j}") for j, f in enumerate(features))
        if not place.keys().isdisjoint(features):
            always = np.ones((len(gone), 1), dtype=bool)
            chosen = [place.get(feature, -1) for feature in features]
            gone = np.hstack([gone, always])[:, chosen]
        elif place and not unnamed:
            raise ValueError(
                "MissingLike.rows has none of the columns of X, such as "
                f"{features[0]!r}; use the same names of columns."
            )
        return type(self)(gone, self.share)

    def at(self, level: Any) -> Self:
        """The same patterns for another share of the rows. Patterns are not copied."""
        return type(self)(self.rows, level)

    def mean_share(self, level: float) -> float:
        return level * float(np.mean(_missing(self.rows)))

    def draw(self, rows: Container, rng: np.random.Generator) -> Draw:
        n, d = rows.table_shape
        gone = self.on(range(d)).rows
        none = np.zeros((1, d), dtype=bool)
        patterns, columns = np.vstack([gone, none]), np.arange(d)
        chosen, chances = rng.integers(len(gone), size=n), rng.random(n)

        def at(level: float) -> Mask:
            pick = np.where(chances < level, chosen, len(gone))
            return rows.of_groups(patterns, columns, pick)

        return at

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise an error if the rows do not fit the features."""
        super().check(None, minimum)
        if np.ndim(self.share) or self.share > 1:
            raise ValueError(
                f"MissingLike.share must be in [0, 1]; got {self.share!r}."
            )
        d = _missing(self.rows).shape[1]
        if n_features not in (None, d):
            raise ValueError(
                f"MissingLike.rows has {d} columns and X has {n_features}; pass data "
                "frames with column names, or the same number of columns."
            )


def _missing(rows: Any) -> Mask:
    """Which values of these rows are missing, or an error if this is not a table."""
    if rows is None or density(rows) is not None:
        raise TypeError(
            "MissingLike.rows must be an array or a data frame with missing values; "
            f"got {'None' if rows is None else 'a sparse matrix'}."
        )
    rows = in_pandas(rows)
    if np.ndim(rows) != 2 or not len(rows):
        raise ValueError(
            "MissingLike.rows must be a table of at least one row; got shape "
            f"{np.shape(rows)}."
        )
    if hasattr(rows, "isna") and not rows.dtypes.eq(bool).all():
        return np.asarray(rows.isna(), dtype=bool)
    array = np.asarray(rows)
    if array.dtype == bool:
        return array
    if array.dtype == object:  # a missing value is NaN or None
        return np.array([[x is None or x != x for x in row] for row in array])
    return np.asarray(array != array)
