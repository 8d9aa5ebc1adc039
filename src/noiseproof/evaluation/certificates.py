"""Exact certificates: how much of a row must go before its prediction changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noiseproof.attacks import Attack, FeatureDeletion
from noiseproof.evaluation.certificate_result import Certificates
from noiseproof.evaluation.linear import linear_view
from noiseproof.evaluation.smallest_change import SMALLEST

__all__ = ["certify"]


def certify(
    model: Any,
    X: Any,
    y: ArrayLike | None,
    values: ArrayLike | None = None,
    *,
    attack: Attack | None = None,
    space: str = "input",
) -> Certificates:
    """Find the smallest deletion that changes the prediction of each row.

    Deleting features takes Σ_{j deleted} (w_own - w_r)_j x_j from the lead of a row's
    class over a rival r; the prediction changes when some lead is used up. With equal
    values the largest terms go first, which needs a selection, not a search. With
    general values this is a knapsack problem, solved by branch and bound; a row that
    takes more than 2^14 branches, which cannot happen with up to 13 features that help
    the own class, gets the bound of the fractional relaxation instead and is flagged.

    No deletion worth less than a certificate changes the model's own `predict`. Where
    the rounding of sums could decide, the certificate takes the lower value and is
    flagged as not exact.

    Parameters
    ----------
    model : classifier
        Fitted and linear, by whomever; see `linear_view` for what is understood.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to certify; sparse stays sparse. Missing features (NaN), where the model
        takes them, are gone already and cannot be deleted.
    y : array-like of shape (n_samples,) or None
        Labels, for `accuracy_at`; None if there are none.
    values : array-like of shape (n_features,), default=None
        What deleting a feature costs; None means 1 each, and 0 is free.
    attack : FeatureDeletion, FeatureScaling or NormBall, default=None
        What may happen, if not deletion. Its own budget, k or radius is not used: the
        certificate is the smallest that changes the prediction.
    space : {"input", "model"}, default="input"
        Whether features change before the scalers of a pipeline or after; see
        `linear_view`.

    Returns
    -------
    certificates : Certificates
        `budget` and `exact` by row, `accuracy_at(budget)`, and `deletion(i)`.

    Examples
    --------
    >>> from sklearn.linear_model import Perceptron
    >>> from noiseproof.evaluation import certify
    >>> X, y = [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [1, 0]
    >>> model = Perceptron(tol=None).fit(X, y)
    >>> certificates = certify(model, X, y)
    >>> certificates.budget
    array([ 2., inf])
    >>> certificates.accuracy_at([0, 1, 2])
    array([1. , 1. , 0.5])
    >>> certificates.deletion(0)
    array([0, 1])
    """
    if attack is not None and values is not None:
        raise ValueError("values are for deletion; an attack brings its own.")
    attack = FeatureDeletion(values=values) if attack is None else attack
    solve = next((f for kind, f in SMALLEST.items() if isinstance(attack, kind)), None)
    if solve is None:
        known = ", ".join(kind.__name__ for kind in SMALLEST)
        raise TypeError(
            f"There are certificates for {known}; got {type(attack).__name__}."
        )
    view = linear_view(model, space)
    rows = view.rows(X)
    prediction = np.asarray(model.predict(X))
    correct = None if y is None else prediction == _labels(y, len(prediction))
    found = solve(attack, view, rows, view.agreed(rows, prediction))
    return Certificates(prediction=prediction, correct=correct, **found._asdict())


def _labels(y: ArrayLike, n: int) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label per row, {n}; got {labels.shape}.")
    return labels
