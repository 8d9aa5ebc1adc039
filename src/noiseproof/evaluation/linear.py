"""Anybody's linear classifier as weights that act on features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_selection import RFE
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, NuSVC
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from noiseproof._rows import zero_missing

__all__ = ["affine"]

Array = NDArray[np.float64]


def affine(step: Any, d: int) -> tuple[Array, Array]:
    """Scale and shift, one per feature, of a step or of a pipeline of such steps."""
    one, zero = np.ones(d), np.zeros(d)
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return one, zero
    if isinstance(step, Pipeline):
        scale, shift = one, zero
        for _, inner in step.steps:
            by, plus = affine(inner, d)
            scale, shift = scale * by, shift * by + plus
        return scale, shift
    for kind, read in _SCALERS.items():
        if isinstance(step, kind) and not getattr(step, "clip", False):
            by, plus = read(step)
            return one * by, zero + plus
    if isinstance(step, FunctionTransformer) and step.func is None:
        return one, zero
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


__all__ = ["SPACES", "LinearView", "linear_view"]

SPACES = ("input", "model")
# wrappers that decide otherwise than the model inside, as ensembles do
_OTHERWISE = (FixedThresholdClassifier, TunedThresholdClassifierCV, RFE)
_ROUNDING = 1e-4  # scores of a model in single precision


@dataclass(frozen=True, eq=False)
class LinearView:
    """A classifier whose class is the largest of its scores, coef x + intercept.

    The first class wins a tie. Two classes with one weight vector w are the rows -w/2
    and w/2, whose difference is w again, as in `noiseproof.attacks.LinearMargins`.

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
    scaler : transformer or None
        The steps before the model.
    shifted : array of shape (k, d)
        What the shift of each scaled feature adds to the scores; in model space zero.
    eps : float
        Relative rounding of the numbers that the model calculates with.
    """

    coef: Array
    intercept: Array
    classes: NDArray[Any]
    space: str
    scaler: Any
    shifted: Array
    eps: float

    @property
    def centred(self) -> bool:
        """Whether a feature that is zero still adds to the scores."""
        return bool(self.shifted.any())

    def encode(self, labels: Any) -> NDArray[np.int64]:
        """Index of each label's row in `coef`."""
        labels = np.asarray(labels)
        unknown = labels[~np.isin(labels, self.classes)]
        if len(unknown):
            raise ValueError(
                f"The label {unknown[0]!r} is none of the model's classes, "
                f"{self.classes[:5]}."
            )
        order = np.argsort(self.classes)
        return order[np.searchsorted(self.classes, labels, sorter=order)]

    def rows(self, X: Any) -> Any:
        """X in `space`, a float array or CSR; NaN where a feature is missing."""
        if self.space == "model" and self.scaler is not None:
            X = self.scaler.transform(X)
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        if X.shape[1] != self.coef.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but the model was fitted with "
                f"{self.coef.shape[1]}."
            )
        return X

    def intercepts(self, rows: Any) -> Array:
        """What each row's scores are without its stored features, (n, k).

        A missing feature adds nothing to the model, so neither does its shift.
        """
        everywhere = np.repeat(self.intercept[None, :], rows.shape[0], axis=0)
        if not self.centred:
            return everywhere
        values = rows.data if sp.issparse(rows) else rows
        missing = np.isnan(values).astype(np.float64)
        if sp.issparse(rows):
            missing = type(rows)((missing, rows.indices, rows.indptr), rows.shape)
        return everywhere - np.asarray(missing @ self.shifted.T)

    def scores(self, rows: Any) -> Array:
        """Scores of rows as `rows` returns them, a column per class."""
        present = zero_missing(rows)
        return np.asarray(present @ self.coef.T) + self.intercepts(rows)

    def agreed(self, rows: Any, prediction: Any) -> NDArray[np.int64]:
        """Index of each class that the model predicts, where the scores say the same.

        Parameters
        ----------
        rows : array or CSR matrix
            As `rows` returns them.
        prediction : array-like of shape (n,)
            What the model itself predicts for them.

        Returns
        -------
        own : array of int of shape (n,)
            Rows of `coef`.
        """
        own, scores = self.encode(prediction), self.scores(rows)
        at_odds = np.flatnonzero(scores.argmax(axis=1) != own)
        behind = scores[at_odds].max(axis=1) - scores[at_odds, own[at_odds]]
        terms = abs(zero_missing(rows[at_odds])) @ np.abs(self.coef).T
        rest = np.abs(self.intercept) + np.abs(self.shifted).sum(axis=1)
        size = (terms + rest).max(axis=1)
        if np.any(behind > _ROUNDING * size):
            raise TypeError(
                "The model's predict does not choose the largest of its scores "
                "coef_ x + intercept_, so they tell nothing about it."
            )
        return own


def linear_view(model: Any, space: str = "input") -> LinearView:
    """See a fitted linear classifier, or a pipeline of scalers and one, as weights.

    Parameters
    ----------
    model : classifier
        Fitted, with `coef_`, `intercept_` and `classes_`: a linear model of this
        package or of scikit-learn, a search over one, a wrapper that has trained one,
        or a pipeline that ends in one after `StandardScaler`, `MinMaxScaler`,
        `MaxAbsScaler` or `RobustScaler`.
    space : {"input", "model"}, default="input"
        Where features are deleted. "input": before the scalers, as a broken sensor
        that writes zeros does. "model": after them, so that a deleted feature adds
        nothing to the scores; behind a `StandardScaler` that means average. It is what
        NaN means to the models of this package.

    Returns
    -------
    view : LinearView
        Weights, intercepts, classes and a way to read rows.

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
    if space not in SPACES:
        raise ValueError(f"space must be 'input' or 'model'; got {space!r}.")
    scaler, last = _unwrap(model)
    coef, intercept, classes = _weights(last)
    single = getattr(last.coef_, "dtype", None) == np.float32
    scale, shift = affine(scaler, coef.shape[1])
    shifted = coef * shift
    if space == "model":
        shifted = np.zeros_like(coef)
    else:
        coef, intercept = coef * scale, intercept + shifted.sum(axis=1)
    eps = float(np.finfo(np.float32 if single else np.float64).eps)
    return LinearView(coef, intercept, classes, space, scaler, shifted, eps)


def _unwrap(model: Any) -> tuple[Any, Any]:
    """The steps before the linear model, or None, and the model itself."""
    if not (isinstance(model, _OTHERWISE) or hasattr(model, "estimators_")):
        for inside in ("best_estimator_", "estimator_"):
            model = getattr(model, inside, model)
    if not isinstance(model, Pipeline):
        return None, model
    check_is_fitted(model)
    before = model[:-1]
    inner, last = _unwrap(model[-1])
    if inner is not None:
        before = Pipeline([*before.steps, ("inner", inner)])
    return (before if len(before.steps) else None), last


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
    coef = coef.toarray() if sp.issparse(coef) else coef
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    b = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    classes = np.asarray(classes)
    k = 1 if len(classes) == 2 and len(coef) == 1 else len(classes)
    one_vs_one = isinstance(model, SVC | NuSVC) and k > 2
    if len(coef) != k or len(classes) < 2 or coef.ndim != 2 or one_vs_one:
        raise TypeError(
            f"{name} has no score per class: coef_ has shape {coef.shape} for "
            f"{len(classes)} classes{' that meet in pairs' * one_vs_one}."
        )
    b = np.broadcast_to(b, (k,))
    if k == 1:
        return np.vstack([-coef, coef]) / 2, np.hstack([-b, b]) / 2, classes
    return coef, b.copy(), classes
