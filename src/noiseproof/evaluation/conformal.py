"""Conformal prediction sets that are valid for every pattern of missing values."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from noiseproof._conformal import Calibration, missing_values, ordered, without
from noiseproof._docs import shared_docs
from noiseproof._rows import density
from noiseproof.conditionals import hashed
from noiseproof.evaluation.linear import places_of
from noiseproof.groups import Groups

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@shared_docs
def conformal_sets(
    model: Any,
    X_calibration: Any,
    y_calibration: ArrayLike,
    *,
    coverage: float = 0.9,
    groups: Any = None,
    conformity_score: str | None = None,
    random_state: Any = None,
) -> ConformalSets:
    """Calibrate prediction sets, or intervals, for every pattern of missing values.

    A prediction set contains all classes that are plausible for a row; for a regressor
    it is an interval. Split conformal prediction guarantees that the set contains the
    true answer for a share `coverage` of the rows, on average over all rows. Rows with
    many missing values may be covered far less often. Here the guarantee holds for
    every pattern of missing values (Zaffran et al. 2023, CP-MDA-Exact).

    To predict a row, the method takes all calibration rows whose missing values are
    among those of the row, removes the other values that the row misses as well, and
    takes the threshold from the errors of the model on these rows. A threshold is
    computed when its pattern is first met. If there are too few such calibration rows,
    the row is treated as if a few more of its values were missing, as few as possible.

    The guarantee needs calibration rows on which the model was not trained and which
    are exchangeable with the rows to predict, and values that are missing independently
    of all values and of the answer. Calibration rows may have missing values; those
    without any serve every pattern.

    Parameters
    ----------
    model : classifier with `predict_proba`, or regressor
        Any fitted model that accepts NaN, such as a pipeline with an imputer.
    X_calibration : array-like or data frame of shape (n_samples, n_features)
        Rows on which the model was not trained; NaN marks a missing value.
    y_calibration : array-like of shape (n_samples,)
        Their classes or targets.
    coverage : float, default=0.9
        Probability that a set contains the true answer, at least.
    {groups}
        If one feature of a group is missing, the others are not used either. This makes
        fewer patterns.
    conformity_score : {"lac", "aps", "absolute"} or None, default=None
        How a possible answer is scored; the set contains the answers with low scores.
        None means "lac" for classifiers and "absolute" for regressors. "lac": one minus
        the probability of the class; these sets are smallest on average. "aps": the
        probability of all likelier classes, plus a random share of its own; easy rows
        get smaller sets, and hard rows larger ones. The share is a hash of the seed and
        the row, so that a row gets the same set in every batch. "absolute": the
        distance from the prediction.
    {random_state}
        Only used by "aps".

    Returns
    -------
    sets : ConformalSets
        The calibrated sets. Call `predict(X)` to get them for new rows.

    {See Also: certify}

    {References: Zaffran 2023}

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from noiseproof.evaluation import conformal_sets
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HistGradientBoostingClassifier().fit(X[::3], y[::3])
    >>> sets = conformal_sets(model, X[1::3], y[1::3])
    >>> sets.predict([[5.0, 3.5, 1.4, 0.2], [5.0, 3.5, np.nan, np.nan]])
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    return ConformalSets(
        model,
        X_calibration,
        y_calibration,
        coverage=coverage,
        groups=groups,
        conformity_score=conformity_score,
        random_state=random_state,
    )


