"""Bad sample weights are refused by every estimator that takes weights."""

from inspect import signature

import numpy as np
import pytest
from problems import dataset, kind
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import has_fit_parameter

from noiseproof import mutual_info_values
from noiseproof.estimators import ESTIMATORS


def _takers():
    """Methods that take sample weights, with an estimator that has them."""
    for name, cls in ESTIMATORS.items():
        if has_fit_parameter(cls, "sample_weight"):
            yield pytest.param(cls(), "fit", id=name)
        elif "sample_weight" in signature(getattr(cls, "partial_fit", cls)).parameters:
            yield pytest.param(cls(), "partial_fit", id=name)


def _learn(model, method, X, y, weights):
    options = {"classes": np.unique(y)} if method == "partial_fit" else {}
    return getattr(model, method)(X, y, sample_weight=weights, **options)


@pytest.mark.parametrize(("model", "method"), list(_takers()))
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1.0, "Negative values in data passed to"),
        (0.0, "Sample weights must contain at least one non-zero number"),
        (np.nan, "Input sample_weight contains NaN"),
    ],
)
def test_bad_weights(model, method, weight, message, rng):
    X, y = dataset(model, rng)
    if hasattr(model, "estimator"):
        trees = {"regressor": DecisionTreeRegressor()}  # which take any weights
        model.set_params(estimator=trees.get(kind(model), DecisionTreeClassifier()))
    weights = np.full(len(y), weight)
    weights[1:] = 0 if weight == 0 else 1
    with pytest.raises(ValueError, match=message):
        _learn(model, method, X, y, weights)


def test_feature_values_take_the_same_weights(rng):
    X, y = rng.normal(size=(8, 2)), [0, 1] * 4
    with pytest.raises(ValueError, match="at least one non-zero"):
        mutual_info_values(X, y, sample_weight=np.zeros(8))
