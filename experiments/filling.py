"""Imputers of a table, each with one interface."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from experiments.tables import words

_ROUNDS = 5  # of the iterative imputers
_REGRESSORS = 30  # features that predict another one, at most


class Filling(ABC):
    """Learns from training rows how to impute missing values."""

    @abstractmethod
    def fit(self, X: Any) -> Self: ...

    @abstractmethod
    def filled(self, X: Any) -> list[Any]:
        """The completed table; several of them for multiple imputation."""


class Means(Filling):
    """The mean of a number, the most frequent word."""

    def fit(self, X: Any) -> Self:
        self.typical = X.mean(numeric_only=True).to_dict()
        self.typical |= {name: X[name].mode().iloc[0] for name in words(X)}
        return self

    def filled(self, X: Any) -> list[Any]:
        return [X.fillna(self.typical)]


class Imputed(Filling):
    """What an imputer of scikit-learn finds, given scaled numbers and one-hot words.

    Of a word's features the largest decides.
    """

    def __init__(self, imputer: Any):
        self.imputer = imputer

    def fit(self, X: Any) -> Self:
        self.words = words(X)
        numbers = X.drop(columns=self.words)
        self.centre, self.scale = numbers.mean(), numbers.std(ddof=0).replace(0, 1)
        self.imputer.fit(self._encoded(X))
        return self

    def _encoded(self, X: Any) -> Any:
        """All numbers first; what is missing is NaN, in all features of a word."""
        parts = [((X[self.centre.index] - self.centre) / self.scale).to_numpy()]
        for name in self.words:
            codes = X[name].cat.codes.to_numpy()
            one_hot = np.eye(len(X[name].cat.categories))[codes]
            parts.append(np.where(codes[:, None] < 0, np.nan, one_hot))
        return np.hstack(parts)

    def filled(self, X: Any) -> list[Any]:
        features, found = self.imputer.transform(self._encoded(X)), X.copy()
        place = len(self.centre)
        numbers = features[:, :place] * self.scale.to_numpy() + self.centre.to_numpy()
        for name, column in zip(self.centre.index, numbers.T, strict=True):
            found[name] = X[name].where(X[name].notna(), column)
        for name in self.words:
            kinds = X[name].cat.categories
            best = features[:, place : place + len(kinds)].argmax(axis=1)
            place += len(kinds)
            found[name] = X[name].where(X[name].notna(), kinds[best])
        return [found]


class ImputedCodes(Imputed):
    """The same for words as numbers, rounded to the next one.

    A regression would learn each feature of a one-hot word from the others, all of
    which are missing later.
    """

    def fit(self, X: Any) -> Self:
        return super().fit(_coded(X))

    def filled(self, X: Any) -> list[Any]:
        (found,) = super().filled(_coded(X))
        for name in words(X):
            kinds = X[name].cat.categories
            codes = found[name].round().clip(0, len(kinds) - 1).astype(int)
            found[name] = X[name].where(X[name].notna(), kinds[codes])
        return [found]


def _coded(X: Any) -> Any:
    """Words as numbers."""
    codes = {name: X[name].cat.codes.where(X[name].notna()) for name in words(X)}
    return X.assign(**codes).astype(float)


class Mice(Filling):
    """Multiple imputation by chained LightGBM models, of the package miceforest."""

    def __init__(self, n_imputations: int):
        self.n_imputations = n_imputations

    def fit(self, X: Any) -> Self:
        from miceforest import ImputationKernel

        others = {name: [c for c in X if c != name] for name in X}
        self.kernel = ImputationKernel(
            X, self.n_imputations, others, mean_match_strategy="fast", random_state=0
        )  # "normal", the default, fails where a word is certain
        self.kernel.mice(_ROUNDS, n_estimators=20, num_threads=1)
        return self

    def filled(self, X: Any) -> list[Any]:
        if not X.isna().any(axis=None):
            return [X]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.kernel.impute_new_data(X, random_state=0)
        return [found.complete_data(i) for i in range(self.n_imputations)]


def fillings(n_imputations: int) -> dict[str, Filling]:
    """All ways by name; the iterative one has no tolerance.

    Fitted on complete rows it would stop after one round.
    """
    iterative = IterativeImputer(
        max_iter=_ROUNDS, tol=0.0, n_nearest_features=_REGRESSORS, random_state=0,
        keep_empty_features=True,
    )  # fmt: skip
    found: dict[str, Filling] = {
        "mean fill": Means(),
        "KNNImputer": Imputed(KNNImputer(keep_empty_features=True)),
        "IterativeImputer": ImputedCodes(iterative),
    }
    if n_imputations and find_spec("miceforest"):
        found["miceforest"] = Mice(n_imputations)
    return found
