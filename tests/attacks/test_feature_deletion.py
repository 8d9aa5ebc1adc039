"""FeatureDeletion against enumeration of every deletion set."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noiseproof.attacks import FeatureDeletion


def margins(X, y, coef, intercept):
    """Margins of rows, written apart from the library."""
    if coef.ndim == 1:
        return y * (X @ coef + intercept)
    scores = X @ coef.T + intercept
    return np.array(
        [s[c] - np.max(np.delete(s, c)) for s, c in zip(scores, y, strict=True)]
    )


def brute_force(X, y, coef, intercept, values, budget):
    """Lowest margin over all legal deletion sets."""
    lowest = np.full(len(X), np.inf)
    for mask in itertools.product([0.0, 1.0], repeat=X.shape[1]):
        if np.dot(mask, values) <= budget * (1 + 1e-12):
            attacked = X * (1 - np.array(mask))
            lowest = np.minimum(lowest, margins(attacked, y, coef, intercept))
    return lowest


def problem(seed, n_classes, n=7, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    if n_classes == 2:
        return X, rng.choice([-1, 1], n), rng.normal(size=d), rng.normal()
    coef = rng.normal(size=(n_classes, d))
    return X, rng.integers(n_classes, size=n), coef, rng.normal(size=n_classes)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("budget", [0, 1, 3, 3.7, 8])
def test_exact_for_equal_values(n_classes, budget):
    X, y, coef, b = problem(0, n_classes)
    lowest = brute_force(X, y, coef, b, np.ones(8), budget)
    attack = FeatureDeletion(budget)
    drop = attack.margin_drop(X, y, coef, b)
    np.testing.assert_allclose(margins(X, y, coef, b) - drop, lowest, atol=1e-12)
    worst = attack.worst(X, y, coef, b)
    np.testing.assert_allclose(margins(worst, y, coef, b), lowest, atol=1e-12)
    assert ((worst != X).sum(axis=1) <= budget).all()
    np.testing.assert_allclose(attack.gap(X, y, coef, b), 0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_exact_for_zero_one_values(n_classes):
    X, y, coef, b = problem(1, n_classes)
    values = np.array([0, 1, 1, 0, 1, 1, 0, 1])
    lowest = brute_force(X, y, coef, b, values, 2)
    worst = FeatureDeletion(2, values).worst(X, y, coef, b)
    np.testing.assert_allclose(margins(worst, y, coef, b), lowest, atol=1e-12)


@given(
    seed=st.integers(0, 10_000),
    n_classes=st.sampled_from([2, 3]),
    fraction=st.floats(0, 1),
)
@example(seed=2535, n_classes=3, fraction=0.5)  # another rival gains by the deletion
@settings(max_examples=40, deadline=None)
def test_relaxation_and_rounding_enclose_the_optimum(seed, n_classes, fraction):
    X, y, coef, b = problem(seed, n_classes, n=4, d=7)
    values = np.random.default_rng(seed).gamma(1.0, size=7)
    budget = fraction * values.sum()
    lowest = brute_force(X, y, coef, b, values, budget)
    attack = FeatureDeletion(budget, values)
    clean = margins(X, y, coef, b)
    bound, gap = attack.margin_drop(X, y, coef, b), attack.gap(X, y, coef, b)
    worst = attack.worst(X, y, coef, b)
    attained = margins(worst, y, coef, b)
    assert (clean - bound <= lowest + 1e-9).all()
    assert (attained >= lowest - 1e-9).all()
    np.testing.assert_allclose(clean - bound + gap, attained, atol=1e-9)
    assert ((worst != X) @ values <= budget * (1 + 1e-9)).all()
    # a single feature is what the relaxation may delete in part
    largest = np.abs(X * np.ptp(np.atleast_2d(np.vstack([coef, -coef])), axis=0))
    assert (gap <= largest.max(axis=1) + 1e-9).all()


@given(seed=st.integers(0, 10_000), budget=st.integers(0, 6))
@settings(max_examples=25, deadline=None)
def test_more_budget_never_hurts_the_adversary(seed, budget):
    X, y, coef, b = problem(seed, 3, d=8)
    less = FeatureDeletion(budget).margin_drop(X, y, coef, b)
    more = FeatureDeletion(budget + 1).margin_drop(X, y, coef, b)
    assert (less >= 0).all()
    assert (less <= more + 1e-12).all()


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["best", "greedy"])
def test_sparse_gives_the_same_in_the_same_container(kind, dtype, mode):
    X, y, coef, b = problem(3, 3, n=20)
    X = X.astype(dtype)
    attack = FeatureDeletion(2.5, np.linspace(0.2, 2, 8), mode=mode)
    dense, sparse = attack.worst(X, y, coef, b), attack.worst(kind(X), y, coef, b)
    assert type(sparse) is kind
    assert sparse.dtype == dense.dtype == dtype
    np.testing.assert_array_equal(sparse.toarray(), dense)
    np.testing.assert_allclose(
        attack.margin_drop(kind(X), y, coef, b), attack.margin_drop(X, y, coef, b)
    )


def test_greedy_takes_the_largest_gains_whatever_their_value():
    X, y, coef = np.ones((1, 4)), [1], [4.0, 3.0, 2.0, -1.0]
    attack = FeatureDeletion(3, [2.5, 1, 0.5, 0], mode="greedy")
    np.testing.assert_array_equal(attack.worst(X, y, coef), [[0, 1, 0, 1]])
    np.testing.assert_allclose(attack.margin_drop(X, y, coef), 6)


def test_greedy_equals_best_for_equal_values():
    X, y, coef, b = problem(5, 4, n=30)
    best = FeatureDeletion(3).margin_drop(X, y, coef, b)
    greedy = FeatureDeletion(3, mode="greedy").margin_drop(X, y, coef, b)
    np.testing.assert_allclose(best, greedy)


def test_missing_stays_missing_and_costs_nothing():
    X = np.array([[np.nan, 1.0, 2.0]])
    attack = FeatureDeletion(1)
    worst = attack.worst(X, [1], [9.0, 1.0, 1.0])
    np.testing.assert_array_equal(worst, [[np.nan, 1.0, 0.0]])
    sparse = attack.worst(sp.csr_array(X), [1], [9.0, 1.0, 1.0])
    np.testing.assert_array_equal(sparse.toarray(), [[np.nan, 1.0, 0.0]])


def test_values_that_add_up_to_the_budget_fit_in_spite_of_rounding():
    X, values = np.ones((1, 5)), np.full(5, 0.1)
    worst = FeatureDeletion(0.3, values).worst(X, [1], np.arange(1.0, 6.0))
    assert (worst == 0).sum() == 3


@pytest.mark.parametrize(
    ("attack", "sentence"),
    [
        (FeatureDeletion(-1), "between 0 and the total value"),
        (FeatureDeletion(np.nan), "between 0 and the total value"),
        (FeatureDeletion(3.1), "between 0 and the total value of the features, 3"),
        (FeatureDeletion(1, [1, 1]), "one number for each of the 3 features"),
        (FeatureDeletion(1, [1, 1, -1]), "finite and not negative"),
        (FeatureDeletion(1, [1, 1, np.inf]), "finite and not negative"),
        (FeatureDeletion(1, mode="worst"), "'best' or 'greedy'"),
    ],
)
def test_bad_parameters_give_one_sentence(attack, sentence):
    with pytest.raises(ValueError, match=sentence):
        attack.worst(np.ones((1, 3)), [1], np.ones(3))


@pytest.mark.parametrize(
    ("y", "coef", "b", "sentence"),
    [
        ([0], np.ones(3), None, "-1 or 1"),
        ([2], np.ones((2, 3)), None, "from 0 to 1"),
        ([1, 1], np.ones(3), None, "one label for each of the 1 rows of X"),
        ([1], np.ones(4), None, "coef must have shape"),
        ([1], np.ones((3, 3)), [0, 0], "one number for each of the 3 rows of coef"),
    ],
)
def test_bad_models_give_one_sentence(y, coef, b, sentence):
    with pytest.raises(ValueError, match=sentence):
        FeatureDeletion().margin_drop(np.ones((1, 3)), y, coef, b)
