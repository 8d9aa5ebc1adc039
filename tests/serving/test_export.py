"""Plain models of scikit-learn agree with ours, and so does ONNX."""

import numpy as np
import pandas as pd
import pytest
from problems import dataset, kind
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from noiseproof import (
    CorruptedCopies,
    DropoutLogisticRegression,
    DropoutSVC,
    as_sklearn,
)
from noiseproof.estimators import ESTIMATORS
from noiseproof.tables import TableEncoder

METHODS = ["predict", "predict_proba", "decision_function"]


def fitted(name, rng, classes=2, dtype=np.float64):
    """A small fitted model, or a skip where it has no linear form."""
    model = ESTIMATORS[name]()
    X, y = dataset(model, rng, n=80, d=6, classes=classes)
    model.fit(X.astype(dtype), y)
    if not hasattr(getattr(model, "estimator_", model), "coef_"):
        pytest.skip(f"{name} is not linear")
    return model, X.astype(dtype)


every_model = pytest.mark.parametrize(
    ("name", "classes"),
    [
        pytest.param(name, classes, id=f"{name}-{classes}")
        for name, cls in ESTIMATORS.items()
        for classes in ([2] if kind(cls()) == "regressor" else [2, 3])
    ],
)


@every_model
def test_every_model_has_a_plain_counterpart(name, classes, rng):
    model, X = fitted(name, rng, classes)
    plain = as_sklearn(model)
    assert type(plain).__module__.startswith("sklearn.")
    inner = getattr(model, "estimator_", model)
    if np.shape(plain.coef_) == np.shape(inner.coef_):
        np.testing.assert_array_equal(plain.coef_, inner.coef_)
        assert not np.shares_memory(plain.coef_, inner.coef_)
    for method in METHODS:
        if hasattr(model, method):
            ours, theirs = (getattr(m, method)(X) for m in (model, plain))
            if method == "predict" and kind(model) == "classifier":
                np.testing.assert_array_equal(theirs, ours)
            else:
                np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-12)


@every_model
def test_onnx_agrees_on_float32(name, classes, rng):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model, X = fitted(name, rng, classes, np.float32)
    plain = as_sklearn(model)
    if type(plain).__name__ == "PoissonRegressor":
        pytest.skip("skl2onnx has no converter for PoissonRegressor")
    exported = skl2onnx.to_onnx(plain, X[:1]).SerializeToString()
    session = runtime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    answer = session.run(None, {session.get_inputs()[0].name: X})
    expected = model.predict(X)
    if kind(model) == "regressor":
        np.testing.assert_allclose(answer[0].ravel(), expected, rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_array_equal(answer[0], expected)


def test_pipelines_searches_and_copies(rng):
    X, y = dataset(DropoutSVC(), rng)
    pipeline = make_pipeline(StandardScaler(), DropoutSVC(0.2)).fit(X, y)
    plain = as_sklearn(pipeline)
    assert plain[0] is pipeline[0]
    np.testing.assert_array_equal(plain.predict(X), pipeline.predict(X))
    search = GridSearchCV(DropoutLogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(
        X, y
    )
    assert isinstance(as_sklearn(search), LogisticRegression)
    copies = CorruptedCopies(LogisticRegression(), random_state=0).fit(X, y)
    plain = as_sklearn(copies)
    np.testing.assert_array_equal(plain.coef_, copies.estimator_.coef_)
    assert plain is not copies.estimator_


def test_coerced_columns_must_hold_numbers(rng):
    price = np.round(rng.uniform(1, 9, 60), 1)
    y = (price > 5).astype(int)
    raw = pd.DataFrame({"price": [f"${p}" for p in price], "age": rng.normal(size=60)})
    raw.loc[:2, "price"] = ["n/a", "-999", "-999"]
    numbers = raw.assign(price=np.r_[[np.nan] * 3, price[3:]])
    encoder = TableEncoder(coerce=["price"])
    model = make_pipeline(encoder, DropoutLogisticRegression(0.1)).fit(raw, y)
    with pytest.warns(UserWarning, match="plain model needs numbers in 'price'"):
        plain = as_sklearn(model)
    expected = model.predict_proba(raw)
    np.testing.assert_allclose(plain.predict_proba(numbers), expected, rtol=1e-12)


def test_bad_input_gets_one_sentence(rng):
    X, y = dataset(DropoutSVC(), rng)
    with pytest.raises(NotFittedError):
        as_sklearn(DropoutSVC())
    with pytest.raises(TypeError, match=r"SVC has no coef_: only linear models"):
        as_sklearn(SVC().fit(X, y))
    assert hasattr(clone(as_sklearn(DropoutSVC().fit(X, y))), "fit")
