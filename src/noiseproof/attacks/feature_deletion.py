"""Checks of budgets and feature values, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from noiseproof._rows import (
    as_container,
    is_stored,
    readable,
    stored_rows,
    unsigned,
)
from noiseproof.attacks.base import SHARES, Array, Attack, LinearModel, shares_of
from noiseproof.attacks.feature_scaling import FeatureScaling

_ROUNDING = 1e-12  # ten values of 0.1 fit into a budget of 1


def check_budget(budget: float, values: Any, n_features: int) -> Array:
    """The feature values as an array, or one sentence: bad values or a bad budget."""
    v = np.ones(n_features) if values is None else np.asarray(values, dtype=np.float64)
    if v.shape != (n_features,):
        raise ValueError(
            f"Feature values must be one number per feature, {n_features}; "
            f"got shape {v.shape}."
        )
    if not np.all(np.isfinite(v)) or np.any(v < 0):
        raise ValueError("Feature values must be finite and not negative.")
    total = float(v.sum())
    if not 0 <= budget <= total * (1 + _ROUNDING):
        raise ValueError(
            f"The budget must lie between 0 and the total value of the features, "
            f"{total:g}; got {budget!r}."
        )
    return v


def effective_budget(budget: float, values: Array) -> float:
    """The budget with room for rounding; whole, if whole features are all there is."""
    if np.all((values == 0) | (values == 1)):
        return float(np.floor(budget * (1 + _ROUNDING)))
    return budget * (1 + _ROUNDING)


_MODES = ("best", "greedy")


class FeatureDeletion(Attack):
    """Set features to zero whose values add up to at most the budget, row by row.

    With gains g_j = (w_y - w_r)_j x_j, for one rival class r, the adversary solves

        max Σ_{j deleted} g_j   subject to   Σ_{j deleted} v_j <= N

    (Dekel and Shamir 2008, section 2.1; FDROP where v = 1). He deletes only features
    with g_j > 0. For v in {0, 1} the N largest gains are the exact answer. Otherwise
    this is a knapsack problem: `margin_drop` gives the value of its fractional
    relaxation, which no deletion exceeds, `worst` deletes whole features only, and
    `gap` says how far apart the two are (less than one feature's gain).

    Parameters
    ----------
    budget : float, default=1.0
        N, the total value that may be deleted from each row.
    values : array-like of shape (n_features,), default=None
        v_j, what deleting a feature costs the adversary; None means 1 each.
    mode : {"best", "greedy"}, default="best"
        "best" deletes the largest gains per value first. "greedy" is the adversary of
        the paper's experiments: the largest gains first, whatever their value, until
        the budget is spent or no useful feature is left.

    Examples
    --------
    >>> from noiseproof.attacks import FeatureDeletion
    >>> X, y, coef = [[1.0, 1.0, 1.0]], [1], [3.0, 1.0, 2.0]
    >>> FeatureDeletion(budget=2).worst(X, y, coef)
    array([[0., 1., 0.]])
    >>> FeatureDeletion(budget=2).margin_drop(X, y, coef)
    array([5.])
    >>> FeatureDeletion(budget=2, values=[2, 1, 1]).margin_drop(X, y, coef)
    array([3.5])
    >>> FeatureDeletion(budget=2, values=[2, 1, 1]).gap(X, y, coef)
    array([0.5])
    """

    level_name = "budget"
    smallest_change = "deletion"

    def __init__(
        self,
        budget: float = 1.0,
        values: ArrayLike | None = None,
        *,
        mode: str = "best",
    ):
        self.budget = budget
        self.values = values
        self.mode = mode

    def worst(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Any:
        scaling = self._as_scaling(X)
        if scaling is not None:
            return scaling.worst(X, y, coef, intercept)
        given = X
        X, deleted, _, _ = self._attack(X, y, coef, intercept)
        if sp.issparse(X):
            kept = ~deleted
            ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
            parts = (X.data[kept], X.indices[kept], ends.astype(X.indptr.dtype))
            return as_container(type(X)(parts, shape=X.shape), given)
        stored = np.flatnonzero(is_stored(X))
        worst = X.copy()
        worst.ravel()[stored[deleted]] = 0.0
        return worst

    def margin_drop(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Array:
        scaling = self._as_scaling(X)
        if scaling is not None:
            return scaling.margin_drop(X, y, coef, intercept)
        return self._attack(X, y, coef, intercept)[2]

    def gap(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Array:
        """What `margin_drop` may claim too much: its bound less what `worst` attains.

        Zero for values in {0, 1} and a whole budget, and in the greedy mode, which
        bounds nothing but its own deed. Parameters as in `worst`.
        """
        _, _, bound, attained = self._attack(X, y, coef, intercept)
        return bound - attained

    def default_levels(self, n_features: int) -> tuple[float, ...]:
        if self.values is None:
            return shares_of(n_features)
        total = float(np.sum(self.certificate_values(n_features)))
        return tuple(share * total for share in SHARES)

    def certificate_values(self, n_features: int) -> Array:
        return check_budget(0.0, self.values, n_features)

    def check(self, n_features: int) -> Array:
        """The values, one per feature, or one clear sentence about what is wrong."""
        if self.mode not in _MODES:
            raise ValueError(
                f"FeatureDeletion.mode must be 'best' or 'greedy'; got {self.mode!r}."
            )
        return check_budget(self.budget, self.values, n_features)

    def _as_scaling(self, X: Any) -> FeatureScaling | None:
        """The same attack as scaling by zero, if every feature costs 1; else None."""
        values = self.check(readable(X).shape[1])
        if np.any(values != 1):
            return None
        return FeatureScaling(int(effective_budget(self.budget, values)))

    def _attack(
        self, X: Any, y: Any, coef: Any, intercept: Any
    ) -> tuple[Any, NDArray[np.bool_], Array, Array]:
        # Numba is imported here, at the first attack, to keep the import light
        from noiseproof.attacks.kernels import delete

        X = readable(X)
        values = self.check(X.shape[1])
        model = LinearModel(X, y, coef, intercept)
        rows = stored_rows(X)
        deleted = np.zeros(len(rows.data), dtype=bool)
        limit = effective_budget(self.budget, values)
        greedy = self.mode == "greedy"
        bound, attained = delete(
            *unsigned(rows),
            *(model.label, model.coef, model.intercept, values, limit, greedy, deleted),
        )
        return X, deleted, bound, attained
