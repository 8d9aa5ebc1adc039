"""How often intervals hold is counted right."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import ConformalRegressor, DropoutRidge
from noiseproof.evaluation import interval_coverage


class Ends(BaseEstimator):
    """From zero to the number of values that are missing."""

    def predict(self, X):
        return np.zeros(len(X))

    def predict_interval(self, X, coverage=0.9):
        return np.stack([np.zeros(len(X)), np.isnan(X).sum(axis=1)], axis=1)


def test_shares_errors_and_widths_by_hand():
    X, y = np.zeros((8, 5)), np.array([0, 0, 1, 1, 1, 1, 9, -1.0])
    found = interval_coverage({"ends": Ends()}, X, y, levels=[0, 1.0], random_state=0)
    np.testing.assert_allclose(found.covered, [[2 / 8, 6 / 8]])
    np.testing.assert_allclose(found.error, [[np.sqrt(3) / 4 / 8**0.5] * 2])
    np.testing.assert_array_equal(found.width, [[0, 5]])
    assert found.to_dict()["missing"] == [0.0, 1.0]
    assert "nominal coverage 0.9" in repr(found)
    assert "<svg" in found._repr_html_()


def test_there_are_as_many_patterns_as_asked_for(rng):
    seen = []

    class Spy(Ends):
        def predict_interval(self, X, coverage=0.9):
            seen.append(np.unique(np.isnan(X), axis=0))
            return super().predict_interval(X)

    X = rng.normal(size=(300, 20))
    interval_coverage(Spy(), X, X[:, 0], levels=[0.4], n_patterns=3, random_state=0)
    assert seen[0].shape == (3, 20)
    assert 0.2 < seen[0].mean() < 0.6


def test_the_last_step_of_a_pipeline(rng):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200)
    last = ConformalRegressor(DropoutRidge(), random_state=0)
    model = make_pipeline(StandardScaler(), last).fit(X, y)
    assert interval_coverage(model, X, y, levels=[0.5]).width[0, 0] > 1
    with pytest.raises(
        TypeError, match="Ridge has no intervals: wrap the regressor in"
    ):
        interval_coverage(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y)


@pytest.mark.parametrize(
    ("y", "options", "said"),
    [
        (np.zeros(8), {"levels": [0.1, 1.5]}, "levels are probabilities from 0 to 1"),
        (np.zeros(8), {"levels": [-1]}, "levels are probabilities from 0 to 1"),
        (np.zeros(8), {"levels": []}, "levels are probabilities from 0 to 1"),
        (np.zeros(8), {"levels": [np.nan]}, "levels are probabilities from 0 to 1"),
        (np.zeros(8), {"n_patterns": 0}, "n_patterns.*must be an int in the range"),
        (np.zeros(8), {"coverage": 1.5}, "coverage.*must be a float in the range"),
        (np.full(8, np.nan), {}, "y is missing in 8 of 8 rows"),
        (np.zeros(3), {}, "inconsistent numbers of samples"),
        (np.zeros((8, 2)), {}, "y must hold one number for each row"),
    ],
)
def test_bad_input_is_refused_before_any_work(y, options, said):
    class Unasked(Ends):
        def predict_interval(self, X, coverage=0.9):
            raise AssertionError("asked")

    with pytest.raises(ValueError, match=said):
        interval_coverage(Unasked(), np.zeros((8, 2)), y, **options)
