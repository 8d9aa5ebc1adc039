"""A recommendation after a contest between the models of a portfolio."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from noiseproof._contents import kept_rows
from noiseproof._docs import shared_docs
from noiseproof._private import Interval, validate_parameter_constraints
from noiseproof.evaluation import Contest
from noiseproof.training.judging import LEGAL, judge, level_of, sample, threads_for
from noiseproof.training.portfolios import BLENDED, is_known, portfolio, winner
from noiseproof.training.targets import read_target

_PREDICTIONS = 2_000  # of a contender on rows held out, at least
_LEGAL: dict[str, list[Any]] = {
    **LEGAL,
    "n_repeats": [Interval(Integral, 1, None, closed="left"), None],
}


@shared_docs
@dataclass(frozen=True)
class Recommendation:
    """What `recommend` returns.

    Parameters
    ----------
    model : estimator
        The best contender, fitted on all rows; the blend if it is level with the best.
        If it predicts a quantity, it has `predict_interval`: some of the rows were kept
        aside to calibrate intervals, and the model was fitted once more without them.
    contest : Contest
        Scores and costs of all contenders.

    {See Also: recommend}
    """

    model: Any
    contest: Contest

    @property
    def keeps_rows(self) -> bool:
        """Whether rows of the training data are part of the model, to fill holes."""
        return kept_rows(self.model) is not None

    def __repr__(self) -> str:
        return f"{self.contest!r}\n\n{self.contest.verdict}"

    def _repr_html_(self) -> str:
        return self.contest._repr_html_()


@shared_docs
def recommend(
    X: Any,
    y: Any,
    perturb: Any = "missing",
    level: float | None = None,
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
    {raw X, raw y, perturb, level}
        None means the level of a noise object that makes values missing, such as
        `Missing(0.5)`, and else 0.3. Other noise and attacks act after the scaler,
        unless `space="input"` is given.
    {groups, task, encoder, max_rows}
        The best one is fitted on all rows.
    {any scoring, cv}
    n_repeats : int, default=None
        Draws of what is expected for each fold; None means 2, and up to 10 where rows
        are so few that it costs little.
    {seed random_state, progress}
    **options : dict
        Other options of `noiseproof.evaluation.contest`.

    Returns
    -------
    recommendation : Recommendation
        The fitted model and the contest.

    {See Also: contest, portfolio, perturbed_scorer}

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
    level = level_of(perturb, level)
    some = sample(X, y, max_rows, random_state)
    if n_repeats is None:
        n_repeats = int(np.clip(_PREDICTIONS // len(some[1]), 2, 10))
    prepared_for = "missing" if known and not is_known(perturb) else perturb
    contenders = portfolio(
        *(*some, prepared_for, level, groups, random_state),
        encoder=encoder,
        task=task,
    )
    result = judge(
        contenders, *some, perturb, level, groups, scoring=scoring, cv=cv,
        n_repeats=n_repeats, random_state=random_state, progress=progress,
        blend=BLENDED, **options,
    )  # fmt: skip
    with threads_for(X):
        model = winner(contenders, result, random_state)
        return Recommendation(model.fit(X, y), result)
