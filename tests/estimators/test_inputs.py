"""Whatever holds the data, and whatever is wrong with it, the model is the same."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from problems import dataset, kind, marginal_models
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from noiseproof import DropoutSVC
from noiseproof.noise import NOISES

D = 5
TIGHT = {"tol": 1e-12}
every_model = pytest.mark.parametrize("model", marginal_models())
every_classifier = pytest.mark.parametrize("model", marginal_models("classifier"))


def _names(X):
    return [f"sensor_{j}" for j in range(X.shape[1])]


def _polars(X):
    return pl.DataFrame({name: X[:, j] for j, name in enumerate(_names(X))})


CONTAINERS = {
    "fortran": np.asfortranarray,
    "list": np.ndarray.tolist,
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=_names(X)),
    "polars": _polars,
}


def _score(model, X):
    if kind(model) == "regressor":
        return model.predict(X)
    return model.decision_function(X)


def _data(model, rng, **options):
    X, y = dataset(model, rng, **options)
    return X, y + 10 if kind(model) == "classifier" else y


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=list(CONTAINERS))
@every_model
def test_container_does_not_matter(model, container, rng):
    X, y = _data(model, rng, classes=3)
    plain = clone(model).set_params(**TIGHT).fit(X, y)
    other = clone(plain).fit(container(X), y)
    np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(other.objective_, plain.objective_, rtol=1e-10)
    np.testing.assert_allclose(
        _score(plain, X), np.asarray(_score(other, container(X))), atol=1e-4
    )
    np.testing.assert_array_equal(
        np.asarray(other.predict(container(X))).shape, plain.predict(X).shape
    )


@pytest.mark.parametrize("noise", NOISES.values(), ids=list(NOISES))
@every_model
def test_sparse_is_dense_for_every_noise(model, noise, rng):
    X, y = _data(model, rng)
    model = clone(model).set_params(noise=noise().at(0.2), **TIGHT)
    dense = clone(model).fit(X, y)
    sparse = clone(model).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.objective_, dense.objective_, rtol=1e-10)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@every_model
def test_float32(model, container, rng):
    X, y = _data(model, rng)
    X = X.astype(np.float32)
    small = clone(model).set_params(tol=1e-9).fit(container(X), y)
    large = clone(model).set_params(tol=1e-9).fit(X.astype(np.float64), y)
    assert small.coef_.dtype == np.float32
    assert large.coef_.dtype == np.float64
    assert small.objective_ == pytest.approx(large.objective_, rel=1e-8)
    np.testing.assert_allclose(small.coef_, large.coef_, atol=1e-4)


@every_model
def test_duplicate_sparse_entries_add_up(model, rng):
    X, y = _data(model, rng)
    S = sp.csr_array(X)
    doubled = sp.csr_array(
        (np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), S.shape
    )
    assert doubled.nnz == 2 * S.nnz
    stored = doubled.data.copy()
    one, other = clone(model).fit(S, y), clone(model).fit(doubled, y)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-8)
    np.testing.assert_array_equal(doubled.data, stored)  # the user's matrix is intact


@every_model
def test_training_data_is_left_alone(model, rng):
    X, y = _data(model, rng)
    X[3, 2] = np.nan
    y_before = y.copy()
    for container in (np.array, sp.csr_array):
        holder = container(X)
        clone(model).fit(holder, y).predict(holder)
        after = holder.toarray() if sp.issparse(holder) else holder
        np.testing.assert_array_equal(after, X)
    np.testing.assert_array_equal(y, y_before)


@every_model
def test_a_row_twice_is_a_row_of_weight_two(model, rng):
    X, y = _data(model, rng, classes=3)
    counts = rng.integers(0, 3, size=len(y))
    counts[:12] = 1  # all classes stay
    model = clone(model).set_params(**TIGHT)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    weighted = clone(model).fit(X, y, sample_weight=counts)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-10)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


@every_classifier
def test_balanced_classes(model, rng):
    X, y = _data(model, rng, n=60, classes=3)
    labels, counts = np.unique(y, return_counts=True)
    by_hand = dict(zip(labels, len(y) / (3 * counts), strict=True))
    model = clone(model).set_params(**TIGHT)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    by_dict = clone(model).set_params(class_weight=by_hand).fit(X, y)
    by_rows = clone(model).fit(X, y, sample_weight=[by_hand[label] for label in y])
    for other in (by_dict, by_rows):
        np.testing.assert_allclose(balanced.coef_, other.coef_, atol=1e-5)


@every_classifier
def test_several_classes_are_separate_binary_fits(model, rng):
    X, y = _data(model, rng, n=60, classes=4)
    model = clone(model).set_params(**TIGHT)
    together = clone(model).fit(X, y)
    assert together.coef_.shape == (4, D)
    assert together.intercept_.shape == together.objective_.shape == (4,)
    for k, label in enumerate(together.classes_):
        alone = clone(model).fit(X, y == label)
        np.testing.assert_allclose(together.coef_[k], alone.coef_[0], atol=1e-5)
        assert together.objective_[k] == pytest.approx(alone.objective_, rel=1e-10)
    scores = together.decision_function(X)
    np.testing.assert_allclose(scores, X @ together.coef_.T + together.intercept_)
    np.testing.assert_array_equal(
        together.predict(X), together.classes_[scores.argmax(axis=1)]
    )


@every_classifier
def test_labels_may_be_strings(model, rng):
    X, y = dataset(model, rng)
    words = np.array(["spam", "ham"])[y]
    by_word, by_number = clone(model).fit(X, words), clone(model).fit(X, y == 0)
    assert list(by_word.classes_) == ["ham", "spam"]
    np.testing.assert_allclose(by_word.coef_, by_number.coef_)
    assert set(by_word.predict(X)) == {"spam", "ham"}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@every_model
def test_missing_is_zero(model, container, rng):
    X, y = _data(model, rng)
    holes = X.copy()
    holes[[2, 5, 9], [1, 1, 4]] = np.nan
    zeroed = np.nan_to_num(holes)
    one = clone(model).fit(container(holes), y)
    other = clone(model).fit(container(zeroed), y)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-10)
    np.testing.assert_allclose(
        _score(one, container(holes)), _score(one, container(zeroed)), rtol=1e-14
    )
    np.testing.assert_array_equal(
        one.missing_in_training_, [False, True, False, False, True]
    )
    assert not other.missing_in_training_.any()


@every_model
def test_missing_warn(model, rng):
    X, y = _data(model, rng)
    X[1, 2] = np.nan
    model = clone(model).set_params(missing="warn").fit(X, y)  # nothing to warn of
    model.predict(X)
    X[4, 0] = X[5, 3] = np.nan
    with pytest.warns(UserWarning, match="Never missing in training.*features 0, 3;"):
        model.predict(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@every_model
def test_missing_error(model, container, rng):
    X, y = _data(model, rng)
    model = clone(model).set_params(missing="error").fit(container(X), y)
    X[4, 3] = np.nan
    message = r"missing entries \(NaN\) in feature 3, and missing='error' forbids them"
    with pytest.raises(ValueError, match=message):
        model.predict(container(X))
    with pytest.raises(ValueError, match=message):
        clone(model).fit(container(X), y)


def test_missing_messages_name_the_columns(rng):
    model = DropoutSVC(missing="error")
    X, y = dataset(model, rng)
    frame = pd.DataFrame(X, columns=_names(X))
    model.fit(frame, y)
    frame.loc[3, "sensor_2"] = np.nan
    with pytest.raises(ValueError, match="in feature 'sensor_2', and missing='error'"):
        model.predict(frame)


@pytest.mark.parametrize("frame", [CONTAINERS["pandas"], CONTAINERS["polars"]])
@every_model
def test_feature_names(model, frame, rng):
    X, y = _data(model, rng)
    model = clone(model).fit(frame(X), y)
    assert list(model.feature_names_in_) == _names(X)
    assert model.n_features_in_ == D
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=_names(X)[::-1]))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@every_model
def test_empty_rows_and_dead_columns(model, container, rng):
    X, y = _data(model, rng)
    X[[0, 7]] = 0.0
    X[:, 2] = 0.0
    model = clone(model).fit(container(X), y)
    assert np.isfinite(model.coef_).all()
    np.testing.assert_allclose(np.atleast_2d(model.coef_)[:, 2], 0.0, atol=1e-12)


@every_model
def test_all_features_dead(model, rng):
    _, y = _data(model, rng)
    model = clone(model).fit(np.zeros((len(y), 2)), y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-12)
    assert np.isfinite(model.intercept_).all()


@every_model
def test_constant_features(model, rng):
    X, y = _data(model, rng)
    X[:, 1] = 1.0
    model = clone(model).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.objective_)


def _fit_whatever_happens(model, X, y):
    """Fit; it may fail to converge, but then it must say so, and only that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(X, y)


