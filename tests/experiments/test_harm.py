"""What is done to features in the comparison of all methods."""

from itertools import combinations

import numpy as np
import pytest
from experiments.harm import DeleteGroups, Greedy, score
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from noiseproof._rows import contain
from noiseproof.attacks import FeatureDeletion

SEED = np.random.SeedSequence(0)


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(40, 6))
    return X, np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=40) > 0, 1, -1)


def attacked(model, X, y, k, **options):
    adversary = Greedy(**options).against(model, y)
    return adversary.draw(contain(X, "zero"), SEED)(k)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_greedy_deletion_is_the_worst_for_a_linear_model(problem, k):
    X, y = problem
    model = LogisticRegression().fit(X, y)
    worst = FeatureDeletion(k).worst(X, y, model.coef_[0], model.intercept_[0])
    found = attacked(model, X, y, k, factors=(0.0,))
    np.testing.assert_allclose(score(model, found), score(model, worst))


def test_greedy_scaling_is_the_worst_for_a_linear_model(problem):
    """By enumeration of all pairs of features and factors."""
    X, y = problem
    model = LogisticRegression().fit(X, y)
    found = attacked(model, X, y, 2, factors=(0.5, 2.0))
    for x, label, result in zip(X, y, found, strict=True):
        margins = [label * score(model, x[None])[0]]
        for pair in combinations(range(6), 2):
            for factors in np.ndindex(3, 3):
                other = x.copy()
                other[list(pair)] *= np.take([1.0, 0.5, 2.0], factors)
                margins.append(label * score(model, other[None])[0])
        np.testing.assert_allclose(label * score(model, result[None])[0], min(margins))


def test_one_change_is_the_worst_for_any_model(problem):
    X, y = problem
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    found = attacked(model, X, y, 1, factors=(0.0,), absent=np.nan)
    for x, label, result in zip(X, y, found, strict=True):
        trials = np.repeat(x[None], 7, axis=0)
        trials[np.arange(6), np.arange(6)] = np.nan
        worst = (label * score(model, trials)).min()
        np.testing.assert_allclose(label * score(model, result[None])[0], worst)


def test_groups_die_together():
    X = np.ones((2000, 7))
    dead = DeleteGroups(3).draw(contain(X, "zero"), SEED)(0.3) == 0
    assert (dead[:, :1] == dead[:, :3]).all()
    assert (dead[:, 3:4] == dead[:, 3:6]).all()
    assert abs(dead[:, ::3].mean() - 0.3) < 0.03
    assert abs(np.corrcoef(dead[:, 0], dead[:, 3])[0, 1]) < 0.1
