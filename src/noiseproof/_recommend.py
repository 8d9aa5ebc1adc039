"""A portfolio of models, and a recommendation after a contest between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR
from sklearn.utils.multiclass import type_of_target

from noiseproof._rows import density
from noiseproof.estimators import (
    AverageOverMissing,
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutRidge,
    ReducedModels,
)
from noiseproof.evaluation import Contest, contest
from noiseproof.noise import Missing
from noiseproof.tables import TableEncoder

_RATES = (None, 0.1, 0.3, 0.5)  # None: training without noise is always tried, too
_KERNEL_ROWS = 5_000  # more make a kernel machine slow
_NEIGHBOUR_ROWS = 10_000  # and an imputer that compares every row with every other
_FEW_GROUPS = 6  # up to 64 patterns of outages


@dataclass(frozen=True)
class Recommendation:
    """What `recommend` returns.

    Attributes
    ----------
    model : estimator
        The best contender, fitted on all rows.
    contest : Contest
        Scores and costs of all contenders.
    """

    model: Any
    contest: Contest

    def __repr__(self) -> str:
        return f"{self.contest!r}\n\n{self.contest.verdict}"


def recommend(
    X: Any,
    y: Any,
    perturb: Any = "missing",
    level: float = 0.3,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    n_repeats: int = 3,
    random_state: int = 0,
    progress: Any = None,
    **options: Any,
) -> Recommendation:
    """Find the model to take if this is what will happen to the features.

    A portfolio of plain models, dropout models, imputers, models trained on incomplete
    copies and models that average over what is missing is cross-validated under what is
    expected (see `noiseproof.evaluation.contest`); the best is fitted on all rows.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows, raw: columns may hold text, cells may be empty.
    y : array-like of shape (n_samples,)
        Classes (text, or whole numbers of which there are few) or a quantity.
    perturb, level
        What is expected, as in `noiseproof.evaluation.robustness_curve`; by default
        each cell is missing with probability 0.3, and the model knows.
    groups : dict of str to list of columns, default=None
        Columns that fail together, for perturbations of whole groups.
    scoring, cv, n_repeats, random_state, progress, **options
        As in `noiseproof.evaluation.contest`.

    Returns
    -------
    recommendation : Recommendation
        The fitted model and the contest.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import recommend
    >>> X, y = load_wine(return_X_y=True)
    >>> found = recommend(X, y, "missing", 0.5, cv=3, n_repeats=1)
    >>> found.model.predict(X[:3])
    array([0, 0, 0])
    """
    contenders = portfolio(X, y, perturb, level, groups, random_state)
    result = contest(
        contenders, X, y, perturb, level, scoring=scoring, cv=cv, n_repeats=n_repeats,
        random_state=random_state, progress=progress, **options,
    )  # fmt: skip
    return Recommendation(clone(contenders[result.best]).fit(X, y), result)


def portfolio(
    X: Any, y: Any, perturb: Any, level: float, groups: Any = None, seed: int = 0
) -> dict[str, Any]:
    """Unfitted contenders for such rows, each taking them raw, by name."""
    classify = type_of_target(y) in ("binary", "multiclass")
    linear = DropoutLogisticRegression if classify else DropoutRidge
    found: dict[str, Any] = {
        "linear, no noise" if rate is None else f"dropout {rate:g}": make_pipeline(
            TableEncoder(), linear(rate)
        )
        for rate in _RATES
    }
    if density(X) is not None:  # what follows would fill every zero
        return found
    plain = LogisticRegression(max_iter=1000) if classify else Ridge()
    boosting = (
        HistGradientBoostingClassifier(random_state=seed)
        if classify
        else HistGradientBoostingRegressor(random_state=seed)
    )
    found["mean filled"] = make_pipeline(TableEncoder(), SimpleImputer(), plain)
    found["boosting"] = make_pipeline(TableEncoder("none"), boosting)
    if perturb not in ("missing", "missing_groups"):
        return found
    rate = min(0.9, level)
    copies = CorruptedCopies(boosting, Missing(rate), 4, random_state=seed)
    found["boosting on incomplete copies"] = make_pipeline(TableEncoder("none"), copies)
    scaled = make_pipeline(TableEncoder(), SimpleImputer(), plain)
    found["linear, averaged"] = AverageOverMissing(scaled, random_state=seed)
    trees = make_pipeline(TableEncoder("none"), boosting)
    found["boosting, averaged"] = AverageOverMissing(trees, random_state=seed)
    rows = np.shape(X)[0]
    if rows <= _KERNEL_ROWS:
        kernel = SVC() if classify else SVR()
        machine = make_pipeline(TableEncoder(), SimpleImputer(), kernel)
        found["kernel machine, averaged"] = AverageOverMissing(
            machine, random_state=seed
        )
    if rows <= _NEIGHBOUR_ROWS:
        found["neighbours filled"] = make_pipeline(TableEncoder(), KNNImputer(), plain)
    if groups is not None and len(groups) <= _FEW_GROUPS:
        found["reduced models"] = ReducedModels(scaled)
    return found
