"""The base class of all conditionals."""

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
    """Draws: completed versions of rows with missing values, with weights.

    Parameters
    ----------
    rows : array or data frame
        The draws, which have no missing values, in the order of the rows that they
        belong to. In a pandas data frame each draw has the index label of its row.
    weights : array
        Probability of each draw. The weights of all draws of a row sum to one.
    origin : array of int
        Position of the row that each draw belongs to.

    See Also
    --------
    Conditional.draws : Returns draws.
    """

    rows: Any
    weights: Array
    origin: NDArray[np.intp]


@shared_docs
class Conditional(BaseEstimator, ABC):
    """Base class of models of the missing values of a row given its observed values.

    The result for a row depends on that row alone, not on the other rows of the batch.
    Subclasses override `_fit`, which learns from training rows, `_fill`, which
    completes rows, and `_mean`. These methods receive numeric codes of the values (see
    `noiseproof.conditionals.cells`), not tables.

    {See Also: Donors, JointGaussian}
    """

    n_default: ClassVar[int] = 20  # default number of draws
    keeps_rows: ClassVar[bool]  # whether the fitted object contains training rows
    cells_: Cells

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the distribution to rows with or without missing values.

        {(incomplete X, ignored y) -> self}
        """
        check_parameters(self)
        self.cells_ = Cells(X)
        self._fit(self.cells_.codes(X))
        return self

    def draws(self, X: Any, n_draws: int | None = None, *, wide: bool = False) -> Draws:
        """Draw completed versions of each row, with weights.

        Parameters
        ----------
        {incomplete X}
            A complete row is its own only draw.
        n_draws : int, default=None
            Maximum number of draws for each row. None means the default of the
            conditional, which is usually 20. For a row without any observed value
            `Donors` then returns all of its training rows.
        wide : bool, default=False
            Whether draws are meant to estimate how much the missing values vary, and
            not only their mean. Then each row has at least 20 draws, if the conditional
            has so many, whatever `n_draws` is.

        Returns
        -------
        draws : Draws
            The draws in `rows`, with their `weights` and the row that each belongs to
            in `origin`.
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
        """Impute numbers by their expectation, and text by its most likely value.

        Parameters
        ----------
        {incomplete X}

        Returns
        -------
        filled : array or data frame of shape (n_samples, n_features)
            The completed rows, in the container of X, with its index and columns.
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
        """Fit the distribution to the codes of the training rows."""

    @abstractmethod
    def _fill(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        """Draws (n, k, d) and weights (n, k) for incomplete rows, from their codes."""

    def _fill_widely(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        """As `_fill`, with draws that estimate how much the missing values vary."""
        return self._fill(codes, max(n_draws or 0, self.n_default))

    @abstractmethod
    def _mean(self, codes: Array) -> Array:
        """Expected codes (n, d) of incomplete rows, from their codes."""

    def _whole(self) -> tuple[Array, Array]:
        """Draws (k, d) and weights (k) for a row without any observed value."""
        nothing = np.full((1, len(self.cells_.means)), np.nan)
        filled, weights = self._fill(nothing, None)
        return filled[0], weights[0]


def _gaps(codes: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows are partly missing, and which rows have no observed value."""
    count = np.isnan(codes).sum(axis=1)
    empty = count == codes.shape[1]
    return (count > 0) & ~empty, empty
