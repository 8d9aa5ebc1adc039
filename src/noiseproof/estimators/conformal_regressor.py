"""Any regressor, with prediction intervals."""

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
    """Give any regressor intervals that hold the target with a given probability.

    Predictions are those of the estimator. For the intervals some of the training rows
    are kept aside, and the estimator is fitted once more without them; how far off its
    predictions are on those rows tells how wide intervals must be. This is done
    separately for each pattern of missing values, when it is first met (see
    `noiseproof.evaluation.conformal_sets`), so rows with missing values are covered as
    often as complete ones. `AverageOverMissing` does the same for itself.

    In a sparse matrix no missing values are known, so there intervals hold for rows
    such as those of the training, on average.

    Parameters
    ----------
    estimator : estimator, default=None
        A regressor, a pipeline, or a fitted model in `FrozenEstimator`: then all rows
        given to `fit` calibrate it, up to `n_calibration`, and it must not have been
        fitted on them. None means `DropoutRidge` with automatic
        noise.
    n_calibration : int, default=500
        The largest number of training rows to keep aside, and at most a quarter of
        them. They are part of the fitted object.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of these rows.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator, which predicts.
    intervals_ : object or str
        The estimator fitted without the rows kept aside, and these rows; or why there
        are none.

    See Also
    --------
    AverageOverMissing : Has intervals of its own.
    noiseproof.evaluation.conformal_sets : Sets and intervals of a fitted model.

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
        self, estimator: Any = None, n_calibration: int = 500, random_state: Any = None
    ):
        self.estimator = estimator
        self.n_calibration = n_calibration
        self.random_state = random_state

    @staticmethod
    def _default() -> Any:
        return DropoutRidge("auto")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator on all rows, and once more on those not kept aside.

        {(X, y, sample_weight) -> self}
        """
        base = self._base()
        if not is_regressor(base):
            raise TypeError(
                f"{type(base).__name__} is no regressor, so there are no intervals; "
                "for classes use noiseproof.evaluation.conformal_sets."
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
        """For costs: see `kept_aside`."""
        return kept_aside(self.intervals_)

    @by_blocks
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Intervals that hold the target with a given probability.

        Of the rows with any given pattern of missing values, on average at least
        `coverage` have their target in the interval. This holds for rows that are
        exchangeable with the training rows, if what is missing depends neither on the
        values nor on the target. If at least 50 of the rows kept aside have the very
        pattern of a row, they alone calibrate it; then the promise holds for any
        mechanism that makes values missing, as long as it stays the same.

        Intervals are centred on the prediction of the estimator that was fitted without
        the rows kept aside, for which the promise is exact, and widened to hold
        `predict(X)` where they do not, which is rare.

        Parameters
        ----------
        {X}
        coverage : float, default=0.9
            Probability that an interval holds the target, at the least.

        Returns
        -------
        intervals : array of shape (n_samples, 2)
            Lower and upper ends.
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        found = ask_intervals(self.intervals_, X, coverage)
        return holding(found, self.estimator_.predict(X))
