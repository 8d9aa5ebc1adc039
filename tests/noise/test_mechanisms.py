"""Values that are missing more often where some value is large."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import binom

from noiseproof.noise import Missing
from noiseproof.noise.missing import _rate_reached


def probability(u, rate):
    """A logistic curve over the ranks whose mean is the rate, by a root search."""
    slope = np.log(100)

    def mean(start):
        return quad(lambda v: expit(start + slope * (v - 0.5)), 0, 1)[0]

    start = brentq(lambda start: mean(start) - rate, -40, 40, xtol=1e-14)
    return expit(start + slope * (u - 0.5))


def within(count, n, p):
    """Whether such a count is likely, by more than one in a million."""
    low, high = binom.ppf([1e-6, 1 - 1e-6], n, p)
    return low <= count <= high


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3, 0.5, 0.9])
def test_the_rate_at_which_a_value_goes_is_the_inverse_of_its_probability(rate):
    for u in (0.0, 0.2, 0.5, 1.0):
        p = probability(u, rate)
        assert _rate_reached(np.array([u]), np.array([p]))[0] == pytest.approx(rate)
    ends = _rate_reached(np.array([0.3, 0.3]), np.array([0.0, np.nextafter(1, 0)]))
    assert ends[0] == 0
    assert 1 - 1e-9 < ends[1] < 1


@given(
    rate=st.floats(0.001, 0.999), chance=st.floats(1e-6, 1 - 1e-6), u=st.floats(0, 1)
)
@settings(max_examples=100, deadline=None)
def test_the_odds_are_as_the_docstring_says(rate, chance, u):
    factor = (100**rate - 1) / (10 - 100 ** (rate - 0.5))
    odds = 100 ** (u - 0.5) * factor
    reached = _rate_reached(np.array([u]), np.array([chance]))[0]
    if abs(logit(chance) - np.log(odds)) > 1e-6:
        assert (reached < rate) == (chance < odds / (1 + odds))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
def test_a_value_is_missing_by_its_own_rank(rate):
    """Each of seven values, two of them repeated, at the mean over its ranks."""
    values = np.array([3.0, -1.0, 3.0, 8.0, -1.0, 3.0, 5.0])
    n = 4000
    gone = np.isnan(
        Missing(rate, mechanism="mnar").sample(np.tile(values[:, None], n), 0)
    )
    for value in np.unique(values):
        low, high = np.mean(values < value), np.mean(values <= value)
        p = quad(lambda u: probability(u, rate), low, high)[0] / (high - low)
        for count in gone[values == value].sum(axis=1):
            assert within(count, n, p)
    assert within(gone.sum(), 7 * n, rate)  # the spread is smaller than binomial


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
@pytest.mark.parametrize("rate", [0.2, [0.05, 0.6, 0.3, 0.0]])
def test_each_column_has_its_rate(mechanism, rate, rng):
    X = rng.normal(size=(20_000, 4))
    X[:, 1] = X[:, 1].round()  # many are equal
    gone = np.isnan(Missing(rate, mechanism=mechanism).sample(X, rng=0))
    stays = [] if mechanism != "mar" else np.flatnonzero(~gone.any(axis=0))
    for j, share in enumerate(np.broadcast_to(rate, 4)):
        assert j in stays or within(gone[:, j].sum(), len(X), share)
    if mechanism == "mar":
        assert list(stays) == [3] if isinstance(rate, list) else len(stays) == 1


def test_another_column_drives_and_stays(rng):
    n = 40_000
    X = rng.normal(size=(n, 3))
    drivers = set()
    for seed in range(12):
        gone = np.isnan(Missing(0.3, mechanism="mar").sample(X, rng=seed))
        (driver,) = np.flatnonzero(~gone.any(axis=0))
        drivers.add(int(driver))
        tenth = np.argsort(X[:, driver]).reshape(10, -1)
        for j in {0, 1, 2} - {driver}:
            fifths = gone[:, j][tenth.reshape(5, -1)].mean(axis=1)
            assert np.all(np.diff(fifths) > 0)
            p = quad(lambda u: probability(u, 0.3), 0.9, 1)[0] * 10
            assert within(gone[tenth[-1], j].sum(), n // 10, p)
            by_itself = gone[:, j][np.argsort(X[:, j]).reshape(10, -1)].mean(axis=1)
            assert np.ptp(by_itself) < 0.06
        one, other = (gone[:, j] for j in {0, 1, 2} - {driver})
        cells = tenth[5]  # given the driver, columns are independent
        both = gone[cells][:, [j for j in range(3) if j != driver]].all(axis=1)
        assert both.mean() == pytest.approx(
            one[cells].mean() * other[cells].mean(), abs=0.03
        )
    assert drivers == {0, 1, 2}


def test_a_driver_varies_and_is_complete_if_it_can(rng):
    X = rng.normal(size=(50, 4))
    X[:, 0] = 7.0
    X[3, 1] = np.nan
    for seed in range(20):
        gone = np.isnan(Missing(0.9, mechanism="mar").sample(X, rng=seed))
        assert not (gone[:, 2].any() and gone[:, 3].any())
    alike = np.isnan(Missing(0.5, mechanism="mar").sample(np.ones((400, 2)), rng=0))
    assert sorted(alike.mean(axis=0).round(1)) == [0.0, 0.5]


def test_where_the_driving_value_is_missing_the_rate_is_as_given(rng):
    n = 40_000
    X = rng.normal(size=(n, 2))
    X[::2, 0] = np.nan
    gone = np.isnan(Missing([0.0, 0.4], mechanism="mar").sample(X, rng=0))[:, 1]
    assert within(gone[::2].sum(), n // 2, 0.4)
    assert within(gone[1::2].sum(), n // 2, 0.4)
    large = X[1::2, 0] > 1
    assert gone[1::2][large].mean() > 0.6


def test_words_go_by_the_alphabet_and_categories_by_their_order(rng):
    n = 9000
    sizes = pd.CategoricalDtype(["small", "middle", "big"], ordered=True)
    frame = pd.DataFrame(
        {
            "word": rng.choice(["ash", "oak", "yew"], n),
            "size": pd.Categorical(rng.choice(sizes.categories, n), dtype=sizes),
        }
    )
    found = Missing({"word": 0.4, "size": 0.2}, mechanism="mnar").sample(frame, rng=0)
    for name, order in {
        "word": ["ash", "oak", "yew"],
        "size": sizes.categories,
    }.items():
        gone = found[name].isna()
        shares = [gone[frame[name] == one].mean() for one in order]
        assert shares == sorted(shares)
        assert shares[2] > shares[0] + 0.2
        assert within(gone.sum(), n, {"word": 0.4, "size": 0.2}[name])


@pytest.mark.parametrize("mechanism", ["mar", "mnar"])
def test_groups_go_together_and_by_the_mean_rank(mechanism, rng):
    X = rng.normal(size=(20_000, 5))
    groups = {"a": [0, 1], "b": [2, 3]}
    gone = np.isnan(Missing(0.3, groups, mechanism).sample(X, rng=1))
    np.testing.assert_array_equal(gone[:, 0], gone[:, 1])
    np.testing.assert_array_equal(gone[:, 2], gone[:, 3])
    rank = X.argsort(axis=0).argsort(axis=0)
    standing = np.column_stack(
        [rank[:, :2].mean(axis=1), rank[:, 2:4].mean(axis=1), rank[:, 4]]
    )
    gone = gone[:, [0, 2, 4]]
    stays = np.flatnonzero(~gone.any(axis=0))
    assert len(stays) == (mechanism == "mar")
    for g in set(range(3)) - set(stays):
        by = standing[:, stays[0] if len(stays) else g]
        for k, fifth in enumerate(np.argsort(by).reshape(5, -1)):
            p = quad(lambda u: probability(u, 0.3), k / 5, (k + 1) / 5)[0] * 5
            assert within(gone[fifth, g].sum(), len(fifth), p)
        assert within(gone[:, g].sum(), len(X), 0.3)


def test_rates_by_name_and_by_group(rng):
    frame = pd.DataFrame(rng.normal(size=(5000, 4)), columns=[*"abcd"])
    gone = Missing({"c": 0.5}).sample(frame, rng=0).isna().mean()
    assert gone.round(1).to_dict() == {"a": 0, "b": 0, "c": 0.5, "d": 0}
    groups = {"arm": ["a", "b"], "leg": ["c", "d"]}
    gone = Missing({"leg": 0.5}, groups, "mnar").sample(frame, rng=0).isna()
    assert gone.mean().round(1).to_dict() == {"a": 0, "b": 0, "c": 0.5, "d": 0.5}
    assert gone["c"].equals(gone["d"])
    noise = Missing({"a": 0.2, "b": 0.8}).on([*"abcd"])
    assert noise.own_level == 0.8
    np.testing.assert_allclose(noise._rates(0.4), [0.1, 0.4, 0, 0])
    assert noise.mean_share(0.4) == pytest.approx(0.125)
    assert Missing([0.0, 0.0]).mean_share(0.5) == 0


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (Missing(mechanism="mare"), "must be 'mcar', 'mar' or 'mnar'; got 'mare'"),
        (
            Missing({"z": 0.1}),
            "Missing.rate has a value for 'z', which is not among the names 'a', 'b'",
        ),
        (Missing({"a": 1.1}), r"Missing.rate must be in \[0, 1\]; got"),
        (
            Missing(0.1, [["a", "b"]], "mar"),
            "needs at least two columns, or groups of columns",
        ),
    ],
)
def test_bad_input(noise, words):
    frame = pd.DataFrame(np.ones((3, 2)), columns=[*"ab"])
    with pytest.raises(ValueError, match=words):
        noise.sample(frame)
