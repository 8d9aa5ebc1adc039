"""scikit-learn's own test suite for estimators, over the registry."""

import pytest
from problems import marginal_models
from sklearn.utils.estimator_checks import parametrize_with_checks

from noiseproof.estimators import ESTIMATORS, DropoutRidge, PartitionEnsemble

_VARIANTS = [p.values[0] for p in marginal_models()]
_OF_REGRESSORS = [PartitionEnsemble(DropoutRidge())]


@parametrize_with_checks([cls() for cls in ESTIMATORS.values()] + _OF_REGRESSORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(_VARIANTS)
def test_scikit_learn_check_of_every_expectation(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", ESTIMATORS.values(), ids=lambda cls: cls.__name__)
def test_estimators_keep_the_view_of_scikit_learn_in_notebooks(cls):
    html = cls()._repr_html_()
    assert "sk-container" in html
    assert cls.__name__ in html
