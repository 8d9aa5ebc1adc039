"""How the score rises while missing values are looked up, in different orders."""

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
    """Scores by the amount spent on missing values, as `acquisition_curve` returns it.

    Parameters
    ----------
    orders : tuple of str
        Names of the orders in which missing values were bought.
    spent : array of shape (n_steps + 1,)
        Amount spent, averaged over the rows.
    scores : array of shape (n_orders, n_steps + 1)
        Score after spending that much.
    scoring : str
        Name of the metric. Higher is better.

    {See Also: acquisition_curve, AcquisitionDisplay}
    """

    orders: tuple[str, ...]
    spent: Array
    scores: Array
    scoring: str

    @property
    def areas(self) -> dict[str, float]:
        """Mean score over all amounts that can be spent, by order."""
        steps = np.diff(self.spent) / max(self.spent[-1], 1e-300)
        heights = (self.scores[:, 1:] + self.scores[:, :-1]) / 2
        return dict(zip(self.orders, (heights @ steps).tolist(), strict=True))

    def needed(self, within: float = 0.01) -> dict[str, float]:
        """Find the amount at which the score comes close to that of complete rows.

        Parameters
        ----------
        within : float, default=0.01
            How far the score may be below that of complete rows.

        Returns
        -------
        spent : dict of str to float
            Amount per row, by order. From there on, the whole curve is that close.
        """
        enough = self.scores >= self.scores[:, -1:] - within
        lasting = np.logical_and.accumulate(enough[:, ::-1], axis=1)[:, ::-1]
        found = self.spent[lasting.argmax(axis=1)]
        return dict(zip(self.orders, found.tolist(), strict=True))

    def _title(self) -> str:
        return f"{self.scoring} by amount spent on missing values"

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
        return Chart(lines, "amount spent per row", self.scoring)


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
    """Score a model while missing values are looked up one after another.

    Looking up a missing value costs something: a test must be ordered, a customer must
    be asked. This function simulates it on rows whose true values are known, and
    compares three orders:

    - *value*: those missing values first that are worth most for their price.
      `value_of_cells` estimates what they are worth, and does so again after each step.
    - *importance*: one column after another, for all rows. The first column is the one
      whose permutation importance is highest for its price. It is measured on the
      training rows that the model has held out, or if there are none, on `X_complete`
      and `y`.
    - *random*: missing values in random order.

    Parameters
    ----------
    model : estimator
        A fitted model that averages over missing values, as for `value_of_cells`.
    X : array or data frame of shape (n_samples, n_features)
        Rows with missing values.
    X_complete : array or data frame of shape (n_samples, n_features)
        The same rows with their true values.
    {true y}
    costs : dict of str to float or array-like of shape (n_features,), default=None
        Price of a missing value, by column. The price is 1 for columns without one.
    scoring : {"accuracy", "log_loss", "squared_error"}, default=None
        Metric of the curve; losses are negated. None means "accuracy" for a classifier
        and "squared_error" for a regressor. What a value is worth is always measured by
        log-loss, or squared error.
    n_steps : int, default=20
        Number of steps. In each of them the same amount is spent.
    {any random_state}

    Returns
    -------
    curve : AcquisitionCurve
        Scores by order and by amount spent.

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
    whole, y = averaged.read(X_complete), averaged.targets(y)
    missing = missing_values(averaged.read(X))
    if missing.shape != whole.shape or y.shape != (len(missing),):
        raise ValueError(
            "X, X_complete and y must have as many rows, and X the columns of "
            f"X_complete; got the shapes {missing.shape}, {whole.shape} and {y.shape}."
        )
    if missing_values(whole).any():
        raise ValueError("X_complete has missing values; pass the true values instead.")
    if not missing.any():
        raise ValueError("X has no missing values, so there is nothing to find out.")
    prices = _prices(costs, averaged.names(X_complete))
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
    """The price of a missing value in each column."""
    if costs is None:
        return np.ones(len(names))
    if isinstance(costs, Mapping):
        unknown = [name for name in costs if str(name) not in names]
        if unknown:
            raise ValueError(f"costs names {unknown[0]!r}, which is not a column of X.")
        costs = [costs.get(name, 1.0) for name in names]
    prices = np.asarray(costs, dtype=np.float64)
    good = prices.shape == (len(names),) and np.isfinite(prices).all()
    if not (good and (prices > 0).all()):
        raise ValueError(
            "costs must be positive and finite, one for each of the "
            f"{len(names)} columns."
        )
    return prices


class _Shop:
    """Rows with missing values, and the prices of these values."""

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
        """The score if these values are missing."""
        answers = self.averaged.answers(without(self.whole, missing))
        lost = losses(answers, self.y, self.averaged.classes, self.scoring).mean()
        return float(1.0 - lost if self.scoring == "accuracy" else -lost)

    def bought(self, order: NDArray[np.intp], steps: Array) -> list[float]:
        """Scores at the start and after each step, for values bought in this order."""
        spent = np.cumsum(self.prices[self.cells[order, 1]])
        missing, found = self.missing.copy(), [self.score(self.missing)]
        for step in steps:
            done = self.cells[order[spent <= step * (1 + 1e-12)]]
            missing[tuple(done.T)] = False
            found.append(self.score(missing))
        return found

    def by_importance(self, rng: Any) -> NDArray[np.intp]:
        """The missing values, ordered by the importance of their columns per price."""
        kept = self.averaged.kept_aside()
        model, X, y = kept or (self.averaged, self.whole, self.y)
        scoring = "squared_error" if model.classes is None else "log_loss"
        harm = np.zeros(len(self.prices))
        for j in range(len(harm)):
            for _ in range(_SHUFFLES):
                answers = model.answers(_shuffled(X, j, rng.permutation(len(y))))
                harm[j] += losses(answers, y, model.classes, scoring).mean()
        rank = np.argsort(np.argsort(-harm / self.prices, kind="stable"))
        chance = rng.random(len(self.cells))
        return np.lexsort((chance, rank[self.cells[:, 1]]))

    def bought_by_value(self, steps: Array) -> list[float]:
        """Scores at the start and after each step, the most valuable bought first.

        A step consists of rounds. In each round a row gets at most one value, and what
        the others are worth is estimated again for the rows that changed.
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
    """The rows with the values of one column permuted."""
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