@shared_docs
class ConformalSets:
    """Prediction sets, calibrated for every pattern of missing values.

    Parameters
    ----------
    model, X_calibration, y_calibration, coverage, groups, conformity_score
        As in `conformal_sets`.
    {random_state}
        Only used by "aps".

    Attributes
    ----------
    classes_ : array of shape (n_classes,) or None
        Classes in the order of the columns of `predict`; None for a regressor.
    thresholds_ : dict
        The largest score that an answer may have, for each pattern met so far. A
        pattern is the tuple of the column numbers that are missing, or treated as
        missing.

    See Also
    --------
    conformal_sets : Returns these sets.

    {References: Zaffran 2023}
    """

    def __init__(
        self,
        model: Any,
        X_calibration: Any,
        y_calibration: ArrayLike,
        *,
        coverage: float = 0.9,
        groups: Any = None,
        conformity_score: str | None = None,
        random_state: Any = None,
    ):
        self.model, self.coverage = model, coverage
        self.classes_ = _classes(model)
        self.conformity_score = _score(conformity_score, self.classes_ is not None)
        X = _read(X_calibration)
        answers = self._answers(y_calibration, X.shape[0])
        names = list(getattr(X_calibration, "columns", range(X.shape[1])))
        labels = Groups.read(groups, names).labels(X.shape[1])
        wanted = getattr(model, "feature_names_in_", names)
        if hasattr(X, "columns") and set(wanted) == set(names):
            labels = labels[[names.index(name) for name in wanted]]
            X = ordered(X, wanted)
        self.calibration_ = Calibration(X, answers, labels)
        self.calibration_.check(coverage)
        self._seed = int(check_random_state(random_state).randint(2**31))
        self._try_out()

    def __repr__(self) -> str:
        return (
            f"ConformalSets of {type(self.model).__name__}: coverage "
            f"{self.coverage:g}, {len(self.calibration_)} calibration rows"
        )

    @property
    def thresholds_(self) -> dict[tuple[int, ...], float]:
        """The largest score that an answer may have, for each pattern met so far."""
        return self.calibration_.thresholds.setdefault(self.coverage, {})

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict a set of classes, or an interval, for each row.

        Parameters
        ----------
        {incomplete X}
            The columns of a data frame may come in any order.

        Returns
        -------
        sets : array of bool of shape (n_samples, n_classes), or of shape (n_samples, 2)
            Whether each class is in the set, in the order of `classes_`. For a
            regressor, the lower and upper ends of the intervals.
        """
        X = ordered(_read(X), self.calibration_.rows.names)
        d = len(self.calibration_.labels)
        if X.shape[1] != d:
            raise ValueError(
                f"X has {X.shape[1]} features, but the calibration rows have {d}."
            )
        missing, limit = self.calibration_.limits(
            missing_values(X), self.coverage, self._scores
        )
        X = without(X, missing)
        if self.classes_ is None:
            outputs = self._outputs(X)
            return np.stack([outputs - limit, outputs + limit], axis=1)
        return self._of_classes(X) <= limit[:, None]

    def _scores(self, X: Any, y: NDArray[Any]) -> Array:
        """Conformity scores of the true answers."""
        if self.classes_ is None:
            return np.abs(y - self._outputs(X))
        return self._of_classes(X)[np.arange(len(y)), y]

    def _of_classes(self, X: Any) -> Array:
        """Conformity scores of all classes, for each row."""
        outputs = self._outputs(X)
        if self.conformity_score == "lac":
            return 1 - outputs
        return _aps(outputs, _shares(X, self._seed))

    def _outputs(self, X: Any) -> Array:
        """Probabilities, or predictions of a regressor."""
        ask = self.model.predict if self.classes_ is None else self.model.predict_proba
        outputs = np.asarray(ask(X), dtype=np.float64)
        if np.isnan(outputs).any():
            raise ValueError("The model predicts NaN for some rows.")
        n, classes = X.shape[0], self.classes_
        if outputs.shape != ((n,) if classes is None else (n, len(classes))):
            raise ValueError(
                "The model must predict one number per row, or a probability for each "
                f"class; it returns the shape {outputs.shape} for {n} rows."
            )
        return outputs

    def _answers(self, y: ArrayLike, n: int) -> NDArray[Any]:
        """Targets as numbers, or classes as indices into `classes_`."""
        answers = np.asarray(y)
        if answers.shape != (n,):
            raise ValueError(
                f"y_calibration must have a value for each of the {n} rows; got the "
                f"shape {answers.shape}."
            )
        if self.classes_ is None:
            answers = answers.astype(np.float64)
            if not np.isfinite(answers).all():
                raise ValueError("y_calibration must consist of finite numbers.")
            return answers
        return places_of(answers, self.classes_, " of y_calibration")

    def _try_out(self) -> None:
        """Predict a row with a missing value, so that errors come before the work."""
        hole = self.calibration_.labels == self.calibration_.labels[0]
        try:
            self._outputs(without(self.calibration_.rows.take([0]), hole[None, :]))
        except NotFittedError:
            raise
        except ValueError as error:
            if not {"nan", "missing"} & set(re.findall(r"\w+", str(error).lower())):
                raise
            raise ValueError(
                f"{type(self.model).__name__} refuses missing values (NaN): put an "
                "imputer before it in a pipeline, or use a model that accepts them."
            ) from error


def _classes(model: Any) -> NDArray[Any] | None:
    """The classes of a classifier, or None for a regressor."""
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        return np.asarray(model.classes_)
    if not hasattr(model, "predict"):
        raise TypeError(f"{type(model).__name__} has no method predict.")
    if hasattr(model, "predict_proba") or _is_classifier(model):
        raise TypeError(
            f"{type(model).__name__} must be fitted, and have predict_proba and "
            "classes_. Calibrate a classifier without probabilities first, for example "
            "with CalibratedClassifierCV."
        )
    return None


def _is_classifier(model: Any) -> bool:
    return hasattr(model, "__sklearn_tags__") and bool(is_classifier(model))


def _score(name: str | None, of_classes: bool) -> str:
    """Check the name of a conformity score, or choose the default."""
    known = ("lac", "aps") if of_classes else ("absolute",)
    if name is not None and name not in known:
        raise ValueError(
            f"conformity_score must be {' or '.join(map(repr, known))} for a "
            f"{'classifier' if of_classes else 'regressor'}; got {name!r}."
        )
    return known[0] if name is None else name


def _aps(probabilities: Array, share: Array) -> Array:
    """The probability of all likelier classes, plus a share of the class's own."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    falling = np.take_along_axis(probabilities, order, axis=1)
    likelier = np.cumsum(falling, axis=1) - falling
    scores = np.empty_like(probabilities)
    np.put_along_axis(scores, order, likelier + share[:, None] * falling, axis=1)
    return scores


