"""Rates by name, and a rate from the numbers of rows and features."""

import numpy as np
import pandas as pd
import pytest

from noiseproof import CorruptedCopies, DropoutSGDClassifier, DropoutSVC
from noiseproof.noise import Dropout, Gaussian, Missing
from noiseproof.noise.dropout import auto_rate


@pytest.fixture
def table(rng):
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    return X, (X["a"] > 0).to_numpy()


def test_few_rows_and_many(table):
    assert auto_rate(10**6, 10) == 0.05
    assert auto_rate(10, 10**6) == 0.5
    rates = [auto_rate(n, 100) for n in (10, 100, 1000, 10_000)]
    assert rates == sorted(rates, reverse=True)
    X, y = table
    model = DropoutSVC("auto").fit(X, y)
    assert model.noise_.rate == auto_rate(60, 3)
    same = DropoutSVC(auto_rate(60, 3)).fit(X, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)


def test_a_weight_of_two_is_two_rows(table):
    X, y = table
    twice = DropoutSVC("auto").fit(X, y, sample_weight=np.full(60, 2.0))
    assert twice.noise_.rate == auto_rate(120, 3)


def test_the_default_is_a_half(table):
    assert DropoutSVC().noise == 0.5
    assert DropoutSVC().fit(*table).noise_.rate == 0.5


def test_rates_by_name(table):
    X, y = table
    named = DropoutSVC({"b": 0.4}).fit(X, y)
    listed = DropoutSVC(Dropout([0, 0.4, 0])).fit(X, y)
    np.testing.assert_array_equal(named.coef_, listed.coef_)
    scaled = DropoutSVC(Gaussian({"c": 2.0})).fit(X, y)
    np.testing.assert_array_equal(scaled.noise_.scale, [0, 0, 2])
    groups = {"left": ["a", "b"], "right": ["c"]}
    together = DropoutSVC(Dropout({"left": 0.3}, groups=groups)).fit(X, y)
    np.testing.assert_array_equal(together.noise_.rate, [0.3, 0.3, 0])
    gone = Missing({"a": 1.0}).sample(X, 0)
    assert np.isnan(np.asarray(gone)[:, 0]).all()


@pytest.mark.parametrize(
    ("noise", "error", "words"),
    [
        ({"z": 0.1}, ValueError, "'z', which is not among the names 'a', 'b', 'c'"),
        ({"a": "much"}, TypeError, "dictionary of names to numbers; got 'much'"),
        ({"a": 1.5}, ValueError, r"must be in \[0, 1\)"),
        ("more", ValueError, "'noise' parameter"),
        (Dropout("more"), ValueError, "must be a number or 'auto'; got 'more'"),
    ],
)
def test_one_sentence(noise, error, words, table):
    with pytest.raises(error, match=words):
        DropoutSVC(noise).fit(*table)


def test_where_neither_works(table):
    with pytest.raises(ValueError, match="depends on the number of rows"):
        Dropout("auto").variance([1.0])
    with pytest.raises(
        ValueError, match="given by the names of features, but X has no"
    ):
        _ = Dropout({"a": 0.1}).level
    with pytest.raises(ValueError, match="'noise' parameter"):
        DropoutSGDClassifier("auto").fit(*table)
    copies = CorruptedCopies(noise="auto", n_copies=2, random_state=0).fit(*table)
    assert copies.score(*table) > 0.8
