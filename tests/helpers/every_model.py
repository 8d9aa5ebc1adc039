"""Every classifier and regressor of scikit-learn, and models around them."""

import inspect
from functools import cache

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators

from noiseproof import (
    AverageOverMissing,
    CorruptedCopies,
    PartitionEnsemble,
    ReducedModels,
)


@cache
def every_class(kind):
    """The classes of a kind by name; listing them imports all of scikit-learn."""
    return dict(all_estimators(type_filter=kind))


def instance(cls):
    """One with few members, and with simple models where it needs some."""
    simple = LogisticRegression() if issubclass(cls, ClassifierMixin) else Ridge()
    fillers = {
        "estimator": simple,
        "base_estimator": simple,
        "estimators": [("one", simple), ("other", clone(simple))],
        "transformers": [("all", "passthrough", [0])],
        "transformer_list": [("scaled", StandardScaler())],
        "param_grid": {},
        "param_distributions": {},
    }
    needed = [
        name
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind == parameter.POSITIONAL_OR_KEYWORD
    ]
    model = cls(**{name: fillers[name] for name in needed})
    known = model.get_params(deep=False)
    few = {"n_estimators": 3, "random_state": 0}
    if isinstance(known.get("max_iter"), int):
        few["max_iter"] = min(known["max_iter"], 30)
    if cls.__name__ == "SelfTrainingClassifier":  # it has a default, but needs one
        few["estimator"] = simple
    return model.set_params(**{k: v for k, v in few.items() if k in known})


def _either(classifier, regressor):
    return lambda model, *given, **options: (
        classifier if is_classifier(model) else regressor
    )(*given, **options)


_vote = _either(VotingClassifier, VotingRegressor)
_stack = _either(StackingClassifier, StackingRegressor)
_chain = _either(ClassifierChain, RegressorChain)
_bag = _either(BaggingClassifier, BaggingRegressor)
_boost = _either(AdaBoostClassifier, AdaBoostRegressor)

AROUND = {
    "bare": lambda m: m,
    "averaged": lambda m: AverageOverMissing(m, "donors"),
    "averaged by a Gaussian": lambda m: AverageOverMissing(m, "joint-gaussian"),
    "reduced": lambda m: ReducedModels(m, max_patterns=2),
    "partition": lambda m: PartitionEnsemble(m, n_parts=2),
    "copies": lambda m: CorruptedCopies(m, n_copies=1),
    "pipeline": lambda m: make_pipeline(StandardScaler(), m),
    "vote": lambda m: _vote(m, [("one", m), ("other", clone(m))]),
    "stack": lambda m: _stack(m, [("one", m), ("other", clone(m))], cv=2),
    "chain": lambda m: _chain(m, m),
    "bagging": lambda m: _bag(m, m, n_estimators=2, max_features=3),
    "boosting": lambda m: _boost(m, m, n_estimators=2),
    "search": lambda m: GridSearchCV(m, {}, cv=2),
}


def fitted(model, rng):
    """The model fitted on the first data that suit it, and rows to ask it about.

    None if nothing suits it: not every model goes with every other one.
    """
    X = np.abs(rng.normal(size=(60, 4)))
    amount = X[:, 0] + X[:, 1] + 0.1 * rng.random(60)
    label = np.digitize(amount, [1.2, 2.0])
    few = (amount > 1.5).astype(int)
    if is_classifier(model):
        targets = [label, few, np.stack([few, label > 0], axis=1).astype(int)]
    else:
        targets = [amount, np.stack([amount, X[:, 2]], axis=1)]
    for data in (X, X[:, :1]):
        for y in targets:
            try:
                model = clone(model).fit(data, y)
                model.predict(data)
            except Exception:
                continue
            # a copy: distances of an array to itself are computed in another way
            return model, data[::-1].copy()
    return None
