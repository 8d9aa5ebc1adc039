"""Models in a graph: ours, meta-estimators of scikit-learn, and all others.

Linear models, support vector machines, forests and HistGradientBoosting are written in
double precision, as scikit-learn computes them. Otherwise draws could fall on the other
side of a threshold, which would change averages. skl2onnx converts all other models.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.tree import BaseDecisionTree

from noiseproof.estimators import AverageOverMissing, ReducedModels
from noiseproof.serving.export import as_sklearn
from noiseproof.serving.onnx.answers import Answer
from noiseproof.serving.onnx.averages import averaged
from noiseproof.serving.onnx.calibration import calibrated
from noiseproof.serving.onnx.foreign import answered
from noiseproof.serving.onnx.graph import Tensor, exp
from noiseproof.serving.onnx.inputs import opened
from noiseproof.serving.onnx.linear import linear
from noiseproof.serving.onnx.machines import machine
from noiseproof.serving.onnx.rows import Rows
from noiseproof.serving.onnx.transformers import transform
from noiseproof.serving.onnx.trees import boosted, grown


def method_of(model: Any) -> str:
    """The method that a graph computes: probabilities, scores or predictions."""
    if not is_classifier(model):
        return "predict"
    return "predict_proba" if hasattr(model, "predict_proba") else "decision_function"


def translate(model: Any, rows: Rows, method: str) -> Answer:
    """The result of a method of a fitted model for rows."""
    model = opened(model)
    for kinds, function in _TRANSLATIONS:
        if isinstance(model, kinds):
            answer = function(model, rows, method)
            if answer is not None:
                return answer
    if type(model).__module__.startswith("noiseproof."):
        return _ours(model, rows, method)
    return linear(model, rows, method) or answered(model, rows, method)


def _piped(model: Any, rows: Rows, method: str) -> Answer:
    *before, (_, last) = model.steps
    for _, step in before:
        rows = transform(step, rows)
    return translate(last, rows, method)


def _voted(model: Any, rows: Rows, method: str) -> Answer | None:
    """The weighted mean of members' probabilities or predictions."""
    if method == "decision_function":  # votes without probabilities have no scores
        return None
    weights = np.ones(len(model.estimators)) if model.weights is None else model.weights
    kept = [
        w for (_, m), w in zip(model.estimators, weights, strict=True) if m != "drop"
    ]
    mean: Any = 0.0
    for member, weight in zip(model.estimators_, kept, strict=True):
        share = float(weight) / float(np.sum(kept))
        mean = translate(member, rows, method).values * share + mean
    return Answer(mean, mean.first_largest() if is_classifier(model) else None)


def _of_transformed_target(model: Any, rows: Rows, method: str) -> Answer:
    """Predictions, transformed back to the scale of the target."""
    inner = translate(model.regressor_, rows, method).values
    scaler, back = model.transformer, model.inverse_func
    if scaler is None and back in _BACK:
        return Answer(_BACK[back](inner))
    if not isinstance(scaler, StandardScaler):
        raise TypeError(
            "TransformedTargetRegressor can be written to ONNX with a StandardScaler, "
            "or with inverse_func np.exp or np.expm1; use one of them."
        )
    fitted = model.transformer_
    scaled = inner if fitted.scale_ is None else inner * fitted.scale_
    return Answer(scaled if fitted.mean_ is None else scaled + fitted.mean_)


_BACK: dict[Any, Callable[[Tensor], Tensor]] = {
    None: lambda values: values,
    np.exp: exp,
    np.expm1: lambda values: exp(values) - 1.0,
}


def _ours(model: Any, rows: Rows, method: str) -> Answer:
    """A linear model of ours: a missing feature adds nothing to the score."""
    if isinstance(model, ReducedModels):
        raise TypeError(
            "ReducedModels fits models while it predicts, which no ONNX file can do; "
            "use AverageOverMissing, or save it with noiseproof.save."
        )
    try:
        plain = as_sklearn(model)
    except TypeError as error:
        raise TypeError(
            f"{type(model).__name__} cannot be written to ONNX, since it is not a "
            "linear model; save it with noiseproof.save instead."
        ) from error
    X = rows.matrix()
    answer = linear(plain, Rows((X.isnan().where(0.0, X),)), method)
    assert answer is not None
    return answer


_FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
_TRANSLATIONS: list[tuple[Any, Callable[[Any, Rows, str], Answer | None]]] = [
    (AverageOverMissing, partial(averaged, ask=translate)),
    (Pipeline, _piped),
    ((VotingClassifier, VotingRegressor), _voted),
    (TransformedTargetRegressor, _of_transformed_target),
    (CalibratedClassifierCV, partial(calibrated, ask=translate)),
    ((HistGradientBoostingClassifier, HistGradientBoostingRegressor), boosted),
    ((BaseDecisionTree, *_FORESTS), grown),
    ((SVC, NuSVC, SVR, NuSVR), machine),
]