@every_model
def test_a_refit_forgets_what_was_missing_before(model, rng):
    X, y = _data(model, rng)
    model = clone(model).set_params(missing="warn").fit(X, y)
    X[0, 1] = np.nan
    model.fit(X, y)  # training data is what it is: no warning
    assert model.missing_in_training_.tolist() == [False, True, False, False, False]


@pytest.mark.parametrize("columns", [[2], slice(None)], ids=["one", "all"])
@pytest.mark.parametrize("factor", [1e-12, 1e12])
@every_model
def test_badly_scaled_features_converge_or_warn(model, factor, columns, rng):
    X, y = _data(model, rng)
    X[:, columns] *= factor
    fitted = _fit_whatever_happens(model, X, y)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.intercept_).all()
    # at least as good as b = 0 and no features at all
    blind = clone(model).set_params(fit_intercept=False)
    nothing = _fit_whatever_happens(blind, np.zeros_like(X), y)
    assert fitted.objective_ <= nothing.objective_ * (1 + 1e-12)


@every_model
def test_one_feature_and_one_row_of_a_class(model, rng):
    X, y = _data(model, rng, d=1)
    model = clone(model).fit(X, y)
    assert np.ravel(model.coef_).shape == (1,)
    assert model.predict(X[:1]).shape == (1,)
