"""Pipelines and searches, opened in one place."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

Steps = list[tuple[str, Any]]


def unwrap(model: Any) -> tuple[Steps, Any]:
    """The steps before the last one, nested pipelines laid flat, and the last one.

    Of a search it is the best estimator that counts, of a frozen estimator what is in
    it. Steps that let everything pass are left out.

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


def transform(steps: Steps, X: Any) -> Any:
    """X as the last step gets it."""
    for _, step in steps:
        X = step.transform(X)
    return X
