"""A recommendation after a contest between the models of a portfolio."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from noiseproof._private import (
    IMPUTER_ROWS,
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from noiseproof.evaluation import Contest
from noiseproof.training.judging import judge, sample, threads_for
from noiseproof.training.portfolios import BLENDED, is_known, portfolio, winner
from noiseproof.training.targets import read_target

_PREDICTIONS = 2_000  # of a contender on rows held out, at least
# attributes of fitted parts: of Donors and ReducedModels, imputers and kernel machines
_KEPT_ROWS = ("rows_", IMPUTER_ROWS, "support_vectors_")
_LEGAL: dict[str, list[Any]] = {
    "level": [Real],
    "task": [StrOptions({"classification", "regression"}), None],
    "encoder": [HasMethods(["fit", "transform"]), None],
    "max_rows": [Interval(Integral, 2, None, closed="left")],
    "n_repeats": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Recommendation:
    """What `recommend` returns.

    Parameters
    ----------
    model : estimator
        The best contender, fitted on all rows; the blend if it is level with the best.
    contest : Contest
        Scores and costs of all contenders.

    See Also
    --------
    recommend : Makes it.
    """

    model: Any
    contest: Contest

    @property
    def keeps_rows(self) -> bool:
        """Whether rows of the training data are part of the model, to fill holes."""
        return _keeps_rows(self.model)

    def __repr__(self) -> str:
        return f"{self.contest!r}\n\n{self.contest.verdict}"

    def _repr_html_(self) -> str:
        return self.contest._repr_html_()


def recommend(
    X: Any,
    y: Any,
    perturb: Any = "missing",
    level: float = 0.3,
    *,
    groups: Any = None,
    task: str | None = None,
    encoder: Any = None,
    max_rows: int = 20_000,
    scoring: Any = None,
    cv: Any = 5,
    n_repeats: int | None = None,
    random_state: int = 0,
    progress: Any = None,
    **options: Any,
) -> Recommendation:
    """Find the best model for a perturbation that is expected after training.

    A portfolio of plain models, dropout models, imputers, models trained on incomplete
    copies and models that average over what is missing is cross-validated under what is
    expected (see `noiseproof.evaluation.contest`); the best is fitted on all rows. If
    the model will know which cells are missing, a blend of the averaged ones takes
    part, too: the mean of their answers, with the weights that suit the held-out rows
    best. It is taken unless another one is clearly better.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows, raw: columns may hold text, cells may be empty.
    y : array-like of shape (n_samples,)
        Classes or a quantity. Numbers are a quantity if more than 20 differ and, if
        they are whole, more than a tenth of the rows.
    perturb, level
        What is expected, as in `noiseproof.evaluation.robustness_curve`; by default
        each cell is missing with probability 0.3, and the model knows. Noise and
        attacks act behind the scaler, unless `space="input"` is given.
    groups : dict of str to list of columns, default=None
        Columns that fail together, for perturbations of whole groups; also a list of
        lists, or one label per column.
    task : {"classification", "regression"}, default=None
        What to do with y; None means `noiseproof.training.task_of(y)`.
    encoder : TableEncoder, default=None
        What makes features of the columns; None means `TableEncoder()`.
    max_rows : int, default=20_000
        Contenders are judged on a random sample of so many rows; the best is fitted on
        all.
    scoring, cv
        As in `noiseproof.evaluation.contest`.
    n_repeats : int, default=None
        Draws of what is expected for each fold; None means 2, and up to 10 where rows
        are so few that it costs little.
    random_state, progress, **options
        As in `noiseproof.evaluation.contest`.

    Returns
    -------
    recommendation : Recommendation
        The fitted model and the contest.

    See Also
    --------
    noiseproof.evaluation.contest : The same with models of your own.
    portfolio : The models that compete.
    noiseproof.evaluation.perturbed_scorer : For a search of scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import recommend
    >>> X, y = load_wine(return_X_y=True)
    >>> found = recommend(X, y, "missing", 0.5, cv=2, n_repeats=1)
    >>> found.model.predict(X[:3])
    array([0, 0, 0])
    """
    validate_parameter_constraints(_LEGAL, locals(), caller_name="recommend")
    y, task = read_target(X, y, task)
    known = is_known(perturb, options.get("deleted_as", "zero"))
    some = sample(X, y, max_rows, random_state)
    if n_repeats is None:
        n_repeats = int(np.clip(_PREDICTIONS // len(some[1]), 2, 10))
    contenders = portfolio(
        *(*some, "missing" if known else perturb, level, groups, random_state),
        encoder=encoder,
        task=task,
    )
    result = judge(
        contenders, *some, perturb, level, groups, scoring=scoring, cv=cv,
        n_repeats=n_repeats, random_state=random_state, progress=progress,
        blend=BLENDED, **options,
    )  # fmt: skip
    with threads_for(X):
        return Recommendation(winner(contenders, result).fit(X, y), result)


def _keeps_rows(part: Any) -> bool:
    """Whether rows of the training are part of a model, or of a part of it."""
    if isinstance(part, list | tuple):
        return any(map(_keeps_rows, part))
    own = getattr(part, "__dict__", {})
    if any(name in own for name in _KEPT_ROWS):
        return True
    inner = [v for v in own.values() if isinstance(v, list | tuple) or _is_model(v)]
    return any(map(_keeps_rows, inner))


def _is_model(value: Any) -> bool:
    """Whether it is an estimator, or holds one."""
    return not isinstance(value, type) and (
        hasattr(value, "get_params") or hasattr(value, "estimator")
    )
