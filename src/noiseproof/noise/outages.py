"""Columns are missing for many consecutive rows, and come back."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noiseproof._docs import shared_docs
from noiseproof._rows import Array, Container
from noiseproof.noise.missingness import Draw, Mask, RatedMissingness

_BITS = 32  # bits of a random number


@shared_docs
class Outages(RatedMissingness):
    """Make columns, or groups of columns, missing for many consecutive rows.

    Rows are in the order of time. Each column (or group) is an independent Markov chain
    with two states, working and failed. From one row to the next a failed column
    returns with probability 1 / length, so an outage lasts `length` rows on average. A
    working column fails with probability rate / (1 - rate) / length, so the share of
    rows in which the column is missing is `rate`, from the first row on. A rate above
    1 - 1 / length would leave less than one row between two outages. Rows are then
    independent, and an outage lasts 1 / (1 - rate) rows on average.

    For a model that predicts each row by itself, the mean score does not depend on the
    length of outages, but its spread over repeated draws grows with the length.

    Parameters
    ----------
    rate : float, array of shape (n_features,) or (n_groups,), or dict, default=0.1
        Share of the rows in which a column is missing, in [0, 1]. There may be several
        rates, as for `Missing`.
    length : float, default=24
        Mean number of rows of an outage, at least 1.
    {groups}

    See Also
    --------
    Missing : Makes single values missing.
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
        """Raise an error if the rates, groups and features do not fit together."""
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
                "Outages need an array or a data frame with two dimensions; for a "
                "sparse matrix pass groups of its columns."
            )


def _chain(n: int, length: float, rng: np.random.Generator) -> Array:
    """The rate above which a column is missing in each row, for chains at all rates.

    One random number v for each row drives the chains at all rates. A chain that is
    missing now is missing in the next row if v is below 1 - 1/length. A chain that is
    not missing now is missing in the next row if v is below rate / (1 - rate) / length.
    If the rate is above 1 - 1/length, both limits are the rate itself. So chains stay
    nested: what is missing at a rate is missing at all higher rates. The lowest rate
    that is missing is v itself if v is at least 1 - 1/length. Otherwise it is the
    smaller of the lowest rate of the previous row and v length / (1 + v length).
    """
    drawn = rng.integers(1 << _BITS, size=n)
    v = drawn / (1 << _BITS)
    anew = v >= 1 - 1 / length
    anew[:1] = True
    lowest = np.where(anew, v, v * length / (1 + v * length))
    # a running minimum that restarts: each restart is shifted below all values before
    # it, in integers, so that this is exact
    part = np.cumsum(anew) << _BITS
    whole = (lowest * (1 << _BITS)).astype(np.int64) - part
    return (np.minimum.accumulate(whole) + part) / (1 << _BITS)
