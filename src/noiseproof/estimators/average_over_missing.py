"""Any model on rows with holes: the average over what they may have been."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from noiseproof._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    _check_sample_weight,
    _safe_indexing,
)
from noiseproof.conditionals import (
    CONDITIONALS,
    Donors,
    JointGaussian,
    has_words,
    holes,
)
from noiseproof.estimators.averaging import Averager, linear_scores, link_of
from noiseproof.estimators.dropout_logistic import DropoutLogisticRegression
from noiseproof.estimators.meta import Delegator, _has

_RATES = (0.2, 0.5, 0.8)  # of cells masked to choose the conditional
_JUDGED, _TAUGHT_BY = 100, 5000  # rows masked at each rate, and rows that fill them
_FILLS = 5  # draws of a training row with holes, if the estimator takes weights


class AverageOverMissing(Delegator):
    """Any classifier or regressor, averaged over what missing cells may have been.

    The answer for a row with holes is E[f(x) | observed cells], where the law of the
    missing cells comes from the training rows: not f of a row filled with a guess.
    Probabilities are averaged; of a classifier that has none, scores are (on the scale
    of probabilities); classes follow from the average. A row without holes gets exactly
    what the estimator says. Scores that are linear in the row need no draws with
    `JointGaussian`: their mean and variance are known, and probabilities integrate the
    variance.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier or regressor, a pipeline, or a fitted model in `FrozenEstimator`,
        for which `fit` learns the law of the rows only. None means
        `DropoutLogisticRegression`.
    conditional : {"auto", "donors", "joint-gaussian"} or Conditional, default="auto"
        The law of missing cells. "auto" takes the one whose averages are nearest to
        what the estimator says about complete rows, judged on masked training rows that
        it has not seen. A model with `Donors` contains training rows.
    n_draws : int, default=20
        How many draws of a row the estimator sees at most.
    random_state : int, RandomState instance or None, default=None
        Seed of the masks that choose the conditional, and of the draws that fill
        training rows.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator. If it takes no NaN, training rows with holes were filled
        with draws: five for each row if it takes sample weights, else one.
    conditional_ : Conditional
        The law of the rows.
    classes_ : array of shape (n_classes,)
        Labels, if the estimator has them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from noiseproof import AverageOverMissing
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AverageOverMissing(SVC(), "donors").fit(X[:900], y[:900])
    >>> half = np.random.default_rng(0).random(X[900:].shape) < 0.5
    >>> round(model.score(np.where(half, np.nan, X[900:]), y[900:]), 2)
    0.89
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "conditional": [StrOptions({"auto", *CONDITIONALS}), HasMethods(["draws"])],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        conditional: Any = "auto",
        n_draws: int = 20,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.conditional = conditional
        self.n_draws = n_draws
        self.random_state = random_state

    @staticmethod
    def _default() -> Any:
        return DropoutLogisticRegression()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the estimator, and learn the law of the rows.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Training rows, with or without holes.
        y : array-like of shape (n_samples,), default=None
            Targets; a `FrozenEstimator` needs none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row for the estimator.

        Returns
        -------
        self : AverageOverMissing
            Fitted.
        """
        self._validate_params()
        base = self._base()
        if is_classifier(base) and _scoring(base) is None:
            raise ValueError(
                f"{type(base).__name__} has neither predict_proba nor "
                "decision_function, so there is nothing to average; use a classifier "
                "that has one of them, or calibrate this one."
            )
        frozen = isinstance(base, FrozenEstimator)
        X, y = _read(self, X, None if frozen else y, reset=True, supervised=not frozen)
        if sample_weight is not None:
            if not has_fit_parameter(base, "sample_weight"):
                raise TypeError(f"{type(base).__name__} does not take sample_weight.")
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        rng = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31)
        )
        law = self._named(X)
        self.conditional_ = (law or Donors()).fit(X)
        self._keep(self._fitted(base, X, y, sample_weight, rng))
        self.linear_ = None
        complete = np.flatnonzero(~holes(X).any(axis=1))
        if law is None:
            law = self._chosen(X, rng.permutation(complete))
            if not isinstance(law, Donors):
                self.conditional_ = law.fit(X)
        if len(complete):
            self.linear_ = self._linear(self.conditional_, X, complete)
        return self

    def _named(self, X: Any) -> Any:
        """The conditional that the user names, or None if it is to be chosen."""
        if not isinstance(self.conditional, str):
            return clone(self.conditional)
        if self.conditional == "auto":
            return Donors() if has_words(X) else None
        return CONDITIONALS[self.conditional]()

    def _fitted(
        self, base: Any, X: Any, y: Any, sample_weight: Any, rng: np.random.Generator
    ) -> Any:
        """The estimator, fitted on rows whose holes are filled if it takes none."""
        fitted = clone(base)
        if isinstance(base, FrozenEstimator):
            return fitted.fit(X)
        gaps = holes(X).any(axis=1)
        if gaps.any() and not get_tags(base).input_tags.allow_nan:
            weighted = has_fit_parameter(base, "sample_weight")
            origin = np.repeat(
                np.arange(len(gaps)), np.where(gaps & weighted, _FILLS, 1)
            )
            X = self._filled(X, origin, rng)
            if weighted:
                weights = np.ones(len(gaps)) if sample_weight is None else sample_weight
                sample_weight = (weights / np.where(gaps, _FILLS, 1))[origin]
            y = y[origin]
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return fitted.fit(X, y, **options)

    def _filled(self, X: Any, origin: NDArray[Any], rng: np.random.Generator) -> Any:
        """Rows of X, each as often as told, with holes filled by draws at random."""
        rows, weights, of = self.conditional_.draws(X, self.n_draws)
        ends = np.cumsum(weights)  # of all rows: those of row i lie in (i, i + 1]
        points = origin + rng.uniform(1e-9, 1 - 1e-9, len(origin))
        places = np.searchsorted(ends, points)
        first = np.searchsorted(of, origin)
        last = np.searchsorted(of, origin, side="right") - 1
        return _safe_indexing(rows, np.clip(places, first, last))

    def _chosen(self, X: Any, complete: NDArray[Any]) -> Any:
        """The conditional whose averages are nearest to the answers on whole rows."""
        judged, others = complete[:_JUDGED], complete[_JUDGED:][:_TAUGHT_BY]
        if len(others) < 2 * len(judged):  # few rows: a third of them judges
            cut = len(complete) // 3
            judged, others = complete[:cut], complete[cut:]
        if len(judged) < 5:
            return Donors()
        rng = np.random.default_rng(len(judged))
        truth = _safe_indexing(X, judged)
        laws, losses = [Donors(), JointGaussian()], []
        for law in laws:
            law.fit(_safe_indexing(X, others))
            linear = self._linear(law, X, others)
            averager = Averager(self.estimator_, law, self.n_draws, linear)
            codes = law.cells_.codes(truth)
            loss = 0.0
            for rate in _RATES:
                masked = np.where(rng.random(codes.shape) < rate, np.nan, codes)
                loss += _distance(averager, law.cells_.table(masked, X), truth)
            losses.append(loss)
            rng = np.random.default_rng(len(judged))  # the same masks for all
        return clone(laws[int(np.argmin(losses))])

    def _linear(self, law: Any, X: Any, rows: NDArray[Any]) -> dict[str, Any] | None:
        """The estimator's linear scores, if it has them and the law can use them."""
        method = "decision_function" if is_classifier(self.estimator_) else "predict"
        if not hasattr(law, "scores") or not hasattr(self.estimator_, method):
            return None
        cells = law.cells_
        ask = getattr(self.estimator_, method)
        tested = _safe_indexing(X, rows[:50])
        codes = np.asarray(cells.codes(tested), dtype=np.float64)
        like = np.zeros((1, 1)) if isinstance(X, np.ndarray) else X
        found = linear_scores(
            lambda rows: ask(cells.table(rows, like)), codes, np.random.default_rng(0)
        )
        if found is not None and hasattr(self.estimator_, "predict_proba"):
            scores = codes @ found["coef"].T + found["intercept"]
            found["link"] = link_of(scores, self.estimator_.predict_proba(tested))
        return found

    def _averager(self) -> Averager:
        return Averager(self.estimator_, self.conditional_, self.n_draws, self.linear_)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict: of a row with holes, from the average.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with or without holes.
        return_std : bool, default=False
            Regressors only: whether to return how much the prediction varies with what
            the missing cells may have been.

        Returns
        -------
        y : array of shape (n_samples,)
            Predictions.
        std : array of shape (n_samples,)
            Standard deviations, zero for rows without holes; only if asked for.
        """
        if is_classifier(self):
            if return_std:
                raise TypeError("return_std is for regressors; use predict_proba.")
            return self._joined("predict", X, self._classes_of)
        if not return_std:
            return self._joined(
                "predict", X, lambda rows: self._averager().predictions(rows)[0]
            )
        both = self._joined(
            "predict", X, lambda rows: np.stack(self._averager().predictions(rows), -1)
        )
        return both[..., 0], both[..., 1]

    def _classes_of(self, rows: Any) -> Any:
        averager = self._averager()
        if _scoring(self.estimator_) == "predict_proba":
            return self.classes_[averager.probabilities(rows).argmax(axis=1)]
        scores = averager.decisions(rows)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(int)]
        if scores.shape[1] != len(self.classes_):
            raise ValueError(
                f"The scores of {type(self.estimator_).__name__} are not one for each "
                "class, so no class follows from their average; set "
                "decision_function_shape='ovr'."
            )
        return self.classes_[scores.argmax(axis=1)]

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Probabilities: of a row with holes, their average.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with or without holes.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            One column for each class.
        """
        return self._joined(
            "predict_proba", X, lambda rows: self._averager().probabilities(rows)
        )

    @_has("decision_function")
    def decision_function(self, X: Any) -> Any:
        """Scores: of a row with holes, their average on the scale of probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with or without holes.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            As the estimator's own.
        """
        return self._joined(
            "decision_function", X, lambda rows: self._averager().decisions(rows)
        )

    def _joined(self, method: str, X: Any, average: Any) -> Any:
        """The estimator's own answers, and the averages for rows with holes."""
        check_is_fitted(self)
        X, _ = _read(self, X, None, reset=False, supervised=False)
        gaps = holes(X).any(axis=1)
        ask = getattr(self.estimator_, method)
        if not gaps.any():
            own = ask(X)
            return own
        averaged = average(_safe_indexing(X, np.flatnonzero(gaps)))
        if gaps.all():
            return averaged
        own = np.asarray(ask(_safe_indexing(X, np.flatnonzero(~gaps))))
        dtype = np.result_type(own, averaged)
        result = np.zeros((len(gaps), *averaged.shape[1:]), dtype=dtype)
        result[gaps] = averaged
        if averaged.ndim > own.ndim:  # a standard deviation of zero comes with it
            result[~gaps, ..., 0] = own
        else:
            result[~gaps] = own
        return result

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with or without holes.
        y : array-like of shape (n_samples,)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            At most 1.
        """
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


def _scoring(model: Any) -> str | None:
    """The method whose answers are averaged to find a class."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            return method
    return None


