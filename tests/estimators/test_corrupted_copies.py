"""Explicit corruption: what marginalised losses replace."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import dataset
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from noiseproof import CorruptedCopies, DropoutLogisticRegression, DropoutRidge
from noiseproof.noise import Dropout, Gaussian


def test_many_copies_approach_the_marginalised_fit(rng):
    """With M copies the coefficients are off by a multiple of 1 / √M."""
    X, y = dataset(DropoutRidge(), rng)
    exact = DropoutRidge(0.3, tol=1e-12).fit(X, y)
    errors = []
    for copies in (20, 2000):
        model = CorruptedCopies(Ridge(alpha=1.0), 0.3, copies, random_state=0)
        model.fit(X, y)
        errors.append(np.abs(model.estimator_.coef_ - exact.coef_).max())
    assert errors[1] < 0.02
    assert errors[1] < 0.5 * errors[0]


def test_without_noise_it_is_the_estimator(rng):
    X, y = dataset(DropoutRidge(), rng)
    model = CorruptedCopies(Ridge(), None, 3).fit(X, y)
    np.testing.assert_allclose(model.predict(X), Ridge().fit(X, y).predict(X))


def test_order_of_rows_does_not_matter(rng):
    X, y = dataset(DropoutRidge(), rng)
    order = rng.permutation(len(y))
    model = CorruptedCopies(Ridge(), random_state=1)
    one = model.fit(X, y).estimator_.coef_
    other = model.fit(X[order], y[order]).estimator_.coef_
    np.testing.assert_allclose(one, other, rtol=1e-8)


def test_a_row_twice_is_a_row_of_weight_two(rng):
    X, y = dataset(DropoutRidge(), rng)
    counts = rng.integers(0, 3, size=len(y))
    model = CorruptedCopies(Ridge(), random_state=1)
    weighted = model.fit(X, y, sample_weight=counts).estimator_.coef_
    model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(model.estimator_.coef_, weighted, rtol=1e-8)


def test_seed_decides(rng):
    X, y = dataset(DropoutRidge(), rng)
    fits = [
        CorruptedCopies(Ridge(), random_state=seed).fit(X, y).estimator_.coef_
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.any(fits[0] != fits[2])


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_any_classifier(container, rng):
    X, y = dataset(DropoutLogisticRegression(), rng)
    model = CorruptedCopies(DecisionTreeClassifier(random_state=0), 0.1, random_state=0)
    model.fit(container(X), y)
    assert model.predict_proba(container(X)).shape == (len(y), 2)
    assert model.score(container(X), y) > 0.7
    assert not hasattr(model, "decision_function")


def test_estimator_without_weights(rng):
    X, y = dataset(DropoutLogisticRegression(), rng)
    model = CorruptedCopies(KNeighborsClassifier(), 0.1, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.6
    with pytest.raises(
        TypeError, match="KNeighborsClassifier does not accept sample_weight"
    ):
        model.fit(X, y, sample_weight=np.ones(len(y)))


def test_bad_parameters(rng):
    X, y = dataset(DropoutRidge(), rng)
    with pytest.raises(ValueError, match="'n_copies' parameter of CorruptedCopies"):
        CorruptedCopies(Ridge(), n_copies=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Dropout.rate must be in \[0, 1\)"):
        CorruptedCopies(Ridge(), noise=1.0).fit(X, y)
    with pytest.raises(TypeError, match="would replace every zero of a sparse"):
        CorruptedCopies(Ridge(), noise=Gaussian()).fit(sp.csr_array(X), y)


@pytest.mark.parametrize(
    "trees",
    [
        HistGradientBoostingClassifier(max_iter=10),
        RandomForestClassifier(10, random_state=0),
        GradientBoostingClassifier(n_estimators=10),  # refuses NaN
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_on_raw_columns(trees, rng):
    """Dropout would scale up what survives, and the trees fall to chance."""
    X = rng.normal(50, 1, size=(300, 4))
    y = (X[:, 0] + X[:, 1] > 100).astype(int)
    copies = CorruptedCopies(trees, 0.3, 3, random_state=0).fit(X[:200], y[:200])
    alone = clone(trees).fit(X[:200], y[:200])
    assert copies.score(X[200:], y[200:]) > alone.score(X[200:], y[200:]) - 0.15
    with pytest.warns(UserWarning, match=r"use noise=Missing\(rate\)"):
        CorruptedCopies(trees, Dropout(0.3), 3, random_state=0).fit(X, y)
