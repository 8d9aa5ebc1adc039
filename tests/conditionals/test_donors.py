"""Donors: weights, words, sizes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from noiseproof.conditionals import Donors


def test_only_rows_that_agree_help(rng):
    X = np.repeat([[0.0, 1.0], [10.0, 5.0]], 50, axis=0) + 0.01 * rng.normal(
        size=(100, 2)
    )
    filled = Donors(corrected=False).fit(X).mean([[0.0, np.nan], [10.0, np.nan]])
    np.testing.assert_allclose(filled[:, 1], [1.0, 5.0], atol=0.02)


def test_weights_are_those_of_the_kernel(rng):
    X = rng.normal(size=(12, 3))
    row = np.array([[0.3, -0.2, np.nan]])
    model = Donors(n_donors=12, bandwidth=0.8, corrected=False).fit(X)
    draws = model.draws(row)
    scale = model.cells_.scales[:2]
    squares = (((X[:, :2] - row[0, :2]) / scale) ** 2).sum(axis=1)
    weights = np.exp(-squares / (2 * 0.8**2))
    by_value = dict(zip(X[:, 2], weights / weights.sum(), strict=True))
    expected = [by_value[value] for value in draws.rows[:, 2]]
    np.testing.assert_allclose(draws.weights, expected, rtol=1e-6)


def test_weights_fall_to_zero_at_the_first_row_left_out():
    X = np.column_stack([np.arange(10.0), np.arange(10.0)])
    draws = Donors(n_donors=3, bandwidth=100.0).fit(X).draws([[0.0, np.nan]])
    assert list(draws.weights) == sorted(draws.weights, reverse=True)
    np.testing.assert_allclose(draws.weights, [9 / 22, 8 / 22, 5 / 22], atol=1e-3)


def test_correction_moves_donors_along_the_regression(rng):
    x = np.linspace(-1, 1, 400)
    X = np.column_stack([x, 2 * x])
    row = [[0.123, np.nan]]
    plain = Donors(n_donors=1, corrected=False).fit(X).mean(row)[0, 1]
    moved = Donors(n_donors=1).fit(X).mean(row)[0, 1]
    assert abs(plain - 0.246) > 1e-4
    assert moved == pytest.approx(0.246, abs=1e-4)


def test_draws_stay_in_the_range_of_the_training_rows(rng):
    x = rng.exponential(size=(300, 1))
    X = np.hstack([x, x + 0.1 * rng.exponential(size=(300, 1))])
    rows = Donors().fit(X).draws(np.column_stack([[-3.0, 50.0], [np.nan] * 2])).rows
    assert rows[:, 1].min() >= X[:, 1].min()
    assert rows[:, 1].max() <= X[:, 1].max()


def test_many_rows_are_sampled(rng):
    X = rng.normal(size=(500, 2))
    model = Donors(max_rows=100).fit(X)
    assert model.rows_.shape == (100, 2)
    np.testing.assert_array_equal(model.rows_, Donors(max_rows=100).fit(X).rows_)
    assert {tuple(row) for row in model.rows_} <= {tuple(row) for row in X}


def test_training_rows_are_a_copy(rng):
    X = rng.normal(size=(50, 2))
    model = Donors().fit(X)
    before = model.rows_.copy()
    X[:] = 0
    np.testing.assert_array_equal(model.rows_, before)


def test_bandwidth_fits_the_data(rng):
    near = rng.integers(0, 5, size=(400, 1)) + 0.001 * rng.normal(size=(400, 3))
    far = rng.normal(size=(400, 3))
    assert Donors().fit(near).bandwidth_ < 0.7 * Donors().fit(far).bandwidth_
    assert Donors(bandwidth=0.3).fit(near).bandwidth_ == 0.3


def test_columns_that_hardly_vary_do_not_count_and_other_units_are_left(rng):
    """Ten columns say the same, forty are nothing but a little noise, as pixels are."""
    signal = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 10))
    pixels = np.hstack([signal, 0.01 * rng.normal(size=(500, 40))])
    spread = [
        np.log(s).std() for s in (Donors().fit(pixels).cells_.scales, pixels.std(0))
    ]
    assert spread[0] < 0.6 * spread[1]
    wines = load_wine().data
    np.testing.assert_allclose(Donors().fit(wines).cells_.scales, wines.std(axis=0))


@pytest.fixture
def animals(rng):
    """A frame of words, numbers, truth values, times and categories."""
    n = 120
    dog = rng.random(n) < 0.5
    return pd.DataFrame(
        {
            "is": np.where(dog, "dog", "cat"),
            "kg": np.where(dog, 30.0, 4.0) + rng.normal(size=n),
            "barks": dog,
            "legs": np.full(n, 4),
            "born": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(np.where(dog, 0, 1000), unit="D"),
            "size": pd.Categorical(np.where(dog, "large", "small")),
        }
    )


def test_words_are_filled_by_words(animals):
    model = Donors().fit(animals)
    holed = animals.head(40).copy()
    kg = holed["kg"].copy()
    for name in ("is", "barks", "size", "born"):
        holed[name] = None
    holed["size"] = pd.Categorical([None] * 40, categories=["large", "small"])
    holed["born"] = pd.to_datetime(holed["born"])
    filled = model.mean(holed)
    assert (filled["is"] == animals["is"].head(40)).all()
    assert (filled["size"] == animals["size"].head(40)).all()
    assert filled["size"].dtype == holed["size"].dtype
    assert filled["barks"].dtype == bool
    assert (filled["barks"] == animals["barks"].head(40)).all()
    assert (abs(filled["born"] - animals["born"].head(40)).dt.days < 100).all()
    np.testing.assert_array_equal(filled["kg"], kg)


def test_words_tell_about_numbers(animals):
    holed = animals.head(40).copy()
    holed["kg"] = np.nan
    filled = Donors().fit(animals).mean(holed)["kg"]
    assert np.sqrt(np.mean((filled - animals["kg"].head(40)) ** 2)) < 1.5


def test_training_rows_with_missing_words(animals, rng):
    holed = animals.mask(rng.random(animals.shape) < 0.2)
    model = Donors().fit(holed)
    assert not np.isnan(model.rows_).any()
    filled = model.mean(holed)
    assert (filled["is"] == animals["is"]).mean() > 0.95


def test_polars(animals):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"is": animals["is"].tolist(), "kg": animals["kg"].tolist()}
    )
    holed = frame.head(20).with_columns(polars.lit(None, polars.String).alias("is"))
    filled = Donors().fit(frame).mean(holed)
    assert isinstance(filled, polars.DataFrame)
    assert filled["is"].to_list() == frame["is"].head(20).to_list()


def test_a_word_never_seen_is_missing(animals):
    model = Donors().fit(animals)
    holed = animals.head(2).copy()
    expected = model.mean(holed.assign(**{"is": [None, holed["is"][1]]}))
    holed.loc[0, "is"] = "fox"
    message = "Column is of X holds 'fox', which did not occur in training"
    with pytest.warns(UserWarning, match=message):
        found = model.mean(holed)
    assert found.equals(expected)


@pytest.mark.parametrize(
    "bad",
    [{"n_donors": 0}, {"bandwidth": 0.0}, {"bandwidth": "wide"}, {"max_rows": 0}],
    ids=str,
)
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Donors(**bad).fit(np.eye(4))


def test_times_with_a_zone(rng):
    """They come back in their zone, filled as the same times without one."""
    times = pd.Series(pd.date_range("2024-03-30", periods=40, freq="h", tz="UTC"))
    table = pd.DataFrame({"at": times, "n": np.arange(40.0)})
    zoned = table.assign(at=times.dt.tz_convert("Europe/Berlin"))
    model = Donors(n_donors=2).fit(zoned)
    zoned.loc[7, "at"], zoned.loc[9, "n"] = pd.NaT, np.nan
    filled = model.mean(zoned)
    assert filled["at"].dtype.tz == zoned["at"].dtype.tz
    assert (filled["at"].drop(7) == zoned["at"].drop(7)).all()
    plain = table.assign(at=table["at"].dt.tz_localize(None))
    other = Donors(n_donors=2).fit(plain)
    plain.loc[7, "at"], plain.loc[9, "n"] = pd.NaT, np.nan
    same = other.mean(plain)
    assert (filled["at"].dt.tz_convert(None) == same["at"]).all()
    np.testing.assert_array_equal(filled["n"], same["n"])


def test_rows_that_are_kept_are_a_sample_whatever_their_order(rng):
    """Of rows that are all equal to others, too."""
    X = (rng.random((4000, 3)) < [0.5, 0.2, 0.9]).astype(float)
    rows, columns = rng.permutation(len(X)), [2, 0, 1]
    kept = Donors(max_rows=1000).fit(X).rows_
    np.testing.assert_allclose(kept.mean(axis=0), X.mean(axis=0), atol=0.06)
    moved = Donors(max_rows=1000).fit(X[rows][:, columns]).rows_
    np.testing.assert_array_equal(moved, kept[:, columns])
