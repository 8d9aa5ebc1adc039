"""What `certify` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noiseproof.evaluation.results import Result, frozen

__all__ = ["Certificates"]

Array = NDArray[np.float64]

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
    """

    budget: Array
    exact: NDArray[np.bool_]
    prediction: NDArray[Any]
    correct: NDArray[np.bool_] | None
    unit: str
    changes: Any = None

    def __post_init__(self) -> None:
        for name in ("budget", "exact", "prediction", "correct"):
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
        return {name: c for name, c in columns.items() if c is not None}

    def _overview(self) -> dict[str, Any]:
        """Certified accuracy at budgets that lie where something happens."""
        at = np.quantile(self.budget, 1 - np.array(_SHOWN), method="lower")
        at = np.unique(np.concatenate([[0.0], at[np.isfinite(at)]]))
        if self.correct is None:
            return {self.unit: at, "unchanged": self.unchanged_at(at)}
        return {self.unit: at, "certified accuracy": self.accuracy_at(at)}
