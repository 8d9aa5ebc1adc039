"""Outages: a chain of two states for each column or group, at all rates at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from noiseproof.noise import Outages
from noiseproof.noise.outages import _chain

N = 400_000


def simulated(v, rate, length):
    """The chain at one rate, row by row, from the same random numbers."""
    stay = max(1 - 1 / length, rate)
    fail = rate if rate > 1 - 1 / length else rate / (1 - rate) / length
    found = [v[0] < rate]
    for number in v[1:]:
        found.append(number < (stay if found[-1] else fail))
    return np.array(found)


@given(
    length=st.floats(1, 50), rate=st.floats(0.001, 0.999), seed=st.integers(0, 10_000)
)
@settings(max_examples=60, deadline=None)
def test_all_chains_at_once_are_each_of_them(length, rate, seed):
    n = 200
    v = np.random.default_rng(seed).integers(1 << 32, size=n) / (1 << 32)
    reached = _chain(n, length, np.random.default_rng(seed))
    found = reached < rate
    close = np.abs(reached - rate) < 1e-9  # a number of 32 bits
    expected = simulated(v, rate, length)
    assert np.all((found == expected) | close)


def near(count, n, p):
    return abs(count - n * p) <= -norm.ppf(1e-7) * np.sqrt(n * p * (1 - p)) + 1


@pytest.mark.parametrize(
    ("rate", "length"), [(0.1, 24), (0.5, 4), (0.8, 5), (0.3, 1), (0.05, 2.5)]
)
def test_columns_fail_and_return_at_the_right_rates(rate, length):
    gone = _chain(N, length, np.random.default_rng(1)) < rate
    before, after = gone[:-1], gone[1:]
    fail, back = rate / (1 - rate) / length, 1 / length
    if rate > 1 - 1 / length:
        fail, back = rate, 1 - rate
    assert near((after & ~before).sum(), (~before).sum(), fail)
    assert near((~after & before).sum(), before.sum(), back)
    starts = np.count_nonzero(after & ~before)
    assert gone.sum() / starts == pytest.approx(1 / back, rel=0.05)
    assert gone.mean() == pytest.approx(rate, rel=0.08)


def test_the_share_is_right_from_the_first_row_on():
    noise, X = Outages(0.3, 10), np.ones((3, 20_000))
    gone = np.isnan(noise.sample(X, rng=0))
    for row in gone:
        assert near(row.sum(), len(row), 0.3)
    assert near((gone[0] & gone[1]).sum(), len(gone[0]), 0.3 * 0.9)


def test_columns_fail_by_themselves_and_groups_together(rng):
    X = rng.normal(size=(20_000, 4))
    gone = np.isnan(Outages(0.4, 3, groups=[["x", "y"]]).on([*"xyzw"]).sample(X, rng=0))
    np.testing.assert_array_equal(gone[:, 0], gone[:, 1])
    for j in (2, 3):
        both = (gone[:, 0] & gone[:, j]).mean()
        assert both == pytest.approx(0.16, abs=0.03)
    rates = np.isnan(Outages([0.1, 0.0, 0.9, 1.0], 3).sample(X, rng=0)).mean(axis=0)
    np.testing.assert_allclose(rates, [0.1, 0, 0.9, 1], atol=0.04)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (Outages(length=0.5), "at least 1; got 0.5"),
        (Outages(length=np.inf), "at least 1; got inf"),
        (Outages(length="day"), "at least 1; got 'day'"),
        (Outages(1.2), r"Outages.rate must be in \[0, 1\]; got 1.2"),
    ],
)
def test_bad_input(noise, words):
    with pytest.raises(ValueError, match=words):
        noise.sample(np.ones((3, 2)))
