"""The rows that models are judged on, and their features by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from noiseproof._sklearn import _safe_indexing
from noiseproof.evaluation.models import last_step
from noiseproof.report.features import feature_names, input_names
from noiseproof.report.plan import Plan
from noiseproof.report.summary import DataSummary

__all__ = ["Case"]

_BLOCK = 20_000  # rows at a time, where little beside X shall be in memory


@dataclass(frozen=True)
class Case:
    """Rows, labels and what is asked about them."""

    X: Any
    y: NDArray[Any]
    names: list[str]
    scoring: str
    plan: Plan

    @classmethod
    def read(cls, X: Any, y: Any, scoring: str, plan: Plan) -> Case:
        """Rows and labels that fit each other, or one clear sentence."""
        y = np.asarray(y)
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        if len(X.shape) != 2 or y.ndim != 1 or X.shape[0] != len(y) or not len(y):
            raise ValueError(
                "X must be a table and y a column with as many rows, at least one; got "
                f"shapes {tuple(X.shape)} and {y.shape}."
            )
        if scoring == "r2" and len(y) < 2:
            raise ValueError("R² needs at least 2 rows; got 1.")
        if sp.issparse(X):
            X = X.tocsr()  # rows are picked
        return cls(X, y, input_names(X, plan.feature_names), scoring, plan)

    def sample(self, at_most: int) -> Case:
        """All rows, or so many of them at random, in their order."""
        if len(self.y) <= at_most:
            return self
        rng = np.random.default_rng(self.plan.random_state)
        return self._pick(np.sort(rng.choice(len(self.y), at_most, replace=False)))

    def blocks(self) -> Iterator[tuple[int, Case]]:
        """Consecutive rows, and where they start."""
        for block in gen_batches(len(self.y), _BLOCK):
            yield block.start, self._pick(block)

    def _pick(self, rows: Any) -> Case:
        return replace(self, X=_safe_indexing(self.X, rows), y=self.y[rows])

    def seen_by(self, model: Any) -> tuple[Any, Case]:
        """The model and the rows in the space where features are deleted."""
        if self.plan.space == "input":
            return model, self
        last, X = last_step(model, self.X)
        names = feature_names(model, self.names, X.shape[1])
        return last, replace(self, X=X, names=names)

    def summary(self, curve_rows: int) -> DataSummary:
        """Numbers about the rows themselves."""
        n, d = self.X.shape
        classes: dict[str, int] = {}
        if self.scoring == "accuracy":
            labels, counts = np.unique(self.y, return_counts=True)
            classes = dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True))
        return DataSummary(
            rows=n,
            features=d,
            classes=classes,
            missing=_n_missing(self.X) / (n * d),
            stored=self.X.nnz / (n * d) if sp.issparse(self.X) else None,
            curve_rows=curve_rows,
            training_rows=self.plan.training_rows,
        )


def _n_missing(X: Any) -> int:
    """Number of empty cells; a column at a time, which needs little memory."""
    if sp.issparse(X):
        return int(np.count_nonzero(X.data != X.data))
    if hasattr(X, "iloc"):
        return int(sum(column.isna().sum() for _, column in X.items()))
    if hasattr(X, "null_count"):  # polars, where NaN is not null
        return sum(column.null_count() + _n_nan(column) for column in X.iter_columns())
    return sum(int(np.count_nonzero(column != column)) for column in np.asarray(X).T)


def _n_nan(column: Any) -> int:
    return int(column.is_nan().sum() or 0) if column.dtype.is_float() else 0
