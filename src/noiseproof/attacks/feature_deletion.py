"""Deletion of features within a budget, and checks of feature values and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from noiseproof._docs import shared_docs
from noiseproof._rows import (
    group_rows,
    group_weights,
    readable,
    stored_rows,
    unsigned,
    without,
)
from noiseproof.attacks.base import Array, Attack, LinearMargins
from noiseproof.attacks.feature_scaling import FeatureScaling
from noiseproof.groups import Groups

_MODES = ("best", "greedy")
_ROUNDING = 1e-12  # relative tolerance, so that ten values of 0.1 fit a budget of 1


def check_budget(
    budget: float, values: Any, n_features: int, what: str = "feature"
) -> Array:
    """The feature values as an array, or an error if they or the budget are invalid."""
    v = np.ones(n_features) if values is None else np.asarray(values, dtype=np.float64)
    if v.shape != (n_features,):
        raise ValueError(
            f"{what.capitalize()} values must be one number for each of the "
            f"{n_features} {what}s; got shape {v.shape}."
        )
    if not np.all(np.isfinite(v)) or np.any(v < 0):
        raise ValueError(f"{what.capitalize()} values must be finite and not negative.")
    total = float(v.sum())
    if not 0 <= budget <= total * (1 + _ROUNDING):
        raise ValueError(
            f"The budget must lie between 0 and the total value of the {what}s, "
            f"{total:g}; got {budget!r}."
        )
    return v


def group_values(
    budget: float, values: Any, groups: Any, features: Sequence[Any]
) -> tuple[NDArray[np.intp], Array]:
    """The group of each feature and the value of each group.

    A feature in no group is a group of its own. Since such a group has no value, values
    can only be given if all features are in some group.
    """
    read = Groups.read(groups, features)
    labels = read.labels(len(features))
    n_groups = int(labels.max(initial=-1)) + 1
    if values is not None and n_groups > len(read):
        raise ValueError(
            "Values of groups need every feature to be in a group, but "
            f"{features[int(labels.argmax())]!r} is in no group."
        )
    return labels, check_budget(budget, values, n_groups, "group")


def effective_budget(budget: float, values: Array) -> float:
    """The budget plus a tolerance, rounded down if all values are 0 or 1."""
    if np.all((values == 0) | (values == 1)):
        return float(np.floor(budget * (1 + _ROUNDING)))
    return budget * (1 + _ROUNDING)


@shared_docs
class FeatureDeletion(Attack):
    """Set features to zero whose values add up to at most the budget, row by row.

    The gain of deleting feature j is g_j = (w_y - w_r)_j x_j, for one rival class r.
    The adversary solves

        max Σ_{j deleted} g_j   subject to   Σ_{j deleted} v_j <= N

    (Dekel and Shamir 2008, section 2.1; FDROP in Teo et al. 2008 if v = 1). It only
    deletes features with g_j > 0. If all values are 0 or 1, deleting the N largest
    gains is the exact solution. Otherwise this is a knapsack problem. `margin_drop`
    returns the value of its fractional relaxation, which no deletion exceeds, `worst`
    only deletes whole features, and `gap` returns the difference of the two, which is
    less than the gain of one feature.

    Parameters
    ----------
    {fixed budget, values, groups}
        A group is deleted as a whole. Its gain is the sum of the gains of its members,
        including those whose deletion helps the model.
    mode : {"best", "greedy"}, default="best"
        The order of deletion. "best" deletes features with the largest ratio of gain to
        value first. "greedy" is the adversary of the paper's experiments. It deletes
        features with the largest gain first, whatever their value, until the budget is
        spent or no feature with a positive gain is left.

    {See Also: FeatureScaling, RobustLPClassifier, certify}

    {References: Dekel 2008, Teo 2008}

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
    >>> FeatureDeletion(budget=1, groups=[[0], [1, 2]]).worst(X, y, [2.0, 1.5, 1.0])
    array([[1., 0., 0.]])
    """

    groups: Any = None  # default for objects saved by versions without groups
    level_name = "budget"
    smallest_change = "deletion"
    _levels = ()

    def __init__(
        self,
        budget: float = 1.0,
        values: ArrayLike | None = None,
        *,
        groups: Any = None,
        mode: str = "best",
    ):
        self.budget = budget
        self.values = values
        self.groups = groups
        self.mode = mode

    def _worst(self, X: Any, model: LinearMargins) -> Any:
        scaling = self._as_scaling(X.shape[1])
        if scaling is not None:
            return scaling._worst(X, model)
        return without(X, self._attack(X, model)[0])

    def _drop(self, X: Any, model: LinearMargins) -> Array:
        scaling = self._as_scaling(X.shape[1])
        return self._attack(X, model)[1] if scaling is None else scaling._drop(X, model)

    def gap(
        self, X: Any, y: ArrayLike, coef: ArrayLike, intercept: ArrayLike | None = None
    ) -> Array:
        """Difference between the bound of `margin_drop` and the drop of `worst`.

        It is zero if all values are 0 or 1 and the budget is a whole number. It is also
        zero in the mode "greedy", in which `margin_drop` is the drop of the greedy
        deletion. The parameters are those of `worst`.
        """
        rows = readable(X)
        model = LinearMargins(rows, y, coef, intercept)
        deleted, bound, attained = self._attack(rows, model)
        # the deletion for one rival may lower the lead over another rival by more
        after = model.margins(without(rows, deleted), model.label)
        attained = np.maximum(attained, model.margins(rows, model.label) - after)
        return np.maximum(bound - attained, 0.0)

    def certificate_values(self, n_features: int) -> Array:
        return self._labels_and_values(0.0, n_features)[1]

    def certificate_groups(self, n_features: int) -> NDArray[np.intp] | None:
        return self._labels_and_values(0.0, n_features)[0]

    def on(self, features: Sequence[Any]) -> Self:
        if self.groups is None:
            return self
        labels, values = group_values(0.0, self.values, self.groups, features)
        members = {g: np.flatnonzero(labels == g).tolist() for g in range(len(values))}
        return clone(self).set_params(groups=members, values=values)

    def _labels_and_values(self, budget: float, n_features: int) -> tuple[Any, Array]:
        if self.groups is None:
            return None, check_budget(budget, self.values, n_features)
        return group_values(budget, self.values, self.groups, range(n_features))

    def check(self, n_features: int) -> Array:
        """The values of features or groups, or an error if a parameter is invalid."""
        if self.mode not in _MODES:
            raise ValueError(
                f"FeatureDeletion.mode must be 'best' or 'greedy'; got {self.mode!r}."
            )
        return self._labels_and_values(self.budget, n_features)[1]

    def _as_scaling(self, n_features: int) -> FeatureScaling | None:
        """The same attack as scaling by zero, if all values are 1; otherwise None."""
        values = self.check(n_features)
        if np.any(values != 1) or self.groups is not None:
            return None
        return FeatureScaling(effective_budget(self.budget, values))

    def _attack(
        self, X: Any, model: LinearMargins
    ) -> tuple[NDArray[np.bool_], Array, Array]:
        """Which stored entries are deleted, the bound of the drop, and the drop."""
        # Numba is imported at the first attack, so that `import noiseproof` stays fast
        from noiseproof.attacks.kernels import delete

        values = self.check(X.shape[1])
        rows, coef = stored_rows(X), model.coef
        limit = effective_budget(self.budget, values)
        labels = self.certificate_groups(X.shape[1])
        if labels is not None:  # treat each pair of a row and a group as a feature
            entries, (rows, group, place) = rows, group_rows(rows, labels)
            coef, values = group_weights(entries, place, coef), values[group]
        deleted = np.zeros(len(rows.data), dtype=bool)
        of_model = model.label, coef, model.rival_leads(X)
        bounds = delete(
            *unsigned(rows), *of_model, values, limit, self.mode == "greedy", deleted
        )
        return deleted if labels is None else deleted[place], *bounds
