"""Train one model on a raw table: encode, tune if asked, fit and cross-validate."""

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
from noiseproof._numbers import as_printed, as_score
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
_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # budgets, as shares of all features or groups
_OWN = "this model"  # its name in the contest with these plain ones
_PLAIN = {
    "classification": "plain logistic regression",
    "regression": "plain ridge regression",
}
_BETTER, _SAME, _WORSE = "better", "about as good", "worse"
_CLEARLY = 2.0  # standard errors of the differences between two models, fold by fold
_LEGAL: dict[str, list[Any]] = {
    **LEGAL,
    "estimator": [HasMethods(["fit", "predict"]), None],
    "tune": ["boolean", list, tuple, set, frozenset],
    "cross_validate": ["boolean"],
    "n_repeats": [Interval(Integral, 1, None, closed="left")],
}


@shared_docs
@dataclass(frozen=True)
class Training:
    """What `train` returns.

    Parameters
    ----------
    model : Pipeline
        The table encoder and the estimator, fitted on all rows.
    contest : Contest or None
        Cross-validated scores of this model, of a plain linear model and of a baseline
        that ignores the features. None if the model was not cross-validated.
    tuning : Contest or None
        The contest that chose the parameters; None if nothing was tuned.
    not_validated : str
        Why this model has no cross-validated scores, if they were asked for.

    {See Also: train}
    """

    model: Pipeline
    contest: Contest | None = None
    tuning: Contest | None = None
    not_validated: str = ""

    def __repr__(self) -> str:
        contest = "" if self.contest is None else repr(self.contest)
        return "\n\n".join(filter(None, [self.description, contest, self.verdict]))

    @property
    def verdict(self) -> str:
        """Whether the model is better than a plain linear one, in a sentence or two.

        A difference counts if it is larger than two standard errors, which are
        estimated from the differences fold by fold. Empty if there are no scores.
        """
        if self.not_validated:
            return f"Not cross-validated: {self.not_validated}"
        names = self.contest.contenders if self.contest is not None else ()
        plain = next((name for name in names if name in _PLAIN.values()), None)
        if self.contest is None or plain is None:
            return ""
        rows = [names.index(_OWN), names.index(plain)]
        perturbed, both = _compared(*self.contest.perturbed[rows])
        clean, both_clean = _compared(*self.contest.clean[rows])
        told = (
            f"Compared with {plain}, this model is {perturbed} on perturbed rows "
            f"({both}) and {clean} on clean rows ({both_clean})."
        )
        if perturbed == _BETTER:
            return told
        return f"{told} Use `recommend` to compare it with other models."

    @property
    def description(self) -> str:
        """The estimator and its main parameters, defaults included."""
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


def _compared(own: Any, other: Any) -> tuple[str, str]:
    """How two models compare, by their scores on the same folds; and their scores."""
    gaps = own - other
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    mine, others = as_printed([np.mean(own), np.mean(other)])
    word = _BETTER if mine > others else _WORSE
    clear = abs(mine - others) > _CLEARLY * error
    return word if clear else _SAME, f"{as_score(mine)} against {as_score(others)}"


@shared_docs
def train(
    X: Any,
    y: Any,
    estimator: Any = None,
    perturb: Any = "missing",
    level: float | None = None,
    *,
    tune: bool | Collection[str] = False,
    cross_validate: bool = True,
    groups: Any = None,
    task: str | None = None,
    encoder: Any = None,
    max_rows: int = 20_000,
    cv: Any = 5,
    n_repeats: int = 2,
    random_state: int = 0,
    progress: Any = None,
) -> Training:
    """Train an estimator on a raw table and cross-validate it under a perturbation.

    A `TableEncoder` scales numbers and one-hot encodes text. If the estimator does not
    accept missing values, they are replaced by zero, which is the mean after scaling.
    Groups and dropout rates are given by column; for a text column they apply to all
    features that it becomes.

    The model is cross-validated beside a plain linear model and a baseline that ignores
    the features. `Training.verdict` says whether it is better than the plain one.

    Parameters
    ----------
    {raw X, raw y}
    estimator : estimator, default=None
        The estimator to train. None means `DropoutLogisticRegression` or `DropoutRidge`
        with automatic noise. If its `noise` is a dictionary, that gives the dropout
        rate of each column; columns that it does not name have no dropout.
    {perturb, level}
        None means the object's own level if it makes values missing, such as
        `Missing(0.5)`, and otherwise 0.3.
    tune : bool or collection of str, default=False
        Parameters to choose by cross-validation under the perturbation: "noise", "C"
        and "budget". True means all of these that the estimator has.
    cross_validate : bool, default=True
        Whether to cross-validate the model.
    {groups}
        The estimator is trained for such failures, through its groups, its noise or its
        attack. They also occur in cross-validation if `perturb` is about groups.
    {task, encoder, max_rows, cv, n_repeats, seed random_state, progress}

    Returns
    -------
    training : Training
        The fitted model and its cross-validated scores.

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
    tuning, contest, not_validated = None, None, ""
    if names:
        contenders = _candidates(pipeline, some[0], names)
        tuning = judge(contenders, *some, perturb, level, **how)
        pipeline = contenders[tuning.best]
    with threads_for(X):
        model = clone(pipeline).fit(X, y).plain()
    if cross_validate:
        contenders = {_OWN: pipeline, **_rivals(encoder, task)}
        try:
            contest = judge(contenders, *some, perturb, level, **how)
            not_validated = contest.failed.get(_OWN, "")
        except ValueError as error:
            not_validated = str(error)
    return Training(model, contest, tuning, not_validated)


def _rivals(encoder: Any, task: str) -> dict[str, Any]:
    """A plain linear model behind mean imputation, and one that ignores the features.

    To the linear model a missing value is 0, which is the mean of a scaled column.
    """
    encoder = clone(encoder)
    if task == "regression":
        plain = make_pipeline(encoder, DropoutRidge(None))
        return {_PLAIN[task]: plain, "mean of the target": DummyRegressor()}
    plain = make_pipeline(encoder, DropoutLogisticRegression(None))
    return {_PLAIN[task]: plain, "most frequent class": DummyClassifier()}


def _tunable(estimator: Any, tune: Any) -> list[str]:
    """Names of the parameters to tune; an error if the estimator has none of them."""
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
