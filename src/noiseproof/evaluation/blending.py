"""Weighted means of contenders; weights come from what they said of held-out rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

Array = NDArray[np.float64]

BLEND = "blend"  # its name among the contenders
_ROUNDS = 100  # of expectation and maximisation
_SMALL = 0.02  # weight that is not worth a model
_UNLIKELY = 1e-6  # log-loss has no bound


def said(model: Any, X: Any, classes: Any) -> Array | None:
    """Probabilities of all classes, or predictions if there are no classes.

    None for a classifier that has no probabilities.
    """
    if classes is None:
        return np.asarray(model.predict(X), dtype=np.float64)
    if not hasattr(model, "predict_proba"):
        return None
    known = np.zeros((np.shape(X)[0], len(classes)))
    known[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    return known


def blended(answers: Array, wanted: Any, classes: Any) -> Array:
    """Weights of answers, one row each; they sum to one and none is negative.

    Of probabilities those that make the classes that came true likeliest, of
    quantities those with the least squared error.

    Parameters
    ----------
    answers : array of shape (n_contenders, n_rows, n_classes) or (n_contenders, n_rows)
        What contenders said about rows that they had not seen.
    wanted : array of shape (n_rows,)
        What came true.
    classes : array of shape (n_classes,) or None
        All classes, in order; None for quantities.
    """
    if classes is None:
        scale = max(float(np.abs(wanted).max()), 1.0) * 1e3 * len(wanted) ** 0.5
        rows = np.vstack([answers.T, np.full(len(answers), scale)])  # sum to one
        weights = nnls(rows, np.append(wanted, scale))[0]
    else:
        places = np.searchsorted(classes, wanted)
        likely = np.maximum(answers[:, np.arange(len(places)), places], _UNLIKELY)
        weights = np.full(len(answers), 1.0 / len(answers))
        for _ in range(_ROUNDS):
            shares = weights[:, None] * likely
            weights = (shares / shares.sum(axis=0)).mean(axis=1)
    weights = np.where(weights < _SMALL, 0.0, weights)
    return np.asarray(weights / weights.sum())


class Fold:
    """What contenders said about held-out rows: as they are, and after each damage.

    Parameters
    ----------
    told : list of list of (answers, y)
        For each contender its answers on each version of the rows, and what came true.
    """

    def __init__(self, told: Sequence[Sequence[tuple[Array, Any]]]):
        self.answers = [
            np.stack(parts) for parts in zip(*map(_first, told), strict=True)
        ]
        self.wanted = [y for _, y in told[0]]

    def blended(self, weights: Array) -> Iterator[tuple[Array, Any]]:
        """Weighted means of the answers, and what came true, version by version."""
        for answers, y in zip(self.answers, self.wanted, strict=True):
            yield np.tensordot(weights, answers, 1), y


def _first(pairs: Sequence[tuple[Array, Any]]) -> list[Array]:
    return [answers for answers, _ in pairs]


def weights_on(folds: Sequence[Fold], classes: Any) -> Array:
    """Weights that suit the damaged rows of these folds."""
    answers = [part for fold in folds for part in fold.answers[1:]]
    wanted = [part for fold in folds for part in fold.wanted[1:]]
    return blended(np.concatenate(answers, axis=1), np.concatenate(wanted), classes)


class Speaker(BaseEstimator):
    """Answers that are known, in the form of a model, for scores."""

    def __init__(self, answers: Any, classes: Any):
        self.answers = answers
        self.classes = classes

    def predict(self, X: Any) -> Any:
        """Answers, or the likeliest class."""
        if self.classes is None:
            return self.answers
        return self.classes[self.answers.argmax(axis=1)]


class _Sorter(ClassifierMixin, Speaker):
    @property
    def classes_(self) -> Any:
        return self.classes

    def predict_proba(self, X: Any) -> Any:
        """Answers."""
        return self.answers


class _Measurer(RegressorMixin, Speaker):
    pass


def speaking(answers: Any, classes: Any) -> Speaker:
    """A model that gives these answers."""
    return (_Measurer if classes is None else _Sorter)(answers, classes)
