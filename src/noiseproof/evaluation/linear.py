"""Linear models of any library, seen as weights of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import RFE
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, NuSVC
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from noiseproof._docs import shared_docs
from noiseproof._pipelines import Steps, transform, unwrap
from noiseproof._rows import as_dense, canonical, missing_entries, zero_missing

Array = NDArray[np.float64]

# what they make of a feature depends on no other, and a missing one stays missing
BY_FEATURE = (
    *(MaxAbsScaler, MinMaxScaler, PowerTransformer, QuantileTransformer),
    *(RobustScaler, StandardScaler),
)
# wrappers that decide otherwise than the model inside, as ensembles do
_OTHERWISE = (FixedThresholdClassifier, TunedThresholdClassifierCV, RFE)
_ROUNDING = 1e-4  # scores of a model in single precision


class Rounding(NamedTuple):
    """Bounds on how far the scores of a model may be from exact ones."""

    eps: float  # relative rounding of the numbers that the model calculates with
    # (k, d): weights, or what they would be if no parts of them cancelled, where the
    # model adds up such parts: those of its support vectors
    sizes: Array
    terms: int  # number of these parts
    shifts: Array  # (k,): sum of what the scalers add to the scores, without its signs
    underflows: Array  # (k,): what the smallest numbers of the scalers add to them


@shared_docs
@dataclass(frozen=True, eq=False)
class LinearView:
    """A linear classifier, whose prediction is the class of largest coef x + intercept.

    If a model of two classes has one weight vector w, `coef` has the rows -w/2 and w/2,
    whose difference is w, as in `noiseproof.attacks.LinearMargins` (0 and w if w/2 is
    too small a number).

    Parameters
    ----------
    coef : array of shape (k, d)
        Weights, a row per class, of the features in `space`.
    intercept : array of shape (k,)
        Intercepts for rows without missing values.
    classes : array of shape (k,)
        Label of each row of `coef`.
    space : {"input", "model"}
        Whether x is the input of the pipeline, or the input of its last step.
    steps : list of (name, transformer)
        The steps before the model.
    shifted : array of shape (k, d)
        What the shift of each scaled feature adds to the scores; zero in model space.
    rank : array of int of shape (k,)
        Decides ties: of classes with equal scores, the one with the lowest rank wins.
        All ranks are equal if the rule of the model is not known.
    rounding : Rounding
        Bounds on how far the model's own scores may be from exact ones.

    {See Also: linear_view}
    """

    coef: Array
    intercept: Array
    classes: NDArray[Any]
    space: str
    steps: Steps
    shifted: Array
    rank: NDArray[np.int64]
    rounding: Rounding
    predicts: ClassVar[int | None] = None  # the row of a regressor's weights

    @property
    def centred(self) -> bool:
        """Whether a feature that is zero still adds to the scores."""
        return bool(self.shifted.any())

    def encode(self, labels: Any) -> NDArray[np.int64]:
        """Index of each label's row in `coef`."""
        labels = np.asarray(labels)
        if labels.ndim != 1:
            raise TypeError(
                "There must be one label per row, not several; got labels of the shape "
                f"{labels.shape}."
            )
        return places_of(labels, self.classes)

    def rows(self, X: Any) -> Any:
        """X in `space`, as a float array or CSR; NaN marks a missing feature."""
        X = check_array(
            transform(self.steps, X) if self.space == "model" else X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        if X.shape[1] != self.coef.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but the model was fitted with "
                f"{self.coef.shape[1]}."
            )
        return canonical(X)

    def intercepts(self, rows: Any) -> Array:
        """The scores of each row without its stored features, (n, k).

        A missing feature adds nothing to a score, so its shift adds nothing either.
        """
        everywhere = np.repeat(self.intercept[None, :], rows.shape[0], axis=0)
        if not self.centred:
            return everywhere
        return everywhere - np.asarray(missing_entries(rows) @ self.shifted.T)

    def scores(self, rows: Any) -> Array:
        """Scores of rows that `rows` has returned, a column per class."""
        present = zero_missing(rows)
        return np.asarray(present @ self.coef.T) + self.intercepts(rows)

    def at(self, rows: slice, prediction: NDArray[Any]) -> Self:
        """The view for some of the rows, given the predictions of the model."""
        return self

    def bounds(self, n: int) -> Array:
        """Bounds that are added to the scores of n rows, (n, k): zero for classes."""
        return np.zeros((n, len(self.intercept)))

    def bound_sizes(self, n: int) -> Array:
        """Sizes of the numbers of which these bounds are the sums."""
        return self.bounds(n)

    def outside(self, prediction: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows whose prediction is wrong without any change."""
        return np.zeros(len(prediction), dtype=bool)

    def chosen(self, scores: Array) -> NDArray[np.intp]:
        """Index of the class with the largest score, with the model's rule for ties."""
        if self.rank[0] <= self.rank[-1]:
            return scores.argmax(axis=1)
        return scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)

    def agreed(
        self, rows: Any, prediction: Any, unit: float = 0.0, doubt: float = 0.0
    ) -> NDArray[np.int64]:
        """Index of the class that the model predicts for each of `rows`.

        The scores must agree with it up to rounding. `unit` is the relative rounding
        error of features in the scalers, and `doubt` the absolute error of a score that
        scalers cause besides.
        """
        own, scores = self.encode(prediction), self.scores(rows)
        at_odds = np.flatnonzero(self.chosen(scores) != own)
        behind = scores[at_odds].max(axis=1) - scores[at_odds, own[at_odds]]
        terms = abs(zero_missing(rows[at_odds])) @ np.abs(self.rounding.sizes).T
        size = (terms + np.abs(self.intercept) + self.rounding.shifts).max(axis=1)
        wrong = behind > (_ROUNDING + 4 * unit) * size + 2 * doubt
        if wrong.any():
            _check_complete(rows[at_odds[wrong]])
            raise TypeError(
                "The model does not predict the class with the largest score "
                "coef_ x + intercept_, so its weights do not determine predictions."
            )
        return own


