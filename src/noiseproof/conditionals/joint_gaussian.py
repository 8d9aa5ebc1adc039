"""Impute missing values from a joint Gaussian, in closed form."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noiseproof._docs import shared_docs
from noiseproof._private import Interval, StrOptions
from noiseproof.conditionals.base import Conditional
from noiseproof.conditionals.regression import Regression, regression_of
from noiseproof.conditionals.rounding import rounded

Array = NDArray[Any]

_BLOCK = 2**22  # numbers in a temporary array
_MATCHED = 25  # up to so many columns, wide draws have the exact covariance


@shared_docs
class JointGaussian(Conditional):
    """Impute missing values from a Gaussian with the mean and covariance of the rows.

    Given the observed values, the missing values are Gaussian. Their mean is the linear
    regression on the observed values, and their covariance is that of the residuals.
    The covariance of two columns is estimated on the rows in which both are observed,
    with shrinkage. The fitted object contains means and covariances, but no training
    rows.

    Parameters
    ----------
    shrinkage : float or "auto", default="auto"
        How much covariances are shrunk towards zero, between 0 and 1. "auto" estimates
        the best amount (Ledoit and Wolf's lemma with a diagonal target).
    rank : int, default=None
        Number of factors of a factor model of the covariance, with which a row takes
        d·rank² operations. None means the full covariance for up to 256 features, and
        at most 64 factors for more.

    Attributes
    ----------
    regression_ : object
        The covariance, in units of the features' standard deviations.

    {See Also: Donors, AverageOverMissing}

    Examples
    --------
    >>> import numpy as np
    >>> from noiseproof.conditionals import JointGaussian
    >>> x = np.random.default_rng(0).normal(size=(1000, 1))
    >>> model = JointGaussian().fit(np.hstack([x, 2 * x]))
    >>> model.mean([[0.5, np.nan]]).round(2)
    array([[0.5, 1. ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
    }
    keeps_rows = False
    regression_: Regression

    def __init__(self, shrinkage: float | str = "auto", rank: int | None = None):
        self.shrinkage = shrinkage
        self.rank = rank

    def _fit(self, codes: Array) -> None:
        if not self.cells_.is_number.all():
            name = self.cells_.names[int(np.argmin(self.cells_.is_number))]
            raise ValueError(
                f"Column {name} of X holds text, which JointGaussian cannot impute; "
                "use Donors, or encode the column first."
            )
        Z, observed = self.cells_.features(codes)
        self.regression_ = regression_of(Z, observed, self.shrinkage, self.rank)

    def _fill(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        k = self.n_default if n_draws is None else n_draws
        return self._moved(codes, self._starts(k))

    def _fill_widely(self, codes: Array, n_draws: int | None) -> tuple[Array, Array]:
        """As `_fill`, with as many draws as it takes for the right covariance."""
        k = max(n_draws or 0, self.n_default, 4 * min(codes.shape[1], _MATCHED))
        return self._moved(codes, self._starts(k, matched=True))

    def _moved(self, codes: Array, start: Array) -> tuple[Array, Array]:
        """Draws of complete rows, conditioned on the observed values."""
        k = len(start)
        filled = np.empty((len(codes), k, codes.shape[1]))
        for rows in self._blocks(len(codes), k):
            Z, observed = self.cells_.features(codes[rows])
            # shift a draw of the complete row to the observed values; the regression on
            # the shifts of the observed values gives those of the missing ones
            moved = self.regression_.expected(observed, Z[:, None, :] - start)
            drawn = (start + moved) * self.cells_.scales + self.cells_.means
            drawn = rounded(drawn, self.cells_.scales)
            filled[rows] = np.where(observed[:, None], codes[rows][:, None], drawn)
        return filled, np.full((len(codes), k), 1.0 / k)

    def _starts(self, k: int, matched: bool = False) -> Array:
        """Draws of complete rows, (k, d), in antithetic pairs, so the mean is exact."""
        rng, order = np.random.default_rng(0), self.cells_.order()
        half = self.regression_.sample(k // 2, rng, order, matched)
        if k % 2 == 0:
            return np.concatenate([half, -half])
        wider = half * np.sqrt(k / max(k - 1, 1))  # the draw at zero has no variance
        return np.concatenate([wider, np.zeros((1, len(self.cells_.means))), -wider])

    def _mean(self, codes: Array) -> Array:
        return self._fill(codes, 1)[0][:, 0]

    def _blocks(self, n: int, k: int) -> list[slice]:
        step = max(1, _BLOCK // (k * len(self.cells_.means)))
        return [slice(start, start + step) for start in range(0, n, step)]

    def scores(
        self, X: Any, coef: Array, intercept: Array
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and covariance of linear scores w·x + b for rows with missing values.

        Parameters
        ----------
        {incomplete X}
        coef : array of shape (n_scores, n_features)
            Weights w.
        intercept : array of shape (n_scores,)
            Intercepts b.

        Returns
        -------
        mean : array of shape (n_samples, n_scores)
            E[w·x + b | observed values].
        covariance : array of shape (n_samples, n_scores, n_scores)
            Covariance of the scores, given the observed values.
        """
        codes = self.cells_.codes(X)
        mean = np.empty((len(codes), len(coef)))
        covariance = np.empty((len(codes), len(coef), len(coef)))
        weights = coef * self.cells_.scales
        for rows in self._blocks(len(codes), len(coef) + 1):
            Z, observed = self.cells_.features(codes[rows])
            expected = self.regression_.expected(observed, Z[:, None, :])[:, 0]
            mean[rows] = expected @ weights.T + coef @ self.cells_.means + intercept
            of_holes = np.where(observed[:, None, :], 0.0, weights)
            with_all = self.regression_.times(of_holes)
            left = with_all - self.regression_.expected(observed, with_all)
            covariance[rows] = of_holes @ np.swapaxes(left, 1, 2)
        return mean, covariance
