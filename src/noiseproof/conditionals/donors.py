"""Rows of the training set that agree with what is observed fill the holes."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from noiseproof._private import Interval, StrOptions
from noiseproof.conditionals.base import Conditional
from noiseproof.conditionals.regression import Regression, regression_of

Array = NDArray[Any]
Mask = NDArray[np.bool_]

_BLOCK = 2**20  # numbers in a temporary array
_BANDWIDTHS = 0.25 * 2.0 ** np.arange(0, 6, 0.5)  # in standard deviations
_NARROWED = 0.7  # the likeliest cells come with more donors than the best answers
_SHARES = (0.0, 0.5, 1.0)  # of a common unit in the scales of features
_CLEARLY = 0.98  # share of the squared error that another scale must stay below
_RATES = (0.2, 0.5, 0.8)  # of cells masked to choose among them
_MASKED_ROWS = 100  # for each rate
_TAUGHT_BY = 5000  # rows: enough for covariances


class Donors(Conditional):
    """Missing cells from training rows that agree with the observed ones.

    The nearest rows by the observed cells each fill the holes with cells of their own,
    weighted exp(-D²/2h²), less what a row at the distance of the first one left out
    would get. D² sums squared differences over the observed cells: numbers in standard
    deviations of their column, or, with `bandwidth="auto"`, in a common unit if that
    tells masked cells of training rows better (as it does for pixels), or half and
    half; two different words count 2. So this is the conditional of a kernel density
    estimate with bandwidth h, cut off at `n_donors`. With `corrected` a donor's numbers
    are moved by the linear regression of the missing cells on the differences
    in the observed ones, and kept within the range seen in training. Holes of training
    rows are filled once, by a draw from the same regression. The fitted object contains
    training rows.

    Parameters
    ----------
    n_donors : int, default=20
        How many rows fill the holes of a row.
    bandwidth : float or "auto", default="auto"
        h, in standard deviations; "auto" takes the one that makes masked cells of
        training rows likeliest, widened where features repeat each other, times 0.7:
        models' averages tell classes better with somewhat fewer donors.
    max_rows : int, default=20_000
        Keep at most so many training rows, a random sample of them.
    corrected : bool, default=True
        Whether to move the donors' cells.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth in use.
    rows_ : array of shape (n_rows, n_features)
        The training rows kept, as codes.
    regression_ : object
        The covariance of the features, in their scales.

    See Also
    --------
    JointGaussian : Keeps no training rows.
    noiseproof.AverageOverMissing : Averages a model over the draws.

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
        # in random order, so that rows at equal distance are taken at random
        order = np.random.default_rng(0).permutation(len(codes))[: self.max_rows]
        rows = codes[order]
        self._learn_covariances(rows)
        self.rows_ = self._completed(rows)
        self.bandwidth_ = 1.0 if self.bandwidth == "auto" else float(self.bandwidth)
        if self.bandwidth == "auto" and len(rows) > 2:
            self._choose_units()

    def _choose_units(self) -> None:
        """Scales, and the bandwidth that suits them, by what masked cells say."""
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
        """Rows with each hole filled by a draw."""
        rng = np.random.default_rng(0)
        incomplete = np.flatnonzero(np.isnan(rows).any(axis=1))
        step = max(1, _BLOCK // len(self.cells_.owner))
        for start in range(0, len(incomplete), step):
            part = incomplete[start : start + step]
            Z, observed = self.cells_.features(rows[part])
            whole = self.regression_.sample(len(part), rng)
            moved = self.regression_.expected(observed, (Z - whole)[:, None])[:, 0]
            codes = self.cells_.from_features(whole + moved)
            codes = np.clip(codes, self.cells_.low, self.cells_.high)
            rows[part] = np.where(np.isnan(rows[part]), codes, rows[part])
        return rows

    def _judged(self, units: Array) -> tuple[float, float]:
        """The best bandwidth in these units, and the error of expected masked cells.

        The bandwidth is that of the likeliest kernel density, judged by masked cells of
        training rows given the others. It is widened where features depend on each
        other and so count one difference many times over: the features count as many as
        there are effective ones; and narrowed for the answers' sake. Errors are in
        standard deviations.
        """
        own = np.tile(np.arange(min(len(self.rows_), _MASKED_ROWS)), len(_RATES))
        truth = self.rows_[own]
        rates = np.repeat(_RATES, len(own) // len(_RATES))[:, None]
        masked = np.random.default_rng(0).random(truth.shape) < rates
        wider = _NARROWED * self.regression_.effective_share() ** -0.5
        likelihoods, errors = np.zeros((2, len(_BANDWIDTHS)))
        for rows, places in self._nearest(
            np.where(masked, np.nan, truth), self.n_donors, own
        ):
            holes = masked[rows][:, self.cells_.owner]
            apart = self._features(truth[rows])[:, None] - self._theirs(places)
            barred = places == own[rows, None]
            squares, edge = _reach(apart, ~holes, self.n_donors, barred)
            apart = apart[:, : squares.shape[1]] * holes[:, None]
            misfits = np.einsum("nkp,nkp->nk", apart, apart)
            apart *= units[self.cells_.owner]
            for i, h in enumerate(_BANDWIDTHS):
                with np.errstate(divide="ignore"):  # no weight, no share
                    logs = np.log(_weights(squares, edge, h)) - misfits / (2 * h**2)
                likelihoods[i] += logsumexp(logs, axis=1).sum()
                likelihoods[i] -= holes.sum() * np.log(h)
                weights = _weights(squares, edge, h * wider)
                errors[i] += (np.einsum("nk,nkp->np", weights, apart) ** 2).sum()
        best = int(likelihoods.argmax())
        return float(_BANDWIDTHS[best]) * wider, float(errors[best])

    def _fill(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        k = min(self.n_donors, n_draws or self.n_donors, len(self.rows_))
        filled = np.empty((len(codes), k, codes.shape[1]))
        weights = np.empty((len(codes), k))
        for rows, places in self._nearest(codes, k):
            Z, observed = self.cells_.features(codes[rows])
            apart = Z[:, None] - self._theirs(places)
            squares, edge = _reach(apart, observed, k)
            weights[rows] = _weights(squares, edge, self.bandwidth_)
            theirs = self.rows_[places[:, :k]]
            if self.corrected:
                self._correct(theirs, observed, apart[:, :k])
            own = codes[rows][:, None]
            filled[rows] = np.where(np.isnan(own), theirs, own)
        return filled, weights

    def _correct(self, theirs: Array, observed: Mask, apart: Array) -> None:
        """Move the donors' numbers by what the differences in observed cells say."""
        cells = self.cells_
        moves = self.regression_.expected(observed, apart)
        numbers = np.flatnonzero(cells.is_number)
        if len(numbers) < len(cells.owner):
            moves = moves[..., np.searchsorted(cells.owner, numbers)]
        moves *= cells.scales[numbers]
        theirs[..., numbers] += moves
        np.clip(theirs, cells.low, cells.high, out=theirs)

    def _mean(self, codes: Array) -> Array:
        filled, weights = self._fill(codes, None)
        mean = np.einsum("nk,nkj->nj", weights, filled)
        for j in np.flatnonzero(~self.cells_.is_number):
            votes = np.zeros((len(codes), np.sum(self.cells_.owner == j)))
            for i in range(filled.shape[1]):
                places = filled[:, i, j].astype(np.intp)
                votes[np.arange(len(codes)), places] += weights[:, i]
            mean[:, j] = votes.argmax(axis=1)
        return np.where(np.isnan(codes), mean, codes)

    def _nearest(
        self, codes: Array, k: int, own: Array | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """Blocks of rows and the places of their k + 1 nearest training rows.

        By matrix products in single precision, whose blocks may be long; what is done
        with the neighbours needs shorter ones. `own` names a training row for each row
        that may not help it.
        """
        width = min(k + 1, len(self.rows_))
        long = max(1, 2 * _BLOCK // len(self.rows_))
        short = max(1, _BLOCK // (width * len(self.cells_.owner)))
        for start in range(0, len(codes), long):
            part = slice(start, min(start + long, len(codes)))
            squares = self._squares(*self.cells_.features(codes[part]))
            if own is not None:
                squares[np.arange(len(squares)), own[part]] = np.inf
            places = np.argpartition(squares, width - 1, axis=1)[:, :width]
            nearest = np.take_along_axis(squares, places, axis=1).argsort(axis=1)
            places = np.take_along_axis(places, nearest, axis=1)
            for first in range(0, len(places), short):
                found = places[first : first + short]
                rows = slice(start + first, start + first + len(found))
                yield rows, found

    def _squares(self, Z: Array, observed: Mask) -> Array:
        """D² = Σ z² - 2 Z X' + M (X∘X)' over observed cells, in single precision."""
        Z, M = (-2.0 * Z).astype(np.float32), observed.astype(np.float32)
        squares = np.empty((len(Z), len(self.rows_)), dtype=np.float32)
        step = max(1, _BLOCK // Z.shape[1])
        for start in range(0, len(self.rows_), step):
            part = slice(start, start + step)
            X = self._features(self.rows_[part]).astype(np.float32)
            np.matmul(Z, X.T, out=squares[:, part])
            np.multiply(X, X, out=X)
            squares[:, part] += M @ X.T
        squares += np.einsum("np,np->n", Z, Z)[:, None] / 4
        return squares

    def _features(self, codes: Array) -> Array:
        """Features of codes without holes."""
        if not self.cells_.is_number.all():
            return self.cells_.features(codes)[0]
        Z = codes - self.cells_.means
        Z /= self.cells_.scales
        return Z

    def _theirs(self, places: Array) -> Array:
        """Features of training rows, (n, k, p)."""
        rows = self.rows_[places.ravel()]
        return self._features(rows).reshape(*places.shape, -1)


def _reach(
    apart: Array, observed: Mask, k: int, barred: Mask | None = None
) -> tuple[Array, Array]:
    """Squared distances of the first k neighbours, and that of the next one."""
    squares = _squares_over(apart, observed)
    if barred is not None:
        squares[barred] = np.inf
    edge = squares[:, -1] if squares.shape[1] > k else np.full(len(squares), np.inf)
    return squares[:, :k], np.maximum(edge, squares[:, :k].max(axis=1))


def _squares_over(apart: Array, where: Mask) -> Array:
    """Sums of squares over some features, (n, k)."""
    masked = apart * where[:, None]
    return np.einsum("nkp,nkp->nk", masked, masked)


def _weights(squares: Array, edge: Array, bandwidth: float) -> Array:
    """Weights that fall with the distance, to zero at the edge; rows sum to one."""
    nearest = squares.min(axis=1, keepdims=True)
    weights = np.exp((nearest - squares) / (2 * bandwidth**2))
    weights -= np.exp((nearest - edge[:, None]) / (2 * bandwidth**2))
    weights[(weights <= 0.0).all(axis=1)] = 1.0  # all as near as the next one
    return weights / weights.sum(axis=1, keepdims=True)
