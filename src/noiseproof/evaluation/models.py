"""Models and metrics of any library, made to fit each other.

A model only needs `predict`. Metrics of scikit-learn ask more of it, so other models
are wrapped for them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer

from noiseproof._pipelines import transform, unwrap
from noiseproof._private import _safe_indexing
from noiseproof._rows import canonical, contain

Score = Callable[[Any, Any, Any], float]


def read_models(models: Any) -> dict[str, Any]:
    """A dictionary of models, from one model, a dictionary or a list of pairs."""
    if hasattr(models, "predict"):
        models = {type(models).__name__: models}
    try:
        named = dict(models)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "models must be a model with predict, a dictionary from names to models, "
            f"or a list of (name, model) pairs; got {type(models).__name__}."
        ) from error
    if not named or (not isinstance(models, Mapping) and len(named) < len(models)):
        raise ValueError(
            "models must contain at least one model, and each must have its own name."
        )
    for name, model in named.items():
        if not hasattr(model, "predict"):
            raise TypeError(f"The model {name!r} has no method predict: {model!r}.")
    return {str(name): model for name, model in named.items()}


@contextmanager
def named_in_errors(name: str) -> Iterator[None]:
    """Add the name of the model to its errors."""
    try:
        yield
    except NotFittedError as error:
        raise NotFittedError(
            f"The model {name!r} is not fitted: call its fit first."
        ) from error
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"The model {name!r} cannot be scored. {error}") from error


def try_out(models: Mapping[str, Any], X: Any) -> None:
    """Predict one row with each model, so that errors come before the work."""
    row = canonical(X)[:1]
    for name, model in models.items():
        with named_in_errors(name):
            model.predict(row)


def refusing_holes(models: Mapping[str, Any], X: Any) -> tuple[str, ...]:
    """Names of the models that refuse two rows in which all values are missing."""
    rows = contain(_safe_indexing(X, np.arange(min(2, X.shape[0]))), "nan")
    holes = rows.without(np.ones(rows.shape, dtype=bool))
    return tuple(name for name, model in models.items() if not _answers(model, holes))


def _answers(model: Any, holes: Any) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = np.asarray(model.predict(holes))
    except Exception:  # whatever a model of theirs raises if it refuses
        return False
    return not (answer.dtype.kind == "f" and bool(np.isnan(answer).any()))


def last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """The last step of a pipeline, and X as it gets it; other models stay whole."""
    steps, last = unwrap(model)
    return last, transform(steps, X)


def as_scorer(scoring: Any) -> Score:
    """A function (model, X, y) -> score, from a name, a scorer or such a function."""
    of_sklearn = isinstance(scoring, str)
    if isinstance(scoring, str):
        scoring = get_scorer(scoring)
    elif not callable(scoring):
        raise TypeError(
            "scoring must be the name of a metric, a scorer, or a function of (model, "
            f"X, y); got {scoring!r}."
        )
    of_sklearn = of_sklearn or type(scoring).__module__.startswith("sklearn.")

    def score(model: Any, X: Any, y: Any) -> float:
        if of_sklearn and not hasattr(model, "__sklearn_tags__"):
            model = _Foreign(model, np.ndim(y) == 1)
        value = scoring(model, X, y)
        if np.ndim(value):
            raise TypeError(f"scoring must return one number; got {value!r}.")
        return float(value)

    return score


def scoring_of(model: Any, y: Any) -> str:
    """Accuracy or R²: as the model says; otherwise R² if y has fractions."""
    y = np.asarray(y)
    known = hasattr(model, "__sklearn_tags__")
    if known and (is_classifier(model) or is_regressor(model)):
        return "r2" if is_regressor(model) else "accuracy"
    fractions = y.dtype.kind == "f" and bool(np.any(y != np.round(y)))
    return "r2" if fractions else "accuracy"


def score_name(scoring: Any) -> str:
    """The name of the metric in results."""
    return str(
        scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    )


class _Foreign(BaseEstimator):
    """A model that is not of scikit-learn, wrapped for metrics that are.

    If there is one label per row but `predict` returns several numbers, they are taken
    as the scores of the classes 0, 1, ..., as neural networks return them.
    """

    def __init__(self, model: Any, one_label: bool):
        self.model = model
        self.one_label = one_label

    def predict(self, X: Any) -> Any:
        y = np.asarray(self.model.predict(X))
        if not self.one_label or y.ndim < 2:
            return y
        return y.argmax(axis=1) if y.shape[1] > 1 else y[:, 0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("model", "one_label"):
            raise AttributeError(name)
        return getattr(self.model, name)