@dataclass(frozen=True, eq=False)
class RangeView(LinearView):
    """A linear regressor as three classes: prediction within, above or below a range.

    The range of a row is c ± t. The three scores are 0, w·x + b - (c + t) and
    (c - t) - w·x - b. The first is the largest as long as the prediction is in the
    range, and wins ties.
    """

    centre: Array | None  # c, (n,); None means the predictions
    tolerance: Array  # t, (n,)
    predicts: ClassVar[int | None] = 1

    def at(self, rows: slice, prediction: NDArray[Any]) -> Self:
        centre = prediction if self.centre is None else self.centre[rows]
        return replace(self, centre=centre, tolerance=self.tolerance[rows])

    def bounds(self, n: int) -> Array:
        centre = np.asarray(self.centre)
        high, low = centre + self.tolerance, centre - self.tolerance
        return np.stack([0.0 * high, -high, low], axis=1)

    def bound_sizes(self, n: int) -> Array:
        size = np.abs(self.centre) + self.tolerance  # type: ignore[arg-type]
        return np.stack([0.0 * size, size, size], axis=1)

    def intercepts(self, rows: Any) -> Array:
        return super().intercepts(rows) + self.bounds(rows.shape[0])

    def outside(self, prediction: NDArray[Any]) -> NDArray[np.bool_]:
        return np.abs(prediction - np.asarray(self.centre)) > self.tolerance

    def agreed(
        self, rows: Any, prediction: Any, unit: float = 0.0, doubt: float = 0.0
    ) -> NDArray[np.int64]:
        """Zero for each row, after checking that the model predicts w·x + b."""
        if np.ndim(prediction) != 1:
            raise TypeError("The model predicts several numbers for each row, not one.")
        present, (_, w, _) = zero_missing(rows), self.coef
        scores = np.asarray(present @ w) + super().intercepts(rows)[:, 1]
        size = np.asarray(abs(present) @ np.abs(self.rounding.sizes[1]))
        size = size + np.abs(self.intercept[1]) + self.rounding.shifts[1]
        apart = np.abs(prediction - scores)
        wrong = apart > (_ROUNDING + 4 * unit) * size + 2 * doubt
        if wrong.any():
            _check_complete(rows[np.flatnonzero(wrong)])
            raise TypeError(
                "The model does not predict coef_ x + intercept_, so its weights do "
                "not determine predictions. Models with a link function, such as "
                "Poisson regression, have no certificates."
            )
        return np.zeros(len(scores), dtype=np.int64)


