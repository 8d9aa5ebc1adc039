"""What every conditional answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from noiseproof._docs import shared_docs
from noiseproof._private import check_parameters
from noiseproof.conditionals.cells import Cells

Array = NDArray[Any]


class Draws(NamedTuple):
    """Complete rows that incomplete ones may have been.

    Parameters
    ----------
    rows : array or data frame
        Rows without missing values. Those of the first row of the table come first. In
        a pandas frame each has the index label of the row that it belongs to.
    weights : array
        How likely each of them is; those of a row sum to one.
    origin : array of int
        The position of the row that each of them belongs to.

    See Also
    --------
    Conditional.draws : Makes them.
    """

    rows: Any
    weights: Array
    origin: NDArray[np.intp]


@shared_docs
class Conditional(BaseEstimator, ABC):
    """A model of the distribution of missing values, given the observed ones.

    What it says about a row depends on that row alone, not on the others that it is
    asked about. Subclasses learn in `_fit` and fill a block of incomplete rows in
    `_fill`; both see codes (see `cells`), not tables.

    {See Also: Donors, JointGaussian}
    """

    n_default: ClassVar[int] = 20  # draws, where nobody says how many
    keeps_rows: ClassVar[bool]  # whether the fitted object contains training rows
    cells_: Cells

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows with or without missing values.

        {(incomplete X, ignored y) -> self}
        """
        check_parameters(self)
        self.cells_ = Cells(X)
        self._fit(self.cells_.codes(X))
        return self

    def draws(self, X: Any, n_draws: int | None = None, *, wide: bool = False) -> Draws:
        """Draw complete rows that X may have been, with weights.

        Parameters
        ----------
        {incomplete X}
            A complete row is its own only draw.
        n_draws : int, default=None
            The largest number of draws for each row. None leaves it to the conditional:
            usually 20, but `Donors` then answers a row without any observed value by
            all of its training rows.
        wide : bool, default=False
            Whether the draws shall tell how much the missing values vary, rather than
            what they are on average. Then there are at least 20 of them where the
            conditional has so many, whatever `n_draws` is.

        Returns
        -------
        draws : Draws
            `rows`, `weights` and `origin`.
        """
        check_is_fitted(self)
        if n_draws is not None and n_draws < 1:
            raise ValueError(f"n_draws must be at least 1; got {n_draws}.")
        codes = self.cells_.codes(X)
        gaps, empty = _gaps(codes)
        if n_draws is not None:
            gaps, empty = gaps | empty, np.zeros_like(empty)
        fill = self._fill_widely if wide else self._fill
        filled, shares = fill(codes[gaps], n_draws)
        everything, share = self._whole() if empty.any() else (codes[:0], codes[:0, 0])
        counts = np.where(gaps, shares.shape[1], np.where(empty, len(share), 1))
        origin = np.repeat(np.arange(len(codes)), counts)
        rows, weights = filled.reshape(-1, codes.shape[1]), shares.ravel()
        if not gaps.all():
            drawn, n_empty = gaps[origin], int(empty.sum())
            every, each = codes[origin], np.ones(len(origin))
            every[drawn], each[drawn] = rows, weights
            every[empty[origin]] = np.tile(everything, (n_empty, 1))
            each[empty[origin]] = np.tile(share, n_empty)
            rows, weights = every, each
        return Draws(self.cells_.table(rows, X, origin), weights, origin)

    def mean(self, X: Any) -> Any:
        """Fill missing numbers with their expectations, words with the likeliest one.

        Parameters
        ----------
        {incomplete X}

        Returns
        -------
        filled : array or data frame of shape (n_samples, n_features)
            In the container of X, with its index and names of columns.
        """
        check_is_fitted(self)
        codes = self.cells_.codes(X)
        gaps, empty = _gaps(codes)
        result = codes.copy()
        result[gaps] = self._mean(codes[gaps])
        if empty.any():
            rows, weights = self._whole()
            result[empty] = self.cells_.mean(rows[None], weights[None])
        return self.cells_.table(result, X, np.arange(len(codes)))

    @abstractmethod
    def _fit(self, codes: Array) -> None:
        """Learn from the codes of the training rows."""

    @abstractmethod
    def _fill(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        """Filled codes (n, k, d) and weights (n, k) of rows that all have holes."""

    def _fill_widely(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        """As `_fill`, by draws that tell how much the missing values vary."""
        return self._fill(codes, max(n_draws or 0, self.n_default))

    @abstractmethod
    def _mean(self, codes: Array) -> Array:
        """Expected codes (n, d)."""

    def _whole(self) -> tuple[Array, Array]:
        """Draws of a row of which nothing is observed: codes (k, d) and weights (k)."""
        nothing = np.full((1, len(self.cells_.means)), np.nan)
        filled, weights = self._fill(nothing, None)
        return filled[0], weights[0]


def _gaps(codes: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows have holes and observed cells, and which have no observed cell."""
    count = np.isnan(codes).sum(axis=1)
    empty = count == codes.shape[1]
    return (count > 0) & ~empty, empty
