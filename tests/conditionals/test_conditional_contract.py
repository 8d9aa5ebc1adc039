"""What every conditional promises, over the registry."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from same import assert_same
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import noiseproof
from noiseproof.conditionals import CONDITIONALS, holes

every_conditional = pytest.mark.parametrize(
    "law", [law() for law in CONDITIONALS.values()], ids=list(CONDITIONALS)
)


def table(rng, n=150, d=6):
    """Rows of features that depend on each other, on different scales."""
    factors = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    return (factors + 0.3 * rng.normal(size=(n, d))) * 10.0 ** np.arange(d) + 5


def with_holes(X, rng, rate=0.5):
    return np.where(rng.random(X.shape) < rate, np.nan, X)


@every_conditional
def test_draws_fill_the_holes_and_nothing_else(law, rng):
    X = table(rng)
    Q = with_holes(X[:40], rng)
    Q[0], Q[1] = X[0], np.nan
    rows, _, origin = clone(law).fit(X).draws(Q)
    assert rows.dtype == X.dtype
    assert not np.isnan(rows).any()
    there = ~np.isnan(Q[origin])
    np.testing.assert_array_equal(rows[there], Q[origin][there])
    assert np.all(np.diff(origin) >= 0)
    assert set(origin) == set(range(40))
    assert np.sum(origin == 0) == 1


@every_conditional
def test_weights_of_a_row_sum_to_one(law, rng):
    X = table(rng)
    draws = clone(law).fit(X).draws(with_holes(X, rng, 0.7))
    np.testing.assert_allclose(np.bincount(draws.origin, draws.weights), 1.0)
    assert draws.weights.min() >= 0


@every_conditional
def test_number_of_draws(law, rng):
    X = table(rng)
    law = clone(law).fit(X)
    Q = with_holes(X[:10], rng, 0.99)
    for n_draws in (1, 2, 3, 20):
        assert np.bincount(law.draws(Q, n_draws).origin).max() == n_draws
    with pytest.raises(ValueError, match="n_draws must be at least 1; got 0"):
        law.draws(Q, 0)


@every_conditional
def test_mean_is_the_mean_of_the_draws(law, rng):
    X = table(rng)
    law = clone(law).fit(X)
    Q = with_holes(X, rng)
    rows, weights, origin = law.draws(Q)
    mean = np.zeros_like(Q)
    np.add.at(mean, origin, weights[:, None] * rows)
    np.testing.assert_allclose(law.mean(Q), mean, rtol=1e-9)


@every_conditional
def test_order_of_rows_does_not_matter(law, rng):
    X = table(rng)
    Q, order = with_holes(X[:30], rng), rng.permutation(30)
    law = clone(law).fit(X)
    np.testing.assert_allclose(law.mean(Q)[order], law.mean(Q[order]), rtol=1e-9)
    one_by_one = np.concatenate([law.mean(row[None]) for row in Q])
    np.testing.assert_allclose(law.mean(Q), one_by_one, rtol=1e-9)


@every_conditional
@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_order_of_columns_does_not_matter(law, seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    Q, order = with_holes(X[:30], rng), rng.permutation(X.shape[1])
    law = _settled(law)
    one = clone(law).fit(X).mean(Q)
    other = clone(law).fit(X[:, order]).mean(Q[:, order])
    np.testing.assert_allclose(one[:, order], other, rtol=1e-7)


@every_conditional
@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_order_of_training_rows_does_not_matter(law, seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    Q = with_holes(X[:30], rng, 0.4)
    one = clone(law).fit(X).mean(Q)
    other = clone(law).fit(rng.permutation(X)).mean(Q)
    np.testing.assert_allclose(one, other, rtol=1e-7)


def _settled(law):
    """The masks that choose bandwidth and units fall on other cells."""
    return law.set_params(bandwidth=1.0) if hasattr(law, "bandwidth") else law


@every_conditional
def test_units_do_not_matter(law, rng):
    X = table(rng)
    Q = with_holes(X, rng)
    scale, shift = 10.0 ** rng.uniform(-6, 6, size=6), rng.normal(size=6)
    one = clone(law).fit(X).mean(Q)
    other = clone(law).fit(X * scale + shift).mean(Q * scale + shift)
    np.testing.assert_allclose(one * scale + shift, other, rtol=1e-5)


@every_conditional
def test_an_observed_twin_gives_the_value_back(law, rng):
    x = rng.normal(size=(2000, 1))
    X = np.hstack([x, 3 * x + 1, rng.normal(size=(2000, 2))])
    Q = X[:200].copy()
    Q[:, 1] = np.nan
    error = clone(law).fit(X).mean(Q)[:, 1] - X[:200, 1]
    assert np.sqrt(np.mean(error**2)) < 0.02 * X[:, 1].std()


@every_conditional
def test_training_rows_with_holes(law, rng):
    X = table(rng, n=1000)
    Q = with_holes(X[:100], rng)
    scale = X.std(axis=0)
    whole = clone(law).fit(X[100:]).mean(Q)
    holed = clone(law).fit(with_holes(X[100:], rng, 0.3)).mean(Q)
    plain = np.where(np.isnan(Q), X.mean(axis=0), Q)

    def error(filled):
        return np.sqrt(np.mean(((filled - X[:100]) / scale) ** 2))

    assert error(holed) < 1.15 * error(whole)
    assert error(holed) < 0.7 * error(plain)


@every_conditional
def test_nothing_observed_gives_the_training_distribution(law, rng):
    X = table(rng, n=400)
    rows = clone(law).fit(X).draws(np.full((1, 6), np.nan)).rows
    apart = (rows.mean(axis=0) - X.mean(axis=0)) / X.std(axis=0)
    assert np.abs(apart).max() < 1.0
    assert np.all(rows.std(axis=0) > 0.3 * X.std(axis=0))


@every_conditional
def test_constant_columns_come_back(law, rng):
    X = table(rng)
    X[:, 2] = 7.0
    filled = clone(law).fit(X).mean(with_holes(X, rng))
    np.testing.assert_allclose(filled[:, 2], 7.0)


@every_conditional
@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows(law, n, rng):
    X = table(rng, n=n)
    filled = clone(law).fit(X).mean(np.full((2, 6), np.nan))
    assert np.isfinite(filled).all()


@every_conditional
def test_float32_and_integers(law, rng):
    X = table(rng) / 10.0 ** np.arange(6)
    Q = with_holes(X, rng)
    exact = clone(law).fit(X).mean(Q)
    single = clone(law).fit(X.astype(np.float32)).mean(Q.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, rtol=0.02, atol=0.05)
    counts = rng.integers(0, 9, size=(80, 3))
    assert np.isfinite(clone(law).fit(counts).mean([[1, np.nan, 3]])).all()


@every_conditional
def test_frames_of_numbers(law, rng):
    X = table(rng)
    Q = with_holes(X[:20], rng)
    names = list("abcdef")
    filled = (
        clone(law)
        .fit(pd.DataFrame(X, columns=names))
        .mean(pd.DataFrame(Q, columns=names))
    )
    assert list(filled.columns) == names
    np.testing.assert_allclose(filled, clone(law).fit(X).mean(Q), rtol=1e-12)


@every_conditional
def test_pickles_and_files(law, rng, tmp_path):
    X = table(rng)
    Q = with_holes(X, rng)
    law = clone(law).fit(X)
    noiseproof.save(law, tmp_path / "law.npf")
    for again in (
        pickle.loads(pickle.dumps(law)),
        noiseproof.load(tmp_path / "law.npf"),
    ):
        assert_same(again, law)
        np.testing.assert_array_equal(again.mean(Q), law.mean(Q))


@every_conditional
def test_only_some_contain_training_rows(law, rng):
    X = table(rng, n=300)
    text = pickle.dumps(clone(law).fit(X))
    assert (len(text) > X.nbytes) == law.keeps_rows


@every_conditional
def test_bad_input(law, rng):
    X = table(rng)
    empty = np.full((5, 3), np.nan)
    with pytest.raises(NotFittedError):
        law.mean(X)
    with pytest.raises(ValueError, match="All values of X are missing"):
        clone(law).fit(empty)
    with pytest.raises(ValueError, match="Column 1 of X is missing in all rows"):
        clone(law).fit(np.array([[1.0, np.nan], [2.0, np.nan]]))
    with pytest.raises(TypeError, match="X must not be a sparse matrix"):
        clone(law).fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="X holds an infinite value; use NaN"):
        clone(law).fit(np.where(X > 5, np.inf, X))
    law = clone(law).fit(X)
    with pytest.raises(ValueError, match="X has 3 columns, but it had 6 in training"):
        law.draws(empty)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    law = clone(law).fit(frame)
    with pytest.raises(ValueError, match="Column b of X is not at the same position"):
        law.draws(frame[list("bacdef")])
    frame = frame.astype(object)
    frame.loc[3, "c"] = "high"
    with pytest.raises(ValueError, match="Column c of X held numbers in training"):
        law.draws(frame)


def test_holes_of_frames():
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan],
            "count": pd.array([None, 3], dtype="Int64"),
            "word": ["a", None],
            "kind": pd.Categorical(["x", None]),
            "time": pd.to_datetime(["2020-01-01", None]),
        }
    )
    np.testing.assert_array_equal(
        holes(frame),
        [[False, True, False, False, False], [True, False, True, True, True]],
    )


@every_conditional
def test_frames_keep_their_index_and_names(law, rng):
    X = table(rng, d=3)
    names = pd.Index([("a", 1), 7, 7], name="unit", tupleize_cols=False)
    frame = pd.DataFrame(X, columns=names, index=[f"row {i}" for i in range(len(X))])
    holed = frame.mask(rng.random(frame.shape) < 0.4).iloc[20:60]
    law = clone(law).fit(frame)
    filled = law.mean(holed)
    assert filled.index.equals(holed.index)
    assert filled.columns.equals(names)
    assert filled.columns.name == "unit"
    draws = law.draws(holed)
    assert draws.rows.index.equals(holed.index[draws.origin])
    assert draws.rows.columns.equals(names)
    single = pd.DataFrame(X, index=frame.index).iloc[:9]
    single["filled"] = clone(law).fit(X).mean(single.mask(single > 5))[0]  # aligned
    assert not single["filled"].isna().any()
