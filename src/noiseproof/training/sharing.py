"""Fit the parts that several contenders share, and ask for their draws, only once."""

from __future__ import annotations

from typing import Any, Self

import joblib
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from noiseproof.conditionals import Conditional
from noiseproof.estimators import AverageOverMissing


class Shared(BaseEstimator):
    """An estimator or conditional that caches its fits and draws in a memo.

    Clones share the memo, deep copies have their own. If an equal estimator was fitted
    on equal rows before, `fit` takes that one.
    """

    predicts_as_its_estimator = True

    def __init__(self, estimator: Any, memo: dict[str, Any]):
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
        if self.memo.get(place, (None,))[0] is not X:
            self.memo[place] = X, joblib.hash(X)
        found: str = self.memo[place][1]
        return found

    def _shared_draws(self, X: Any, *args: Any, **options: Any) -> Any:
        """Draws of the fitted conditional, computed once."""
        key = joblib.hash((self.key_, X, args, options))
        if key not in self.memo:
            self.memo[key] = self.estimator_.draws(X, *args, **options)
        return self.memo[key]

    def __getattr__(self, name: str) -> Any:
        """All other attributes of the estimator."""
        own = self.__dict__
        if name.startswith("__") or "estimator" not in own:
            raise AttributeError(name)
        found = getattr(own.get("estimator_", own["estimator"]), name)
        return self._shared_draws if name == "draws" else found

    def __sklearn_clone__(self) -> Shared:
        return Shared(clone(self.estimator), self.memo)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


Conditional.register(Shared)  # `AverageOverMissing` checks the class


def shared(contenders: dict[str, Any]) -> dict[str, Any]:
    """The same contenders, but averaging ones share their conditionals and fits.

    A model that also competes on its own is not fitted again in `AverageOverMissing`.
    """
    memo: dict[str, Any] = {}
    found = dict(contenders)
    averaged = {n: m for n, m in found.items() if isinstance(m, AverageOverMissing)}
    inside = {joblib.hash(model.estimator) for model in averaged.values()}
    for name, model in contenders.items():
        if name in averaged:
            found[name] = clone(model).set_params(
                estimator=Shared(model.estimator, memo)
            )
            if not isinstance(model.conditional, str):
                found[name].set_params(conditional=Shared(model.conditional, memo))
        elif joblib.hash(model) in inside:
            found[name] = Shared(model, memo)
    return found
