"""Weights for averaging the predictions of several models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]

_ROUNDS = 100  # iterations of the EM algorithm
_SMALL = 0.07  # models with a smaller weight cost more time than they are worth
_UNLIKELY = 1e-6  # least probability, which bounds the log-loss


def blend_weights(
    predictions: Array, y: Any, classes: Any, smallest: float = _SMALL
) -> Array:
    """Compute the weights of models, given their predictions of rows with targets y.

    The weights are not negative and sum to one. `predictions` has the shape (n_models,
    n_rows, n_classes) for classifiers and (n_models, n_rows) for regressors, for which
    `classes` is None. The weights maximise the likelihood of y, or minimise the squared
    error. A weight below `smallest` becomes zero, unless all are below it.
    """
    if classes is None:
        scale = max(float(np.abs(y).max()), 1.0) * 1e3 * len(y) ** 0.5
        rows = np.vstack([predictions.T, np.full(len(predictions), scale)])
        weights = nnls(rows, np.append(y, scale))[0]  # the last row: they sum to one
    else:
        places = np.searchsorted(classes, y)
        likely = np.maximum(predictions[:, np.arange(len(places)), places], _UNLIKELY)
        weights = np.full(len(predictions), 1.0 / len(predictions))
        for _ in range(_ROUNDS):
            shares = weights[:, None] * likely
            weights = (shares / shares.sum(axis=0)).mean(axis=1)
    weights = np.where(weights < min(smallest, weights.max()), 0.0, weights)
    return np.asarray(weights / weights.sum())
