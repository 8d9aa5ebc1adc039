"""Feature values and entries that differ by 1e12, against exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof._deletion import DeletionHinge
from noiseproof.attacks import FeatureDeletion, FeatureScaling

D = 6
ROUNDING = Fraction(1, 10**14)  # of sums of a few positive numbers


def numbers(rng, n, spread):
    """Numbers of any size within the spread, of which some are much alike."""
    sizes = 10.0 ** rng.uniform(-spread / 2, spread / 2, n)
    return np.where(rng.random(n) < 0.3, rng.choice(sizes, n), sizes)


def exact(array):
    return [Fraction(float(number)) for number in array]


def best_deletion(gains, values, budget):
    """The most that a legal deletion takes, in exact arithmetic."""
    most = Fraction(0)
    for mask in itertools.product([0, 1], repeat=len(gains)):
        if sum(v for v, m in zip(values, mask, strict=True) if m) <= budget:
            got = sum((g for g, m in zip(gains, mask, strict=True) if m), Fraction(0))
            most = max(most, got)
    return most


def budgets(rng, values):
    """A budget that some set of features meets to the last digit, or any."""
    some = values[rng.random(len(values)) < 0.5]
    return float(some.sum()) if rng.random() < 0.7 else rng.random() * values.sum()


@given(seed=st.integers(0, 2**32), spread=st.sampled_from([0, 3, 12, 24]))
@settings(max_examples=150, deadline=None)
def test_no_more_is_attained_than_claimed(seed, spread):
    rng = np.random.default_rng(seed)
    values, coef = numbers(rng, D, spread), numbers(rng, D, spread)
    budget = budgets(rng, values)
    attack, X = FeatureDeletion(budget, values), np.ones((1, D))
    claimed = Fraction(float(attack.margin_drop(X, [1], coef)[0]))
    assert attack.gap(X, [1], coef)[0] >= 0
    gone = np.flatnonzero(attack.worst(X, [1], coef)[0] == 0)
    gains, costs = exact(coef), exact(values)
    attained = sum((gains[j] for j in gone), Fraction(0))
    assert claimed >= attained * (1 - ROUNDING)
    assert claimed >= best_deletion(gains, costs, Fraction(budget)) * (1 - ROUNDING)


@given(seed=st.integers(0, 2**32), k=st.integers(0, D))
@settings(max_examples=50, deadline=None)
def test_a_small_drop_of_a_large_lead_keeps_its_digits(seed, k):
    rng = np.random.default_rng(seed)
    coef, x = numbers(rng, D, 24) * rng.choice([-1, 1], D), np.ones((1, D))
    gains = sorted((g for g in exact(coef) if g > 0), reverse=True)
    attacks = FeatureScaling(k), FeatureDeletion(k), FeatureDeletion(2 * k, [2.0] * D)
    for attack in attacks:
        drop = Fraction(float(attack.margin_drop(x, [1], coef)[0]))
        most = sum(gains[:k])
        assert most * (1 - ROUNDING) <= drop
        assert drop <= most * (1 + 1000 * ROUNDING)  # budgets have room for rounding


def test_a_large_lead_hides_no_small_drop():
    x, coef = np.array([[1.0, 1.0]]), [1e-3, -1e15]
    for values in ([1.0, 1e6], [0.5, 2.0]):
        drop = FeatureDeletion(values[0], values).margin_drop(x, [1], coef)
        np.testing.assert_allclose(drop, 1e-3, rtol=1e-14)


@given(seed=st.integers(0, 2**32), spread=st.sampled_from([0, 3, 12]))
@settings(max_examples=100, deadline=None)
def test_the_loss_is_no_less_than_any_deletion_makes_it(seed, spread):
    rng = np.random.default_rng(seed)
    values, w = numbers(rng, D, spread), numbers(rng, D, spread)
    w *= rng.choice([-1, 1], D)
    budget = min(budgets(rng, values), 0.9 * values.sum())
    one = np.ones(1)
    rows = sp.csr_array(np.ones((1, D)))
    problem = DeletionHinge(rows, one, one, values, budget, 1.0)
    phi = Fraction(float(problem.excess(w, 0.0)[0, 0]))
    price, base = Fraction(problem.price), Fraction(problem.base)
    costs, pulls = exact(values), exact(w)
    for mask in itertools.product([False, True], repeat=D):
        gone = [j for j in range(D) if mask[j]]
        if sum((costs[j] for j in gone), Fraction(0)) > Fraction(budget):
            continue
        terms = [price * costs[j] if mask[j] else pulls[j] for j in range(D)]
        size = base + sum(map(abs, terms))
        assert phi >= base - sum(terms) - ROUNDING * size
