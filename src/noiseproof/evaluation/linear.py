"""Anybody's linear model as weights that act on features."""

from __future__ import annotations

from collections.abc import Callable
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
    """What decides how far a model's scores may be from exact ones."""

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
    """A classifier whose class is the largest of its scores, coef x + intercept.

    Two classes with one weight vector w are the rows -w/2 and w/2, whose difference is
    w again, as in `noiseproof.attacks.LinearMargins` (0 and w if w/2 is too small).

    Parameters
    ----------
    coef : array of shape (k, d)
        Weights, a row per class, of the features in `space`.
    intercept : array of shape (k,)
        Intercepts, where nothing is missing.
    classes : array of shape (k,)
        Label of each row of `coef`.
    space : {"input", "model"}
        Whether x is what the pipeline gets or what its last step gets.
    steps : list of (name, transformer)
        The steps before the model.
    shifted : array of shape (k, d)
        What the shift of each scaled feature adds to the scores; in model space zero.
    rank : array of int of shape (k,)
        Of classes with equal scores the one of the lowest rank wins; all ranks are
        equal where the model does not tell.
    rounding : Rounding
        What decides how far the model's own scores may be from exact ones.

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
                "There must be one label per row, of several classes at most; got "
                f"labels of shape {labels.shape}."
            )
        return places_of(labels, self.classes)

    def rows(self, X: Any) -> Any:
        """X in `space`, a float array or CSR; NaN where a feature is missing."""
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
        """What each row's scores are without its stored features, (n, k).

        A missing feature adds nothing to the model, so neither does its shift.
        """
        everywhere = np.repeat(self.intercept[None, :], rows.shape[0], axis=0)
        if not self.centred:
            return everywhere
        return everywhere - np.asarray(missing_entries(rows) @ self.shifted.T)

    def scores(self, rows: Any) -> Array:
        """Scores of rows as `rows` returns them, a column per class."""
        present = zero_missing(rows)
        return np.asarray(present @ self.coef.T) + self.intercepts(rows)

    def at(self, rows: slice, prediction: NDArray[Any]) -> Self:
        """The view of some of the rows, which the model predicts like this."""
        return self

    def bounds(self, n: int) -> Array:
        """What the scores of n rows are compared with, (n, k): here with nothing."""
        return np.zeros((n, len(self.intercept)))

    def bound_sizes(self, n: int) -> Array:
        """The size of what these bounds are the sums of."""
        return self.bounds(n)

    def outside(self, prediction: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows whose prediction needs no change to be lost."""
        return np.zeros(len(prediction), dtype=bool)

    def chosen(self, scores: Array) -> NDArray[np.intp]:
        """Index of the class with the largest score; ties as the model decides them."""
        if self.rank[0] <= self.rank[-1]:
            return scores.argmax(axis=1)
        return scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)

    def agreed(
        self, rows: Any, prediction: Any, unit: float = 0.0, doubt: float = 0.0
    ) -> NDArray[np.int64]:
        """Index of the class that the model predicts for each of `rows`.

        Its scores must say the same, but for rounding: `unit` is the relative rounding
        of features on their way through the scalers, and `doubt` how far these may put
        a score wrong besides.
        """
        own, scores = self.encode(prediction), self.scores(rows)
        at_odds = np.flatnonzero(self.chosen(scores) != own)
        behind = scores[at_odds].max(axis=1) - scores[at_odds, own[at_odds]]
        terms = abs(zero_missing(rows[at_odds])) @ np.abs(self.rounding.sizes).T
        size = (terms + np.abs(self.intercept) + self.rounding.shifts).max(axis=1)
        if np.any(behind > (_ROUNDING + 4 * unit) * size + 2 * doubt):
            raise TypeError(
                "The model's predict does not choose the largest of its scores "
                "coef_ x + intercept_, so they cannot explain it."
            )
        return own


