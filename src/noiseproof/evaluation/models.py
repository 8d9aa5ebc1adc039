"""Anybody's models and metrics, made to fit each other.

A model needs nothing but `predict`. Metrics of scikit-learn ask more of it, so a model
from elsewhere is wrapped for them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer

from noiseproof._pipelines import transform, unwrap
from noiseproof._private import _safe_indexing
from noiseproof._rows import canonical, contain

Score = Callable[[Any, Any, Any], float]


def read_models(models: Any) -> dict[str, Any]:
    """Models by name, from one model, a dictionary or a list of pairs."""
    if hasattr(models, "predict"):
        models = {type(models).__name__: models}
    try:
        named = dict(models)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "models must be a model with predict, a dictionary from names to models or "
            f"a list of (name, model); got {type(models).__name__}."
        ) from error
    if not named or (not isinstance(models, Mapping) and len(named) < len(models)):
        raise ValueError("models must hold at least one model, each by its own name.")
    for name, model in named.items():
        if not hasattr(model, "predict"):
            raise TypeError(f"The model {name!r} has no predict: {model!r}.")
    return {str(name): model for name, model in named.items()}


@contextmanager
def named_in_errors(name: str) -> Iterator[None]:
    """Say which of several models it is that refuses its rows."""
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
    """Predict for one row, so that what cannot work fails before the work."""
    row = canonical(X)[:1]
    for name, model in models.items():
        with named_in_errors(name):
            model.predict(row)


def refusing_holes(models: Mapping[str, Any], X: Any) -> tuple[str, ...]:
    """Names of the models that cannot answer for two rows whose cells are all NaN."""
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
    """The last step of a pipeline and X as it gets it; other models as they are."""
    steps, last = unwrap(model)
    return last, transform(steps, X)


def as_scorer(scoring: Any) -> Score:
    """A function (model, X, y) -> score from a name, a scorer or such a function."""
    of_sklearn = isinstance(scoring, str)
    if isinstance(scoring, str):
        scoring = get_scorer(scoring)
    elif not callable(scoring):
        raise TypeError(
            "scoring must be the name of a metric, a scorer or a function of (model, "
            f"X, y); got {scoring!r}."
        )
    of_sklearn = of_sklearn or type(scoring).__module__.startswith("sklearn.")

    def score(model: Any, X: Any, y: Any) -> float:
        if of_sklearn and not hasattr(model, "__sklearn_tags__"):
            model = _Foreign(model, np.ndim(y) == 1)
        value = scoring(model, X, y)
        if np.ndim(value):
            raise TypeError(f"scoring must give one number; got {value!r}.")
        return float(value)

    return score


def score_name(scoring: Any) -> str:
    """What results call the metric."""
    return str(
        scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    )


class _Foreign(BaseEstimator):
    """A model that knows nothing of scikit-learn, for metrics that do.

    Where there is one label per row but `predict` gives several numbers, they are taken
    for the scores of the classes 0, 1, ..., as neural networks give them.
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
