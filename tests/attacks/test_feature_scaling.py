"""FeatureScaling against enumeration, and against its special case, deletion."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.attacks import FeatureDeletion, FeatureScaling


def problem(seed, n=6, d=6, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    coef, b = rng.normal(size=(n_classes, d)), rng.normal(size=n_classes)
    return X, rng.integers(n_classes, size=n), coef, b


def margin(x, label, coef, b):
    scores = coef @ x + b
    return scores[label] - np.delete(scores, label).max()


def brute_force(X, y, coef, b, k, low, high):
    """Lowest margins over all choices of k entries and of either end for each."""
    lowest = np.full(len(X), np.inf)
    for chosen in itertools.combinations(range(X.shape[1]), k):
        for factors in itertools.product([low, 1.0, high], repeat=k):
            Z = X.copy()
            Z[:, chosen] *= factors
            new = [margin(z, c, coef, b) for z, c in zip(Z, y, strict=True)]
            lowest = np.minimum(lowest, new)
    return lowest


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0.5, 2.5), (0.2, 0.8), (1.2, 3), (-1, 0), (1, 1)]
)
@pytest.mark.parametrize("k", [0, 1, 3])
def test_exact(k, low, high):
    X, y, coef, b = problem(k)
    lowest = brute_force(X, y, coef, b, k, low, high)
    attack = FeatureScaling(k, low, high)
    worst = attack.worst(X, y, coef, b)
    attained = [margin(z, c, coef, b) for z, c in zip(worst, y, strict=True)]
    np.testing.assert_allclose(attained, lowest, atol=1e-12)
    assert ((worst != X).sum(axis=1) <= k).all()
    clean = [margin(x, c, coef, b) for x, c in zip(X, y, strict=True)]
    drop = attack.margin_drop(X, y, coef, b)
    np.testing.assert_allclose(clean - drop, lowest, atol=1e-12)


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(0, 8),
    levels=st.sampled_from([1, 2, 50]),
    sparse=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_deletion_is_scaling_by_zero(seed, k, levels, sparse):
    """Also where many gains are equal, in which case the first ones go."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-levels, levels + 1, size=(5, 8)).astype(float)
    y, coef = rng.integers(3, size=5), rng.integers(-levels, levels, size=(3, 8))
    X = sp.csr_array(X) if sparse else X
    scaling, deletion = FeatureScaling(k, 0, 1), FeatureDeletion(k)
    one, other = scaling.worst(X, y, coef), deletion.worst(X, y, coef)
    assert (one != other).sum() == 0
    drops = scaling.margin_drop(X, y, coef), deletion.margin_drop(X, y, coef)
    np.testing.assert_array_equal(*drops)
    np.testing.assert_allclose(deletion.gap(X, y, coef), 0, atol=1e-9)


@given(
    gains=st.lists(st.sampled_from([0.0, 1e-300, 0.1, 0.5, 1.0, 7.0]), min_size=1),
    k=st.integers(0, 12),
)
@settings(max_examples=60, deadline=None)
def test_the_largest_gains_go_and_of_equal_ones_the_first(gains, k):
    worst = FeatureScaling(k).worst(np.ones((1, len(gains))), [1], gains)[0]
    order = np.argsort(-np.array(gains), kind="stable")[:k]
    expected = np.ones(len(gains))
    expected[[j for j in order if gains[j] > 0]] = 0
    np.testing.assert_array_equal(worst, expected)


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(0, 40),
    levels=st.sampled_from([2, 1000]),
    sparse=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_rows_do_not_influence_each_other(seed, k, levels, sparse):
    """Each row's search starts where the last one ended, however different they are."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-levels, levels + 1, size=(12, 40)) * 10.0 ** rng.integers(
        -200, 200, size=(12, 1)
    )
    X *= rng.random(X.shape) < rng.random((12, 1))
    coef, y = rng.integers(-levels, levels, size=40), rng.choice([-1, 1], 12)
    gain = np.maximum(-0.5 * y[:, None] * coef * X, 0.75 * y[:, None] * coef * X)
    order = np.argsort(-gain, axis=1, kind="stable")[:, :k]
    expected = X.copy()
    for x, g, lead, top in zip(expected, gain, y[:, None] * coef, order, strict=True):
        top = top[g[top] > 0]
        x[top] *= np.where((lead * x)[top] > 0, 0.25, 1.5)
    attack = FeatureScaling(k, 0.25, 1.5)
    worst = attack.worst(sp.csr_array(X) if sparse else X, y, coef)
    np.testing.assert_array_equal(worst.toarray() if sparse else worst, expected)


def test_threads_change_nothing(monkeypatch):
    X, y, coef, b = problem(0, n=50)
    attack = FeatureScaling(2, 0.5, 2.0)
    alone = attack.worst(X, y, coef, b), attack.margin_drop(X, y, coef, b)
    monkeypatch.setattr("noiseproof.attacks.feature_scaling._WORTH_THREADS", 0)
    monkeypatch.setattr("noiseproof._rows.threads.available_threads", lambda: 50)
    shared = attack.worst(X, y, coef, b), attack.margin_drop(X, y, coef, b)
    np.testing.assert_array_equal(shared[0], alone[0])
    np.testing.assert_array_equal(shared[1], alone[1])
    sparse = attack.worst(sp.csr_array(X), y, coef, b)
    np.testing.assert_array_equal(sparse.toarray(), alone[0])


def test_scaled_to_zero_is_not_stored():
    X = sp.csr_array([[1.0, 2.0, 0.0]])
    assert FeatureScaling(1).worst(X, [1], [0.0, 1.0, 1.0]).nnz == 1
    assert X.nnz == 2


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"k": -1}, "k must be a whole number that is not negative; got -1"),
        ({"k": 1.5}, "k must be a whole number"),
        ({"low": 2.0}, "low must not exceed high; got 2.0 and 1.0"),
        ({"high": np.inf}, "must be finite"),
        ({"low": np.nan}, "must be finite"),
    ],
)
def test_bad_parameters_give_one_sentence(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        FeatureScaling(**parameters).worst(np.ones((1, 3)), [1], np.ones(3))
