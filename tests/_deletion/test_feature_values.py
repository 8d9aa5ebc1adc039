"""mutual_info_values against all thresholds, counted one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from noiseproof import mutual_info_values


def by_enumeration(X, y):
    best = [
        max(mutual_info_score(x > c, y) for c in np.unique(x)) for x in np.asarray(X).T
    ]
    return np.array(best) * len(best) / np.sum(best)


@given(seed=st.integers(0, 1000), k=st.integers(2, 4), spread=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_equals_enumeration(seed, k, spread):
    rng = np.random.default_rng(seed)
    X = rng.integers(-spread, spread + 1, size=(40, 5)).astype(float)
    X[:, 0] = np.abs(X[:, 0])
    X[:, 1] = -np.abs(X[:, 1])
    y = rng.integers(k, size=40)
    values = mutual_info_values(X, y)
    np.testing.assert_allclose(values, by_enumeration(X, y), atol=1e-10)
    for kind in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        np.testing.assert_allclose(mutual_info_values(kind(X), y), values)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    times = rng.integers(0, 4, size=30)
    np.testing.assert_allclose(
        mutual_info_values(X, y, sample_weight=times),
        mutual_info_values(np.repeat(X, times, axis=0), np.repeat(y, times)),
    )


def test_missing_counts_as_zero():
    X = np.array([[np.nan, 1.0], [2.0, 0.0], [np.nan, 2.0], [3.0, 1.0]])
    y = [0, 1, 0, 1]
    values = mutual_info_values(X, y)
    np.testing.assert_allclose(values, mutual_info_values(np.nan_to_num(X), y))


def test_features_that_tell_nothing_are_worth_the_same():
    np.testing.assert_array_equal(mutual_info_values(np.ones((4, 3)), [0, 1, 0, 1]), 1)


def test_values_sum_to_the_number_of_features():
    rng = np.random.default_rng(0)
    values = mutual_info_values(rng.normal(size=(50, 7)), rng.integers(2, size=50))
    assert values.sum() == pytest.approx(7)
    assert (values >= 0).all()
