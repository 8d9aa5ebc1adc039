"""Which missing value to look up next: what it gains to buy them one after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from noiseproof._charts import Chart, Line, Series
from noiseproof._conformal import missing_values, without
from noiseproof._docs import shared_docs
from noiseproof._private import _safe_indexing
from noiseproof.evaluation.averaged import Averaged, losses
from noiseproof.evaluation.cell_values import row_values
from noiseproof.evaluation.results import Result

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_ORDERS = {
    "value": "by value",
    "importance": "by importance",
    "random": "at random",
}
_SHUFFLES = 5  # of a column, for its importance


@shared_docs
@dataclass(frozen=True, repr=False, eq=False)
class AcquisitionCurve(Result):
    """What `acquisition_curve` returns.

    Parameters
    ----------
    orders : tuple of str
        The orders in which values were bought.
    spent : array of shape (n_steps + 1,)
        What was spent for a row on average.
    scores : array of shape (n_orders, n_steps + 1)
        The score after that.
    scoring : str
        The metric; the higher the better.

    {See Also: acquisition_curve, AcquisitionDisplay}
    """

    orders: tuple[str, ...]
    spent: Array
    scores: Array
    scoring: str

    @property
    def areas(self) -> dict[str, float]:
        """Mean score over all that may be spent, by order."""
        steps = np.diff(self.spent) / max(self.spent[-1], 1e-300)
        heights = (self.scores[:, 1:] + self.scores[:, :-1]) / 2
        return dict(zip(self.orders, (heights @ steps).tolist(), strict=True))

    def needed(self, within: float = 0.01) -> dict[str, float]:
        """What must be spent on a row to come near to the score of complete rows.

        Parameters
        ----------
        within : float, default=0.01
            How near.

        Returns
        -------
        spent : dict of str to float
            By order; at that point of the curve and all later ones the score is at
            least that of complete rows less `within`.
        """
        enough = self.scores >= self.scores[:, -1:] - within
        lasting = np.logical_and.accumulate(enough[:, ::-1], axis=1)[:, ::-1]
        found = self.spent[lasting.argmax(axis=1)]
        return dict(zip(self.orders, found.tolist(), strict=True))

    def _title(self) -> str:
        return f"{self.scoring} by what is spent to look up missing values"

    def _columns(self) -> dict[str, Any]:
        return {
            "order": np.repeat(self.orders, len(self.spent)),
            "spent": np.tile(self.spent, len(self.orders)),
            "score": self.scores.ravel(),
        }

    def _chart(self) -> Chart:
        x = tuple(self.spent.tolist())
        lines = [
            Line(
                f"by {name}" if i < 2 else "at random", Series(x, tuple(y.tolist())), i
            )
            for i, (name, y) in enumerate(zip(self.orders, self.scores, strict=True))
        ]
        return Chart(lines, "spent for a row", self.scoring)


@shared_docs
def acquisition_curve(
    model: Any,
    X: Any,
    X_complete: Any,
    y: ArrayLike,
    *,
    costs: Any = None,
    scoring: str | None = None,
    n_steps: int = 20,
    random_state: Any = 0,
) -> AcquisitionCurve:
    """Look up missing values one after another, and score the model.

    By value: in each step those values are looked up that are worth most for what they
    cost, as `value_of_cells` says of the rows as they are by then. By importance: one
    column after another in all rows, those first of which shuffling the complete values
    does most harm for what they cost. At random: any missing value.

    Parameters
    ----------
    model : estimator
        A fitted model, as for `value_of_cells`.
    X : array or data frame of shape (n_samples, n_features)
        Rows with missing values.
    X_complete : array or data frame of shape (n_samples, n_features)
        The same rows with their true values.
    {true y}
    costs : dict of str to float or array-like of shape (n_features,), default=None
        What it costs to look up a value, by column; 1 for those that are not named.
    scoring : {"accuracy", "log_loss", "squared_error"}, default=None
        The metric; losses are negated. None means accuracy, or squared error. What
        values are worth is measured by log-loss, or squared error.
    n_steps : int, default=20
        Number of steps in which the same is spent.
    {any random_state}

    Returns
    -------
    curve : AcquisitionCurve
        Scores by order and by what was spent.

    {See Also: value_of_cells, AcquisitionDisplay}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from noiseproof import AverageOverMissing
    >>> from noiseproof.evaluation import acquisition_curve
    >>> from noiseproof.noise import Missing
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AverageOverMissing(conditional="donors", random_state=0)
    >>> model = model.fit(X[::2], y[::2])
    >>> Z = Missing(0.8).sample(X[1::2], rng=0)
    >>> curve = acquisition_curve(model, Z, X[1::2], y[1::2])
    >>> curve.areas["value"] > curve.areas["random"]
    True
    """
    averaged = Averaged.of(model)
    scoring = averaged.scoring(scoring)
    whole, y = averaged.read(X_complete), np.asarray(y)
    missing = missing_values(averaged.read(X))
    if missing.shape != whole.shape or y.shape != (len(missing),):
        raise ValueError(
            "X, X_complete and y must have as many rows, and X the columns of "
            f"X_complete; got the shapes {missing.shape}, {whole.shape} and {y.shape}."
        )
    if missing_values(whole).any():
        raise ValueError("X_complete has missing values; pass the true ones.")
    if not missing.any():
        raise ValueError("No value of X is missing, so there is nothing to look up.")
    prices = _prices(costs, averaged.names(whole))
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    shop = _Shop(averaged, whole, y, missing, prices, scoring)
    steps = np.linspace(0.0, shop.total, n_steps + 1)[1:]
    scores = np.array(
        [
            shop.bought_by_value(steps),
            shop.bought(shop.by_importance(rng), steps),
            shop.bought(rng.permutation(missing.sum()), steps),
        ]
    )
    spent = np.append(0.0, steps) / len(y)
    return AcquisitionCurve(
        tuple(_ORDERS),
        spent,
        scores,
        scoring if scoring == "accuracy" else f"-{scoring}",
    )


def _prices(costs: Any, names: list[str]) -> Array:
    """What a value of each column costs."""
    if costs is None:
        return np.ones(len(names))
    if isinstance(costs, Mapping):
        unknown = [name for name in costs if str(name) not in names]
        if unknown:
            raise ValueError(f"costs has {unknown[0]!r}, which is no column of X.")
        costs = [costs.get(name, 1.0) for name in names]
    prices = np.asarray(costs, dtype=np.float64)
    if prices.shape != (len(names),) or not (prices > 0).all():
        raise ValueError(
            f"costs must be positive, one for each of the {len(names)} columns."
        )
    return prices


class _Shop:
    """Rows, what is missing in them, and what it costs to look it up."""

    def __init__(
        self,
        averaged: Averaged,
        whole: Any,
        y: Any,
        missing: Mask,
        prices: Array,
        scoring: str,
    ):
        self.averaged, self.whole, self.y, self.missing = averaged, whole, y, missing
        self.prices, self.scoring = prices, scoring
        self.cells = np.argwhere(missing)
        self.total = float(prices[self.cells[:, 1]].sum())

    def score(self, missing: Mask) -> float:
        """The score with this missing."""
        answers = self.averaged.answers(without(self.whole, missing))
        lost = losses(answers, self.y, self.averaged.classes, self.scoring).mean()
        return float(1.0 - lost if self.scoring == "accuracy" else -lost)

    def bought(self, order: NDArray[np.intp], steps: Array) -> list[float]:
        """Scores at the start and after each step, with cells bought in this order."""
        spent = np.cumsum(self.prices[self.cells[order, 1]])
        missing, found = self.missing.copy(), [self.score(self.missing)]
        for step in steps:
            done = self.cells[order[spent <= step * (1 + 1e-12)]]
            missing[tuple(done.T)] = False
            found.append(self.score(missing))
        return found

    def by_importance(self, rng: Any) -> NDArray[np.intp]:
        """Cells by the importance of their columns for their prices."""
        names = ("log_loss", "squared_error")
        classes = self.averaged.classes
        scoring = names[classes is None]
        harm = np.zeros(len(self.prices))
        n = len(self.y)
        for j in range(len(harm)):
            for _ in range(_SHUFFLES):
                answers = self.averaged.answers(
                    _shuffled(self.whole, j, rng.permutation(n))
                )
                harm[j] += losses(answers, self.y, classes, scoring).mean()
        rank = np.argsort(np.argsort(-harm / self.prices, kind="stable"))
        chance = rng.random(len(self.cells))
        return np.lexsort((chance, rank[self.cells[:, 1]]))

    def bought_by_value(self, steps: Array) -> list[float]:
        """Scores with the most valuable cells bought first, worth being found anew.

        In one round a row gets one cell at most; a step has as many rounds as it takes
        to spend its money.
        """
        scoring = "squared_error" if self.averaged.classes is None else "log_loss"
        missing, spent = self.missing.copy(), 0.0
        found, values = [self.score(missing)], np.full(missing.shape, np.nan)
        changed = np.flatnonzero(missing.any(axis=1))
        for step in steps:
            while True:
                if len(changed):
                    rows = without(
                        _safe_indexing(self.whole, changed), missing[changed]
                    )
                    values[changed] = row_values(self.averaged, rows, scoring)
                worth = np.where(missing, values / self.prices, -np.inf)
                best = worth.argmax(axis=1)
                rows = np.flatnonzero(missing.any(axis=1))
                rows = rows[np.argsort(-worth[rows, best[rows]], kind="stable")]
                after = spent + np.cumsum(self.prices[best[rows]])
                rows = rows[after <= step * (1 + 1e-12)]
                changed = rows
                if not len(rows):
                    break
                spent = float(after[len(rows) - 1])
                missing[rows, best[rows]] = False
                changed = rows[missing[rows].any(axis=1)]
            found.append(self.score(missing))
        return found


def _shuffled(X: Any, j: int, order: NDArray[np.intp]) -> Any:
    """The rows with the values of one column in another order."""
    if not hasattr(X, "columns"):
        X = X.copy()
        X[:, j] = X[order, j]
        return X
    name = X.columns[j]
    if hasattr(X, "iter_columns"):
        return X.with_columns(X[name][order])
    X = X.copy()
    X[name] = X[name].iloc[order].array
    return X
