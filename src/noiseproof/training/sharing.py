"""Fit the parts that several contenders share, and ask for their draws, only once."""

from __future__ import annotations

from functools import partial
from typing import Any, Self
from weakref import ref

import joblib
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from noiseproof.conditionals import Conditional
from noiseproof.estimators import AverageOverMissing

_ONCE = ("draws", "transform")  # methods that are called once for the same rows
_MOST = 2**22  # numbers in encoded rows that are kept


class Memo(dict[str, Any]):
    """What was computed once. Its copies are empty, so folds share nothing."""

    def __reduce__(self) -> Any:
        return Memo, ()


class Shared(BaseEstimator):
    """An estimator that is fitted, draws and transforms once, for all of its clones.

    Clones share the memo, deep copies have their own. If an equal estimator was fitted
    on equal rows before, `fit` takes that one.
    """

    predicts_as_its_estimator = True

    def __init__(self, estimator: Any, memo: Memo):
        self.estimator = estimator
        self.memo = memo

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit the estimator, unless an equal one was fitted on these rows before."""
        self.key_ = joblib.hash((self.estimator, self._hashed(X), y, options))
        if self.key_ not in self.memo:
            self.memo[self.key_] = clone(self.estimator).fit(X, y, **options)
        self.estimator_ = self.memo[self.key_]
        return self

    def _hashed(self, X: Any) -> str:
        """A hash of these rows, computed once for all contenders."""
        place = str(id(X))
        if place not in self.memo or self.memo[place][0]() is not X:
            self.memo[place] = ref(X), joblib.hash(X)
        found: str = self.memo[place][1]
        return found

    def _once(self, method: str, X: Any, *args: Any, **options: Any) -> Any:
        """What a method of the fitted estimator returns, unless it is very large."""
        key = joblib.hash((self.key_, method, self._hashed(X), args, options))
        if key in self.memo:
            return self.memo[key]
        found = getattr(self.estimator_, method)(X, *args, **options)
        if method == "draws" or np.prod(found.shape) <= _MOST:
            self.memo[key] = found
        return found

    def __getattr__(self, name: str) -> Any:
        """All other attributes of the estimator."""
        own = self.__dict__
        if name.startswith("__") or name == "fit_transform" or "estimator" not in own:
            raise AttributeError(name)
        found = getattr(own.get("estimator_", own["estimator"]), name)
        return partial(self._once, name) if name in _ONCE else found

    def __sklearn_clone__(self) -> Shared:
        return Shared(clone(self.estimator), self.memo)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


Conditional.register(Shared)  # `AverageOverMissing` checks the class


def shared(contenders: dict[str, Any]) -> dict[str, Any]:
    """The same contenders, but they share encoders, and averaging ones also more.

    These share their conditionals and fits: a model that also competes on its own is
    not fitted again in `AverageOverMissing`.
    """
    memo = Memo()
    averaged = {
        n: m for n, m in contenders.items() if isinstance(m, AverageOverMissing)
    }
    inside = {joblib.hash(model.estimator) for model in averaged.values()}
    found = {}
    for name, model in contenders.items():
        found[name] = encoding_once(model, memo)
        if name in averaged:
            inner = Shared(found[name].estimator, memo)
            found[name].set_params(estimator=inner)
            if not isinstance(model.conditional, str):
                found[name].set_params(conditional=Shared(model.conditional, memo))
        elif joblib.hash(model) in inside:
            found[name] = Shared(found[name], memo)
    return found


def encoding_once(model: Any, memo: Memo) -> Any:
    """The same model, whose pipelines share their first step, by this memo."""
    if isinstance(model, Pipeline) and len(model) > 1:
        (name, encoder), *others = model.steps
        return Pipeline([(name, Shared(encoder, memo)), *others])
    if hasattr(model, "estimator"):
        inner = encoding_once(model.estimator, memo)
        return clone(model).set_params(estimator=inner)
    return model
