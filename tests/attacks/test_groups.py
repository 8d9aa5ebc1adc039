"""Deletion of whole groups against every subset of groups."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.attacks import FeatureDeletion, LinearMargins


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**9),
    k=st.sampled_from([1, 3]),
    budget=st.integers(0, 3),
    valued=st.booleans(),
)
def test_no_subset_of_groups_does_worse(seed, k, budget, valued):
    rng = np.random.default_rng(seed)
    d, n_groups = 7, 4
    labels = rng.permutation(np.r_[np.arange(n_groups), rng.integers(0, n_groups, 3)])
    X = rng.normal(size=(5, d)) * (rng.random((5, d)) < 0.8)
    y = rng.choice([-1, 1], 5) if k == 1 else rng.integers(0, k, 5)
    coef, intercept = rng.normal(size=(k, d)), rng.normal(size=k)
    values = rng.uniform(0.8, 1.5, n_groups) if valued else np.ones(n_groups)
    groups = [np.flatnonzero(labels == g).tolist() for g in range(n_groups)]
    attack = FeatureDeletion(budget, values if valued else None, groups=groups)
    model = LinearMargins(X, y, coef, intercept)
    clean = lowest = model.margins(X, model.label)
    for size in range(1, n_groups + 1):
        for gone in combinations(range(n_groups), size):
            if values[list(gone)].sum() <= budget:
                Z = np.where(np.isin(labels, gone), 0.0, X)
                lowest = np.minimum(lowest, model.margins(Z, model.label))
    for rows in (X, sp.csr_array(X)):
        worst = attack.worst(rows, y, coef, intercept)
        dense = worst.toarray() if sp.issparse(worst) else worst
        for i, g in np.ndindex(5, n_groups):  # whole groups only, within the budget
            part = dense[i, labels == g]
            assert np.array_equal(part, X[i, labels == g]) or not part.any()
        got = model.margins(dense, model.label)
        drop = attack.margin_drop(rows, y, coef, intercept)
        assert np.all(clean - drop <= lowest + 1e-12)
        assert np.all(got >= lowest - 1e-12)
        if not valued:
            np.testing.assert_allclose(got, lowest, atol=1e-12)
            np.testing.assert_allclose(clean - drop, lowest, atol=1e-12)


def test_groups_of_one_are_features(rng):
    X, y, coef = rng.normal(size=(9, 5)), rng.integers(0, 3, 9), rng.normal(size=(3, 5))
    plain = FeatureDeletion(2).margin_drop(X, y, coef)
    single = FeatureDeletion(2, groups=[[j] for j in range(5)])
    np.testing.assert_allclose(single.margin_drop(X, y, coef), plain, rtol=1e-14)


def test_names_are_bound_in_their_order():
    attack = FeatureDeletion(1, [1.0, 3.0], groups={"leg": ["b"], "arm": ["a", "c"]})
    bound = attack.on(["a", "b", "c"])
    np.testing.assert_array_equal(bound.certificate_values(3), [1.0, 3.0])
    np.testing.assert_array_equal(bound.certificate_groups(3), [1, 0, 1])
    np.testing.assert_array_equal(bound.on(range(3)).certificate_groups(3), [1, 0, 1])


def test_bad_groups():
    X, y, coef = np.ones((2, 3)), [1, -1], np.ones(3)
    with pytest.raises(ValueError, match="Feature 0 is in the groups"):
        FeatureDeletion(1, groups=[[0], [0, 1]]).worst(X, y, coef)
    with pytest.raises(ValueError, match="total value of the groups, 2; got 3"):
        FeatureDeletion(3, groups=[[0, 1], [2]]).worst(X, y, coef)
