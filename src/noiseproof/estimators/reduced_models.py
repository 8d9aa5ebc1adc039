"""A model for each pattern of missing columns, fitted when the pattern first occurs."""

from __future__ import annotations

from numbers import Integral
from threading import RLock
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.frozen import FrozenEstimator

from noiseproof._docs import shared_docs
from noiseproof._pipelines import takes_nan
from noiseproof._private import HasMethods, Interval, _safe_indexing
from noiseproof._rows import KeptRows
from noiseproof.conditionals import holes
from noiseproof.estimators.average_over_missing import AverageOverMissing
from noiseproof.estimators.known_missing import KnownMissing

_FITTING = RLock()  # two threads must not fit the model of the same pattern


@shared_docs
class ReducedModels(KnownMissing):
    """Fit one model for each pattern of missing columns, on the observed columns.

    This is the most accurate method if there are few patterns, such as when few sensors
    fail. It needs no imputation and makes no assumption about the missing values. The
    model of a pattern is fitted when a row with that pattern is first predicted, on the
    training rows that have values in all of its observed columns, and kept. For rows
    without missing values the estimator fitted on all columns predicts. The fitted
    object contains the training rows. It is safe to predict from several threads.

    Parameters
    ----------
    estimator : estimator, default=None
        The estimator to fit. None means `DropoutLogisticRegression`.
    max_patterns : int, default=64
        Maximum number of patterns that get a model of their own. Patterns are taken in
        the order in which they occur, and among those of one call the most frequent
        first. For all other patterns `AverageOverMissing` predicts, with the estimator
        fitted on all columns, which needs no fit for each pattern. So once there are
        more patterns than this, a prediction depends on which rows were predicted
        before.
    verbose : int, default=0
        Whether to print a line for each model that is fitted.

    Attributes
    ----------
    estimator_ : estimator
        The model for rows without missing values.
    models_ : dict
        The models of patterns. A key has a character for each column, "1" if the column
        is observed and "0" if it is missing.
    classes_ : array of shape (n_classes,)
        Class labels, if the estimator has them.

    See Also
    --------
    AverageOverMissing : Uses one model for all patterns.
    recommend : Finds the best model by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from noiseproof import ReducedModels
    >>> X, y = load_wine(return_X_y=True)
    >>> model = ReducedModels(RandomForestClassifier(random_state=0))
    >>> round(model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]), 2)
    0.98
    >>> broken = X[1::2].copy()
    >>> broken[:, [0, 6, 9, 12]] = np.nan
    >>> round(model.score(broken, y[1::2]), 2)
    0.89
    >>> list(model.models_)
    ['0111110110110']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "max_patterns": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self, estimator: Any = None, max_patterns: int = 64, *, verbose: int = 0
    ):
        self.estimator = estimator
        self.max_patterns = max_patterns
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model for rows without missing values, and keep the training rows.

        A training row with missing values is used by the models that need none of its
        missing columns, or by all models if the estimator accepts NaN.

        {(X, y, sample_weight) -> self}
        """
        X, y, sample_weight = self._read_training(X, y, sample_weight)
        self.rows_ = KeptRows(X)
        self.targets_, self.weights_ = y, sample_weight
        self.models_: dict[str, Any] = {}
        self.others_: AverageOverMissing | None = None
        self._keep(self._fit_on(np.ones(X.shape[1], dtype=bool)))
        return self

    def _fit_on(self, there: NDArray[np.bool_]) -> Any:
        """A model of some columns, fitted on the rows with values in all of them."""
        X, y, weights = self.rows_.take(), self.targets_, self.weights_
        if not there.any():
            dummy = DummyClassifier if is_classifier(self) else DummyRegressor
            return dummy().fit(np.zeros((len(y), 1)), y, sample_weight=weights)
        X = _columns(X, there)
        gaps = holes(X).any(axis=1)
        if gaps.any() and not takes_nan(self._base()):
            rows = np.flatnonzero(~gaps)
            if not len(rows):
                raise ValueError(
                    "No training row has values in all of the columns "
                    f"{np.flatnonzero(there).tolist()}, so no model can be fitted for "
                    "rows in which just these are observed; train on more complete "
                    "rows, or use AverageOverMissing."
                )
            X, y = _safe_indexing(X, rows), y[rows]
            weights = None if weights is None else weights[rows]
            if is_classifier(self) and len(np.unique(y)) < len(
                np.unique(self.targets_)
            ):
                raise ValueError(
                    "The training rows that have values in all of the columns "
                    f"{np.flatnonzero(there).tolist()} do not cover all classes; train "
                    "on more complete rows, or use AverageOverMissing."
                )
        options = {} if weights is None else {"sample_weight": weights}
        return clone(self._base()).fit(X, y, **options)

    def _model(self, key: str, n_rows: int) -> Any:
        """The model of a pattern, or None if `max_patterns` is reached."""
        if "0" not in key:
            return self.estimator_
        with _FITTING:
            if key in self.models_:
                return self.models_[key]
            if len(self.models_) < self.max_patterns:
                if self.verbose:
                    count, columns = len(self.models_) + 1, key.count("1")
                    print(
                        f"[ReducedModels] model {count} (at most {self.max_patterns}): "
                        f"{columns} of {len(key)} columns, for {n_rows} rows"
                    )
                model = self._fit_on(np.array(list(key)) == "1")
                self.models_ = {**self.models_, key: model}
                return model
            if self.others_ is None:
                averaged = AverageOverMissing(FrozenEstimator(self.estimator_))
                averaged.set_params(random_state=0).fit(self.rows_.take())
                self.others_ = averaged
            return None

    def _answer(self, method: str, X: Any, missing: NDArray[np.bool_]) -> Any:
        keys = np.array(["".join(row) for row in np.where(missing, "0", "1")])
        patterns, inverse, counts = np.unique(
            keys, return_inverse=True, return_counts=True
        )
        parts, places, others = [], [], []
        for i in np.argsort(-counts, kind="stable"):
            key, rows = str(patterns[i]), np.flatnonzero(inverse == i)
            model = self._model(key, len(rows))
            if model is None:  # one call for all such patterns is much faster
                others.append(rows)
                continue
            places.append(rows)
            parts.append(_reduced(method, model, key, _safe_indexing(X, rows)))
        if others:
            places.append(np.concatenate(others))
            rest = _safe_indexing(X, places[-1])
            parts.append(getattr(self.others_, method)(rest))
        return np.concatenate(parts)[np.argsort(np.concatenate(places))]


def _reduced(method: str, model: Any, key: str, X: Any) -> Any:
    """Predictions of the model of a pattern for rows with that pattern."""
    if "1" not in key:
        return _of_nothing(model, method, X.shape[0])
    return getattr(model, method)(_columns(X, np.array(list(key)) == "1"))


def _columns(X: Any, there: NDArray[np.bool_]) -> Any:
    """Some columns of an array or a data frame."""
    return _safe_indexing(X, np.flatnonzero(there), axis=1)


def _of_nothing(model: Any, method: str, n: int) -> Any:
    """Predictions without any column: the share of each class, or the mean."""
    nothing = np.zeros((n, 1))
    if method != "decision_function":
        return getattr(model, method)(nothing)
    logs = np.log(model.predict_proba(nothing))
    return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs
