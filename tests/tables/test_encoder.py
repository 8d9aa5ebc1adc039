"""Columns become features, by name, whatever happens to the table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from noiseproof.tables import TableEncoder

FRAME = pd.DataFrame(
    {
        "height": [1.0, 2.0, np.nan, 5.0],
        "colour": ["red", None, "blue", "red"],
        "age": [3, 4, 5, 6],
    }
)
NAMES = ["height", "age", "colour_blue", "colour_red"]


@parametrize_with_checks([TableEncoder()])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_numbers_are_scaled_and_text_is_one_hot():
    encoder = TableEncoder().fit(FRAME)
    features = encoder.transform(FRAME)
    scaled = StandardScaler().fit_transform(FRAME[["height", "age"]])
    np.testing.assert_array_equal(features[:, :2], scaled)
    np.testing.assert_array_equal(features[:, 2:], [[0, 1], [0, 0], [1, 0], [0, 1]])
    assert encoder.get_feature_names_out().tolist() == NAMES
    assert encoder.text_columns_ == ["colour"]


def test_order_of_columns_and_other_columns_do_not_matter():
    encoder = TableEncoder().fit(FRAME)
    other = FRAME[["age", "colour", "height"]].assign(more=1.0)
    np.testing.assert_array_equal(encoder.transform(other), encoder.transform(FRAME))


@pytest.mark.parametrize("name", FRAME.columns)
def test_a_missing_column_is_treated_as_deleted(name):
    encoder = TableEncoder().fit(FRAME)
    with pytest.warns(UserWarning, match=f"Missing, .* as deleted .*: column '{name}'"):
        features = encoder.transform(FRAME.drop(columns=name))
    own = [j for j, feature in enumerate(NAMES) if feature.startswith(name)]
    gone = np.nan_to_num(features[:, own])
    assert not gone.any()
    others = np.delete(encoder.transform(FRAME), own, axis=1)
    np.testing.assert_array_equal(np.delete(features, own, axis=1), others)


def test_text_never_seen_is_like_an_empty_cell():
    encoder = TableEncoder().fit(FRAME)
    new = pd.DataFrame({"height": [2.0], "age": [4], "colour": ["mauve"]})
    assert not encoder.transform(new)[:, 2:].any()


def test_text_that_looks_like_numbers_and_numbers_like_text():
    encoder = TableEncoder().fit(FRAME)
    new = pd.DataFrame({"height": ["2", None], "age": ["4", "5"], "colour": [1, 2]})
    np.testing.assert_array_equal(
        encoder.transform(new)[0], encoder.transform(FRAME)[1]
    )
    new = pd.DataFrame({"height": ["tall"], "age": [4], "colour": [1]})
    with pytest.warns(UserWarning, match=r"'tall' counts as missing \(1 in all\)"):
        assert np.isnan(encoder.transform(new)[0, 0])


def test_text_and_numbers_in_one_column_are_text():
    frame = pd.DataFrame({"m": [1, "x", 2.0, None, True], "n": [1.0, 2, 3, 4, 5]})
    encoder = TableEncoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["n", "m_1", "m_2", "m_True", "m_x"]
    expected = [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0] * 4, [0, 0, 1, 0]]
    np.testing.assert_array_equal(encoder.transform(frame)[:, 1:], expected)
    as_text = frame.assign(m=["1", "x", "2", None, "True"])
    as_numbers = frame.assign(m=[1.0, np.nan, 2.0, np.nan, np.nan])
    np.testing.assert_array_equal(encoder.transform(as_text)[:, 1:], expected)
    found = encoder.transform(as_numbers)[:, 1:]
    np.testing.assert_array_equal(found[:3], [[1, 0, 0, 0], [0] * 4, [0, 1, 0, 0]])


def test_names_of_features_do_not_clash():
    frame = pd.DataFrame(
        {"col_a": [1.0, 2.0], "col": ["a", "b"], "x_y": ["z", "z"], "x": ["y_z", "y_z"]}
    )
    encoder = TableEncoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["col_a", "col_a (2)", "col_b", "x_y_z", "x_y_z (2)"]
    assert encoder.transform(frame).shape == (2, 5)


def test_empty_columns_are_left_out():
    with pytest.warns(UserWarning, match="Empty and left out: column 'none'"):
        encoder = TableEncoder().fit(FRAME.assign(none=np.nan))
    assert encoder.get_feature_names_out().tolist() == NAMES
    assert encoder.transform(FRAME).shape == (4, 4)  # and nobody misses them


def test_names_of_rows_are_noticed():
    frame = pd.DataFrame({"name": [f"row {i}" for i in range(40)], "a": range(40)})
    with pytest.warns(UserWarning, match="'name' has 40 different texts in 40 rows"):
        TableEncoder().fit(frame)


@pytest.mark.parametrize("scale", ["auto", "standard", "maxabs", "none"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_arrays_and_sparse_matrices(scale, form, rng):
    X = np.abs(rng.normal(size=(20, 3))) * (rng.random((20, 3)) < 0.5)
    features = TableEncoder(scale).fit(form(X)).transform(form(X))
    sparse = form is not np.asarray
    assert sp.issparse(features) == sparse
    dense = features.toarray() if sparse else features
    known = {"standard": StandardScaler(with_mean=not sparse), "maxabs": MaxAbsScaler()}
    scale = {"auto": "maxabs" if sparse else "standard"}.get(scale, scale)
    expected = known[scale].fit_transform(X) if scale in known else X
    np.testing.assert_allclose(dense, expected, rtol=1e-12)


def test_frames_of_polars_and_arrays_by_position():
    encoder = TableEncoder().fit(pl.from_pandas(FRAME))
    expected = TableEncoder().fit_transform(FRAME)
    np.testing.assert_array_equal(encoder.transform(pl.from_pandas(FRAME)), expected)
    numbers = FRAME[["height", "age"]]
    encoder = TableEncoder().fit(numbers)
    np.testing.assert_array_equal(
        encoder.transform(numbers.to_numpy()), encoder.transform(numbers)
    )
    encoder.fit(numbers.to_numpy())
    assert not hasattr(encoder, "feature_names_in_")
    np.testing.assert_array_equal(
        encoder.transform(numbers), encoder.transform(numbers.to_numpy())
    )


def test_bad_input_gets_one_sentence():
    encoder = TableEncoder().fit(FRAME)
    with pytest.raises(NotFittedError):
        clone(encoder).transform(FRAME)
    with pytest.raises(ValueError, match="none of the columns of the training table"):
        encoder.transform(pd.DataFrame({"x": [1]}))
    with pytest.raises(ValueError, match=r"3 named columns, but got an array of shape"):
        encoder.transform(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="a sparse array of shape"):
        encoder.transform(sp.csr_array((2, 3)))
    with pytest.raises(ValueError, match="'scale' parameter of TableEncoder"):
        TableEncoder("no").fit(FRAME)