@shared_docs
def linear_view(model: Any, space: str = "input") -> LinearView:
    """Get the weights of a fitted linear classifier, or of a pipeline that ends in one.

    Parameters
    ----------
    model : classifier
        A fitted model with `coef_`, `intercept_` and `classes_`: a linear model of this
        package or of scikit-learn, a search over one, or a wrapper that has trained
        one. Or a pipeline that ends in one, after `StandardScaler`, `MinMaxScaler`,
        `MaxAbsScaler` or `RobustScaler`.
    {space}
        In model space a deleted feature adds nothing to the scores. This is also what
        NaN means to the models of this package.

    Returns
    -------
    view : LinearView
        Weights, intercepts and classes, with methods that score rows.

    {See Also: certify, as_sklearn}

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from noiseproof.evaluation import linear_view
    >>> X, y = [[0.0], [4.0]], ["no", "yes"]
    >>> model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X, y)
    >>> before, after = linear_view(model), linear_view(model, space="model")
    >>> bool((before.coef == after.coef / 4).all())
    True
    """
    check_space(space)
    steps, last = _opened(model)
    coef, intercept, classes = _weights(last)
    sizes, terms = _parts(last, coef)
    rank = _tie_rank(last, intercept, classes)
    parts = _before_scalers(last, steps, space, coef, intercept, sizes, terms)
    return LinearView(classes=classes, rank=rank, **parts)


def range_view(model: Any, space: str, centre: Any, tolerance: Array) -> RangeView:
    """The weights of a fitted linear regressor, or of a pipeline that ends in one."""
    check_space(space)
    steps, last = _opened(model)
    w, b = _regression_weights(last)
    sizes, terms = _parts(last, w[None], 1)
    rows = np.stack([0.0 * w, w, -w])
    parts = _before_scalers(
        *(last, steps, space, rows, np.array([0.0, b, -b])),
        *(sizes * [[0.0], [1.0], [1.0]], terms),
    )
    classes = np.array(["within", "above", "below"])
    rank = np.array([0, 1, 1])  # the bounds belong to the range
    return RangeView(
        classes=classes, rank=rank, centre=centre, tolerance=tolerance, **parts
    )


def _check_complete(rows: Any) -> None:
    """Raise an error if only rows with missing values have unexpected predictions."""
    n_missing = np.asarray(missing_entries(rows).sum(axis=1)).ravel()
    if np.all(n_missing > 0):
        raise TypeError(
            "For rows with missing values the model does not predict from the known "
            "values alone: it fills in the missing ones or averages over them, so its "
            "weights do not determine predictions. Certify the complete rows only."
        )


def _opened(model: Any) -> tuple[Steps, Any]:
    """The steps before a model and the model, taken out of searches and wrappers."""
    steps, last = unwrap(model)
    while _has_trained_one(last):
        wrapper = type(last).__name__
        inner, last = unwrap(last.estimator_)
        if any(getattr(step, "adds_indicators", False) for _, step in inner):
            raise TypeError(
                f"This {wrapper} adds indicator columns for missing values, which are "
                "also lost with a value, so it has no weight for each feature; "
                "PartitionEnsemble can certify any model."
            )
        steps = steps + inner
    return steps, last


