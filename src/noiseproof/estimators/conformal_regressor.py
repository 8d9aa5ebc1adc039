"""Prediction intervals for any regressor."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from noiseproof._docs import shared_docs
from noiseproof._private import HasMethods, Interval, _safe_indexing
from noiseproof._rows import by_blocks
from noiseproof.estimators.dropout_ridge import DropoutRidge
from noiseproof.estimators.intervals import (
    ask_intervals,
    calibrated,
    holding,
    kept_aside,
)
from noiseproof.estimators.known_missing import TableDelegator


@shared_docs
class ConformalRegressor(TableDelegator):
    """Add prediction intervals to any regressor.

    Predictions are those of the estimator, fitted on all training rows. For the
    intervals, some training rows are held out for calibration, and the estimator is
    fitted once more without them. Its errors on the held-out rows determine how wide
    the intervals must be. This is done separately for each pattern of missing values,
    when the pattern first occurs (see `noiseproof.evaluation.conformal_sets`), so
    intervals contain the target as often for rows with missing values as for complete
    rows. `AverageOverMissing` has such intervals built in.

    In a sparse matrix missing values cannot be told from zeros. There the guarantee
    holds on average over rows that resemble the training rows.

    Parameters
    ----------
    estimator : estimator, default=None
        A regressor, a pipeline that ends in one, or a fitted model in
        `FrozenEstimator`. A frozen model is calibrated on all rows passed to `fit`, up
        to `n_calibration`, so it must not have been fitted on them. None means
        `DropoutRidge` with automatic noise.
    n_calibration : int, default=500
        Maximum number of training rows to hold out for calibration; at most a quarter
        of the rows are held out. The fitted object contains them.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of the calibration rows.

    Attributes
    ----------
    estimator_ : estimator
        The estimator fitted on all rows, which makes the predictions.
    intervals_ : object or str
        The estimator fitted without the calibration rows, and these rows. If there are
        none, a string that says why.

    See Also
    --------
    AverageOverMissing : Has prediction intervals built in.
    noiseproof.evaluation.conformal_sets : Calibrates sets and intervals of a fitted
        model.

    {References: Zaffran 2023}

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from noiseproof import ConformalRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosting = HistGradientBoostingRegressor(max_iter=30, random_state=0)
    >>> model = ConformalRegressor(boosting, random_state=0).fit(X[:300], y[:300])
    >>> row = X[300:301].copy()
    >>> model.predict_interval(row, coverage=0.8).round()
    array([[166., 316.]])
    >>> row[0, [2, 8]] = np.nan
    >>> model.predict_interval(row, coverage=0.8).round()
    array([[ 49., 248.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_calibration": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    predicts_as_its_estimator: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_calibration: int = 500,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_calibration = n_calibration
        self.random_state = random_state

    @staticmethod
    def _default() -> Any:
        return DropoutRidge("auto")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator on all rows, and once more without the calibration rows.

        {(X, y, sample_weight) -> self}
        """
        base = self._base()
        if not is_regressor(base):
            raise TypeError(
                f"{type(base).__name__} is not a regressor, so it has no prediction "
                "intervals; for classifiers use noiseproof.evaluation.conformal_sets."
            )
        X, y, weights = self._read_training(X, y, sample_weight)

        def fitted(rows: NDArray[np.intp]) -> Any:
            options = {} if weights is None else {"sample_weight": weights[rows]}
            return clone(base).fit(_safe_indexing(X, rows), y[rows], **options)

        self._keep(fitted(np.arange(len(y))))
        order = check_random_state(self.random_state).permutation(len(y))
        share = {"share": 1} if isinstance(base, FrozenEstimator) else {}
        self.intervals_ = calibrated(fitted, X, y, order, self.n_calibration, **share)
        return self

    def _kept_aside(self) -> Any:
        """The calibration rows for `missing_cost`: see `kept_aside`."""
        return kept_aside(self.intervals_)

    @by_blocks
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Prediction intervals that contain the target with a given probability.

        Among the rows with any given pattern of missing values, on average at least a
        share `coverage` of the targets lies in the intervals. This is guaranteed for
        rows that are exchangeable with the training rows, if what is missing depends
        neither on the values nor on the target. If at least 20 of the calibration rows
        have exactly the pattern of a row, its interval is calibrated on these rows
        alone. Then the guarantee holds for any mechanism that makes values missing, as
        long as the mechanism stays the same. A coverage above 20/21 needs more rows:
        coverage / (1 - coverage).

        An interval is centred on the prediction of the estimator that was fitted
        without the calibration rows, for which the guarantee is exact. In the rare case
        that `predict(X)` lies outside, the interval is widened to contain it.

        Parameters
        ----------
        {X}
        coverage : float, default=0.9
            Minimum probability that an interval contains the target.

        Returns
        -------
        intervals : array of shape (n_samples, 2)
            Lower and upper bounds.
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        found = ask_intervals(self.intervals_, X, coverage)
        return holding(found, self.estimator_.predict(X))