@dataclass(frozen=True, eq=False)
class RangeView(LinearView):
    """A linear regressor as three classes: its prediction is in a range, or not.

    The range of a row is c ± t. The three scores are 0, w·x + b - (c + t) and
    (c - t) - w·x - b. The first is the largest of them as long as the prediction is in
    the range, and wins a tie.
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
        """Zero for each row, if the model predicts w·x + b, but for rounding."""
        if np.ndim(prediction) != 1:
            raise TypeError("The model predicts several numbers for each row, not one.")
        present, (_, w, _) = zero_missing(rows), self.coef
        scores = np.asarray(present @ w) + super().intercepts(rows)[:, 1]
        size = np.asarray(abs(present) @ np.abs(self.rounding.sizes[1]))
        size = size + np.abs(self.intercept[1]) + self.rounding.shifts[1]
        apart = np.abs(prediction - scores)
        if np.any(apart > (_ROUNDING + 4 * unit) * size + 2 * doubt):
            raise TypeError(
                "The model's predict is not coef_ x + intercept_, so they cannot "
                "explain it; models with a link function, such as the logarithm of "
                "Poisson regression, have no certificates."
            )
        return np.zeros(len(scores), dtype=np.int64)


@shared_docs
def linear_view(model: Any, space: str = "input") -> LinearView:
    """Get the weights of a fitted linear classifier, or of scalers followed by one.

    Parameters
    ----------
    model : classifier
        Fitted, with `coef_`, `intercept_` and `classes_`: a linear model of this
        package or of scikit-learn, a search over one, a wrapper that has trained one,
        or a pipeline that ends in one after `StandardScaler`, `MinMaxScaler`,
        `MaxAbsScaler` or `RobustScaler`.
    {space}
        In model space a deleted feature adds nothing to the scores, which is what NaN
        means to the models of this package.

    Returns
    -------
    view : LinearView
        Weights, intercepts, classes and a way to read rows.

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
    """The weights of a fitted linear regressor, or of scalers followed by one."""
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


def _opened(model: Any) -> tuple[Steps, Any]:
    """The steps before a model, and the model, out of what has trained it."""
    steps, last = unwrap(model)
    while _has_trained_one(last):
        inner, last = unwrap(last.estimator_)
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
    """What views have in common: weights that act on the features in `space`."""
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
    """One clear sentence about a space that there is not."""
    if space not in ("input", "model"):
        raise ValueError(f"space must be 'input' or 'model'; got {space!r}.")


def check_fate(deleted_as: Any) -> None:
    """One clear sentence about what a lost cell cannot become."""
    if deleted_as not in ("zero", "nan"):
        raise ValueError(f"deleted_as must be 'zero' or 'nan'; got {deleted_as!r}.")


def _has_trained_one(model: Any) -> bool:
    """Whether a wrapper decides as the one model does that it has trained."""
    wraps = hasattr(model, "estimator_") and not hasattr(model, "estimators_")
    return wraps and not isinstance(model, _OTHERWISE)


def float_type(values: Any) -> Any:
    """The type of the numbers, if it is one of floating point, or float64."""
    dtype = getattr(values, "dtype", np.dtype(np.float64))
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def _weights(model: Any) -> tuple[Array, Array, NDArray[Any]]:
    """Weights and intercepts with a row per class, and the classes."""
    name = type(model).__name__
    if hasattr(model, "fit") and not hasattr(model, "classes_"):
        check_is_fitted(model)
    names = ("coef_", "intercept_", "classes_")
    if any(getattr(model, part, None) is None for part in names):
        raise TypeError(
            f"{name} is not a linear classifier: it has no coef_, intercept_ and "
            "classes_ after fit."
        )
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
    if any(getattr(model, part, None) is None for part in ("coef_", "intercept_")):
        raise TypeError(
            f"{name} is not a linear regressor: it has no coef_ and intercept_ after "
            "fit."
        )
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
    """`LinearView.rank`, asked from the model: who wins if all scores are equal.

    A copy with weights c of the first feature and intercepts -c has the scores -c, 0
    and c where that feature is 0, 1 and 2: the first class wins, all are equal, the
    last class wins. If the copy does not obey, as its weights are derived from what it
    really keeps, a row of zeros tells, where all intercepts are equal.
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
            f"{type(model).__name__} predicts several labels for each row; only models "
            "with one class per row can be seen as weights of classes."
        )
    if [first, last] != [classes[0], classes[-1]] or equal not in (first, last):
        return unknown
    rank = np.arange(len(classes))
    return rank if equal == first else rank[::-1].copy()


def _affine(steps: Steps, d: int) -> tuple[Array, Array, Array, Array]:
    """What the steps do to each feature: its factor, and what they add.

    Then the sum of all that they add, without its signs, and how often the smallest
    number that they can tell from zero is in the result, at most.
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
        f"The step {type(step).__name__} before the linear model does not scale and "
        "shift each feature by itself, so the pipeline has no weights per feature."
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
