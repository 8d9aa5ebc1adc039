"""Values are missing (NaN): at random, by another value, or by their own value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noiseproof._docs import shared_docs
from noiseproof._rows import Array, Container, contain
from noiseproof.noise.missingness import Draw, RatedMissingness, below_one

_ODDS = 100.0  # odds ratio of being missing between the largest and the smallest value
_HOW = {
    "mcar": "",
    "mar": ", more often where another column is large",
    "mnar": ", more often where they are large",
}
_BY_ROW = ", or less, at a rate of each row"
_NEVER = 2.0  # larger than any rate


@shared_docs
class Missing(RatedMissingness):
    """Make values missing (NaN) at some rate, and leave the others as they are.

    Use it to train models that accept NaN, such as boosted trees, on copies with
    missing values (see `CorruptedCopies`), and to evaluate models in curves, contests
    and recommendations. The Dropout estimators refuse it. To them a missing feature
    adds nothing to the score, which is what `Dropout` trains for.

    With `mechanism="mar"` or `"mnar"` the probability of being missing depends on the
    rank of a *driving* value in its column. For a relative rank u, from 0 (the smallest
    value) to 1 (the largest), and a rate q, the odds of being missing are

        100^(u - 1/2) (100^q - 1) / (100^(1/2) - 100^(q - 1/2)).

    So the odds are 100 times as high for the largest value as for the smallest, and the
    mean probability over a column is exactly q. Equal values have the same probability,
    the mean over their ranks. Text is ordered alphabetically, and ordered categories by
    their order. If the driving value is missing itself, the probability is q.

    Parameters
    ----------
    rate : float, array of shape (n_features,) or (n_groups,), or dict, default=0.5
        Share of the values that is missing, in [0, 1]. An array has one rate for each
        feature, the same for all features of a group. If every feature is in a group,
        it may have one rate for each group instead. A dictionary gives the rates of
        named columns (or groups), and all others are never missing. With several rates
        the level of a curve is the largest rate, and the other rates are proportional.
    {groups}
    mechanism : {"mcar", "mar", "mnar"}, default="mcar"
        What determines which values are missing. "mcar" (missing completely at random):
        chance alone. "mar" (missing at random): the value of another column, which
        drives all columns and is never missing itself. It is chosen at random for each
        draw, among the columns of rate 0 if there are any, with preference for columns
        that vary and are complete. "mnar" (missing not at random): the value itself.
        For a group, the mean rank of its values is used.
    by_row : bool, default=False
        Whether each row has a rate of its own, drawn uniformly between 0 and `rate`.
        Models that are trained on such copies learn from rows with few and with many
        missing values.

    See Also
    --------
    MissingLike : Copies the patterns of missing values of other rows.
    Outages : Makes columns missing for many consecutive rows.
    Dropout : Sets features to zero instead of NaN.
    noiseproof.CorruptedCopies : Trains on copies with missing values.
    noiseproof.evaluation.robustness_curve : Scores models at several rates.

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.noise import Missing
    >>> Missing(0.5, groups=["a", "a", "b"]).sample(np.ones((3, 3)), rng=0)
    array([[ 1.,  1., nan],
           [nan, nan, nan],
           [ 1.,  1.,  1.]])
    >>> X = np.arange(100_000.0).reshape(-1, 1)
    >>> gone = np.isnan(Missing(0.3, mechanism="mnar").sample(X, rng=0))
    >>> [round(float(part.mean()), 1) for part in (gone, gone[:50_000], gone[50_000:])]
    [0.3, 0.1, 0.5]
    """

    # defaults for objects saved by older versions, which lack these attributes
    mechanism: str = "mcar"
    by_row: bool = False

    def __init__(
        self,
        rate: float | ArrayLike | Any = 0.5,
        groups: Any = None,
        mechanism: str = "mcar",
        by_row: bool = False,
    ):
        self.rate = rate
        self.groups = groups
        self.mechanism = mechanism
        self.by_row = by_row

    @property
    def _how(self) -> str:
        return _HOW[self.mechanism] + (_BY_ROW if self.by_row else "")

    @property
    def needs_all_rows(self) -> bool:
        return self.mechanism != "mcar"

    @property
    def rows_alone(self) -> bool:
        return self.mechanism != "mar"  # one column drives all rows of a draw

    def draw(self, rows: Container, rng: np.random.Generator) -> Draw:
        n, d = rows.table_shape
        groups = self.group_labels(d)
        if groups is not None:
            # draw for a table with one column for each group
            alike = np.broadcast_to(0.0, (n, int(groups.max()) + 1))
            table = alike if self.mechanism == "mcar" else rows.standing(groups)
            rates = self._by_group(groups)
            one_by_one = Missing(rates, None, self.mechanism, self.by_row)
            gone = one_by_one.draw(contain(table, "nan"), rng)
            return lambda level: rows.of_groups(gone(level), groups)
        reached = self._reached(rows, rng)
        return lambda level: (
            reached < np.broadcast_to(self._rates(level), d)[rows.features]
        )

    def _by_group(self, groups: NDArray[np.intp]) -> Any:
        """The rate, or the rate of each group."""
        own, first = self.level, np.unique(groups, return_index=True)[1]
        return own if isinstance(own, float) else own[first]

    def _reached(self, rows: Container, rng: np.random.Generator) -> Array:
        """The rate above which each entry is missing."""
        reached = self._reached_by_values(rows, rng)
        if not self.by_row:
            return reached
        # a row whose own rate is u times the rate misses what other rows miss at that
        # lower rate
        shares = 1.0 - rng.random(len(rows.starts()) - 1)
        of_row = np.repeat(shares, np.diff(rows.starts())).reshape(rows.shape)
        return np.asarray(reached / of_row)

    def _reached_by_values(self, rows: Container, rng: np.random.Generator) -> Array:
        """The rate above which each entry is missing, if all rows have one rate."""
        if self.mechanism == "mcar":
            return rng.random(rows.shape)
        found = np.empty(rows.shape)
        driver = self._driver(rows, rng) if self.mechanism == "mar" else None
        for entries, low, high in rows.spans(driver):
            place = low + (high - low) * rng.random(len(low))
            found[entries] = _rate_reached(place, rng.random(len(low)))
        if driver is not None:
            found[rows.of_columns(np.array([driver]))] = _NEVER
        return found

    def mean_share(self, level: float) -> float:
        return super().mean_share(level) / (2 if self.by_row else 1)

    def _driver(self, rows: Container, rng: np.random.Generator) -> int:
        """The column that drives the others."""
        rates = np.broadcast_to(self.level, rows.table_shape[1])
        never = np.flatnonzero(rates == 0)
        order = rng.permutation(never if len(never) else len(rates)).tolist()
        for j in order:
            x = rows.column(j)[0]
            if x.min(initial=np.inf) < x.max(initial=-np.inf):  # nor is any missing
                return int(j)
        return int(order[0])

    def check(self, n_features: int | None = None, minimum: float = 0.0) -> None:
        """Raise an error if the rates, groups and features do not fit together."""
        if self.mechanism not in _HOW:
            raise ValueError(
                "Missing.mechanism must be 'mcar', 'mar' or 'mnar'; got "
                f"{self.mechanism!r}."
            )
        super().check(n_features, minimum)

    def check_rows(self, rows: Container) -> None:
        super().check_rows(rows)
        if self.mechanism == "mcar":
            return
        rows.column(0)  # raises an error for images
        d = rows.table_shape[1]
        groups = self.group_labels(d)
        if self.mechanism == "mar" and (d if groups is None else groups.max() + 1) < 2:
            raise ValueError(
                "Missing.mechanism='mar' needs at least two columns, or groups of "
                "columns, of which one stays observed; X has only one."
            )


def _rate_reached(place: Array, chance: Array) -> Array:
    """The rate q at which a value of this rank is missing with probability `chance`.

    This is the inverse, in q, of the formula in the docstring of `Missing`.
    """
    odds, root = chance / (1 - chance) * _ODDS ** (0.5 - place), np.sqrt(_ODDS)
    return below_one(np.log((1 + odds * root) / (1 + odds / root)) / np.log(_ODDS))
