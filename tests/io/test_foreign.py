"""Models from elsewhere: what their inputs cannot hold is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof.io import open_foreign

skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")

KINDS = {
    np.int64: skl2onnx.common.data_types.Int64TensorType,
    np.float32: skl2onnx.common.data_types.FloatTensorType,
}
X, Y = np.arange(24).reshape(12, 2) % 7, np.arange(12) % 7 > 2


def opened(tmp_path, kind, columns):
    """A model of two numbers, in one input or in two."""
    inputs, model = [("X", KINDS[kind]([None, 2]))], LogisticRegression()
    if columns:
        inputs = [(name, KINDS[kind]([None, 1])) for name in "ab"]
        kept = ColumnTransformer([("kept", StandardScaler(), ["a", "b"])])
        model = make_pipeline(kept, model)
    model.fit(given(X, columns), Y)
    content = skl2onnx.convert_sklearn(model, initial_types=inputs)
    path = tmp_path / "model.onnx"
    path.write_bytes(content.SerializeToString())
    return open_foreign(path), model


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_and_refusals(kind, columns, tmp_path):
    found, model = opened(tmp_path, kind, columns)
    rows = given(X, columns)
    np.testing.assert_array_equal(found.predict(rows), model.predict(rows))
    bad = [np.nan, np.inf]
    bad += {np.int64: [1e30, 2.0**63, 0.5], np.float32: [1e300]}.get(kind, [])
    for value in bad:
        rows = np.where(X == 3, value, X)
        with pytest.raises(ValueError, match=r"of the ONNX model takes \w+ numbers"):
            found.predict(given(rows, columns))


def given(rows, columns):
    return pd.DataFrame(rows, columns=["a", "b"]) if columns else rows


def test_whole_numbers_of_any_type_are_taken(tmp_path):
    found, model = opened(tmp_path, np.int64, columns=False)
    for dtype in (bool, np.uint8, np.float32, object):
        rows = X.astype(dtype)
        np.testing.assert_array_equal(found.predict(rows), model.predict(rows))


def test_it_promises_no_more_than_predict(tmp_path):
    found, _ = opened(tmp_path, np.float32, columns=False)
    assert "predict_proba" not in type(found).__doc__ or hasattr(found, "predict_proba")