def _shares(X: Any, seed: int) -> Array:
    """A random number from 0 to 1 for each row, hashed from its observed values.

    So the score of an answer is the same function of row and answer for calibration
    rows and new rows, which stay exchangeable. It depends neither on the order of the
    columns nor on the container of the rows.
    """
    missing = missing_values(X)
    rows = np.full(len(missing), seed, dtype=np.uint64)
    columns = X.items() if hasattr(X, "items") else enumerate(np.asarray(X).T)
    for (_, column), gone in zip(columns, missing.T, strict=True):
        rows += hashed(_keys(np.asarray(column), gone))
    return (hashed(rows) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _keys(column: NDArray[Any], gone: Mask) -> NDArray[np.uint64]:
    """An integer for each value; numbers of any type are taken as float32."""
    keys = np.full(len(column), np.uint64(2**33))
    there, words = column[~gone], {}
    if there.dtype.kind not in "buif":
        cells = there.tolist()
        words = {i: c for i, c in enumerate(cells) if not isinstance(c, Real)}
        there = np.array([0.0 if i in words else c for i, c in enumerate(cells)])
    own = (there.astype(np.float32) + np.float32(0.0)).view(np.uint32).astype(np.uint64)
    for i, word in words.items():
        own[i] = 2**32 + crc32(str(word).encode())
    keys[~gone] = own
    return keys


def _read(X: Any) -> Any:
    """Rows as an array or data frame."""
    if density(X) is not None:
        raise TypeError(
            "Conformal sets need dense rows, because a sparse matrix does not store "
            "missing values (NaN); pass X.toarray()."
        )
    if hasattr(X, "columns"):
        return X
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions; got {X.ndim}.")
    return X
