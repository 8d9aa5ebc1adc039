"""Unwrap pipelines and searches."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

Steps = list[tuple[str, Any]]


def unwrap(model: Any) -> tuple[Steps, Any]:
    """Return the steps before the last one, from nested pipelines too, and the last.

    A search is replaced by its best estimator, and a frozen estimator or a
    `ConformalRegressor` by the estimator inside. Steps that pass everything through are
    left out.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler, StandardScaler
    >>> inner = make_pipeline(MinMaxScaler(), Ridge())
    >>> unwrap(make_pipeline(StandardScaler(), inner))
    ([('standardscaler', StandardScaler()), ('minmaxscaler', MinMaxScaler())], Ridge())
    """
    if isinstance(model, FrozenEstimator):
        return unwrap(model.estimator)
    if getattr(model, "predicts_as_its_estimator", False):
        return unwrap(getattr(model, "estimator_", model.estimator))
    if hasattr(model, "best_estimator_"):
        return unwrap(model.best_estimator_)
    if not isinstance(model, Pipeline):
        return [], model
    before: Steps = []
    for name, step in model.steps[:-1]:
        inner, last = unwrap(step)
        before += [*inner, (name, last)]
    inner, last = unwrap(model.steps[-1][1])
    kept = [(n, step) for n, step in before if step not in (None, "passthrough")]
    return kept + inner, last


def has_intervals(model: Any) -> bool:
    """Return whether a model, or a pipeline's last step, has prediction intervals."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return hasattr(last, "predict_interval")


def intervals_of(model: Any, X: Any, coverage: float) -> Any:
    """Return prediction intervals of a model, or of the last step of a pipeline."""
    if isinstance(model, Pipeline):
        X, model = transform(model.steps[:-1], X), model.steps[-1][1]
    if not has_intervals(model):
        raise TypeError(why_no_intervals(model))
    return model.predict_interval(X, coverage=coverage)


def why_no_intervals(model: Any) -> str:
    """Say in a sentence what to use instead of a model without prediction intervals."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    name = type(last).__name__
    if is_classifier(last):
        return (
            f"{name} is a classifier, and intervals are for regressors; use "
            "noiseproof.evaluation.conformal_sets, which finds sets of classes."
        )
    return (
        f"{name} has no intervals: wrap the regressor in ConformalRegressor or "
        "AverageOverMissing; on the command line use train --model "
        "conformal-regressor, or recommend."
    )


def transform(steps: Steps, X: Any) -> Any:
    """Transform X by some steps of a pipeline."""
    for _, step in steps:
        X = step.transform(X)
    return X
