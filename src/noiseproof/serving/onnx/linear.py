"""Linear models in a graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from noiseproof.estimators import LINKS as LINKS_OF_ARRAYS
from noiseproof.serving.onnx.answers import LINKS, Answer
from noiseproof.serving.onnx.rows import Rows

Array = NDArray[np.float64]

_SCORES = 3.0  # standard deviation of the scores on which a model is tried
_ROUNDING = 1e-9


def linear(model: Any, rows: Rows, method: str) -> Answer | None:
    """Scores w·x + b and a function of them, if a trial shows that this is right."""
    coef, intercept = (getattr(model, name, None) for name in ("coef_", "intercept_"))
    if coef is None or intercept is None or np.ndim(coef) > 2:
        return None
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
    if coef.shape[1] != model.n_features_in_:
        return None
    link = _link_of(model, coef, intercept, method)
    if link is None:
        return None
    scores = rows.matrix().double() @ coef.T + intercept
    values = LINKS[link](scores)
    if not is_classifier(model):
        return Answer(values)
    if len(coef) == 1:
        return Answer(values, (scores > 0.0).cast(np.int64).squeeze(1))
    return Answer(values, scores.first_largest())


def _link_of(model: Any, coef: Array, intercept: Array, method: str) -> str | None:
    """Name of the function of linear scores that a method of the model computes."""
    X = np.random.default_rng(0).standard_normal((64, coef.shape[1]))
    X *= _SCORES / max(float(np.sqrt((coef**2).sum(axis=1).max())), 1e-12)
    X -= np.linalg.pinv(coef) @ intercept  # far from zero all functions are alike
    scores = X @ coef.T + intercept
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # X has no names
        answers = np.asarray(getattr(model, method)(X))
    for name, link in _candidates(method, len(coef)).items():
        found = link(scores)
        if found.size == answers.size and np.allclose(
            found, answers.reshape(found.shape), rtol=_ROUNDING, atol=_ROUNDING
        ):
            return name
    return None


def _candidates(method: str, n_scores: int) -> dict[str, Callable[[Array], Array]]:
    if method == "predict_proba":
        one = n_scores == 1
        return {n: f for n, f in LINKS_OF_ARRAYS.items() if (n == "expit") == one}
    same: dict[str, Callable[[Array], Array]] = {"identity": lambda scores: scores}
    return same | {"exp": np.exp} if method == "predict" else same
