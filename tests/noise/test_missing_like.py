"""Values are missing as in other rows."""

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import chi2

import noiseproof
from noiseproof import CorruptedCopies
from noiseproof.noise import Missing, MissingLike

NAN = np.nan


def test_patterns_are_those_of_the_rows_as_often_as_there():
    batch = np.array([[1, NAN, NAN], [1, NAN, NAN], [1, 2, 3], [NAN, 2, 3]])
    n = 40_000
    gone = np.isnan(MissingLike(batch).sample(np.ones((n, 3)), rng=0))
    counts = np.bincount(gone @ [1, 2, 4], minlength=8)
    assert sorted(np.flatnonzero(counts)) == [0, 1, 6]
    expected = n * np.array([0.25, 0.25, 0.5])
    statistic = float(((counts[[0, 1, 6]] - expected) ** 2 / expected).sum())
    assert statistic < chi2.ppf(1 - 1e-6, 2)


def test_the_level_is_the_share_of_rows_that_get_one():
    noise = MissingLike([[NAN, 1.0]], share=0.25)
    gone = np.isnan(noise.sample(np.ones((8000, 2)), rng=0))
    assert gone.mean(axis=0) == pytest.approx([0.25, 0], abs=0.02)
    assert noise.at(1.0).rows is noise.rows
    assert np.isnan(noise.at(1.0).sample(np.ones((5, 2)), rng=0))[:, 0].all()
    assert noise.mean_share(0.5) == 0.25


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_are_found_by_name(make):
    """Absent ones are missing in all rows, and others do not matter."""
    batch = make({"target": ["u", "v"], "b": ["x", None], "a": [1.0, 2.0]})
    X = pd.DataFrame({"a": [1.0] * 4000, "b": ["w"] * 4000, "c": [2] * 4000})
    gone = MissingLike(batch).sample(X, rng=0).isna()
    assert gone.mean().round(1).to_dict() == {"a": 0, "b": 0.5, "c": 1}
    mask = pd.DataFrame({"b": [False, True], "a": False, "c": True})
    again = MissingLike(mask).sample(X, rng=0).isna()
    assert again.equals(gone)
    plain = MissingLike(mask[["a", "b", "c"]]).sample(X.assign(b=1.0).to_numpy(), rng=0)
    np.testing.assert_array_equal(np.isnan(plain), gone.to_numpy())


def test_numbers_words_and_times_of_polars():
    """NumPy has no common type for them."""
    days = [datetime(2024, 1, 1), None, datetime(2024, 1, 3)]
    X = pl.DataFrame({"x": [1.0, 2.0, 3.0], "w": ["u", "v", "w"], "day": days})
    found = MissingLike(X).sample(X[[0, 2, 0, 2, 0, 2]], rng=0)
    assert found.schema == X.schema
    assert found["day"].null_count() > 0 == found["w"].null_count()
    assert Missing(1.0).sample(X, rng=0).null_count().row(0) == (3, 3, 3)


def test_a_mask_can_be_saved(tmp_path, rng):
    X = rng.normal(size=(60, 2))
    model = CorruptedCopies(noise=MissingLike(rng.random((9, 2)) < 0.5), random_state=0)
    noiseproof.save(model.fit(X, X[:, 0] > 0), tmp_path / "model.npf")
    again = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (None, TypeError, "must be an array or .* with missing values; got None"),
        (sp.eye_array(3), TypeError, "got a sparse matrix"),
        ([1.0, NAN], ValueError, r"at least one row; got shape \(2,\)"),
        (np.ones((0, 3)), ValueError, r"at least one row; got shape \(0, 3\)"),
        (np.ones((4, 2)), ValueError, "has 2 columns and X has 3"),
        (
            pd.DataFrame({"z": [NAN]}),
            ValueError,
            "none of the columns of X, such as 'a'",
        ),
    ],
)
def test_rows_that_do_not_fit(rows, error, words):
    X = pd.DataFrame(np.ones((2, 3)), columns=[*"abc"])
    with pytest.raises(error, match=words):
        MissingLike(rows).sample(X)


def test_shares_that_are_none():
    for share in (1.5, -0.1, [0.1, 0.2]):
        with pytest.raises(ValueError, match="share must be"):
            MissingLike(np.ones((1, 2)), share).sample(np.ones((2, 2)))
