"""scikit-learn's own test suite for estimators, over the registry."""

from problems import marginal_models
from sklearn.utils.estimator_checks import parametrize_with_checks

from noiseproof.estimators import ESTIMATORS

_MODELS = [p.values[0] for p in marginal_models()]
_OTHERS = [cls() for cls in ESTIMATORS.values() if not hasattr(cls, "_loss")]


@parametrize_with_checks(_MODELS + _OTHERS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
