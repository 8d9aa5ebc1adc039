"""What several contenders contain is fitted, and asked for its draws, only once."""

from __future__ import annotations

from typing import Any, Self

import joblib
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from noiseproof.conditionals import Conditional
from noiseproof.estimators import AverageOverMissing


class Shared(BaseEstimator):
    """An estimator or conditional that looks up fits and draws in a memo.

    Clones have the same memo, deep copies one of their own. What was fitted on equal
    rows by an equal estimator is the same object afterwards.
    """

    predicts_as_its_estimator = True

    def __init__(self, estimator: Any, memo: dict[str, Any]):
        self.estimator = estimator
        self.memo = memo

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Fit the estimator, unless an equal one was fitted on these rows."""
        self.key_ = joblib.hash((self.estimator, self._hashed(X), y, options))
        if self.key_ not in self.memo:
            self.memo[self.key_] = clone(self.estimator).fit(X, y, **options)
        self.estimator_ = self.memo[self.key_]
        return self

    def _hashed(self, X: Any) -> str:
        """A hash of these rows, which several contenders are fitted on."""
        place = str(id(X))
        if self.memo.get(place, (None,))[0] is not X:
            self.memo[place] = X, joblib.hash(X)
        found: str = self.memo[place][1]
        return found

    def _shared_draws(self, X: Any, *args: Any, **options: Any) -> Any:
        """Draws of a fitted conditional, unless they were asked for before."""
        key = joblib.hash((self.key_, X, args, options))
        if key not in self.memo:
            self.memo[key] = self.estimator_.draws(X, *args, **options)
        return self.memo[key]

    def __getattr__(self, name: str) -> Any:
        """Whatever else the estimator has."""
        own = self.__dict__
        if name.startswith("__") or "estimator" not in own:
            raise AttributeError(name)
        found = getattr(own.get("estimator_", own["estimator"]), name)
        return self._shared_draws if name == "draws" else found

    def __sklearn_clone__(self) -> Shared:
        return Shared(clone(self.estimator), self.memo)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


Conditional.register(Shared)  # what averages a conditional asks whether it is one


def shared(contenders: dict[str, Any]) -> dict[str, Any]:
    """The same contenders, of which averaged ones share conditionals and fits.

    Models inside `AverageOverMissing` are fitted once if they take part alone, too.
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
