"""Any model on rows with holes: the average over what they may have been."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from noiseproof._private import HasMethods, Interval, StrOptions, _safe_indexing
from noiseproof._rows import by_blocks
from noiseproof.conditionals import (
    CONDITIONALS,
    Donors,
    JointGaussian,
    has_words,
    holes,
)
from noiseproof.estimators.averaging import Averager, linear_scores
from noiseproof.estimators.known_missing import KnownMissing

_RATES = (0.2, 0.5, 0.8)  # of cells masked to choose the conditional
_JUDGED, _TAUGHT_BY = 300, 5000  # rows masked at each rate, and rows that fill them
_PARTS = 3  # of the training rows, one of which is held out at a time
_FILLS = 5  # draws of a training row with holes, if the estimator takes weights


class AverageOverMissing(KnownMissing):
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
        The law of missing cells. "auto" takes the one whose averages tell the targets
        best (by log-loss or squared error) on masked training rows that were held out;
        the estimator is fitted up to three times more for that, unless it is frozen. If
        there are no targets (see `fit`) it takes the one whose averages are nearest to
        what the estimator says about the complete rows. Donors with and without their
        correction are tried. A model with `Donors` contains training rows.
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

    See Also
    --------
    ReducedModels : One model for each pattern of missing columns.
    noiseproof.conditionals.Donors : Training rows that fill the missing cells.
    noiseproof.conditionals.JointGaussian : The same in closed form, for linear models.
    recommend : Finds the model to take by cross-validation.

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
    0.92
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the estimator, and learn the law of the rows.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Training rows, with or without holes.
        y : array-like of shape (n_samples,), default=None
            Targets. A `FrozenEstimator` needs none; given some, of rows that it was not
            fitted on at best, they choose the conditional.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row for the estimator.

        Returns
        -------
        self : AverageOverMissing
            Fitted.
        """
        base = self._base()
        X, y, sample_weight = self._read_training(X, y, sample_weight)
        if is_classifier(base) and not _is_scored(base):
            raise ValueError(
                f"{type(base).__name__} has neither predict_proba nor "
                "decision_function, so there is nothing to average; use a classifier "
                "that has one of them, or calibrate this one."
            )
        rng = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31)
        )
        law = self._named(X)
        self.conditional_ = (law or Donors()).fit(X)
        self._keep(self._fitted(base, X, y, sample_weight, rng))
        complete = rng.permutation(np.flatnonzero(~holes(X).any(axis=1)))
        if law is None:
            chosen = self._chosen(X, y, sample_weight, complete)
            if isinstance(chosen, Donors):
                self.conditional_.set_params(corrected=chosen.corrected)
            else:
                self.conditional_ = chosen.fit(X)
        self.linear_ = linear_scores(self.estimator_, self.conditional_, X, complete)
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
            return fitted
        gaps = np.asarray(holes(X).any(axis=1))
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

    def _chosen(
        self, X: Any, y: Any, sample_weight: Any, complete: NDArray[Any]
    ) -> Any:
        """The conditional whose averages are best on held-out rows with masked cells.

        Best for the targets, if the estimator can be fitted without these rows; else
        nearest to what it says about the rows as they were.
        """
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
        return clone(laws[int(np.argmin(losses))])

    def _refitted(self, X: Any, y: Any, sample_weight: Any, rows: Any) -> Any:
        """The estimator, fitted on some complete rows; None if it cannot be."""
        base = self._base()
        if y is None or (is_classifier(base) and y.ndim > 1):
            return None
        options = {}
        if sample_weight is not None:
            options["sample_weight"] = sample_weight[rows]
        try:
            return clone(base).fit(_safe_indexing(X, rows), y[rows], **options)
        except ValueError:  # too few rows of a class, for example
            return None

    def _loss(self, model: Any, law: Any, rows: Any, wanted: Any) -> float:
        """Loss of averages on rows of which a part of the cells is masked."""
        linear = linear_scores(model, law, rows, np.arange(rows.shape[0]))
        averager = Averager(model, law, self.n_draws, linear)
        codes, rng, loss = law.cells_.codes(rows), np.random.default_rng(0), 0.0
        for rate in _RATES:
            masked = np.where(rng.random(codes.shape) < rate, np.nan, codes)
            masked = law.cells_.table(masked, rows)
            if wanted is None:
                loss += averager.distance(masked, rows)
            else:
                loss += averager.loss(masked, wanted)
        return loss

    @by_blocks
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
        if not return_std:
            return self._delegate("predict", X)
        if is_classifier(self):
            raise TypeError("return_std is for regressors; use predict_proba.")
        check_is_fitted(self)
        X = self._read(X, reset=False)
        mean, std = self._averager().predictions(X)
        whole = np.flatnonzero(~holes(X).any(axis=1))
        if len(whole):  # bit for bit
            mean[whole] = self.estimator_.predict(_safe_indexing(X, whole))
        return mean, std

    def _averager(self) -> Averager:
        return Averager(self.estimator_, self.conditional_, self.n_draws, self.linear_)

    def _answer(self, method: str, X: Any, missing: NDArray[np.bool_]) -> Any:
        gaps = np.asarray(missing.any(axis=1))
        with_holes = _safe_indexing(X, np.flatnonzero(gaps))
        averaged = self._averager().answer(method, with_holes)
        if gaps.all():
            return averaged
        whole = _safe_indexing(X, np.flatnonzero(~gaps))
        own = np.asarray(getattr(self.estimator_, method)(whole))
        shape = (len(gaps), *averaged.shape[1:])
        result = np.empty(shape, dtype=np.result_type(own, averaged))
        result[gaps], result[~gaps] = averaged, own
        return result


def _held_out(complete: NDArray[Any], y: Any) -> list[tuple[Any, Any]]:
    """Rows to judge by and the others, so often that enough rows are judged.

    Each part gets its share of every class, or of small and large targets.
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
    """Conditionals of these rows to choose from."""
    donors = Donors().fit(X)
    # trees see where a number is moved past a threshold: it may be better left
    unmoved = copy(donors).set_params(corrected=False)
    return [donors, unmoved, JointGaussian().fit(X)]


def _is_scored(model: Any) -> bool:
    return hasattr(model, "predict_proba") or hasattr(model, "decision_function")
