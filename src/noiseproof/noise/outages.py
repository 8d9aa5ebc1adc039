"""Columns fail for many rows in turn, and come back."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import Array, Container
from noiseproof.noise.missingness import Draw, Mask, RatedMissingness

_BITS = 32  # of a random number


@shared_docs
class Outages(RatedMissingness):
    """Columns, or groups of them, are missing for a number of rows in turn.

    Rows are in the order of time. Each column (or group) is a chain of two states by
    itself: it fails with some probability per row, and returns with probability
    1 / length, so an outage lasts `length` rows on average. The probability to fail is
    rate / (1 - rate) / length; then the share of rows without the column is `rate` from
    the first row on. If the rate is above 1 - 1 / length there is less than one row
    between two outages; then rows are independent, and an outage lasts 1 / (1 - rate)
    rows on average.

    A model that answers row by row has the same mean score whatever the length: it is
    the spread from one draw to the next that grows with it.

    Parameters
    ----------
    rate : float, array of shape (n_features,) or (n_groups,), or dict, default=0.1
        Share of the rows in which a column is missing, in [0, 1], or one for each
        column, as for `Missing`.
    length : float, default=24
        Mean number of rows of an outage, at least 1.
    {groups}

    See Also
    --------
    Missing : Values that are missing one by one.
    noiseproof.evaluation.robustness_curve : Scores models at several rates.

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.noise import Outages
    >>> noise = Outages(0.5, length=4)
    >>> np.isnan(noise.sample(np.ones((20, 2)), rng=0)).T.astype(int)
    array([[0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
           [1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1]])
    """

    def __init__(
        self,
        rate: float | ArrayLike | Any = 0.1,
        length: float = 24,
        groups: Any = None,
    ):
        self.rate = rate
        self.length = length
        self.groups = groups

    @property
    def _how(self) -> str:
        return f", in outages of about {self.length:g} rows"

    @property
    def needs_all_rows(self) -> bool:
        return True

    @property
    def rows_alone(self) -> bool:
        return False

    def draw(self, rows: Container, rng: np.random.Generator) -> Draw:
        n, d = rows.table_shape
        groups = self.group_labels(d)
        labels = np.arange(d) if groups is None else groups
        first = np.unique(labels, return_index=True)[1]
        reached = np.empty((n, len(first)))
        for g in range(len(first)):
            reached[:, g] = _chain(n, self.length, rng)

        def at(level: float) -> Mask:
            rates = np.broadcast_to(self._rates(level), d)[first]
            return rows.of_groups(reached < rates, labels)

        return at

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise one clear sentence if rates, groups and features do not fit."""
        if not (isinstance(self.length, Real) and 1 <= self.length < np.inf):
            raise ValueError(
                "Outages.length must be a number of rows, at least 1; got "
                f"{self.length!r}."
            )
        super().check(n_features, minimum)

    def check_rows(self, rows: Container) -> None:
        super().check_rows(rows)
        d = rows.table_shape[1]
        if rows.shape != rows.table_shape and self.group_labels(d) is None:
            raise ValueError(
                "Outages need a table of rows and columns, or groups of the columns of "
                "a sparse matrix."
            )


def _chain(n: int, length: float, rng: np.random.Generator) -> Array:
    """The rate above which a column is missing in each row, of chains at all rates.

    One random number v per row moves the chains at all rates at once. They are missing
    in the next row if v is below 1 - 1/length where they are missing now, and below
    rate / (1 - rate) / length where they are not; both limits are the rate itself where
    that is above 1 - 1/length. The chains so stay nested, and the lowest rate that is
    missing follows by one rule: it is v itself if v is at least 1 - 1/length; if not,
    the smaller of the lowest rate of the row before and v length / (1 + v length).
    """
    drawn = rng.integers(1 << _BITS, size=n)
    v = drawn / (1 << _BITS)
    anew = v >= 1 - 1 / length
    anew[:1] = True
    lowest = np.where(anew, v, v * length / (1 + v * length))
    # a running minimum that begins anew: each begins below all before; whole numbers
    # keep that exact
    part = np.cumsum(anew) << _BITS
    whole = (lowest * (1 << _BITS)).astype(np.int64) - part
    return (np.minimum.accumulate(whole) + part) / (1 << _BITS)
