"""A portfolio of models, and a recommendation after a contest between them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import type_of_target
from threadpoolctl import threadpool_limits

from noiseproof._private import (
    HasMethods,
    Interval,
    StrOptions,
    _safe_indexing,
    validate_parameter_constraints,
)
from noiseproof._rows import density
from noiseproof.estimators import (
    AverageOverMissing,
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutRidge,
    ReducedModels,
)
from noiseproof.evaluation import BLEND, PERTURBATIONS, Contest, contest
from noiseproof.groups import Groups, feature_names
from noiseproof.noise import Missing
from noiseproof.tables import TableEncoder

BLENDED = ("averaged linear", "averaged boosting", "averaged kernel machine")
_RATES = (None, 0.1, 0.3, 0.5)  # None: training without noise is always tried, too
_ITERATIONS = 50  # of boosting, for each class
_COPIES = 3  # incomplete ones of every row, beside the row itself
_KERNEL_ROWS = 5_000  # more make a kernel machine slow
_NEIGHBOUR_ROWS = 3_000  # and an imputer that compares every row with every other
_PREDICTIONS = 2_000  # of a contender on rows held out, at least
_FEW_GROUPS = 6  # up to 64 patterns of outages
_SMALL = 500_000  # cells
_CALIBRATED = 3  # folds that make probabilities of a kernel machine's scores
_FEW = 20  # so many different numbers may be classes
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
        What to do with y; None decides by y, as said above.
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
    y = _checked(X, y, task)
    known = _is_known(perturb, options)
    options.setdefault("space", "input" if isinstance(perturb, str) else "model")
    rows = np.arange(len(y))
    if len(y) > max_rows:
        rows = np.random.default_rng(random_state).permutation(len(y))[:max_rows]
    some = _safe_indexing(X, rows)
    if n_repeats is None:
        n_repeats = int(np.clip(_PREDICTIONS // len(rows), 2, 10))
    expected = "missing" if known else perturb
    classify = not is_quantity(y) if task is None else task == "classification"
    contenders = portfolio(
        *(some, y[rows], expected, level, groups, random_state),
        encoder=encoder,
        classify=classify,
    )
    if perturb in ("delete_groups", "missing_groups"):
        options["groups"] = groups
    with warnings.catch_warnings(), _threads_for(some):
        warnings.simplefilter("ignore")  # the table tells how well each has done
        result = contest(
            contenders, some, y[rows], perturb, level, scoring=scoring, cv=cv,
            n_repeats=n_repeats, random_state=random_state, progress=progress,
            blend=BLENDED, **options,
        )  # fmt: skip
    with _threads_for(X):
        return Recommendation(winner(contenders, result).fit(X, y), result)


def _threads_for(X: Any) -> Any:
    """A context with one thread for small data, where more wait for each other."""
    return threadpool_limits(1 if np.prod(np.shape(X)) <= _SMALL else None)


def _checked(X: Any, y: Any, task: str | None) -> Any:
    """The target as an array; one clear sentence if it or the table does not suit."""
    shape = np.shape(X)
    if len(shape) != 2 or min(shape) == 0:
        raise ValueError(
            "X must be a table with at least one row and one column; got "
            f"{f'shape {shape}' if shape else repr(X)}."
        )
    y = column_or_1d(y)
    check_consistent_length(X, y)
    assert_all_finite(y, input_name="y")
    if task == "regression" and y.dtype.kind not in "iuf":
        raise ValueError(f"A regression needs numbers in y; got {y[0]!s}.")
    if len(np.unique(y)) < 2:
        raise ValueError(f"There is nothing to learn: every y is {y[0]!s}.")
    return y


def winner(contenders: dict[str, Any], result: Contest) -> Any:
    """The contender to take, unfitted."""
    if result.choice != BLEND:
        return clone(contenders[result.choice])
    members = [(name, clone(contenders[name])) for name in result.weights]
    weights = list(result.weights.values())
    if len(members) == 1:
        return members[0][1]
    if is_classifier(members[0][1]):
        return VotingClassifier(members, voting="soft", weights=weights)
    return VotingRegressor(members, weights=weights)


def portfolio(
    X: Any,
    y: Any,
    perturb: Any,
    level: float,
    groups: Any = None,
    seed: int = 0,
    *,
    encoder: Any = None,
    classify: bool | None = None,
) -> dict[str, Any]:
    """Return the unfitted models that `recommend` compares, by name.

    Parameters
    ----------
    X, y, perturb, level, groups
        As in `recommend`.
    seed : int, default=0
        Seed of the contenders.
    encoder : TableEncoder, default=None
        What makes features of the columns; None means `TableEncoder()`.
    classify : bool, default=None
        Whether y are classes; None decides by y.

    Returns
    -------
    contenders : dict of str to estimator
        For `noiseproof.evaluation.contest`.

    See Also
    --------
    recommend : Cross-validates them and fits the best.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import portfolio
    >>> sorted(portfolio(*load_wine(return_X_y=True), "missing", 0.5))[:2]
    ['averaged boosting', 'averaged kernel machine']
    """
    if classify is None:
        classify = not is_quantity(y)
    if groups is not None:
        groups = Groups.read(groups, feature_names(None, X))
    table = TableEncoder() if encoder is None else encoder
    linear = partial(DropoutLogisticRegression, calibrated=True)
    found: dict[str, Any] = {}
    for rate in _RATES:
        name = "linear without noise" if rate is None else f"dropout {rate:g}"
        model = linear(rate) if classify else DropoutRidge(rate)
        found[name] = make_pipeline(table, model)
    if density(X) is not None:  # what follows would fill every zero
        return found
    plain = LogisticRegression(max_iter=1000) if classify else Ridge()
    grown = (
        HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    )
    boosting = grown(max_iter=_ITERATIONS, random_state=seed)
    filled = make_pipeline(table, SimpleImputer(), plain)
    trees = make_pipeline(table, boosting)
    found["linear behind mean fill"] = filled
    found["boosting"] = trees
    if not _is_known(perturb, {}):
        return found
    found |= _for_missing(X, y, level, filled, trees, groups, seed)
    return found


def _for_missing(
    X: Any, y: Any, level: float, filled: Any, trees: Any, groups: Any, seed: int
) -> dict[str, Any]:
    """Contenders that know which cells are missing."""
    found: dict[str, Any] = {}
    table, plain, boosting = filled[0], filled[-1], trees[-1]
    classify = is_classifier(plain)
    gone = Missing(min(0.9, level))
    copies = CorruptedCopies(boosting, gone, _COPIES, random_state=seed)
    found["boosting on NaN copies"] = make_pipeline(table, copies)
    found["averaged linear"] = AverageOverMissing(filled, random_state=seed)
    found["averaged boosting"] = AverageOverMissing(trees, random_state=seed)
    rows = np.shape(X)[0]
    if rows <= _KERNEL_ROWS:
        scaled = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
        kernel = _kernel_machine(y) if classify else scaled
        machine = make_pipeline(table, SimpleImputer(), kernel)
        found["averaged kernel machine"] = AverageOverMissing(
            machine, random_state=seed
        )
    if rows <= _NEIGHBOUR_ROWS:
        found["linear behind KNNImputer"] = make_pipeline(table, KNNImputer(), plain)
    if groups is not None and len(groups) <= _FEW_GROUPS:
        found["reduced models"] = ReducedModels(filled)
    return found


def _kernel_machine(y: Any) -> Any:
    """A kernel machine with probabilities, if there are rows enough to learn them."""
    if np.unique(y, return_counts=True)[1].min() < 4 * _CALIBRATED:
        return SVC()
    return CalibratedClassifierCV(SVC(), cv=_CALIBRATED, ensemble=False)


def is_quantity(y: Any) -> bool:
    """Whether y is many different numbers, or numbers with fractions, not classes."""
    y = np.asarray(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of many classes, which is the question
        kind = type_of_target(y)
    if kind not in ("binary", "multiclass"):
        return True
    if y.dtype.kind not in "iuf":
        return False
    return len(np.unique(y)) > max(_FEW, len(y) / 10)


def _is_known(perturb: Any, options: Any) -> bool:
    """Whether cells are missing, and the model knows."""
    named = PERTURBATIONS.get(perturb) if isinstance(perturb, str) else None
    own = None if named is None else named.deleted_as
    return (own or options.get("deleted_as", "zero")) == "nan"
