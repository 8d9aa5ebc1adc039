"""What every attack answers, and how to write one's own.

An attack may change a row of X in some ways, knowing the model. For a linear model the
margin of a row is

    y (w·x + b)                                    coef of shape (d,), y in ±1
    min over r ≠ y of (w_y - w_r)·x + b_y - b_r    coef of shape (k, d), y in 0 ... k-1

and two questions are asked: which allowed X has the lowest margins (`worst`), and how
far the margins fall (`margin_drop`). An attack may do less than it is allowed to, never
more, and it never touches the intercept.

To write an attack, derive from `Attack` and give one method: `worst`, or, if there are
few ways to change a row, `candidates`, which lists them. The rest follows.

>>> import numpy as np
>>> from noiseproof.attacks import Attack
>>> class Mirror(Attack):
...     '''The image may be seen from behind.'''
...     def candidates(self, x):
...         return np.stack([x, x[::-1]])
>>> Mirror().margin_drop(np.array([[0.0, 1.0]]), [1], coef=[-1.0, 2.0])
array([3.])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

Array = NDArray[np.float64]


class Attack(BaseEstimator):
    """The worst that may happen to a row; override `worst` or `candidates`."""

    def candidates(self, x: Array) -> Array:
        """All that a row may become, one per line, itself among them."""
        raise NotImplementedError(
            f"{type(self).__name__} lists no candidates: a class derived from Attack "
            "must override worst(X, y, coef, intercept) or candidates(x)."
        )

    def worst(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Any:
        """X with the lowest margins that the attack can reach, in the same container.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Clean rows.
        y : array-like of shape (n,)
            Labels in ±1, or class indices if `coef` has a row per class.
        coef : array-like of shape (d,), (1, d) or (k, d)
            Weights of the model.
        intercept : float or array-like of shape (k,), default=None
            Intercepts: with several classes they decide which rival is the worst.

        Returns
        -------
        X_worst : array or sparse matrix of shape (n, d)
            Attacked rows.
        """
        model = LinearModel(X, y, coef, intercept)
        dense = np.asarray(X.todense() if sp.issparse(X) else X, dtype=np.float64)
        rows = []
        for i, x in enumerate(dense):
            ways = np.atleast_2d(self.candidates(x))
            label = np.repeat(model.label[i], len(ways))
            rows.append(ways[np.argmin(model.margins(ways, label))])
        worst = np.array(rows).reshape(dense.shape)
        return type(X)(worst) if sp.issparse(X) else worst

    def margin_drop(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Array:
        """How far the attack can lower each row's margin; parameters as in `worst`.

        Returns
        -------
        drop : array of shape (n,)
            Never negative.
        """
        model = LinearModel(X, y, coef, intercept)
        worst = self.worst(X, y, coef, intercept)
        return model.margins(X, model.label) - model.margins(worst, model.label)


class LinearModel:
    """Checked labels and weights, always with a row of `coef` per class.

    Two classes with one weight vector w become the rows -w/2 and w/2, whose difference
    is w again.
    """

    def __init__(self, X: Any, y: Any, coef: Any, intercept: Any = None):
        n, d = np.shape(X)
        coef = np.asarray(coef, dtype=np.float64)
        if coef.ndim not in (1, 2) or coef.shape[-1] != d:
            raise ValueError(
                f"coef must have shape ({d},) or (n_classes, {d}) for X with {d} "
                f"features; got {coef.shape}."
            )
        coef = np.atleast_2d(coef)
        b = np.zeros(len(coef)) if intercept is None else np.ravel(intercept)
        if len(b) != len(coef):
            raise ValueError(
                f"intercept must have one number per row of coef, {len(coef)}; "
                f"got {len(b)}."
            )
        self.label = _class_indices(y, n, len(coef))
        if len(coef) == 1:
            coef, b = np.vstack([-coef, coef]) / 2, np.hstack([-b, b]) / 2
        self.coef = np.ascontiguousarray(coef)
        self.intercept = np.asarray(b, dtype=np.float64)

    def margins(self, X: Any, label: NDArray[Any]) -> Array:
        """Score of the own class less that of the best rival, row by row."""
        X = _without_missing(X)
        scores = np.asarray(X @ self.coef.T) + self.intercept
        rows = np.arange(len(label))
        own = scores[rows, label].copy()
        scores[rows, label] = -np.inf
        return own - scores.max(axis=1)


def _class_indices(y: Any, n: int, k: int) -> NDArray[np.uint64]:
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must have one label per row of X, {n}; got {y.shape}.")
    legal = np.array([-1, 1]) if k == 1 else np.arange(k)
    if not np.isin(y, legal).all():
        wanted = "-1 or 1" if k == 1 else f"class indices from 0 to {k - 1}"
        raise ValueError(
            f"y must hold {wanted} where coef has {k} row{'s' * (k > 1)}; "
            f"got {np.unique(y)[:5]}."
        )
    return ((y > 0) if k == 1 else y).astype(np.uint64)


def _without_missing(X: Any) -> Any:
    """A missing feature (NaN) adds nothing to a score."""
    if not sp.issparse(X):
        return np.nan_to_num(np.asarray(X, dtype=np.float64), nan=0.0)
    X = X.tocsr(copy=True)
    X.data = np.nan_to_num(X.data.astype(np.float64), nan=0.0)
    return X
