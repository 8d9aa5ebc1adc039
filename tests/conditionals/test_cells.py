"""Tables as codes and back: times, words, numbers written as text."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from noiseproof import AverageOverMissing
from noiseproof.conditionals import Donors, JointGaussian


def times(rng, zone=None, n=60):
    """A number, and a time that follows it."""
    days = rng.integers(0, 1000, size=n)
    born = pd.to_datetime("2020-01-01") + pd.to_timedelta(days, unit="D")
    return pd.DataFrame({"age": -days * 1.0, "born": born.tz_localize(zone)})


@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
@pytest.mark.parametrize("law", [Donors(), JointGaussian()], ids=repr)
def test_times_and_their_zones_come_back(law, zone, rng):
    frame = times(rng, zone)
    holed = frame.copy()
    holed.loc[::2, "born"] = None
    filled = law.fit(frame).mean(holed)
    assert getattr(filled["born"].dtype, "tz", None) == frame["born"].dt.tz
    assert (filled["born"][1::2] == frame["born"][1::2]).all()
    assert abs(filled["born"] - frame["born"]).max() < pd.Timedelta(days=30)
    with pytest.raises(ValueError, match="Column born of X held times in training"):
        law.mean(pd.DataFrame({"age": [1.0, 2.0], "born": [None, "soon"]}))


def test_zones_of_polars(rng):
    frame = pl.from_pandas(times(rng, "Asia/Tokyo"))
    holed = frame.with_columns(pl.lit(None, frame["born"].dtype).alias("born"))
    filled = Donors().fit(frame).mean(holed)
    assert filled.schema == frame.schema
    assert abs(filled["born"] - frame["born"]).max() < pd.Timedelta(days=30)


def test_an_average_over_times_with_zones(rng):
    frame = times(rng, "UTC")
    y = frame["age"] < -500
    numbers = make_column_transformer(("passthrough", ["age"]))
    model = AverageOverMissing(make_pipeline(numbers, LogisticRegression()))
    holed = frame.assign(age=np.nan)
    assert model.fit(frame, y).score(holed, y) > 0.9


def test_numbers_among_objects_are_numbers(rng):
    X = rng.normal(size=(50, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    holed = frame.mask(rng.random(X.shape) < 0.3)
    expected = JointGaussian().fit(frame).mean(holed)
    objects = JointGaussian().fit(frame.astype(object))  # which refuses words
    np.testing.assert_array_equal(objects.mean(holed.astype(object)), expected)
    with pytest.raises(ValueError, match=r"held numbers in training, but .* 'high'"):
        objects.mean(frame.astype(object).replace({"a": {X[3, 0]: "high"}}))


def test_numbers_written_as_text_are_noticed(rng):
    frame = pd.DataFrame({"a": [f"{v:.3f}" for v in rng.normal(size=50)], "b": 1.0})
    with pytest.warns(
        UserWarning, match="'a' has 50 different texts in 50 rows; if .*; if"
    ):
        Donors().fit(frame)
