"""Exact certificates: how much of a row must go before its prediction changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from noiseproof._pipelines import unwrap
from noiseproof._rows import readable, stored_rows, unsigned, zero_missing
from noiseproof.attacks import Attack, FeatureDeletion, FeatureScaling, NormBall
from noiseproof.attacks.feature_deletion import check_budget
from noiseproof.evaluation.linear import LinearView, linear_view
from noiseproof.evaluation.results import Result, frozen
from noiseproof.evaluation.votes import certified_votes

__all__ = ["SMALLEST", "Found"]

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

# A depth-first search meets at most 2^(n+1) branches, so a row whose prediction hangs
# on up to 13 features is always searched to the end; most rows need a few dozen.
MAX_BRANCHES = 2**14
_DUAL = {1: np.inf, 2: 2, np.inf: 1}
_GRID = 2.0**8  # products of numbers with 8 binary digits after the point are exact


class Found(NamedTuple):
    """A part of `Certificates`, which says what the names mean."""

    budget: Array
    exact: NDArray[np.bool_]
    unit: str
    changes: Any = None


def _deletion(
    attack: FeatureDeletion, view: LinearView, rows: Any, own: Labels
) -> Found:
    values = check_budget(0.0, attack.values, rows.shape[1])
    return _cheapest(view, rows, own, values, (0.0, 1.0))


def _scaling(attack: FeatureScaling, view: LinearView, rows: Any, own: Labels) -> Found:
    factors = float(attack.low), float(attack.high)
    if not (np.isfinite(factors).all() and factors[0] <= factors[1]):
        raise ValueError(
            "FeatureScaling.low and high must be finite, low not above high; got "
            f"{attack.low!r} and {attack.high!r}."
        )
    return _cheapest(view, rows, own, np.ones(rows.shape[1]), factors)


def _cheapest(
    view: LinearView,
    rows: Any,
    own: Labels,
    values: Array,
    factors: tuple[float, float],
) -> Found:
    # Numba is imported here, at the first certificate, to keep the import light
    from noiseproof.evaluation.kernels import cheapest_changes

    d = rows.shape[1]
    eps = max(view.eps, float(np.finfo(rows.dtype).eps))
    stored = stored_rows(readable(rows))
    if factors == (0.0, 1.0) and _adds_up_exactly(view, stored, eps):
        eps = 0.0
    doubts = eps * (d + 8) * np.abs(view.shifted).sum(axis=1)
    scale = values.max(initial=0.0)
    plain = bool(np.isin(values, (0.0, scale)).all()) and scale > 0
    whole = bool(np.all(values == np.round(values)))
    changed = np.zeros(len(stored.data), dtype=bool)
    budget, exact = cheapest_changes(
        *unsigned(stored),
        *(own.astype(np.uint64), (view.coef, view.intercepts(rows), doubts)),
        *(values / scale if plain else values, factors, (eps, d * view.centred)),
        *((plain, whole, MAX_BRANCHES), changed),
    )
    unit = "features" if np.all(values == 1) else "value"
    budget = budget * scale if plain else budget
    return Found(budget, exact, unit, _marked(stored, changed))


def _marked(stored: Any, changed: NDArray[np.bool_]) -> Any:
    """The marked entries as a CSR matrix of their own."""
    ends = np.concatenate([[0], np.cumsum(changed)])[stored.indptr]
    ones = np.ones(ends[-1], dtype=bool)
    return sp.csr_array((ones, stored.indices[changed], ends), shape=stored.shape)


def _adds_up_exactly(view: LinearView, stored: Any, eps: float) -> bool:
    """Whether no sum is ever rounded: few binary digits and no scaler at work.

    Then a tie is a tie, as it often is with whole numbers, and is decided as the model
    decides it.
    """
    if view.space == "input" and view.scaler is not None:
        return False
    parts = (2 * view.coef, 2 * view.intercept, stored.data)  # 2: of one vector, w/2
    if any(np.any(part * _GRID != np.round(part * _GRID)) for part in parts):
        return False
    w, b, x = (float(np.abs(part).max(initial=0.0)) for part in parts)
    return (stored.shape[1] * w * x + b) * _GRID**2 * eps < 1


def _norm_ball(attack: NormBall, view: LinearView, rows: Any, own: Labels) -> Found:
    """Smallest radius: min over rivals of the lead by the dual norm of w_own - w_r.

    The lead is taken at the least that rounding can make of it, before and after.
    """
    if attack.ord not in _DUAL:
        raise ValueError(f"NormBall.ord must be 1, 2 or inf; got {attack.ord!r}.")
    n, d = rows.shape
    unit = max(view.eps, float(np.finfo(rows.dtype).eps)) * (d + 8)
    size = np.abs(zero_missing(rows)) @ np.abs(view.coef).T + np.abs(view.intercept)
    doubt = unit * (size + np.abs(view.shifted).sum(axis=1))
    scores = view.scores(rows)
    each = np.arange(n)
    lead = (scores - doubt)[each, own][:, None] - (scores + doubt)
    norms = _dual_norms(view.coef, _DUAL[attack.ord], unit)[own]
    for i, seen in _incomplete(rows):  # what is missing cannot move
        norms[i] = _dual_norms(view.coef * seen, _DUAL[attack.ord], unit)[own[i]]
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(norms > 0, np.maximum(lead, 0) / norms, np.inf)
    radius[each, own] = np.inf
    return Found(radius.min(axis=1), np.ones(n, dtype=bool), "radius")


def _dual_norms(coef: Array, order: float, unit: float) -> Array:
    """Norms of all differences of two classes' weights, at the most by rounding."""
    norms = np.linalg.norm(coef, order, axis=1)
    apart = np.stack([np.linalg.norm(w - coef, order, axis=1) for w in coef])
    return np.where(apart > 0, apart + unit * (norms[:, None] + norms), 0.0)