def _before_scalers(
    model: Any,
    steps: Steps,
    space: str,
    coef: Array,
    intercept: Array,
    sizes: Array,
    terms: int,
) -> dict[str, Any]:
    """The attributes that all views have: weights of the features in `space`, etc."""
    between = steps if space == "input" else []
    scale, shift, size, underflow = _affine(between, coef.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = coef * shift
        weights, intercept = coef * scale, intercept + shifted.sum(axis=1)
        rounding = Rounding(
            float(np.finfo(float_type(model.coef_)).eps),
            weights if sizes is coef else sizes * scale,
            terms,
            (np.abs(sizes) * size).sum(axis=1),
            (np.abs(sizes) * underflow).sum(axis=1),
        )
    return {
        "coef": weights,
        "intercept": intercept,
        "space": space,
        "steps": steps,
        "shifted": shifted,
        "rounding": rounding,
    }


def places_of(
    labels: NDArray[Any], classes: NDArray[Any], where: str = ""
) -> NDArray[np.int64]:
    """Index of each label among the classes, which need not be sorted."""
    unknown = labels[~np.isin(labels, classes)]
    if len(unknown):
        raise ValueError(
            f"The label {unknown[0]!r}{where} is not one of the model's classes, "
            f"{classes[:5]}."
        )
    order = np.argsort(classes)
    return order[np.searchsorted(classes, labels, sorter=order)]


def check_space(space: Any) -> None:
    """Raise an error if `space` has no legal value."""
    if space not in ("input", "model"):
        raise ValueError(f"space must be 'input' or 'model'; got {space!r}.")


def check_fate(deleted_as: Any) -> None:
    """Raise an error if `deleted_as` has no legal value."""
    if deleted_as not in ("zero", "nan"):
        raise ValueError(f"deleted_as must be 'zero' or 'nan'; got {deleted_as!r}.")


def _has_trained_one(model: Any) -> bool:
    """Whether a wrapper predicts what the one model that it has trained predicts."""
    wraps = hasattr(model, "estimator_") and not hasattr(model, "estimators_")
    return wraps and not isinstance(model, _OTHERWISE)


def float_type(values: Any) -> Any:
    """The dtype of the numbers if it is floating point, else float64."""
    dtype = getattr(values, "dtype", np.dtype(np.float64))
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def _check_has(model: Any, names: Iterable[str], kind: str) -> None:
    """Raise an error if a model lacks an attribute of linear models."""
    lacking = [name for name in names if getattr(model, name, None) is None]
    if lacking:
        name = type(model).__name__
        name = f"A blend ({name})" if name.startswith("Voting") else name
        raise TypeError(
            f"{name} is not a linear {kind} (it has no {lacking[0]}). "
            "PartitionEnsemble can certify any model."
        )


def _weights(model: Any) -> tuple[Array, Array, NDArray[Any]]:
    """Weights and intercepts with a row per class, and the classes."""
    name = type(model).__name__
    if hasattr(model, "fit") and not hasattr(model, "classes_"):
        check_is_fitted(model)
    names = ("coef_", "intercept_", "classes_")
    _check_has(model, names, "classifier")
    coef, intercept, classes = (getattr(model, part) for part in names)
    coef = np.atleast_2d(np.asarray(as_dense(coef), dtype=np.float64))
    b = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    classes = np.asarray(classes)
    k = 1 if len(classes) == 2 and len(coef) == 1 else len(classes)
    one_vs_one = isinstance(model, SVC | NuSVC) and k > 2
    if len(coef) != k or len(classes) < 2 or coef.ndim != 2 or one_vs_one:
        raise TypeError(
            f"{name} has no score per class: coef_ has shape {coef.shape} for "
            f"{len(classes)} classes{', one against one' * one_vs_one}."
        )
    b = np.broadcast_to(b, (k,)).copy()
    if k == 1:
        return _two_rows(coef), _two_rows(b[:, None])[:, 0], classes
    return coef, b, classes


def _regression_weights(model: Any) -> tuple[Array, float]:
    """Weights and intercept of a regressor with one target."""
    name = type(model).__name__
    if hasattr(model, "fit") and not hasattr(model, "coef_"):
        check_is_fitted(model)
    _check_has(model, ("coef_", "intercept_"), "regressor")
    coef = np.asarray(as_dense(model.coef_), dtype=np.float64)
    b = np.asarray(model.intercept_, dtype=np.float64)
    if coef.ndim > 2 or (coef.ndim == 2 and len(coef) != 1) or b.size != 1:
        raise TypeError(f"{name} predicts several numbers for each row, not one.")
    return coef.ravel(), float(b.ravel()[0])


def _two_rows(w: Array) -> Array:
    """Two rows whose difference is w: its halves, unless halving rounds."""
    half = w / 2
    return np.vstack([-half, half] if np.all(half * 2 == w) else [0 * w, w])


def _parts(model: Any, coef: Array, rows: int = 2) -> tuple[Array, int]:
    """`Rounding.sizes` and `Rounding.terms`, of unscaled features.

    A weight vector of support vectors is spread over so many `rows`.
    """
    vectors = getattr(model, "support_vectors_", None)
    weights = getattr(model, "dual_coef_", None)
    if vectors is None or weights is None:
        return coef, 0
    sizes = as_dense(abs(weights) @ abs(vectors)) / rows
    return np.maximum(np.abs(coef), sizes), vectors.shape[0]


def _tie_rank(model: Any, intercept: Array, classes: Any) -> NDArray[np.int64]:
    """`LinearView.rank`: try out which class the model predicts if scores are equal.

    A copy of the model with weights c of the first feature and intercepts -c has the
    scores -c, 0 and c if that feature is 0, 1 and 2: the first class wins, all are
    equal, the last class wins. Some models ignore new weights, because theirs are
    derived from other attributes. Then a row of zeros tells, if all intercepts are
    equal.
    """
    model, unknown = copy(model), np.zeros(len(classes), dtype=np.int64)
    vars(model).pop("feature_names_in_", None)  # it is asked about an array
    n_scores, d = np.atleast_2d(model.coef_).shape
    weights, rows = np.zeros((n_scores, d)), np.zeros((3, d))
    weights[:, 0] = np.arange(n_scores) if n_scores > 1 else 1.0
    rows[:, 0] = np.arange(3)
    try:
        model.coef_, model.intercept_ = weights, -weights[:, 0]
        first, equal, last = model.predict(rows)
    except AttributeError:
        if np.ptp(intercept):
            return unknown
        (equal,), first, last = model.predict(0 * rows[:1]), classes[0], classes[-1]
    if np.ndim(equal):
        raise TypeError(
            f"{type(model).__name__} predicts several labels for each row; it must "
            "predict one class."
        )
    if [first, last] != [classes[0], classes[-1]] or equal not in (first, last):
        return unknown
    rank = np.arange(len(classes))
    return rank if equal == first else rank[::-1].copy()


def _affine(steps: Steps, d: int) -> tuple[Array, Array, Array, Array]:
    """What the steps do to each feature: the factor, and what they add.

    Also the sum of the absolute values of what they add, and an upper bound on how
    often the smallest positive number enters the result.
    """
    scale, shift, size, underflow = np.ones(d), np.zeros(d), np.zeros(d), np.zeros(d)
    for _, step in steps:
        by, plus = _scaling(step)
        scale, shift = scale * by, shift * by + plus
        size = size * np.abs(by) + np.abs(plus)
        underflow = (underflow + 1) * np.abs(by) + 2
    return scale, shift, size, underflow


def _scaling(step: Any) -> tuple[Any, Any]:
    """Factor and shift of one step."""
    check_is_fitted(step)
    for kind, read in _SCALERS.items():
        if isinstance(step, kind) and not getattr(step, "clip", False):
            return read(step)
    if isinstance(step, FunctionTransformer) and step.func is None:
        return 1.0, 0.0
    raise TypeError(
        f"The step {type(step).__name__} before the linear model does more than scale "
        "and shift each feature, so the pipeline has no weight for each feature."
    )


def _standard(step: StandardScaler) -> tuple[Any, Any]:
    by = 1.0 / step.scale_ if step.with_std else 1.0
    return by, -step.mean_ * by if step.with_mean else 0.0


def _robust(step: RobustScaler) -> tuple[Any, Any]:
    by = 1.0 / step.scale_ if step.with_scaling else 1.0
    return by, -step.center_ * by if step.with_centering else 0.0


_SCALERS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    StandardScaler: _standard,
    RobustScaler: _robust,
    MinMaxScaler: lambda step: (step.scale_, step.min_),
    MaxAbsScaler: lambda step: (1.0 / step.scale_, 0.0),
}
