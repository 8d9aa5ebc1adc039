"""One model for a raw table: encoded, tuned if wanted, fitted and judged."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline, make_pipeline

from noiseproof._docs import shared_docs
from noiseproof._private import HasMethods, Interval, validate_parameter_constraints
from noiseproof.estimators import DropoutLogisticRegression, DropoutRidge
from noiseproof.evaluation import Contest
from noiseproof.noise import as_noise
from noiseproof.tables import TableEncoder
from noiseproof.training.judging import LEGAL, judge, level_of, sample, threads_for
from noiseproof.training.pipelines import ColumnPipeline, check_groups
from noiseproof.training.targets import check_task, read_target

TUNABLE = ("noise", "C", "budget")
_RATES = (0.05, 0.1, 0.3, 0.5, 0.7)
_SCALES = (0.1, 0.3, 1.0)
_WEIGHTS = (0.01, 0.1, 1.0, 10.0)
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # of all features or groups, as budgets
_LEGAL: dict[str, list[Any]] = {
    **LEGAL,
    "estimator": [HasMethods(["fit", "predict"]), None],
    "tune": ["boolean", list, tuple, set, frozenset],
    "judged": ["boolean"],
    "n_repeats": [Interval(Integral, 1, None, closed="left")],
}


@shared_docs
@dataclass(frozen=True)
class Training:
    """What `train` returns.

    Parameters
    ----------
    model : Pipeline
        An encoder of raw tables and the estimator behind it, fitted on all rows.
    contest : Contest or None
        Cross-validated scores of the model, of a plain one and of none; None if it was
        not judged.
    tuning : Contest or None
        The contest that chose the parameters; None if there was none.
    unjudged : str
        Why there is no contest, if one was asked for.

    {See Also: train}
    """

    model: Pipeline
    contest: Contest | None = None
    tuning: Contest | None = None
    unjudged: str = ""

    @property
    def description(self) -> str:
        """What was trained, with the constants that matter, defaults included."""
        estimator = self.model[-1]
        parts = [type(estimator).__name__]
        noise = getattr(estimator, "noise_", None)
        if noise is not None:
            low, high = np.min(noise.level), np.max(noise.level)
            how = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            auto = " (automatic)" if getattr(estimator, "noise", None) == "auto" else ""
            groups = "of groups " if getattr(noise, "groups", None) is not None else ""
            law = type(noise).__name__.lower()
            parts.append(f"{law} {noise.level_name} {groups}{how}{auto}")
        parts += [
            f"{name} {getattr(estimator, name):g}"
            for name in ("C", "budget", "alpha")
            if isinstance(getattr(estimator, name, None), int | float)
        ]
        return ", ".join(parts)


@shared_docs
def train(
    X: Any,
    y: Any,
    estimator: Any = None,
    perturb: Any = "missing",
    level: float | None = None,
    *,
    tune: bool | Collection[str] = False,
    judged: bool = True,
    groups: Any = None,
    task: str | None = None,
    encoder: Any = None,
    max_rows: int = 20_000,
    cv: Any = 5,
    n_repeats: int = 2,
    random_state: int = 0,
    progress: Any = None,
) -> Training:
    """Train an estimator on a raw table, and judge it for what is expected.

    The table is encoded by a `TableEncoder`, and missing values become zeros, the
    average, for an estimator that refuses them. Text columns become several features;
    groups of columns, and dropout rates by column, are found again among them.

    Parameters
    ----------
    {raw X, raw y}
    estimator : estimator, default=None
        What to train. None means `DropoutLogisticRegression` or `DropoutRidge` with
        automatic noise. If its `noise` is a dictionary, that gives dropout rates by
        column; columns that it does not name do not fail.
    {perturb, level}
        None means the level of a noise object that makes values missing, such as
        `Missing(0.5)`, and else 0.3.
    tune : bool or collection of str, default=False
        Parameters to choose by cross-validation under what is expected: of "noise",
        "C" and "budget" those that the estimator has. True means all of them.
    judged : bool, default=True
        Whether to cross-validate the model beside a plain one and one that ignores X.
    {groups}
        The estimator is trained for such failures, through its groups, its noise or its
        attack. It is judged by them if `perturb` is about groups.
    {task, encoder, max_rows, cv, n_repeats, seed random_state, progress}

    Returns
    -------
    training : Training
        The fitted model, and how well it did.

    {See Also: recommend, read_table}

    Examples
    --------
    >>> import pandas as pd
    >>> from noiseproof import train
    >>> X = pd.DataFrame({"dose": [1.0, 2.0, None, 9.0], "site": ["a", "a", "b", "b"]})
    >>> found = train(X, ["low", "low", "high", "high"], cv=2)
    >>> found.model.predict(X)
    array(['low', 'low', 'high', 'high'], dtype='<U4')
    """
    validate_parameter_constraints(_LEGAL, locals(), caller_name="train")
    if task is None and estimator is not None and is_regressor(estimator):
        task = "regression"
    y, task = read_target(X, y, task)
    if estimator is None and task == "regression":
        estimator = DropoutRidge("auto")
    elif estimator is None:
        estimator = DropoutLogisticRegression("auto", calibrated=True)
    check_task(estimator, y, task)
    check_groups(estimator, groups)
    names, level = _tunable(estimator, tune), level_of(perturb, level)
    encoder = TableEncoder() if encoder is None else encoder
    pipeline = ColumnPipeline.of(encoder, estimator, groups)
    some = sample(X, y, max_rows, random_state)
    how = {"groups": groups, "cv": cv, "n_repeats": n_repeats}
    how |= {"random_state": random_state, "progress": progress}
    tuning, contest, unjudged = None, None, ""
    if names:
        contenders = _candidates(pipeline, some[0], names)
        tuning = judge(contenders, *some, perturb, level, **how)
        pipeline = contenders[tuning.best]
    with threads_for(X):
        model = clone(pipeline).fit(X, y).plain()
    if judged:
        contenders = {"this model": pipeline, **_rivals(encoder, task)}
        try:
            contest = judge(contenders, *some, perturb, level, **how)
        except ValueError as error:
            unjudged = str(error)
    return Training(model, contest, tuning, unjudged)


def _rivals(encoder: Any, task: str) -> dict[str, Any]:
    """A plain model of the same table, and one that ignores it."""
    encoder = clone(encoder)
    if task == "regression":
        plain = make_pipeline(encoder, DropoutRidge(None))
        return {"plain ridge regression": plain, "mean of the target": DummyRegressor()}
    plain = make_pipeline(encoder, DropoutLogisticRegression(None))
    none = DummyClassifier()
    return {"plain logistic regression": plain, "most frequent class": none}


def _tunable(estimator: Any, tune: Any) -> list[str]:
    """Parameters of the estimator to choose; one sentence if there is none."""
    if tune is False:
        return []
    known, wanted = estimator.get_params(deep=False), TUNABLE if tune is True else tune
    names = [name for name in wanted if name in TUNABLE and name in known]
    if not names or not set(wanted) <= set(TUNABLE):
        raise ValueError(
            f"tune must name parameters of {type(estimator).__name__} among "
            f"{', '.join(TUNABLE)}; got {sorted(wanted)}."
        )
    return names


def _candidates(pipeline: Any, X: Any, names: list[str]) -> dict[str, Any]:
    """The pipeline with each choice of these parameters of its last step."""
    grid: dict[str, list[Any]] = {}
    if "noise" in names:
        noise = as_noise(pipeline[-1].noise)
        levels = _RATES if noise.level_name == "rate" else _SCALES
        grid["noise"] = [None, *(noise.at(level) for level in levels)]
    if "C" in names:
        grid["C"] = list(_WEIGHTS)
    if "budget" in names:
        d = clone(pipeline).encoded(X).shape[1]
        grid["budget"] = [share * d for share in _SHARES]
    found = {}
    for number, choice in enumerate(ParameterGrid(grid)):
        found[str(number)] = clone(pipeline)
        found[str(number)][-1].set_params(**choice)
    return found