def _incomplete(rows: Any) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Rows with missing features, and which of their features are there."""
    values = rows.data if sp.issparse(rows) else rows
    if not np.isnan(values).any():
        return
    for i in range(rows.shape[0]):
        row = rows[[i]].toarray()[0] if sp.issparse(rows) else rows[i]
        if np.isnan(row).any():
            yield i, ~np.isnan(row)


SMALLEST: dict[type, Callable[..., Found]] = {
    FeatureDeletion: _deletion,
    FeatureScaling: _scaling,
    NormBall: _norm_ball,
}


__all__ = ["Certificates"]


_ROUNDING = 1e-12  # as for attacks: ten values of 0.1 fit into a budget of 1
_SHOWN = (0.9, 0.75, 0.5, 0.25, 0.1)  # shares of rows whose budgets are printed


@dataclass(frozen=True, repr=False, eq=False)
class Certificates(Result):
    """How much it takes to change the prediction of each row.

    Parameters
    ----------
    budget : array of shape (n_samples,)
        The smallest total value of features whose deletion changes the prediction,
        right or wrong; `inf` where no deletion can. For other attacks the smallest
        number of features or the smallest radius.
    exact : array of bool of shape (n_samples,)
        Whether that is the smallest; elsewhere it is a lower bound, which is safe.
    prediction : array of shape (n_samples,)
        Of the clean rows.
    correct : array of bool of shape (n_samples,), or None
        Whether the clean prediction is right, if labels were given.
    unit : str
        What a budget counts.
    changes : CSR matrix of bool of shape (n_samples, n_features), or None
        The features of each row whose change it takes.
    deletion_budget : array of shape (n_samples,), or None
        For a model that votes, where `budget` counts features that are changed to
        whatever values: the same for features that go missing (NaN), which it notices.
    """

    budget: Array
    exact: NDArray[np.bool_]
    prediction: NDArray[Any]
    correct: NDArray[np.bool_] | None
    unit: str
    changes: Any = None
    deletion_budget: Array | None = None

    def __post_init__(self) -> None:
        names = ("budget", "exact", "prediction", "correct", "deletion_budget")
        for name in names:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    def accuracy_at(self, budget: ArrayLike) -> Any:
        """Share of rows that are right and stay right whatever this budget buys.

        Parameters
        ----------
        budget : float or array-like
            One or many.

        Returns
        -------
        accuracy : float or array
            Certified accuracy, of the shape of `budget`; too low, never too high,
            where some budgets are not exact.
        """
        if self.correct is None:
            raise ValueError("accuracy_at needs labels: call certify with y.")
        return self._share(budget, self.correct)

    def unchanged_at(self, budget: ArrayLike) -> Any:
        """Share of rows, right or wrong, whose prediction nothing within it changes.

        Parameters
        ----------
        budget : float or array-like
            One or many.

        Returns
        -------
        share : float or array
            Of the shape of `budget`.
        """
        return self._share(budget, np.ones(len(self.budget), dtype=bool))

    def risk_bound(self, budget: float, delta: float = 0.05) -> float:
        """Bound the risk on new rows under this attack, from the rows certified.

        With probability 1 - δ over m independent rows of one law that the model was
        not trained on, the probability that a new row is or can be made wrong within
        the budget is at most

            max ε with KL(1 - accuracy_at(budget) ‖ ε) <= ln(1/δ) / m

        (Chernoff's bound, inverted). Budget and δ must not be chosen by looking at
        these rows.

        Parameters
        ----------
        budget : float
            What the adversary may spend.
        delta : float, default=0.05
            Probability that the bound may fail.

        Returns
        -------
        risk : float
            Upper bound; its excess over the certified error shrinks with more rows.
        """
        from noiseproof.bounds import kl_inverse

        if not 0 < delta < 1:
            raise ValueError(f"delta must lie within (0, 1); got {delta!r}.")
        error = min(max(1.0 - float(self.accuracy_at(budget)), 0.0), 1.0)
        return kl_inverse(error, float(-np.log(delta)) / len(self.budget))

    def deletion(self, i: int) -> NDArray[np.intp]:
        """The features whose deletion changes the prediction of row i.

        Parameters
        ----------
        i : int
            Number of the row.

        Returns
        -------
        features : array of int
            Column numbers, worth `budget[i]` where that is exact; empty if no deletion
            changes the row. (For `FeatureScaling`: the features to scale.)
        """
        if self.changes is None:
            raise ValueError(f"A change of {self.unit} does not pick features.")
        i = range(len(self.budget))[i]
        start, stop = self.changes.indptr[i : i + 2]
        return np.asarray(self.changes.indices[start:stop], dtype=np.intp)

    def _share(self, budget: ArrayLike, counted: NDArray[np.bool_]) -> Any:
        budget = np.asarray(budget, dtype=np.float64)
        if not np.all(budget >= 0):
            raise ValueError(f"A budget must not be negative; got {budget!r}.")
        breaks = np.sort(self.budget[counted])
        lost = np.searchsorted(breaks, budget * (1 + _ROUNDING), side="right")
        share = (len(breaks) - lost) / len(counted)
        return float(share) if budget.ndim == 0 else share

    def _title(self) -> str:
        parts = [f"{len(self.budget)} rows"]
        if self.correct is not None:
            parts.append(f"accuracy {np.mean(self.correct):.3f}")
        parts.append(f"median {np.median(self.budget):g}")
        bounds = int(np.sum(~self.exact))
        if bounds:
            parts.append(f"{bounds} of them lower bounds")
        return f"Certificates, {self.unit} to change a prediction: {', '.join(parts)}"

    def _columns(self) -> dict[str, Any]:
        columns = {"prediction": self.prediction, "correct": self.correct}
        columns |= {"budget": self.budget, "exact": self.exact}
        columns |= {"deletion_budget": self.deletion_budget}
        return {name: c for name, c in columns.items() if c is not None}

    def _overview(self) -> dict[str, Any]:
        """Certified accuracy at budgets that lie where something happens."""
        at = np.quantile(self.budget, 1 - np.array(_SHOWN), method="lower")
        at = np.unique(np.concatenate([[0.0], at[np.isfinite(at)]]))
        if self.correct is None:
            return {self.unit: at, "unchanged": self.unchanged_at(at)}
        return {self.unit: at, "certified accuracy": self.accuracy_at(at)}


__all__ = ["certify"]


def certify(
    model: Any,
    X: Any,
    y: ArrayLike | None,
    values: ArrayLike | None = None,
    *,
    attack: Attack | None = None,
    space: str = "input",
) -> Certificates:
    """Find the smallest deletion that changes the prediction of each row.

    Deleting features takes Σ_{j deleted} (w_own - w_r)_j x_j from the lead of a row's
    class over a rival r; the prediction changes when some lead is used up. With equal
    values the largest terms go first, which needs a selection, not a search. With
    general values this is a knapsack problem, solved by branch and bound; a row that
    takes more than 2^14 branches, which cannot happen with up to 13 features that help
    the own class, gets the bound of the fractional relaxation instead and is flagged.

    No deletion worth less than a certificate changes the model's own `predict`. Where
    the rounding of sums could decide, the certificate takes the lower value and is
    flagged as not exact.

    Parameters
    ----------
    model : classifier
        Fitted and linear, by whomever; see `linear_view` for what is understood. Or a
        `PartitionEnsemble` of any models: then `budget` counts the features that must
        be changed, to whatever values, and `deletion_budget` those that must go missing
        before the votes can turn; both are lower bounds, which nothing smaller beats.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows to certify; sparse stays sparse. Missing features (NaN), where the model
        takes them, are gone already and cannot be deleted.
    y : array-like of shape (n_samples,) or None
        Labels, for `accuracy_at`; None if there are none.
    values : array-like of shape (n_features,), default=None
        What deleting a feature costs; None means 1 each, and 0 is free.
    attack : FeatureDeletion, FeatureScaling or NormBall, default=None
        What may happen, if not deletion. Its own budget, k or radius is not used: the
        certificate is the smallest that changes the prediction.
    space : {"input", "model"}, default="input"
        Whether features change before the scalers of a pipeline or after; see
        `linear_view`.

    Returns
    -------
    certificates : Certificates
        `budget` and `exact` by row, `accuracy_at(budget)`, and `deletion(i)`.

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
    """
    if hasattr(unwrap(model)[1], "certify_votes"):  # the model answers for itself
        plain = values is None and attack is None
        voted = certified_votes(model, X, space, plain=plain)
        prediction = np.asarray(model.predict(X))
        correct = None if y is None else prediction == _labels(y, len(prediction))
        return Certificates(prediction=prediction, correct=correct, **voted)
    if attack is not None and values is not None:
        raise ValueError("values are for deletion; an attack brings its own.")
    attack = FeatureDeletion(values=values) if attack is None else attack
    solve = next((f for kind, f in SMALLEST.items() if isinstance(attack, kind)), None)
    if solve is None:
        known = ", ".join(kind.__name__ for kind in SMALLEST)
        raise TypeError(
            f"There are certificates for {known}; got {type(attack).__name__}."
        )
    view = linear_view(model, space)
    rows = view.rows(X)
    prediction = np.asarray(model.predict(X))
    correct = None if y is None else prediction == _labels(y, len(prediction))
    found = solve(attack, view, rows, view.agreed(rows, prediction))
    return Certificates(prediction=prediction, correct=correct, **found._asdict())


def _labels(y: ArrayLike, n: int) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label per row, {n}; got {labels.shape}.")
    return labels
