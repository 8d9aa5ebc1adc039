"""Exact certificates: how much of a row must change before its prediction does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_array

from noiseproof._charts import Chart, Line, Series
from noiseproof._docs import shared_docs
from noiseproof._pipelines import transform, unwrap
from noiseproof._private import _safe_indexing
from noiseproof._rows import (
    canonical,
    density,
    group_rows,
    group_weights,
    incomplete_rows,
    readable,
    stored_rows,
    unsigned,
    zero_missing,
)
from noiseproof.attacks import Attack, FeatureDeletion, effective_budget
from noiseproof.evaluation.linear import (
    BY_FEATURE,
    LinearView,
    check_space,
    float_type,
    linear_view,
    range_view,
)
from noiseproof.evaluation.results import Result
from noiseproof.groups import (
    Feature,
    column_groups,
    feature_names,
    features_behind,
)

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]

# A depth-first search meets at most 2^(n+1) branches, so a row whose prediction hangs
# on up to 13 features is always searched to the end; most rows need a few dozen.
MAX_BRANCHES = 2**14
_BLOCK = 2**20  # entries of X that are certified at a time
_DUAL = {1: np.inf, 2: 2, np.inf: 1}
_GRID = 2.0**8  # products of numbers with 8 binary digits after the point are exact
_FREE = 2.0**-200  # of the largest value; what costs less counts as free
_ROUNDING = 1e-12  # as for attacks: ten values of 0.1 fit into a budget of 1
_SHOWN = (0.9, 0.75, 0.5, 0.25, 0.1)  # shares of rows whose budgets are printed
_POINTS = np.linspace(0, 0.98, 99)  # and of those where a picture has its steps


@shared_docs
def certify(
    model: Any,
    X: Any,
    y: ArrayLike | None,
    values: ArrayLike | None = None,
    groups: Any = None,
    *,
    attack: Attack | None = None,
    space: str = "input",
    n_jobs: int | None = None,
    tolerance: ArrayLike | None = None,
) -> Certificates:
    """Find the smallest deletion that changes the prediction of each row.

    The result is a proof: no deletion worth less than a certificate changes what
    `predict` of the model returns for that row.

    Deleting features takes Σ_{j deleted} (w_own - w_r)_j x_j from the lead of a row's
    class over a rival class r. The prediction changes as soon as some lead is used up.
    If all features have the same value, the largest terms are deleted first, so sorting
    is enough. Otherwise this is a knapsack problem, which is solved by branch and
    bound. If a row takes more than 2^14 branches, it gets the bound of the fractional
    relaxation instead, and is flagged as not exact. This cannot happen if at most 13
    features support the predicted class.

    For a regressor the certificate is the smallest deletion that moves the prediction
    out of y ± tolerance. The search is the same; what must be used up is
    y + t - w·x - b, or w·x + b - y + t.

    Where the rounding of sums could decide, the certificate takes the lower value and
    is flagged as not exact.

    Parameters
    ----------
    model : classifier or regressor
        A fitted linear model from any library (see `linear_view`), or a
        `PartitionEnsemble` of any models. For an ensemble, `budget` is the number of
        features that must be set to other values before the votes can change, and
        `deletion_budget` the number that must go missing. Both are lower bounds. An
        ensemble of regressors needs a `tolerance`.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to certify. Sparse X stays sparse. Features that are missing already (NaN)
        cannot be deleted.
    y : array-like of shape (n_samples,) or None
        Labels, which `accuracy_at` needs, or the targets of a regressor. None for a
        classifier means that there are no labels. None for a regressor certifies that
        the prediction moves by no more than the tolerance.
    {values}
        A feature with value 0 can be deleted for free.
    {groups}
        A group can only be deleted as a whole, and the budget then counts groups. With
        space="model", all features that a pipeline derives from a column belong to it.
    attack : FeatureDeletion, FeatureScaling or NormBall, default=None
        The change to certify against; None means deletion. The budget, k or radius of
        the attack is not used: the certificate is the smallest one that changes the
        prediction.
    {space}
    {n_jobs}
        The rows of a linear model are split among them. With joblib's backend "dask"
        they are split among the workers of a cluster.
    {tolerance}

    Returns
    -------
    certificates : Certificates
        `budget` and `exact` for each row, and the methods `accuracy_at(budget)`,
        `deletion(i)` and, for linear regressors, `movement_at(budget)`.

    {See Also: robustness_curve, feature_fragility, PartitionEnsemble}

    Examples
    --------
    >>> from sklearn.linear_model import Perceptron
    >>> from noiseproof.evaluation import certify
    >>> X, y = [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [1, 0]
    >>> model = Perceptron(tol=None).fit(X, y)
    >>> certificates = certify(model, X, y)
    >>> certificates.budget
    array([ 2., inf])
    >>> certificates.accuracy_at([0, 1, 2])
    array([1. , 1. , 0.5])
    >>> certificates.deletion(0)
    array([0, 1])

    A regressor needs a tolerance. Here both features must be deleted before the second
    prediction is more than 1.2 away from y:

    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = [[2.0, 0.0], [1.0, 1.0]], [2.0, 1.5]
    >>> model = LinearRegression(fit_intercept=False).fit(X, y)
    >>> certificates = certify(model, X, y, tolerance=1.2)
    >>> certificates.budget
    array([1., 2.])
    >>> lowest, highest = certificates.movement_at(1)
    >>> lowest.round(3), highest.round(3)
    (array([-2., -1.]), array([0., 0.]))
    """
    _check_tolerance(model, tolerance)
    tolerance = _in_units_of(y, tolerance)
    if hasattr(unwrap(model)[1], "certify_votes"):  # the model answers for itself
        if not (values is None and attack is None and groups is None):
            raise ValueError(
                "The certificates of a voting ensemble hold for any change of features "
                "at a cost of 1 each. Do not pass values or an attack; pass groups to "
                "the ensemble itself."
            )
        return _certified_votes(model, X, y, space, tolerance)
    attack, search = _attack(values, groups, attack)
    X = canonical(X if hasattr(X, "shape") else np.asarray(X))
    labels = None if y is None else _labels(y, X.shape[0])
    if tolerance is not None:
        tolerance = _tolerances(tolerance, labels, X.shape[0])
        view: LinearView = range_view(model, space, labels, tolerance)
    else:
        view = linear_view(model, space)
    if groups is not None and space == "model":
        features, columns = _features(model, X, view), feature_names(model, X)
        groups = column_groups(features, columns, groups, rest=True)
        attack = FeatureDeletion(values=values, groups=groups)
    attack = attack.on(_names(model, X, view, space))
    work = delayed(_certified)
    jobs = (work(*block, model, view, attack, search) for block in _blocks(X))
    predictions, found = zip(*Parallel(n_jobs, prefer="threads")(jobs), strict=True)
    prediction = np.concatenate(predictions)
    return Certificates(
        np.concatenate([part.budget for part in found]),
        np.concatenate([part.exact for part in found]),
        prediction,
        _correct(prediction, labels, tolerance),
        found[0].unit,
        _together([part.changes for part in found], (X.shape[0], view.coef.shape[1])),
        tolerance=tolerance,
        effects=_all_effects([part.effects for part in found]),
    )


def _check_tolerance(model: Any, tolerance: Any) -> None:
    """Regressors need a tolerance, and classifiers have none."""
    last = unwrap(model)[1]
    name = type(last).__name__
    known = hasattr(last, "__sklearn_tags__")
    if tolerance is None and known and is_regressor(last):
        raise ValueError(
            f"{name} is a regressor, so certify needs a tolerance: how far a "
            "prediction may be from y and still count as correct."
        )
    if tolerance is not None and known and is_classifier(last):
        raise ValueError(f"{name} is a classifier; tolerance is for regressors only.")


def _tolerances(tolerance: Any, y: Any, n: int) -> Array:
    """One tolerance for each row, after checking it and y."""
    each = np.asarray(tolerance, dtype=np.float64)
    good = np.isfinite(each) & (each >= 0)
    if each.shape not in ((), (n,)) or not good.all():
        raise ValueError(
            "tolerance must be a finite number that is not negative, or one for each "
            f"of the {n} rows; got {tolerance!r}."
        )
    if y is not None and not (y.dtype.kind in "biuf" and np.isfinite(y).all()):
        raise ValueError("With a tolerance, y must consist of finite numbers.")
    return np.broadcast_to(each, (n,)).copy()


def _correct(prediction: Any, y: Any, tolerance: Any) -> Any:
    """Which predictions are correct; None without labels."""
    if y is None:
        return None
    if tolerance is None:
        return prediction == y
    # as votes see it: in the last digits this may differ from |prediction - y|
    return (y - tolerance <= prediction) & (prediction <= y + tolerance)


def _attack(values: Any, groups: Any, attack: Any) -> tuple[Attack, Any]:
    """The attack to certify against, and the search for its smallest change."""
    if attack is not None and (values is not None or groups is not None):
        name = "groups" if values is None else "values"
        raise ValueError(
            f"{name} cannot be combined with attack; pass them to the attack instead."
        )
    if attack is None:
        attack = FeatureDeletion(values=values, groups=groups)
    search = _SEARCHES.get(getattr(attack, "smallest_change", None))
    if search is None:
        raise TypeError(
            "certify needs an attack whose smallest change it can find: "
            "FeatureDeletion, FeatureScaling, NormBall, or one with the class "
            f"attribute smallest_change; got {type(attack).__name__}."
        )
    return attack, search


def _certified_votes(
    model: Any, X: Any, y: Any, space: str, tolerance: Any
) -> Certificates:
    """The certificates of a voting ensemble such as `PartitionEnsemble`."""
    check_space(space)
    steps, voters = unwrap(model)
    for _, step in steps:
        if space == "input" and not isinstance(step, BY_FEATURE):
            raise TypeError(
                f"The step {type(step).__name__} before the ensemble may mix features, "
                "so one feature could change several votes. Use space='model' to count "
                "the features after this step."
            )
    of_numbers = is_regressor(voters)
    options = {"y": y, "tolerance": tolerance} if of_numbers else {}
    found = voters.certify_votes(transform(steps, X), **options)._asdict()
    prediction = found["prediction"]
    if y is None:
        correct = None
    elif of_numbers:
        correct = found["budget"] > 0
    else:
        correct = prediction == _labels(y, len(prediction))
    if of_numbers:
        found["tolerance"] = np.broadcast_to(tolerance, prediction.shape).astype(float)
    return Certificates(correct=correct, exact=np.isinf(found["budget"]), **found)


def _in_units_of(y: Any, tolerance: Any) -> Any:
    """A tolerance in the units of y: "15%" means that share of the absolute y."""
    if not isinstance(tolerance, str):
        return tolerance
    number, per_cent, rest = tolerance.strip().partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if rest or not per_cent or not 0 <= share < np.inf:
        raise ValueError(
            f"tolerance must be a number, one for each row, or a share of y such as "
            f"'15%'; got {tolerance!r}."
        )
    if y is None:
        raise ValueError(
            f"tolerance={tolerance!r} is a share of y, so y must be passed."
        )
    return share * np.abs(np.asarray(y, dtype=np.float64))


class Effects(NamedTuple):
    """The changes that deletions make to the predictions of a linear regressor."""

    changes: Any  # CSR (n, d), or (n, n_groups): what a deletion adds to a prediction
    values: Array  # what it costs
    rounding: Array  # (n,): how far the model's own difference may be from the sum


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class Certificates(Result):
    """The smallest budget that changes the prediction of each row.

    Parameters
    ----------
    budget : array of shape (n_samples,)
        The smallest total value of features whose deletion changes the prediction,
        whether it is correct or not; `inf` if no deletion can. For other attacks, the
        smallest number of features or the smallest radius. For a regressor, what moves
        the prediction out of its tolerance; 0 if it is outside already.
    exact : array of bool of shape (n_samples,)
        Whether `budget` is exact. Otherwise it is a lower bound, which is on the safe
        side.
    prediction : array of shape (n_samples,)
        Predictions for the unchanged rows.
    correct : array of bool of shape (n_samples,), or None
        Whether these predictions are correct, or within the tolerance. None without
        labels.
    unit : str
        What a budget counts.
    changes : CSR matrix of bool of shape (n_samples, n_features), or None
        The features of each row that make up the smallest change.
    deletion_budget : array of shape (n_samples,), or None
        For a voting ensemble, the budget for features that go missing (NaN); `budget`
        is then for features that are set to other values.
    tolerance : array of shape (n_samples,), or None
        For a regressor, how far a prediction may be from y.
    effects : Effects or None
        For a linear regressor, what each deletion adds to the predictions.

    {See Also: certify, CertificateDisplay}
    """

    budget: Array
    exact: NDArray[np.bool_]
    prediction: NDArray[Any]
    correct: NDArray[np.bool_] | None
    unit: str
    changes: Any = None
    deletion_budget: Array | None = None
    tolerance: Array | None = None
    effects: Effects | None = None

    def accuracy_at(self, budget: ArrayLike, *, missing: bool = False) -> Any:
        """Share of rows that are correct, and stay so for every change in the budget.

        This is the certified accuracy. The prediction of a regressor counts as correct
        if it is within the tolerance.

        Parameters
        ----------
        budget : float or array-like
            One budget or several.
        missing : bool, default=False
            For a voting ensemble: whether features go missing (`deletion_budget`)
            instead of being set to other values.

        Returns
        -------
        accuracy : float or array
            Certified accuracy, with the shape of `budget`. If some budgets are not
            exact, it may be too low, but never too high.
        """
        if self.correct is None:
            raise ValueError("accuracy_at needs labels: call certify with y.")
        if missing and self.deletion_budget is None:
            raise ValueError("missing=True is for voting ensembles only.")
        lost_at = self.deletion_budget if missing else self.budget
        return self._share(budget, self.correct, lost_at)

    def unchanged_at(self, budget: ArrayLike) -> Any:
        """Share of rows whose prediction, correct or not, no change can alter.

        Parameters
        ----------
        budget : float or array-like
            One budget or several.

        Returns
        -------
        share : float or array
            Share of rows, with the shape of `budget`.
        """
        return self._share(budget, np.ones(len(self.budget), dtype=bool), self.budget)

    def movement_at(self, budget: float) -> tuple[Array, Array]:
        """Bound how far deletions within the budget can move the predictions.

        For linear regressors only. If all values are equal (or 0), the largest terms of
        one sign are deleted. Otherwise there is a knapsack problem for each sign, which
        is solved as for `budget`: exactly, or by its fractional relaxation if it is too
        large. Both bounds allow for rounding.

        Parameters
        ----------
        budget : float
            Total value of the features that may be deleted.

        Returns
        -------
        lowest, highest : arrays of shape (n_samples,)
            Bounds on the change of each prediction.
        """
        from noiseproof.evaluation.kernels import extreme_changes

        if self.effects is None:
            raise ValueError("movement_at is for deletion and linear regressors only.")
        if np.ndim(budget) or not budget >= 0:
            raise ValueError(f"budget must be a number, at least 0; got {budget!r}.")
        changes, values, rounding = self.effects
        prices, scale, plain, _ = _prices(values)
        limit = effective_budget(float(budget) / scale, prices)
        lowest, highest = extreme_changes(
            *unsigned(changes), prices, limit, (plain, False, MAX_BRANCHES)
        )
        rounding = np.where(lowest < highest, rounding, 0.0)
        return lowest - rounding, highest + rounding

    def risk_bound(self, budget: float, delta: float = 0.05) -> float:
        """Bound the risk on new rows under this attack, from the certified rows.

        The risk is the probability that the prediction for a new row is wrong, or can
        be made wrong within the budget. Suppose that the m certified rows are
        independent, of the same distribution as the new row, and were not used in
        training. Then, with probability 1 - δ over these rows, the risk is at most

            max ε with KL(1 - accuracy_at(budget) ‖ ε) <= ln(1/δ) / m

        (Chernoff's bound, inverted). Do not choose the budget or δ by looking at these
        rows.

        Parameters
        ----------
        budget : float
            Budget of the adversary.
        {delta}

        Returns
        -------
        risk : float
            Upper bound. It comes closer to the certified error with more rows.
        """
        from noiseproof.bounds import kl_inverse

        if not 0 < delta < 1:
            raise ValueError(f"delta must lie within (0, 1); got {delta!r}.")
        error = min(max(1.0 - float(self.accuracy_at(budget)), 0.0), 1.0)
        return kl_inverse(error, float(-np.log(delta)) / len(self.budget))

    def deletion(self, i: int) -> NDArray[np.intp]:
        """List the features whose deletion changes the prediction of row i.

        Parameters
        ----------
        i : int
            Number of the row.

        Returns
        -------
        features : array of int
            Column numbers. Their total value is `budget[i]`, if that is exact. Empty if
            no deletion changes the prediction. With groups, these are all members of
            the deleted groups, except those that are zero already. For `FeatureScaling`
            they are the features to scale.
        """
        if self.changes is None:
            raise ValueError(
                "deletion is only for linear models and attacks on single features "
                "(FeatureDeletion, FeatureScaling)."
            )
        i = range(len(self.budget))[i]
        start, stop = self.changes.indptr[i : i + 2]
        return np.asarray(self.changes.indices[start:stop], dtype=np.intp)

    def _share(self, budget: ArrayLike, counted: Mask, lost_at: Any) -> Any:
        budget = np.asarray(budget, dtype=np.float64)
        if not np.all(budget >= 0):
            raise ValueError(f"budget must not be negative; got {budget!r}.")
        breaks = np.sort(lost_at[counted & np.isfinite(lost_at)])
        lost = np.searchsorted(breaks, budget * (1 + _ROUNDING), side="right")
        share = (np.sum(counted) - lost) / len(counted)
        return float(share) if budget.ndim == 0 else share

    def _title(self) -> str:
        parts = [f"{len(self.budget)} rows"]
        within = self.tolerance is not None
        if self.correct is not None:
            share = f"{np.mean(self.correct):.3f}"
            parts.append(f"{share} within tolerance" if within else f"accuracy {share}")
        parts.append(f"median {np.median(self.budget):g}")
        bounds = int(np.sum(~self.exact))
        if bounds:
            parts.append(f"{bounds} of them lower bounds")
        change = (
            "move a prediction out of tolerance" if within else "change a prediction"
        )
        return f"Certificates, {self.unit} to {change}: {', '.join(parts)}"

    def _columns(self) -> dict[str, Any]:
        columns = {"prediction": self.prediction, "correct": self.correct}
        columns |= {"budget": self.budget, "exact": self.exact}
        columns |= {"deletion_budget": self.deletion_budget}
        return {name: c for name, c in columns.items() if c is not None}

    def _overview(self) -> dict[str, Any]:
        """Certified accuracy at budgets between which it changes."""
        at = np.quantile(self.budget, 1 - np.array(_SHOWN), method="lower")
        at = np.unique(np.concatenate([[0.0], at[np.isfinite(at)]]))
        if self.correct is None:
            return {self.unit: at, "unchanged": self.unchanged_at(at)}
        within = self.tolerance is not None
        what = "certified within tolerance" if within else "certified accuracy"
        return {self.unit: at, what: self.accuracy_at(at)}

    def _chart(self) -> Chart:
        return certificate_chart({"these rows": self})


def certificate_chart(
    named: Mapping[str, Certificates], end: float | None = None
) -> Chart:
    """Certified accuracy as steps, up to a budget that changes almost every row."""
    labelled = all(each.correct is not None for each in named.values())
    steps = [_steps(each) for each in named.values()]
    end = max(at[-1] for at in steps) if end is None else end
    lines = []
    for i, (name, each) in enumerate(named.items()):
        at = np.unique([*steps[i][steps[i] < end], end])
        share = each.accuracy_at(at) if labelled else each.unchanged_at(at)
        lines.append(Line(name, Series(at.tolist(), share.tolist()), i))
    unit = next(iter(named.values())).unit
    within = any(each.tolerance is not None for each in named.values())
    right = "certified share within tolerance" if within else "certified accuracy"
    what = right if labelled else "predictions unchanged"
    return Chart(
        lines, f"budget of the adversary ({unit})", what, steps=True, marks=False
    )


def _steps(certificates: Certificates) -> Array:
    """Budgets at which the certified accuracy falls, and the end of the axis."""
    finite = certificates.budget[np.isfinite(certificates.budget)]
    if not len(finite):
        return np.array([0.0, 1.0])
    at = np.unique([0.0, *np.quantile(finite, _POINTS, method="lower")])
    counted = certificates.unit in ("features", "groups")
    return np.append(at, at[-1] + 1) if counted else at  # to see the last step


def _labels(y: ArrayLike, n: int) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(
            f"y must have a label for each of the {n} rows; got the shape "
            f"{labels.shape}."
        )
    return labels


def _names(model: Any, X: Any, view: LinearView, space: str) -> list[Any]:
    """Names of the features in the space of the certificates, to which groups refer.

    If each feature comes from a column of its own, it has the name of that column.
    """
    names = feature_names(model, X)
    if space == "input" and len(names) == view.coef.shape[1]:
        return names
    features = _features(model, X, view)
    columns = [feature.column for feature in features]
    if len(set(columns)) == len(columns):
        return columns
    return [feature.name for feature in features]


def _features(model: Any, X: Any, view: LinearView) -> list[Feature]:
    """The features that the last step of a pipeline sees."""
    return features_behind(model, feature_names(model, X), view.coef.shape[1])


def _blocks(X: Any) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows of X, each with its slice."""
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions; got {len(X.shape)}.")
    width = max(1.0, X.shape[1] * (density(X) or 1.0))
    step = max(1, int(_BLOCK / width))
    for start in range(0, max(1, X.shape[0]), step):
        rows = slice(start, start + step)
        yield rows, _safe_indexing(X, rows)


class _Found(NamedTuple):
    """Budgets of a block of rows; `changes` holds columns, and their number per row."""

    budget: Array
    exact: Mask
    unit: str
    changes: tuple[NDArray[Any], NDArray[Any]] | None = None
    effects: Effects | None = None


def _certified(
    which: slice, block: Any, model: Any, view: LinearView, attack: Attack, search: Any
) -> tuple[NDArray[Any], _Found]:
    """Predictions for a block of rows, and what it takes to change them."""
    rows, prediction = view.rows(block), np.asarray(model.predict(block))
    view = view.at(which, prediction)
    precision = _Precision.of(view, rows if view.space == "model" else block)
    with np.errstate(over="ignore", invalid="ignore"):
        doubt = float(precision.doubts.max())
        own = view.agreed(rows, prediction, precision.unit, doubt)
        found = search(attack, view, rows, own, precision)
    lost = view.outside(prediction)
    budget = np.where(lost, 0.0, found.budget)
    return prediction, found._replace(budget=budget, exact=found.exact | lost)


def _together(parts: list[Any], shape: tuple[int, int]) -> Any:
    """The changes of all rows as a CSR matrix."""
    if parts[0] is None:
        return None
    columns = np.concatenate([columns for columns, _ in parts])
    ends = np.concatenate([[0], np.cumsum(np.concatenate([each for _, each in parts]))])
    ones = np.ones(len(columns), dtype=bool)
    return sp.csr_array((ones, columns, ends), shape=shape)


class _Precision(NamedTuple):
    """The rounding errors of a model for some rows."""

    eps: float  # relative rounding of a term of its scores
    unit: float  # relative rounding of a feature on its way through the scalers
    doubts: Array  # (k,): how far what the scalers add to the scores may be wrong
    tiny: float  # the least and the largest number that is calculated with
    huge: float

    @classmethod
    def of(cls, view: LinearView, X: Any) -> _Precision:
        """Rounding errors of the model for the rows X that its pipeline gets."""
        options = {"dtype": "numeric", "ensure_all_finite": False}
        first = check_array(X[:1], accept_sparse="csr", **options)
        given = np.finfo(float_type(first))  # scalers keep float16, models do not
        scaling = view.space == "input" and len(view.steps)
        of_model = np.finfo(np.float32 if given.bits == 32 else np.float64)
        eps = max(view.rounding.eps, float(of_model.eps))
        unit = 4 * scaling * float(given.eps)
        terms = 2 * (view.coef.shape[1] + view.rounding.terms + 4)
        doubts = (eps * terms + unit) * view.rounding.shifts
        doubts = doubts + float(given.smallest_subnormal) * view.rounding.underflows
        limits = np.finfo(np.float32 if eps > 1e-10 else np.float64)
        return cls(eps, unit, doubts, float(limits.tiny), float(limits.max) / 8)


class _Parts(NamedTuple):
    """The parts of each row that can be deleted: its features, or groups of them."""

    entries: Any  # the rows as CSR
    place: Any  # which part each of these entries belongs to
    rows: Any  # the parts as CSR
    coef: Array  # weights of the columns of that, as a view has them of features
    sizes: Array
    owner: NDArray[Any]  # the feature or group that each column stands for
    terms: int  # the most terms in a score, if it takes groups to add them up

    @classmethod
    def of(cls, view: LinearView, rows: Any, labels: Any) -> _Parts:
        """One part for each stored entry, or for each group of entries."""
        entries, sizes = stored_rows(readable(rows)), view.rounding.sizes
        if labels is None:
            owner = np.arange(rows.shape[1])
            return cls(entries, slice(None), entries, view.coef, sizes, owner, 0)
        stored, group, place = group_rows(entries, labels)
        coef = group_weights(entries, place, view.coef)
        sizes = group_weights(abs(entries), place, np.abs(sizes))
        # of each score there are as many terms as entries, and we add them up as well
        most = 2 * int(np.diff(entries.indptr).max(initial=0))
        return cls(entries, place, stored, coef, sizes, group, most)


def _cheapest(
    attack: Attack, view: LinearView, rows: Any, own: Labels, precision: _Precision
) -> _Found:
    """The least total value of features whose deletion or scaling changes a class."""
    # Numba is imported here, at the first certificate, to keep the import light
    from noiseproof.evaluation.kernels import cheapest_changes

    n, d = rows.shape
    values, factors = attack.certificate_values(d), attack.certificate_factors
    labels = attack.certificate_groups(d)
    parts = _Parts.of(view, rows, labels)
    eps, unit, doubts, tiny, huge = precision
    if factors == (0.0, 1.0) and _adds_up_exactly(view, parts.entries, eps):
        eps = unit = tiny = 0.0
        precision = precision._replace(eps=eps, unit=unit, tiny=tiny)
    prices, scale, plain, whole = _prices(values)
    changed = np.zeros(len(parts.rows.data), dtype=bool)
    budget, exact = cheapest_changes(
        *(*unsigned(parts.rows), own.astype(np.uint64)),
        (
            *(parts.coef, parts.sizes, view.intercepts(rows)),
            *(doubts + 4 * eps * view.bound_sizes(n), view.rank),
        ),
        *(prices[parts.owner], factors),
        (
            *(eps, max(d * view.centred, parts.terms), view.rounding.terms),
            *(unit, tiny, huge / max(1.0, *map(abs, factors))),
        ),
        *((plain, whole, MAX_BRANCHES), changed),
    )
    exact &= bool(np.all((prices > 0) == (values > 0)))
    changed = changed[parts.place]
    counts = np.diff(np.concatenate([[0], np.cumsum(changed)])[parts.entries.indptr])
    unit_name = "features" if labels is None else "groups"
    unit_name = unit_name if np.all(values == 1) else "value"
    changes = parts.entries.indices[changed], counts
    effects = None
    if factors == (0.0, 1.0) and view.predicts is not None:
        effects = _effects(view, parts, values, precision)
    return _Found(budget * scale, exact, unit_name, changes, effects)


def _effects(
    view: LinearView, parts: _Parts, values: Array, precision: _Precision
) -> Effects:
    """The change of a regressor's predictions by each deletion, with its rounding."""
    rows, at = parts.rows, view.predicts
    indices, (n, d) = rows.indices, parts.entries.shape
    changes = -parts.coef[at][indices] * rows.data
    where = parts.owner[indices], rows.indptr
    matrix = sp.csr_array((changes, *where), shape=(n, len(values)))
    counts = np.diff(rows.indptr)
    terms = np.maximum(counts, max(d * view.centred, parts.terms))
    terms = terms + view.rounding.terms + 4
    sizes = np.abs(parts.sizes[at][indices] * rows.data)
    size = np.bincount(np.repeat(np.arange(n), counts), sizes, n)
    size = size + np.abs(view.intercept[at])
    doubt = (2 * precision.eps * terms + precision.unit) * size + precision.tiny * terms
    doubt = 2 * (doubt + precision.doubts[at])  # before and after
    return Effects(matrix, values, np.where(counts > 0, doubt, 0.0))


def _all_effects(parts: list[Effects | None]) -> Effects | None:
    """The effects of all blocks of rows in one."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    rounding = np.concatenate([part.rounding for part in found])
    changes = sp.vstack([part.changes for part in found], format="csr")
    return Effects(changes, found[0].values, rounding)


def _prices(values: Array) -> tuple[Array, float, bool, bool]:
    """Scaled values and their scale; whether they are 0 or 1, and whether integers."""
    most = float(values.max(initial=0.0))
    if most > 0 and np.isin(values, (0.0, most)).all():
        return values / most, most, True, True
    if np.all(values == np.round(values)) and values.sum() < 2**53:
        return values, 1.0, False, True
    scale = float(2.0 ** np.floor(np.log2(most)))  # a power of 2: nothing is rounded
    return np.where(values < _FREE * most, 0.0, values / scale), scale, False, False


def _adds_up_exactly(view: LinearView, stored: Any, eps: float) -> bool:
    """Whether no sum is rounded, because numbers have few binary digits and no scaler.

    Then ties are exact, as they often are with whole numbers, and are decided as the
    model decides them.
    """
    if view.rounding.terms or (view.space == "input" and view.steps):
        return False
    constants = np.concatenate([view.intercept, view.bounds(stored.shape[0]).ravel()])
    parts = (2 * view.coef, 2 * constants, stored.data)  # 2: of one vector, w/2
    if any(np.any(part * _GRID != np.round(part * _GRID)) for part in parts):
        return False
    w, b, x = (float(np.abs(part).max(initial=0.0)) for part in parts)
    return (stored.shape[1] * w * x + b) * _GRID**2 * eps < 1


def _radius(
    attack: Any, view: LinearView, rows: Any, own: Labels, precision: _Precision
) -> _Found:
    """Smallest radius: min over rivals of the lead over the dual norm of w_own - w_r.

    The lead is taken at its lower bound, given rounding before and after the change.
    """
    if attack.ord not in _DUAL:
        raise ValueError(f"NormBall.ord must be 1, 2 or inf; got {attack.ord!r}.")
    (n, d), order = rows.shape, _DUAL[attack.ord]
    unit = 2 * precision.eps * (d + view.rounding.terms + 4) + precision.unit
    size = abs(zero_missing(rows)) @ np.abs(view.rounding.sizes).T
    size = np.asarray(size) + np.abs(view.intercept) + view.bound_sizes(n)
    doubt = unit * size + precision.doubts + d * precision.tiny
    scores = view.scores(rows)
    each = np.arange(n)
    lead = (scores - doubt)[each, own][:, None] - (scores + doubt)
    norms = _dual_norms(view, order, unit)[own]
    for i, seen in incomplete_rows(rows):  # what is missing cannot move
        norms[i] = _dual_norms(view, order, unit, seen)[own[i]]
    sure = (lead > 0) & (size.max(axis=1) < precision.huge)[:, None]
    with np.errstate(divide="ignore"):
        radius = np.where(norms > 0, np.where(sure, lead, 0.0) / norms, np.inf)
    radius[~np.isfinite(norms)] = 0.0
    radius[each, own] = np.inf
    sure[each, own] = True
    return _Found(radius.min(axis=1), sure.all(axis=1), "radius")


def _dual_norms(view: LinearView, order: float, unit: float, seen: Any = 1) -> Array:
    """Upper bounds, given rounding, on the norms of differences of classes' weights."""
    norms = _norm(view.rounding.sizes * seen, order)
    apart = np.stack([_norm((w - view.coef) * seen, order) for w in view.coef])
    return np.where(apart > 0, apart + unit * (norms[:, None] + norms), 0.0)


def _norm(weights: Array, order: float) -> Array:
    """Norms of the rows, computed without overflow or underflow of the squares."""
    most = np.abs(weights).max(axis=1, initial=0.0)
    scale = np.where((most > 0) & np.isfinite(most), most, 1.0)
    return np.linalg.norm(weights / scale[:, None], order, axis=1) * scale


_SEARCHES: dict[Any, Callable[..., _Found]] = {"deletion": _cheapest, "norm": _radius}
