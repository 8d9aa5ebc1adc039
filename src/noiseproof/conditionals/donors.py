"""Impute missing values from similar training rows."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from noiseproof._docs import shared_docs
from noiseproof._private import Interval, StrOptions
from noiseproof.conditionals.base import Conditional
from noiseproof.conditionals.ordering import order_by_values
from noiseproof.conditionals.regression import Regression, regression_of
from noiseproof.conditionals.rounding import exponent, first_best, rounded

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_BLOCK = 2**20  # numbers in a temporary array
_PART = 2**17  # numbers in a part of one, which the processor's cache can hold
_KEPT = 2**21  # maximum size of the features of training rows that are cached
_BANDWIDTHS = 0.25 * 2.0 ** np.arange(0, 6, 0.5)  # in standard deviations
# factor of the bandwidth of the highest likelihood: a smaller one, with fewer donors,
# gives better predictions
_NARROWED = 0.7
_SHARES = (0.0, 0.5, 1.0)  # scales to try, from those of each column to a common one
_CLEARLY = 0.98  # another scale must reduce the squared error to this share
_RATES = (0.2, 0.5, 0.8)  # share of values masked to choose among them
_MASKED_ROWS = 100  # masked rows for each rate
_TAUGHT_BY = 5000  # rows to compute covariances from


@shared_docs
class Donors(Conditional):
    """Impute missing values from the training rows nearest in the observed values.

    The nearest training rows are the *donors* of a row. Each donor completes the row
    with its own values, and this draw has the weight exp(-D²/2h²), where D is the
    distance between the two rows. From all weights, the weight that a row at the
    distance of the nearest training row beyond the donors would have is subtracted.
    This is the conditional distribution of a kernel density estimate with bandwidth h,
    truncated after `n_donors` rows.

    D² is the sum of squared differences over the observed values. Numbers are measured
    in standard deviations of their column. With `bandwidth="auto"` they may instead be
    measured on a scale that all columns share, as for pixels, or half way between, if
    this predicts masked values of training rows better. Two different texts contribute
    2. Features are rounded so that distances are exact, and ties between training rows
    are resolved by a hash of their values. So the donors of a row depend neither on the
    other rows of a batch, nor on the order of the training rows, nor on the processor.
    A row without any observed value is completed by all training rows.

    With `corrected` each donor is then adjusted. A linear regression predicts how the
    missing values change with the observed ones, and the donor's numbers are shifted by
    the predicted difference, within the range seen in training. Missing values of
    training rows are filled once, by a draw from the same regression. The fitted object
    contains training rows.

    Parameters
    ----------
    n_donors : int, default=20
        Number of donors for each row.
    bandwidth : float or "auto", default="auto"
        Bandwidth h, in standard deviations. "auto" maximises the likelihood of masked
        values of training rows. The result is increased if features are redundant, and
        multiplied by 0.7, since averaged predictions are better with fewer donors.
    max_rows : int, default=20_000
        Maximum number of training rows to keep. If there are more, a random sample is
        kept.
    corrected : bool, default=True
        Whether to adjust the donors' values by a linear regression.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth that is used.
    rows_ : array of shape (n_rows, n_features)
        The training rows that are kept, as numeric codes.
    regression_ : object
        The covariance of the features, in units of their scales.

    {See Also: JointGaussian, AverageOverMissing}

    Examples
    --------
    >>> import pandas as pd
    >>> from noiseproof.conditionals import Donors
    >>> pets = pd.DataFrame({"kg": [4.0, 5.0, 30.0], "is": ["cat", "cat", "dog"]})
    >>> model = Donors(n_donors=2).fit(pets)
    >>> model.mean(pd.DataFrame({"kg": [28.0], "is": [None]}))["is"][0]
    'dog'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_donors": [Interval(Integral, 1, None, closed="left")],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
        "corrected": ["boolean"],
    }
    keeps_rows = True
    rows_: Array
    regression_: Regression
    _last_features: tuple[Any, Any, Any] = (None, None, None)  # of rows and cells

    def __init__(
        self,
        n_donors: int = 20,
        bandwidth: float | str = "auto",
        max_rows: int = 20_000,
        corrected: bool = True,
    ):
        self.n_donors = n_donors
        self.bandwidth = bandwidth
        self.max_rows = max_rows
        self.corrected = corrected

    def _fit(self, codes: Array) -> None:
        # ties between rows at the same distance are resolved by this order
        rows = codes[order_by_values(codes.T)[: self.max_rows]]
        self._learn_covariances(rows)
        self.rows_ = self._completed(rows)
        self.bandwidth_ = 1.0 if self.bandwidth == "auto" else float(self.bandwidth)
        if self.bandwidth == "auto" and len(rows) > 2:
            self._choose_units()

    def _choose_units(self) -> None:
        """Choose scales and a bandwidth, by masked values of training rows."""
        own, best = self.cells_, np.inf
        for share in _SHARES:
            self.cells_ = own.in_units(share)
            self._learn_covariances(self.rows_)
            bandwidth, error = self._judged(self.cells_.scales / own.scales)
            if error < _CLEARLY * best:
                best, chosen = error, (self.cells_, self.regression_, bandwidth)
        self.cells_, self.regression_, self.bandwidth_ = chosen

    def _learn_covariances(self, rows: Array) -> None:
        self.regression_ = regression_of(*self.cells_.features(rows[:_TAUGHT_BY]))

    def _completed(self, rows: Array) -> Array:
        """Fill the missing values of the training rows by draws."""
        rng, order = np.random.default_rng(0), self.cells_.order(of_features=True)
        incomplete = np.flatnonzero(np.isnan(rows).any(axis=1))
        step = max(1, _BLOCK // len(self.cells_.owner))
        for start in range(0, len(incomplete), step):
            part = incomplete[start : start + step]
            whole = self.regression_.sample(len(part), rng, order)
            mine = rows[part]
            Z, observed = self.cells_.features(mine)
            Z -= whole
            whole += self.regression_.expected(observed, Z[:, None])[:, 0]
            codes = self.cells_.from_features(whole)
            np.clip(codes, self.cells_.low, self.cells_.high, out=codes)
            np.copyto(mine, codes, where=np.isnan(mine))
            rows[part] = mine
        return rows

    def _judged(self, units: Array) -> tuple[float, float]:
        """Find the best bandwidth on these scales, and the error of expected values.

        The bandwidth maximises the likelihood of masked values of training rows given
        the other values. It is then increased if features depend on each other, so that
        one difference counts several times, by the ratio of the number of features to
        the effective number. It is decreased by a factor that makes predictions better.
        Errors are in standard deviations.
        """
        own = np.tile(np.arange(min(len(self.rows_), _MASKED_ROWS)), len(_RATES))
        truth = self.rows_[own]
        rates = np.repeat(_RATES, len(own) // len(_RATES))[:, None]
        masked = self.cells_.chances(len(truth), np.random.default_rng(0)) < rates
        wider = _NARROWED * self.regression_.effective_share() ** -0.5
        likelihoods, errors = np.zeros((2, len(_BANDWIDTHS)))
        for rows, places, squares, edge in self._nearest(
            np.where(masked, np.nan, truth), self.n_donors, own
        ):
            holes = masked[rows][:, self.cells_.owner]
            apart = self._features(truth[rows])[:, None] - self._theirs(places)
            apart *= holes[:, None]
            misfits = np.einsum("nkp,nkp->nk", apart, apart)
            apart *= units[self.cells_.owner]
            for i, h in enumerate(_BANDWIDTHS):
                with np.errstate(divide="ignore"):  # the log of a zero weight
                    logs = np.log(_weights(squares, edge, h)) - misfits / (2 * h**2)
                likelihoods[i] += logsumexp(logs, axis=1).sum()
                likelihoods[i] -= holes.sum() * np.log(h)
                weights = _weights(squares, edge, h * wider)
                errors[i] += (np.einsum("nk,nkp->np", weights, apart) ** 2).sum()
        best = int(first_best(-likelihoods))
        return float(_BANDWIDTHS[best]) * wider, float(errors[best])

    def _fill(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        k = min(self.n_donors, n_draws or self.n_donors)
        return self._donated(codes, k, wide=False)

    def _fill_widely(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        k = min(self.n_donors, n_draws or self.n_donors)
        return self._donated(codes, max(k, self.n_default), wide=True)

    def _donated(self, codes: Array, k: int, wide: bool) -> tuple[Array, Array]:
        """Draws from the k nearest donors, and their weights.

        For a row far from all training rows, the nearest donor has all the weight, and
        the correction would move all donors to the limits of the ranges seen in
        training. Such draws would not vary. So draws that are meant to estimate how
        much missing values vary are `wide`: at least half of the donors have a weight
        that matters, and only their mean is limited to these ranges.
        """
        k = min(k, len(self.rows_))
        filled = np.empty((len(codes), k, codes.shape[1]))
        weights = np.empty((len(codes), k))
        for rows, places, squares, edge in self._nearest(codes, k):
            weights[rows] = _weights(squares, edge, self.bandwidth_)
            if wide:
                weights[rows] = _evened(weights[rows])
            theirs = self.rows_[places]
            if self.corrected:
                apart = self._features(codes[rows])[:, None] - self._theirs(places)
                theirs = self._corrected(theirs, ~np.isnan(codes[rows]), apart)
                if wide:
                    theirs += self._way_back(theirs, weights[rows])[:, None]
                else:
                    np.clip(theirs, self.cells_.low, self.cells_.high, out=theirs)
            own = codes[rows][:, None]
            filled[rows] = np.where(np.isnan(own), theirs, own)
        return filled, weights

    def _whole(self) -> tuple[Array, Array]:
        return self.rows_, np.full(len(self.rows_), 1.0 / len(self.rows_))

    def _corrected(self, theirs: Array, observed: Mask, apart: Array) -> Array:
        """Shift the donors' numbers by the differences that the regression predicts."""
        cells = self.cells_
        moves = self.regression_.expected(observed[:, cells.owner], apart)
        numbers = cells.is_number
        if not numbers.all():
            moves = moves[..., cells.firsts[numbers]]
        moves *= cells.scales[numbers]
        theirs[..., numbers] += rounded(moves, cells.scales[numbers])
        return theirs

    def _way_back(self, theirs: Array, weights: Array) -> Array:
        """Shifts (n, d) of the donors' means into the ranges seen in training."""
        mean = np.einsum("nk,nkj->nj", weights, theirs)
        back = np.clip(mean, self.cells_.low, self.cells_.high) - mean
        return rounded(np.where(self.cells_.is_number, back, 0.0), self.cells_.scales)

    def _mean(self, codes: Array) -> Array:
        filled, weights = self._fill(codes, None)
        return np.where(np.isnan(codes), self.cells_.mean(filled, weights), codes)

    def _nearest(
        self, codes: Array, k: int, own: Array | None = None
    ) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Find the k nearest training rows for blocks of rows.

        Yields the block, the indices of its neighbours, their squared distances, and
        the squared distance of the next training row. From all squared distances of a
        row the same number is subtracted. Among rows at equal distance the first are
        taken. `own` is the index of a training row for each row that is not to be its
        donor.
        """
        width = min(k + 1, len(self.rows_))
        long = max(1, _BLOCK // len(self.rows_))  # for products with all training rows
        short = max(1, _BLOCK // (width * len(self.cells_.owner)))
        grid = self._grid()
        for start in range(0, len(codes), long):
            part = slice(start, min(start + long, len(codes)))
            everywhere = self._squares(codes[part], grid)
            if own is not None:
                everywhere[np.arange(len(everywhere)), own[part]] = np.inf
            places = np.argpartition(everywhere, width - 1, axis=1)[:, :width]
            squares = np.take_along_axis(everywhere, places, axis=1)
            order = np.lexsort((places, squares))
            places = np.take_along_axis(places, order, axis=1)
            squares = np.take_along_axis(squares, order, axis=1)
            # argpartition picks any of the rows that tie with the last one
            for i in np.flatnonzero(squares[:, -1] == squares[:, max(width - 2, 0)]):
                tied = np.flatnonzero(everywhere[i] == squares[i, -1])
                nearer = np.searchsorted(squares[i], squares[i, -1])
                places[i, nearer:] = tied[: width - nearer]
            del everywhere  # it is large, and the caller computes between the blocks
            squares *= grid**2
            edge = squares[:, -1] if width > k else np.full(len(squares), np.inf)
            for first in range(0, len(places), short):
                of = slice(first, first + short)
                rows = slice(start + first, start + min(first + short, len(places)))
                yield rows, places[of, :k], squares[of, :k], edge[of]

    def _grid(self) -> float:
        """Unit of rounded features, a power of two that makes distances exact.

        Features are integer multiples of this unit, below 2^b. So D² and all sums in
        its computation are integers below 4 p 2^2b ≤ 2^53. Double precision represents
        these exactly, whatever the order of the additions.
        """
        cells = self.cells_
        reach = np.maximum(cells.high - cells.means, cells.means - cells.low)
        largest = np.max(reach / cells.scales, where=cells.is_number, initial=1.0)
        return float(2.0 ** (exponent(largest) - self._bits()))

    def _bits(self) -> int:
        return (51 - int(np.ceil(np.log2(len(self.cells_.owner))))) // 2

    def _squares(self, codes: Array, grid: float) -> Array:
        """D² less Σ z², that is M (X∘X)' - 2 Z X', exactly, in units of grid²."""
        observed = ~np.isnan(codes)[:, self.cells_.owner]
        largest = 2.0 ** self._bits()
        Z = np.where(observed, np.rint(self._features(codes, grid)), 0.0)
        Z = np.minimum(np.maximum(Z, -largest), largest)
        M = observed.astype(np.float64)
        if len(Z) == 1 and self.rows_.shape[0] * Z.shape[1] <= _KEPT:
            # threads of BLAS would compete with those of the model
            weights = np.concatenate([M[0], -2.0 * Z[0]])
            return np.einsum("np,p->n", self._kept_features(grid), weights)[None]
        squares = np.empty((len(Z), len(self.rows_)))
        step = max(1, _PART // max(Z.shape))
        for start in range(0, len(self.rows_), step):
            part = slice(start, start + step)
            X = self._features(self.rows_[part], grid)
            np.rint(X, out=X)
            np.matmul(-2.0 * Z, X.T, out=squares[:, part])
            np.multiply(X, X, out=X)
            squares[:, part] += M @ X.T
        return squares

    def _kept_features(self, grid: float) -> Array:
        """Squared features of all training rows, and then the features themselves.

        They are in units of the grid, and are cached for later rows.
        """
        rows, cells, found = self._last_features
        if rows is not self.rows_ or cells is not self.cells_:
            X = np.rint(self._features(self.rows_, grid))
            found = np.concatenate([X * X, X], axis=1)
            self._last_features = self.rows_, self.cells_, found
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the cache, which is computed again when it is needed."""
        state: dict[str, Any] = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_last_features"}

    def _features(self, codes: Array, unit: float = 1.0) -> Array:
        """Features of codes, in multiples of `unit`; NaN where a number is missing."""
        if not self.cells_.is_number.all():
            return self.cells_.features(codes)[0] / unit
        Z = codes - self.cells_.means
        Z *= 1.0 / (self.cells_.scales * unit)
        return Z

    def _theirs(self, places: Array) -> Array:
        """Features of training rows, (n, k, p)."""
        rows = self.rows_[places.ravel()]
        return self._features(rows).reshape(*places.shape, -1)


def _weights(squares: Array, edge: Array, bandwidth: float) -> Array:
    """Weights that decrease with the distance to zero at the edge; rows sum to one."""
    nearest = squares.min(axis=1, keepdims=True)
    weights = np.exp((nearest - squares) / (2 * bandwidth**2))
    weights -= np.exp((nearest - edge[:, None]) / (2 * bandwidth**2))
    weights[(weights <= 0.0).all(axis=1)] = 1.0  # all are as near as the next row
    return weights / weights.sum(axis=1, keepdims=True)


def _evened(weights: Array) -> Array:
    """Mix weights that are concentrated on few donors with equal weights.

    Then Σ w² is at most 2 / k, as if half of the k donors had equal weights. The
    weights of a row sum to one, before and after.
    """
    k = weights.shape[1]
    uneven = k * np.sum(weights**2, axis=1, keepdims=True) - 1.0
    kept = np.minimum(1.0, 1.0 / np.sqrt(np.maximum(uneven, 1.0)))
    return np.asarray(kept * weights + (1.0 - kept) / k)
