"""What every conditional answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from noiseproof._private import check_parameters
from noiseproof.conditionals.cells import Cells

Array = NDArray[Any]


class Draws(NamedTuple):
    """Complete rows that incomplete ones may have been.

    Parameters
    ----------
    rows : array or data frame
        Rows without holes, those of one row after those of the row before.
    weights : array
        How likely each of them is; those of a row sum to one.
    origin : array of int
        Which row each of them belongs to.

    See Also
    --------
    Conditional.draws : Makes them.
    """

    rows: Any
    weights: Array
    origin: NDArray[np.intp]


class Conditional(BaseEstimator, ABC):
    """A model of rows that says what missing cells may be, given those observed.

    Subclasses learn in `_fit` and fill a block of incomplete rows in `_fill`; both see
    codes (see `cells`), not tables.

    See Also
    --------
    Donors : Rows of training that agree with what is observed.
    JointGaussian : One Gaussian for all rows.
    """

    n_default: ClassVar[int] = 20  # draws, where nobody says how many
    keeps_rows: ClassVar[bool]  # whether the fitted object contains training rows
    cells_: Cells

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows with or without holes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Training rows; NaN or an empty cell is a hole.
        y : ignored
            For compatibility.

        Returns
        -------
        self : Conditional
            Fitted.
        """
        check_parameters(self)
        self.cells_ = Cells(X)
        self._fit(self.cells_.codes(X))
        return self

    def draws(self, X: Any, n_draws: int | None = None) -> Draws:
        """Draw complete rows that X may have been, with weights.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with holes. One without is its own only draw.
        n_draws : int, default=None
            At most so many draws for each row. None leaves it to the conditional.

        Returns
        -------
        draws : Draws
            `rows`, `weights` and `origin`.
        """
        check_is_fitted(self)
        if n_draws is not None and n_draws < 1:
            raise ValueError(f"n_draws must be at least 1; got {n_draws}.")
        codes = self.cells_.codes(X)
        incomplete = np.flatnonzero(np.isnan(codes).any(axis=1))
        filled, weights = self._fill(codes[incomplete], n_draws)
        counts = np.ones(len(codes), dtype=np.intp)
        counts[incomplete] = filled.shape[1]
        origin = np.repeat(np.arange(len(codes)), counts)
        rows, weights = filled.reshape(-1, codes.shape[1]), weights.ravel()
        if len(incomplete) < len(codes):
            drawn = np.isin(origin, incomplete)
            every, each = codes[origin], np.ones(len(origin))
            every[drawn], each[drawn] = rows, weights
            rows, weights = every, each
        return Draws(self.cells_.table(rows, X), weights, origin)

    def mean(self, X: Any) -> Any:
        """X with its holes filled by expectations; by the likeliest word for words.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with holes.

        Returns
        -------
        filled : array or data frame of shape (n_samples, n_features)
            In the container of X.
        """
        check_is_fitted(self)
        codes = self.cells_.codes(X)
        incomplete = np.flatnonzero(np.isnan(codes).any(axis=1))
        result = codes.copy()
        result[incomplete] = self._mean(codes[incomplete])
        return self.cells_.table(result, X)

    @abstractmethod
    def _fit(self, codes: Array) -> None:
        """Learn from the codes of the training rows."""

    @abstractmethod
    def _fill(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        """Filled codes (n, k, d) and weights (n, k) of rows that all have holes."""

    @abstractmethod
    def _mean(self, codes: Array) -> Array:
        """Expected codes (n, d)."""
