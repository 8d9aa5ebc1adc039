"""Unwrap pipelines and searches."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils import get_tags

Steps = list[tuple[str, Any]]

# estimators that pass X on to the estimator inside as it is
_TRANSPARENT = (
    CalibratedClassifierCV,
    FrozenEstimator,
    GridSearchCV,
    RandomizedSearchCV,
    TransformedTargetRegressor,
)


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


def takes_nan(model: Any) -> bool:
    """Return whether an estimator accepts missing values (NaN).

    The tags of scikit-learn's pipelines, searches and others do not tell. A pipeline
    accepts them if all of its steps do, up to one that replaces them.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> takes_nan(make_pipeline(StandardScaler(), HistGradientBoostingClassifier()))
    True
    >>> takes_nan(make_pipeline(StandardScaler(), LogisticRegression()))
    False
    >>> takes_nan(make_pipeline(SimpleImputer(), LogisticRegression()))
    True
    """
    same = getattr(model, "predicts_as_its_estimator", False)
    if same or isinstance(model, _TRANSPARENT):
        name = "regressor" if hasattr(model, "regressor") else "estimator"
        inner = getattr(model, name)  # None means a linear model
        return inner is not None and takes_nan(inner)
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if not takes_nan(step):
                return False
            if _replaces_nan(step):
                return True
        return True
    if isinstance(model, ColumnTransformer | FeatureUnion):
        return all(map(takes_nan, _parts(model)))
    if model in (None, "passthrough", "drop"):
        return True
    if isinstance(model, FunctionTransformer) and not model.validate:
        return True
    return bool(get_tags(model).input_tags.allow_nan)


def _replaces_nan(step: Any) -> bool:
    """Whether the output of a transformer that accepts NaN has none."""
    if isinstance(step, Pipeline):
        return any(_replaces_nan(inner) for _, inner in step.steps)
    if isinstance(step, ColumnTransformer | FeatureUnion):
        return all(part == "drop" or _replaces_nan(part) for part in _parts(step))
    return isinstance(step, OneHotEncoder) or (
        type(step).__module__.startswith("sklearn.impute")
    )


def _parts(model: ColumnTransformer | FeatureUnion) -> list[Any]:
    """The transformers of the columns, or of a union."""
    if isinstance(model, FeatureUnion):
        return [part for _, part in model.transformer_list]
    return [*(part for _, part, _ in model.transformers), model.remainder]


def has_intervals(model: Any) -> bool:
    """Return whether a model, or a pipeline's last step, has prediction intervals."""
    return hasattr(_last(model), "predict_interval")


def intervals_of(model: Any, X: Any, coverage: float) -> Any:
    """Return prediction intervals of a model, or of the last step of a pipeline."""
    if isinstance(model, Pipeline):
        X, model = transform(model.steps[:-1], X), model.steps[-1][1]
    if not has_intervals(model):
        raise TypeError(why_no_intervals(model))
    return model.predict_interval(X, coverage=coverage)


def _last(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def why_no_intervals(model: Any) -> str:
    """Say in a sentence what to use instead of a model without prediction intervals."""
    last = _last(model)
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
