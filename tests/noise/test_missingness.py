"""What every noise promises that makes values missing, over the registry."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from noiseproof import CorruptedCopies, DropoutSVC
from noiseproof._rows import contain
from noiseproof.noise import MISSINGNESS, Missing, MissingLike, Outages

D = 4
PATTERNS = np.array([[1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]], dtype=bool)
GROUPS = [0, 1, 0, 2]
CASES = {name: law() for name, law in MISSINGNESS.items() if law is not MissingLike}
CASES |= {
    "like": MissingLike(PATTERNS),
    "mar": Missing(mechanism="mar"),
    "mnar": Missing(mechanism="mnar"),
    "rates": Missing([0.8, 0.1, 0.0, 0.4], mechanism="mnar"),
    "rates-mar": Missing([0.8, 0.1, 0.0, 0.4], mechanism="mar"),
    "groups": Missing(groups=GROUPS),
    "groups-mar": Missing(groups=GROUPS, mechanism="mar"),
    "groups-mnar": Missing([0.2, 0.4, 0.2, 0.0], groups=GROUPS, mechanism="mnar"),
    "outages-groups": Outages(0.4, 3, groups=GROUPS),
    "outages-rates": Outages([0.2, 0.0, 0.9, 0.9], 1),
}
every_noise = pytest.mark.parametrize("name", CASES)


def test_all_are_tried():
    tried = {type(noise) for noise in CASES.values()}
    assert tried == set(MISSINGNESS.values())


def table(n=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n, D))


@every_noise
def test_the_rest_stays_as_it_is(name):
    X = table().astype(np.float32)
    X[0] = np.nan
    before = X.copy()
    found = CASES[name].sample(X, rng=0)
    gone = np.isnan(found)
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    assert found.shape == X.shape
    assert gone[0].all()
    assert 0 < gone[1:].mean() < 1
    np.testing.assert_array_equal(found[~gone], X[~gone])
    np.testing.assert_array_equal(X, before)
    assert CASES[name].sample(np.ones((6, D), dtype=int)).dtype == np.float64


@every_noise
def test_the_seed_decides(name):
    X, noise = table(), CASES[name]
    one, same = (noise.sample(X, rng=seed) for seed in (1, 1))
    np.testing.assert_array_equal(one, same)
    assert np.any(np.isnan(one) != np.isnan(noise.sample(X, rng=2)))
    again = clone(noise).sample(X, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(one, again)


@every_noise
def test_frames_keep_names_words_and_types(name):
    frame = pd.DataFrame(table(), columns=[*"abcd"], index=range(5, 65))
    frame["b"] = np.where(frame["b"] > 0, "yes", "no")
    frame["c"] = (frame["c"] > 0).astype("category")
    found = CASES[name].sample(frame, rng=0)
    assert list(found.columns) == [*"abcd"]
    assert found.index.equals(frame.index)
    assert found.dtypes.equals(frame.dtypes)
    gone = found.isna()
    assert 0 < gone.to_numpy().mean() < 1
    assert found[~gone].equals(frame[~gone])
    other = CASES[name].sample(pl.from_pandas(frame.astype({"c": str})), rng=0)
    assert isinstance(other, pl.DataFrame)
    nulls = [
        other[c].is_null() | (other[c].is_nan() if c in "ad" else False) for c in "abcd"
    ]
    np.testing.assert_array_equal(np.transpose(nulls), gone.to_numpy())


@every_noise
@given(
    levels=st.lists(st.floats(0, 1), min_size=2, max_size=2), seed=st.integers(0, 99)
)
@settings(max_examples=15, deadline=None)
def test_what_is_missing_stays_missing_at_higher_levels(name, levels, seed):
    rows = contain(table(30, seed), "nan")
    draw = CASES[name].on(range(D)).draw(rows, np.random.default_rng(seed))
    low, high = (draw(level) for level in sorted(levels))
    assert np.all(low <= high)
    assert not draw(0.0).any()


@every_noise
def test_containers_lose_the_same(name):
    """A sparse matrix loses what the same dense one does, if its entries are full."""
    X, noise = table() + 10, CASES[name].on(range(D))
    whole = noise.draw(contain(X, "nan"), np.random.default_rng(3))
    if type(noise) is Outages and noise.groups is None:
        with pytest.raises(
            ValueError, match="for a sparse matrix pass groups of its columns"
        ):
            noise.check_rows(contain(sp.csr_array(X), "nan"))
        return
    stored = noise.draw(contain(sp.csr_array(X), "nan"), np.random.default_rng(3))
    one, other = whole(noise.own_level), stored(noise.own_level)
    assert other.shape == (X.size,)
    if noise.needs_all_rows and noise.groups is None:  # drawn column by column, or not
        assert other.mean() == pytest.approx(one.mean(), abs=0.2)
    else:
        np.testing.assert_array_equal(one.ravel(), other)


@every_noise
def test_there_are_no_moments_and_zeros_would_be_filled(name):
    noise, X = CASES[name], table()
    kind = type(noise).__name__
    with pytest.raises(TypeError, match=f"{kind} makes values missing, so .* no mean"):
        noise.variance(X)
    with pytest.raises(TypeError, match=f"{kind} makes values missing"):
        noise.cgf(X, 0.1)
    with pytest.raises(TypeError, match=f"{kind} makes values missing"):
        DropoutSVC(noise).fit(X, X[:, 0] > 0)
    with pytest.raises(TypeError, match="would replace every zero of a sparse matrix"):
        noise.sample(sp.csr_array(X))


@every_noise
def test_levels_of_a_curve(name):
    noise = CASES[name]
    levels = noise.default_levels(D)
    assert levels[0] == 0
    assert list(levels) == sorted(set(levels))
    assert max(levels) <= 1
    assert noise.label.startswith("share of ")
    rows = contain(np.ones((4000, D)), "nan")
    draw = noise.on(range(D)).draw(rows, np.random.default_rng(0))
    if not name.endswith("mar"):  # of which one column, or group, is never missing
        for level in (0.2, 0.7):
            share = noise.on(range(D)).mean_share(level)
            assert draw(level).mean() == pytest.approx(share, abs=0.06)


@every_noise
def test_copies_with_such_missing_values(name):
    seen = []

    class Spy(DropoutSVC):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y, sample_weight)

    X, noise = table(200), CASES[name]
    CorruptedCopies(Spy(), noise, n_copies=3, random_state=0).fit(X, X[:, 0] > 0)
    copies = seen[0].reshape(200, 3, D)
    gone = np.isnan(copies)
    np.testing.assert_array_equal(
        np.where(gone, X[:, None], copies), np.repeat(X[:, None], 3, axis=1)
    )
    assert np.any(gone[:, 0] != gone[:, 1])
    if not name.endswith("mar"):
        share = noise.on(range(D)).mean_share(noise.own_level)
        assert gone.mean() == pytest.approx(share, abs=0.15)
    if type(noise) is Outages and np.ndim(noise.rate) == 0:  # each copy has its own
        same = gone[1:, 0, 0] == gone[:-1, 0, 0]
        assert same.mean() > 0.6
