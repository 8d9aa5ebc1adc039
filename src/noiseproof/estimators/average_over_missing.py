"""Average the predictions of any model over the distribution of missing values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from noiseproof._pipelines import takes_nan
from noiseproof._private import HasMethods, Interval, StrOptions, _safe_indexing
from noiseproof._rows import by_blocks
from noiseproof.conditionals import (
    CONDITIONALS,
    Conditional,
    Donors,
    JointGaussian,
    first_best,
    has_words,
    holes,
    order_by_values,
)
from noiseproof.estimators.averaging import Averager, linear_scores
from noiseproof.estimators.intervals import (
    Intervals,
    ask_intervals,
    calibrated,
    holding,
    kept_aside,
)
from noiseproof.estimators.known_missing import KnownMissing
from noiseproof.estimators.quantiles import (
    LEVELS,
    contains_quantiles,
    quantile_parameter,
)
from noiseproof.estimators.treatments import (
    AVERAGED,
    INDICATED,
    Training,
    Treating,
    Treatments,
    completed,
    completed_fits,
    fitted,
    is_tree,
)

_RATES = (0.2, 0.5, 0.8)  # share of values masked when the conditional is chosen
_JUDGED, _TAUGHT_BY = 300, 5000  # rows masked at each rate; rows to learn from
_PARTS = 3  # folds of the training rows, one of which is held out at a time


class AverageOverMissing(KnownMissing):
    """Average a classifier or regressor over the distribution of missing values.

    Imputation replaces each missing value by a single guess. This meta-estimator
    instead predicts the expectation E[f(x) | observed values]. A model of the missing
    values given the observed ones (the *conditional*) is learned from the training
    rows. It completes each row with missing values in several ways (its *draws*), the
    estimator predicts for all of them, and the weighted predictions are averaged. For
    classifiers, probabilities are averaged, or scores if there are no probabilities,
    and the predicted class follows from the average. Rows without missing values get
    exactly the prediction of the estimator. The prediction for a row does not depend on
    the other rows of the batch.

    For a linear model with `JointGaussian` as conditional no draws are needed. The
    score of a row with missing values is then Gaussian with known mean and variance,
    and `predict_proba` averages over that distribution.

    For a quantile model (gradient boosting with `loss="quantile"`,
    `QuantileRegressor`) the prediction is the quantile of the target given the observed
    values. It is the quantile of the mixture of the distributions that the draws
    predict, which is not the mean of their quantiles. To know these distributions, the
    model is also fitted at the levels 0.05, 0.25, 0.5, 0.75 and 0.95. The model may be
    at the end of a pipeline, or inside a search or a bag. A warning tells if its level
    cannot be set, as for a vote of several.

    Missing values in the training rows may be informative, and an estimator that
    accepts NaN can learn from them. It would lose this information if it only saw
    completed rows at prediction time. So if training rows have missing values, up to
    three predictions are blended: that of the estimator with its own handling of NaN,
    the average of an estimator fitted on completed rows, and the same with additional
    indicator columns for missing values. The weights are chosen on held-out training
    rows: once for rows whose missing values resemble those of training rows, and once
    for all other rows. The attribute `treatment_` tells which weights were chosen.
    Quantile models are always fitted on completed rows and averaged.

    Parameters
    ----------
    estimator : estimator, default=None
        A classifier or regressor, or a pipeline that ends in one. Wrap a fitted model
        in `FrozenEstimator` to use it as it is. None means
        `DropoutLogisticRegression`.
    conditional : {"auto", "donors", "joint-gaussian"} or Conditional, default="auto"
        Model of the missing values given the observed ones. "auto" compares
        `JointGaussian` and `Donors`, the latter with and without correction, on
        held-out training rows with masked values. It takes the one whose averages
        predict the targets best, by log-loss or squared error. This takes up to three
        additional fits of the estimator, unless it is frozen. Without targets (see
        `fit`) it takes the one whose averages are nearest to the predictions for the
        complete rows. A fitted model with `Donors` contains training rows.
    n_draws : int, default=20
        Maximum number of draws for each row. There is one exception: with `Donors`, a
        row without any observed value is completed by all training rows that `Donors`
        keeps.
    random_state : int, RandomState instance or None, default=None
        Seed of the masks that are used to choose the conditional, of the draws that
        complete training rows, and of the choice of the calibration rows.
    n_calibration : int, default=500
        Maximum number of training rows to hold out for calibration; at most a quarter
        of the rows are held out. They calibrate `predict_interval` of a regressor and
        `noiseproof.evaluation.missing_cost`. The estimator is fitted once more, without
        these rows, and the fitted object contains them. With 0 no rows are held out:
        there are no intervals, and costs are not calibrated. A classifier holds out no
        rows if you pass a conditional that contains no training rows, such as
        "joint-gaussian".
    treatment : "auto" or tuple, default="auto"
        How to predict for rows with missing values if training rows have missing
        values, too. "auto" chooses the weights on held-out training rows, which takes
        many fits of the estimator. Pass the attribute `treatments_.verdict` of another
        fitted model to use its weights, which takes fewer fits.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator, which predicts for complete rows. If it does not accept
        NaN, it was fitted on completed training rows: on up to five draws for each
        incomplete row if it accepts sample weights and is not made of trees, otherwise
        on one. If indicator columns for missing values make predictions for complete
        rows clearly better, it is a pipeline that adds these columns.
    conditional_ : Conditional
        The fitted model of the missing values.
    treatment_ : str
        How predictions for rows with missing values are made, in words.
    treatments_ : object or None
        The fitted models for rows with missing values, and their weights. None if all
        training rows were complete or if there is only one such model.
    levels_ : tuple of float
        Levels at which a quantile model was fitted. Empty for other models.
    intervals_ : object or str
        The model that was fitted without the calibration rows, and these rows with
        their targets (for a classifier, the indices of the classes in `classes_`). If
        there are none, a string that says why.
    classes_ : array of shape (n_classes,)
        Class labels, if the estimator has them.

    See Also
    --------
    ReducedModels : Fits one model for each pattern of missing columns.
    noiseproof.conditionals.Donors : Imputes missing values from similar training rows.
    noiseproof.conditionals.JointGaussian : Imputes them from a joint Gaussian.
    ConformalRegressor : Adds prediction intervals to any other regressor.
    recommend : Finds the best model by cross-validation.

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
    0.91
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "conditional": [StrOptions({"auto", *CONDITIONALS}), HasMethods(["draws"])],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_calibration": [Interval(Integral, 0, None, closed="left")],
        "treatment": [StrOptions({"auto"}), tuple],
    }
    # defaults for models saved by older versions, which lack these attributes
    n_calibration: int = 0
    treatment: Any = "auto"
    levels_: tuple[float, ...] = ()
    by_level_: Sequence[Any] = ()
    intervals_: Intervals | str = "the model is of an older version"
    treatments_: Treatments | None = None

    def __init__(
        self,
        estimator: Any = None,
        conditional: Any = "auto",
        n_draws: int = 20,
        random_state: Any = None,
        *,
        n_calibration: int = 500,
        treatment: Any = "auto",
    ):
        self.estimator = estimator
        self.conditional = conditional
        self.n_draws = n_draws
        self.random_state = random_state
        self.n_calibration = n_calibration
        self.treatment = treatment

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the estimator and the conditional.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Training rows, with or without missing values.
        y : array-like of shape (n_samples,), default=None
            Target values. They are optional for a `FrozenEstimator`. If you pass them,
            they are used to choose the conditional and to calibrate intervals, so the
            frozen model must not have been fitted on these rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row in the fit of the estimator. Intervals are calibrated
            without weights.

        Returns
        -------
        self : AverageOverMissing
            The fitted estimator.
        """
        base = self._base()
        X, y, sample_weight = self._read_training(X, y, sample_weight)
        if is_classifier(base):
            _check_classifier(base, y)
        rng = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31)
        )
        law = self._named(X)
        self.conditional_ = (law or Donors()).fit(X)
        gaps = np.asarray(holes(X).any(axis=1))
        aside = self.n_calibration > 0
        order = np.arange(len(gaps))
        if law is None or gaps.any() or aside:
            order = self._order(X, y, sample_weight)
        training = Training.of(X, y, sample_weight, order, rng)
        self._fit_levels(base, training, bool(gaps.any()))
        complete = rng.permutation(order[~gaps[order]])
        order = rng.permutation(order)
        self.intervals_ = self._calibrated(X, y, sample_weight, order)
        if law is None:
            self._take(self._chosen(X, y, sample_weight, complete), X)
        self.treatments_ = None
        if (
            gaps.any()
            and not self.levels_
            and isinstance(self.conditional_, Conditional)
        ):
            self.treatments_ = self._treatments(base, training, order)
            if self.treatments_ is not None and self.treatments_.complete == INDICATED:
                self._keep(self.treatments_.behind_indicators())
        self.linear_ = None
        if not (self.levels_ or self.treatments_):
            own = self.estimator_, self.conditional_
            self.linear_ = linear_scores(*own, X, complete)
        self._keep_classes(X, y, sample_weight, order)
        return self

    @property
    def treatment_(self) -> str:
        """How predictions for rows with missing values are made, in words."""
        check_is_fitted(self)
        return str(self.treatments_ or AVERAGED)

    def _fit_levels(self, base: Any, training: Training, holed: bool) -> None:
        """Fit the estimator, and if it is a quantile model, at other levels, too."""
        self.levels_, self.by_level_ = (), []
        if isinstance(base, FrozenEstimator):
            self._keep(clone(base))
            if contains_quantiles(base):
                warnings.warn(
                    "A frozen quantile model cannot be fitted at other levels. For a "
                    "row with missing values it therefore predicts the mean of the "
                    "quantiles over the draws, which is not the quantile of the "
                    "target; pass the model without FrozenEstimator.",
                    stacklevel=3,
                )
            return
        X, y, sample_weight = training.X, training.y, training.weights
        if holed and not takes_nan(base):
            once = training.chances[:, : 1 if is_tree(base) else None]
            done = completed(self.conditional_, X, once)
            self._keep(completed_fits(base, training, done)[0])
        else:
            self._keep(fitted(base, X, y, sample_weight))
        found = quantile_parameter(base)
        if found is None or y.ndim > 1:
            if contains_quantiles(base):
                warnings.warn(
                    f"{type(base).__name__} contains quantile models, but no single "
                    "parameter is known to set their level, so for a row with missing "
                    "values it predicts the mean of the quantiles over the draws, "
                    "which is not the quantile of the target.",
                    stacklevel=3,
                )
            return
        name, own = found
        self.levels_ = tuple(sorted({own, *LEVELS}))
        if holed:
            X = completed(self.conditional_, X, training.chances[:, :1]).rows
        for level in self.levels_:
            model = self.estimator_
            if level != own or holed:
                other = clone(base).set_params(**{name: level})
                model = fitted(other, X, y, sample_weight)
            self.by_level_.append(model)

    def _treatments(
        self, base: Any, training: Training, order: NDArray[Any]
    ) -> Treatments | None:
        """Models for rows with missing values and their weights, if there are several.

        The weights are taken from `treatment`, or from the model that intervals
        calibrate, or are chosen on held-out rows.
        """

        def average(model: Any, law: Any, rows: Any) -> AverageOverMissing:
            if not isinstance(model, FrozenEstimator):
                model = FrozenEstimator(model)
            member = AverageOverMissing(model, law, self.n_draws, n_calibration=0)
            return member.fit(rows)

        known = None if isinstance(self.treatment, str) else self.treatment
        # intervals are only valid for a model with the weights that they calibrated
        if isinstance(self.intervals_, Intervals):
            treated = self.intervals_.model.treatments_
            known = treated and treated.verdict
        treating = Treating(base, self.conditional_, average)
        return treating.fit(training, order, self.estimator_, known)

    def _calibrated(
        self, X: Any, y: Any, sample_weight: Any, order: NDArray[Any], **parameters: Any
    ) -> Intervals | str:
        """Hold out calibration rows and fit a model on the others.

        Returns a string that says why, if there is no such model. For a regressor the
        conditional is also chosen without the calibration rows, since the coverage of
        its intervals is guaranteed. For a classifier this is called again at the end of
        `fit`, with `parameters`.
        """
        if is_classifier(self) and not parameters:
            return "there are none yet"
        if y is None:
            return "a frozen estimator was given no targets to calibrate by"
        targets = y
        if is_classifier(self):
            if not np.isin(y, self.classes_).all():
                return "the estimator does not know some of the classes"
            targets = np.searchsorted(self.classes_, y)

        def without(rows: NDArray[Any]) -> Any:
            options = {}
            if sample_weight is not None:
                options["sample_weight"] = sample_weight[rows]
            other = clone(self).set_params(n_calibration=0, **parameters)
            return other.fit(_safe_indexing(X, rows), y[rows], **options)

        return calibrated(without, X, targets, order, self.n_calibration)

    def _keep_classes(self, *training: Any) -> None:
        """Hold out calibration rows of a classifier.

        They are used for `missing_cost` only, which has no guarantee. So the
        conditional that was chosen on all rows can be used again.
        """
        if not is_classifier(self):
            return
        auto = isinstance(self.conditional, str) and self.conditional == "auto"
        if auto or getattr(self.conditional_, "keeps_rows", False):
            chosen: dict[str, Any] = {"conditional": clone(self.conditional_)}
            if self.treatments_ is not None:
                chosen["treatment"] = self.treatments_.verdict
            self.intervals_ = self._calibrated(*training, **chosen)
        else:
            self.intervals_ = "the conditional contains no training rows"

    def _kept_aside(self) -> tuple[Any, Any, NDArray[Any]] | None:
        """The calibration rows for `missing_cost`: see `kept_aside`."""
        found = kept_aside(self.intervals_)
        if found is None or not is_classifier(self):
            return found
        return *found[:2], self.classes_[found[2].astype(np.intp)]

    def _take(self, chosen: Any, X: Any) -> None:
        """Use a conditional of this kind; a `Donors` has been fitted already."""
        if isinstance(chosen, Donors):
            self.conditional_.set_params(corrected=chosen.corrected)
        else:
            self.conditional_ = chosen.fit(X)

    def _named(self, X: Any) -> Any:
        """The conditional that the user passed, or None if it is to be chosen."""
        if not isinstance(self.conditional, str):
            return clone(self.conditional)
        if self.conditional == "auto":
            return Donors() if has_words(X) else None
        return CONDITIONALS[self.conditional]()

    def _order(self, X: Any, y: Any, sample_weight: Any) -> NDArray[np.intp]:
        """Order of the rows that depends on their values, not on their positions."""
        if not hasattr(self.conditional_, "cells_"):  # a user's own class
            return np.arange(X.shape[0])
        parts = [self.conditional_.cells_.codes(X), y, sample_weight]
        columns = (np.atleast_2d(part.T) for part in parts if part is not None)
        return order_by_values(column for part in columns for column in part)

    def _chosen(
        self, X: Any, y: Any, sample_weight: Any, complete: NDArray[Any]
    ) -> Any:
        """The conditional whose averages are best on held-out rows with masked values.

        The best one predicts the targets best, if the estimator can be fitted without
        the held-out rows; otherwise it is nearest to the predictions for the complete
        rows. If there are intervals, the conditional that was chosen without the
        calibration rows is taken, so that the intervals suit the final model.
        """
        if isinstance(self.intervals_, Intervals):
            return clone(self.intervals_.model.conditional_)
        if len(complete) < 5 * _PARTS:
            return Donors()
        folds = _held_out(complete, y)
        models = [self._refitted(X, y, sample_weight, others) for _, others in folds]
        if any(model is None for model in models):
            y, models = None, [self.estimator_] * len(folds)
        losses: Any = 0.0
        for (held, others), model in zip(folds, models, strict=True):
            laws = _laws(_safe_indexing(X, others))
            rows, wanted = _safe_indexing(X, held), None if y is None else y[held]
            losses += np.array([self._loss(model, law, rows, wanted) for law in laws])
        return clone(laws[int(first_best(losses))])

    def _refitted(self, X: Any, y: Any, sample_weight: Any, rows: Any) -> Any:
        """The estimator, fitted on some complete rows; None if it cannot be."""
        base = self._base()
        if y is None or self.levels_:
            return None
        options = {}
        if sample_weight is not None:
            options["sample_weight"] = sample_weight[rows]
        try:
            return clone(base).fit(_safe_indexing(X, rows), y[rows], **options)
        except ValueError:  # too few rows of a class, for example
            return None

    def _loss(self, model: Any, law: Any, rows: Any, wanted: Any) -> float:
        """Loss of averages on rows with masked values."""
        linear = linear_scores(model, law, rows, np.arange(rows.shape[0]))
        averager = Averager(model, law, self.n_draws, linear)
        codes, rng, loss = law.cells_.codes(rows), np.random.default_rng(0), 0.0
        for rate in _RATES:
            lost = law.cells_.chances(len(codes), rng) < rate
            masked = np.where(lost, np.nan, codes)
            masked = law.cells_.table(masked, rows)
            if wanted is None:
                loss += averager.distance(masked, rows)
            else:
                loss += averager.loss(masked, wanted)
        return loss

    @by_blocks
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict, averaging over the missing values of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with or without missing values.
        return_std : bool, default=False
            For regressors: whether to return the standard deviation of the prediction
            over the distribution of the missing values. It does not include the noise
            of the target, so it does not tell how far the prediction may be from the
            target. For that, see `predict_interval`.

        Returns
        -------
        y : array of shape (n_samples,)
            Predictions.
        std : array of shape (n_samples,)
            Standard deviations over the distribution of the missing values, zero for
            complete rows. Only returned if `return_std` is True.
        """
        if not return_std:
            return self._delegate("predict", X)
        if is_classifier(self):
            raise TypeError("return_std is for regressors; use predict_proba.")
        found = self._delegate("predict", X)
        return found, self._spreads(self._read(X, reset=False), found.shape)

    def _spreads(self, X: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Standard deviations of predictions; zero for complete rows."""
        if self.treatments_ is None:
            return self._averager().spreads(X)
        gaps = np.asarray(holes(X).any(axis=1))
        result = np.zeros(shape)
        if gaps.any():
            some = _safe_indexing(X, np.flatnonzero(gaps))
            result[gaps] = self.treatments_.spreads(some)
        return result

    @available_if(lambda self: not is_classifier(self._base()))
    @by_blocks
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Prediction intervals that contain the target with a given probability.

        The intervals are conformal, separately for each pattern of missing values
        (Zaffran et al. 2023): among the rows with any given pattern, on average at
        least a share `coverage` of the targets lies in the intervals. This is
        guaranteed for rows that are exchangeable with the training rows, if what is
        missing depends neither on the values nor on the target. If at least 20 of the
        calibration rows have exactly the pattern of a row, its interval is calibrated
        on these rows alone. Then the guarantee holds for any mechanism that makes
        values missing, as long as the mechanism stays the same. A coverage above 20/21
        needs more rows: coverage / (1 - coverage). See
        `noiseproof.evaluation.conformal_sets`.

        The calibration rows were held out in `fit`, where a second model was fitted
        without them. An interval is centred on the prediction of that model, for which
        the guarantee is exact. In the rare case that `predict(X)` lies outside, the
        interval is widened to contain it. For a quantile model the interval is bounded
        by two of its quantiles, both moved by the same threshold (conformalised
        quantile regression).

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Rows with or without missing values.
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
        return found if self.levels_ else holding(found, self._delegate("predict", X))

    def _band(self, X: Any, coverage: float) -> Any:
        """Lower and upper quantile of the target, or twice the prediction."""
        if not self.levels_:
            return [self._delegate("predict", X)] * 2
        ends = (1 - coverage) / 2, (1 + coverage) / 2
        return [self._averager().quantiles(X, level) for level in ends]

    def _averager(self) -> Averager:
        own = quantile_parameter(self.estimator_) if self.levels_ else None
        return Averager(
            *(self.estimator_, self.conditional_, self.n_draws, self.linear_),
            *(self.levels_, self.by_level_, own and own[1]),
        )

    def _answer(self, method: str, X: Any, missing: NDArray[np.bool_]) -> Any:
        gaps = np.asarray(missing.any(axis=1))
        with_holes = _safe_indexing(X, np.flatnonzero(gaps))
        averages = self.treatments_ or self._averager()
        averaged = averages.answer(method, with_holes)
        if gaps.all():
            return averaged
        whole = _safe_indexing(X, np.flatnonzero(~gaps))
        own = np.asarray(getattr(self.estimator_, method)(whole))
        shape = (len(gaps), *averaged.shape[1:])
        result = np.empty(shape, dtype=np.result_type(own, averaged))
        # CatBoost answers with a column where it has more than two classes
        result[gaps], result[~gaps] = averaged, own.reshape(-1, *shape[1:])
        return result


def _held_out(complete: NDArray[Any], y: Any) -> list[tuple[Any, Any]]:
    """Folds: pairs of held-out rows and the other rows.

    There are as many folds as it takes to hold out enough rows in all. Folds are
    stratified by class, or by the size of the target.
    """
    n = len(complete)
    order = complete
    if y is not None and y.ndim == 1:
        order = complete[np.argsort(y[complete], kind="stable")]
    n_parts = max(_PARTS, n // _JUDGED)
    place = np.arange(n) % n_parts
    turns = -(-_JUDGED * n_parts // n)
    return [
        (
            order[place == i],
            complete[~np.isin(complete, order[place == i])][:_TAUGHT_BY],
        )
        for i in range(min(n_parts, turns))
    ]


def _laws(X: Any) -> list[Any]:
    """The conditionals to choose from, fitted on these rows."""
    donors = Donors().fit(X)
    # the correction moves numbers past the thresholds of trees, which may do harm
    unmoved = copy(donors).set_params(corrected=False)
    return [donors, unmoved, JointGaussian().fit(X)]


def _check_classifier(base: Any, y: Any) -> None:
    """Refuse a classifier whose predictions cannot be averaged."""
    if not (hasattr(base, "predict_proba") or hasattr(base, "decision_function")):
        raise ValueError(
            f"{type(base).__name__} has neither predict_proba nor decision_function, "
            "so there is nothing to average; use a classifier that has one of them."
        )
    if y is not None and y.ndim > 1:
        raise ValueError(
            "AverageOverMissing averages classifiers with one target only; y has "
            f"{y.shape[1]}. For several use MultiOutputClassifier(AverageOverMissing("
            "model)), from sklearn.multioutput."
        )