def _distance(averager: Averager, masked: Any, whole: Any) -> float:
    """Mean squared difference between averages and the answers on whole rows."""
    if not is_classifier(averager.estimator):
        average = averager.predictions(masked)[0]
        answers = averager.estimator.predict(whole)
    elif _scoring(averager.estimator) == "predict_proba":
        average = averager.probabilities(masked)
        answers = averager.estimator.predict_proba(whole)
    else:  # scores have no bounds: compare what they would be as probabilities
        average = _as_shares(averager.decisions(masked))
        answers = _as_shares(averager.estimator.decision_function(whole))
    return float(np.mean((average - answers) ** 2))


def _as_shares(scores: Any) -> Any:
    from scipy.special import expit, softmax

    return expit(scores) if scores.ndim == 1 else softmax(scores, axis=1)


def _read(estimator: Any, X: Any, y: Any, *, reset: bool, supervised: bool) -> Any:
    """X and y checked; an array of floats, or the data frame as it is."""
    options: dict[str, Any] = {"reset": reset}
    if hasattr(X, "columns"):
        options["skip_check_array"] = True
    else:
        options |= {
            "dtype": [np.float64, np.float32],
            "ensure_all_finite": "allow-nan",
        }
    if not supervised:
        return validate_data(estimator, X, **options), None
    X, y = validate_data(estimator, X, y, **options)
    return X, np.asarray(y)
