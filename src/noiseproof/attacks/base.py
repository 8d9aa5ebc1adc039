"""The base class of all attacks, and how to write your own.

An attack changes the rows of X in certain ways, and it knows the model. For a linear
model the margin of a row is

    y (w·x + b)                                    coef of shape (d,), y in ±1
    min over r ≠ y of (w_y - w_r)·x + b_y - b_r    coef of shape (k, d), y in 0 ... k-1

An attack has two methods: `worst` returns the allowed X with the lowest margins, and
`margin_drop` returns how far the margins fall. An attack may always leave a row as it
is, and it never changes the intercept.

To write an attack, derive a class from `Attack` and define one method: `worst`, or, if
there are only a few ways to change a row, `candidates`, which lists them, starting with
the row itself. All other methods follow from it. In this example a spammer may misspell
one word of a mail, so that the filter counts it as another word (Viagra, V1agra):

>>> import numpy as np
>>> from noiseproof.attacks import Attack
>>> class Misspelling(Attack):
...     '''One word, in all its places, may turn into one of its misspellings.'''
...     def __init__(self, edits=()):
...         self.edits = edits  # pairs of columns: the word, what it becomes
...     def candidates(self, x):
...         ways = np.tile(x, (len(self.edits) + 1, 1))
...         for way, (word, misspelt) in zip(ways[1:], self.edits):
...             way[misspelt] += way[word]
...             way[word] = 0
...         return ways
>>> words = ["meeting", "v1agra", "v!agra", "viagra"]
>>> spam, weights = np.array([[0.0, 0.0, 0.0, 2.0]]), [-1.0, 0.2, -0.1, 1.0]
>>> attack = Misspelling(edits=[(3, 1), (3, 2)])
>>> attack.worst(spam, [1], weights)
array([[0., 0., 2., 0.]])
>>> attack.margin_drop(spam, [1], weights)
array([2.2])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from noiseproof._docs import shared_docs
from noiseproof._rows import (
    as_container,
    as_dense,
    contain,
    readable,
    stack,
    zero_missing,
)

Array = NDArray[np.float64]

_SHARES = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_BLOCK = 2**18  # entries of X whose candidates are made at once


@shared_docs
class Attack(BaseEstimator):
    """Base class of attacks. Subclasses override `worst` or `candidates`.

    The other attributes and methods describe an attack, so that it can be used in
    curves and certificates.

    Attributes
    ----------
    level_name : str or None
        Name of the parameter that sets the strength of the attack, for `at` and for
        curves.
    level_is_count : bool
        Whether the strength is a whole number.
    smallest_change : {"deletion", "norm"} or None
        How certificates search for the smallest change of a row that changes its class.
        The search "deletion" uses `certificate_values` and `certificate_factors`, and
        the search "norm" uses the attribute `ord`. None means that there is no search.

    {See Also: FeatureDeletion, Union, InvariantSVC}

    {References: Teo 2008}
    """

    level_name: ClassVar[str | None] = None
    level_is_count: ClassVar[bool] = False
    smallest_change: ClassVar[str | None] = None
    # default levels of a curve; if empty, shares of the total value of the features
    _levels: ClassVar[tuple[float, ...]] = (0, 0.1, 0.2, 0.5, 1, 2)
    _level_limit: ClassVar[float] = np.inf

    def at(self, level: float) -> Self:
        """A copy of the attack with another strength, which must not be negative."""
        return clone(self).set_params(**{self._strength(): self._legal(level)})

    def _legal(self, level: Any) -> float:
        """A strength as a number, an int if possible, or an error if it is invalid."""
        number = float(level) if isinstance(level, Real) else np.nan
        if not 0 <= number < self._level_limit or (
            self.level_is_count and not number.is_integer()
        ):
            legal = "finite and not negative"
            if self.level_is_count:
                legal = "a whole number that is not negative"
            if np.isfinite(self._level_limit):
                legal = f"at least 0 and less than {self._level_limit:g}"
            raise ValueError(
                f"{type(self).__name__}.{self._strength()} must be {legal}; got "
                f"{level!r}."
            )
        return int(number) if number.is_integer() else number

    @property
    def level_label(self) -> str:
        """Description of the strength, for the axis of a plot."""
        return f"{self._strength()} of {type(self).__name__}"

    def default_levels(self, n_features: int) -> tuple[float, ...]:
        """Suitable strengths for a curve, in increasing order, starting at 0."""
        self._strength()
        if self._levels:
            return self._levels
        values = self.certificate_values(n_features)
        levels = np.multiply(_SHARES, values.sum())
        levels = levels.round() if np.all(values == 1) else levels
        return tuple(map(self._legal, np.unique(levels)))

    def _strength(self) -> str:
        if self.level_name is None:
            raise ValueError(
                f"{self!r} has no parameter for its strength; set the class attribute "
                "level_name to the name of such a parameter."
            )
        return self.level_name

    @property
    def certificate_factors(self) -> tuple[float, float]:
        """Smallest and largest factor that a feature is multiplied by.

        Certificates use these factors.
        """
        return 0.0, 1.0

    def certificate_values(self, n_features: int) -> Array:
        """Value of each feature (or group): what changing it costs of the budget.

        Certificates use these values, which are not negative.
        """
        return np.ones(n_features)

    def certificate_groups(self, n_features: int) -> NDArray[np.intp] | None:
        """Index of the group of each feature, or None if there are no groups.

        With groups, `certificate_values` has one value for each group.
        """
        return None

    def on(self, features: Sequence[Any]) -> Self:
        """The same attack for features with these names (or indices).

        Attacks with groups need the names of the features.
        """
        return self

    @property
    def is_finite(self) -> bool:
        """Whether the attack defines `candidates`."""
        return type(self).candidates is not Attack.candidates

    def candidates(self, x: ArrayLike) -> Array:
        """All versions of a row x of shape (d,), as (c, d), the row itself first."""
        raise NotImplementedError(
            f"{type(self).__name__} lists no candidates; a class derived from Attack "
            "must override worst(X, y, coef, intercept), or candidates(x) if it can "
            "list all versions of a row."
        )

    def all_candidates(self, X: Any) -> Array | list[Array]:
        """Candidates of all rows of X.

        Override it if there is a faster way than row by row. Returns an array of shape
        (n, c, d), or, if rows differ in the number of candidates, a list of arrays of
        shape (c_i, d).
        """
        rows = as_dense(readable(X)).astype(np.float64)
        ways = [np.atleast_2d(self.candidates(x)) for x in rows]
        return np.stack(ways) if len({len(way) for way in ways}) == 1 else ways

    def copies(self, X: Any) -> tuple[Any, NDArray[np.intp]]:
        """Candidates of all rows in one table, to train on all of them.

        Returns the table, in the container and dtype of X, with the candidates of a row
        next to each other, and the index of the row that each candidate comes from.
        """
        rows = readable(X)
        blocks = [(as_container(ways, rows), o) for ways, o in self._blocks(rows)]
        stacked = stack([ways for ways, _ in blocks]).astype(rows.dtype, copy=False)
        return as_container(stacked, X), np.concatenate([o for _, o in blocks])

    def _blocks(self, X: Any) -> Iterator[tuple[Array, NDArray[np.intp]]]:
        """Dense `copies`, for as many rows at a time as fit into memory."""
        n, d = X.shape
        step = max(1, _BLOCK // max(1, d))
        for start in range(0, max(n, 1), step):
            ways = self.all_candidates(X[start : start + step]) if n else np.empty(0)
            counts = [len(way) for way in ways]
            flat = np.concatenate(ways) if isinstance(ways, list) else ways
            yield flat.reshape(-1, d), start + np.repeat(np.arange(len(counts)), counts)

    def worst(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Any:
        """Return the rows with the lowest margins that the attack can reach.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Clean rows.
        y : array-like of shape (n,)
            Labels in ±1, or class indices if `coef` has a row for each class.
        coef : array-like of shape (d,), (1, d) or (k, d)
            Weights of the model.
        intercept : float or array-like of shape (k,), default=None
            Intercepts of the model. With several classes the worst rival class depends
            on them.

        Returns
        -------
        X_worst : array, sparse matrix or data frame of shape (n, d)
            Attacked rows, in the container of X. A data frame keeps its names.
        """
        rows = readable(X)
        model = LinearMargins(rows, y, coef, intercept)
        worst = as_container(self._worst(rows, model), X)
        return contain(X, "zero").like(worst) if hasattr(X, "columns") else worst

    def margin_drop(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Array:
        """Return how far the attack can lower the margin of each row.

        The parameters are those of `worst`.

        Returns
        -------
        drop : array of shape (n,)
            Decrease of the margin, never negative.
        """
        rows = readable(X)
        return self._drop(rows, LinearMargins(rows, y, coef, intercept))

    def _worst(self, X: Any, model: LinearMargins) -> Any:
        """`worst`, for rows and a model that have been validated."""
        blocks = []
        for ways, origin in self._blocks(X):
            margins = model.margins(ways, model.label[origin])
            first = np.flatnonzero(np.diff(origin, prepend=-1))
            lowest = ways[np.lexsort((margins, origin))[first]]
            blocks.append(as_container(lowest, X))
        return stack(blocks).astype(X.dtype, copy=False)

    def _drop(self, X: Any, model: LinearMargins) -> Array:
        """`margin_drop`, for rows and a model that have been validated."""
        worst = readable(self.worst(X, *model.given))
        drop = model.margins(X, model.label) - model.margins(worst, model.label)
        return np.maximum(drop, 0.0)  # may be negative by rounding


@shared_docs
class LinearMargins:
    """A validated linear model with labels, and the margins of rows.

    There is always a row of `coef` for each class. For two classes with one weight
    vector w these are -w/2 and w/2, whose difference is w.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Rows.
    y : array of shape (n_samples,)
        ±1 for one weight vector, class indices for several.
    coef : array of shape (n_features,) or (n_classes, n_features)
        Weights.
    intercept : array of shape (n_classes,), float or None, default=None
        Intercepts; None means zero.

    {See Also: Attack}
    """

    def __init__(self, X: Any, y: Any, coef: Any, intercept: Any = None):
        n, d = X.shape
        self.given = y, coef, intercept
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
                f"intercept must have one number for each of the {len(coef)} rows of "
                f"coef; got {len(b)}."
            )
        self.label = _class_indices(y, n, len(coef))
        if len(coef) == 1:
            coef, b = np.vstack([-coef, coef]) / 2, np.hstack([-b, b]) / 2
        self.coef = np.ascontiguousarray(coef)
        self.intercept = np.asarray(b, dtype=np.float64)

    def leads(self, X: Any, label: NDArray[Any]) -> Array:
        """Lead: score of the own class minus that of each rival, inf for itself."""
        scores = np.asarray(zero_missing(X) @ self.coef.T) + self.intercept
        return score_leads(scores, label)

    def rival_leads(self, X: Any) -> Array:
        """`leads`, or zeros for a single rival, where they do not matter."""
        if len(self.coef) > 2:
            return self.leads(X, self.label)
        return np.zeros((X.shape[0], len(self.coef)))

    def margins(self, X: Any, label: NDArray[Any]) -> Array:
        """Margin: score of the own class minus that of the best rival."""
        return self.leads(X, label).min(axis=1)


def score_leads(scores: Array, label: NDArray[Any], itself: float = np.inf) -> Array:
    """Leads of the own class from scores of shape (n, k) or (n, c, k)."""
    own = label.reshape(-1, *[1] * (scores.ndim - 1))
    lead = np.take_along_axis(scores, own, axis=-1) - scores
    np.put_along_axis(lead, own, itself, axis=-1)
    return lead


def _class_indices(y: Any, n: int, k: int) -> NDArray[np.uint64]:
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(
            f"y must have one label for each of the {n} rows of X; got shape {y.shape}."
        )
    legal = np.array([-1, 1]) if k == 1 else np.arange(k)
    if not np.isin(y, legal).all():
        wanted = "-1 or 1" if k == 1 else f"class indices from 0 to {k - 1}"
        raise ValueError(
            f"y must hold {wanted} where coef has {k} row{'s' * (k > 1)}; "
            f"got {np.unique(y)[:5]}."
        )
    return ((y > 0) if k == 1 else y).astype(np.uint64)
