"""Online dropout descent against the papers' recursion, written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.datasets import load_digits

from noiseproof import DropoutSGDClassifier
from noiseproof.noise import Dropout

RATE, C = 0.4, 0.5


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)) * (rng.random((60, 6)) < 0.5)
    return X, (X @ rng.normal(size=6) + 0.3 * rng.normal(size=60) > 0).astype(int)


def recursion(X, y, rule, loss, rate=RATE):
    """β ← β - η diag(H)⁻¹ g row by row, and the mean over steps."""
    Xb = np.hstack([X, np.ones((len(X), 1))])
    beta, H = np.zeros(7), np.full(7, 1 / C)
    eta = np.ones(7)
    if rule == "dropout":
        eta[:6] = (1 - rate) / rate
    path = []
    for x, sign in zip(Xb, 2 * y - 1, strict=True):
        m = x @ beta
        if loss == "hinge":
            slope = -sign if sign * m < 1 else 0.0
            bend = slope**2
        else:
            slope = -sign * expit(-sign * m)
            bend = expit(m) * expit(-m)
        if slope != 0:
            H += x**2 * (slope**2 if rule == "adagrad" else bend)
            beta = beta - eta * slope * x / (np.sqrt(H) if rule == "adagrad" else H)
        path.append(beta)
    return beta, np.mean(path, axis=0)


@pytest.mark.parametrize("rule", ["dropout", "adagrad"])
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_one_pass_is_the_recursion(data, rule, loss, container):
    X, y = data
    last, mean = recursion(X, y, rule, loss)
    for average, expected in ((False, last), (True, mean)):
        model = DropoutSGDClassifier(RATE, C=C, rule=rule, loss=loss, average=average)
        model.partial_fit(container(X), y, classes=[0, 1])
        found = np.append(model.coef_[0], model.intercept_)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_rate_per_feature(data):
    X, y = data
    rates = np.linspace(0.1, 0.9, 6)
    model = DropoutSGDClassifier(Dropout(rates), C=C).partial_fit(X, y, classes=[0, 1])
    eta = np.append((1 - rates) / rates, 1.0)
    beta, H = np.zeros(7), np.full(7, 1 / C)
    for x, sign in zip(np.hstack([X, np.ones((60, 1))]), 2 * y - 1, strict=True):
        m = x @ beta
        H += x**2 * expit(m) * expit(-m)
        beta = beta + eta * sign * expit(-sign * m) * x / H
    np.testing.assert_allclose(model.coef_[0], beta[:6], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("average", [False, True])
def test_chunks_of_any_size_give_the_same_bits(data, container, average):
    X, _ = data
    y = np.arange(60) % 3
    whole = DropoutSGDClassifier(
        average=average, shuffle=False, max_iter=1, tol=None
    ).fit(container(X), y)
    for size in (1, 7, 59):
        chunked = DropoutSGDClassifier(average=average)
        for start in range(0, 60, size):
            rows = slice(start, start + size)
            chunked.partial_fit(container(X[rows]), y[rows], classes=[0, 1, 2])
        np.testing.assert_array_equal(chunked.coef_, whole.coef_)
        np.testing.assert_array_equal(chunked.intercept_, whole.intercept_)
        assert chunked.t_ == whole.t_ == 60


def test_features_that_a_row_lacks_are_not_touched():
    X = sp.csr_matrix(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]]))
    model = DropoutSGDClassifier().partial_fit(X, [0, 1], classes=[0, 1])
    assert model.coef_[0, 1] == 0
    assert np.all(model.coef_[0, [0, 2]] != 0)


def test_learns_digits_and_stops_early():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = DropoutSGDClassifier(
        early_stopping=True, max_iter=50, C=0.1, random_state=0
    ).fit(X[:1000], y[:1000])
    assert model.n_iter_ < 50
    assert model.score(X[1000:], y[1000:]) > 0.85


def test_missing_entries_count_as_zeros(data):
    X, y = data
    holes = X.copy()
    holes[::3, 2] = np.nan
    zeros = np.nan_to_num(holes)
    with_nan = DropoutSGDClassifier(random_state=0).fit(holes, y)
    with_zero = DropoutSGDClassifier(random_state=0).fit(zeros, y)
    np.testing.assert_array_equal(with_nan.coef_, with_zero.coef_)
    np.testing.assert_array_equal(with_nan.predict(holes), with_zero.predict(zeros))


def test_bad_input(data):
    X, y = data
    with pytest.raises(ValueError, match="above 0"):
        DropoutSGDClassifier(0.0).fit(X, y)
    with pytest.raises(ValueError, match="needs all class labels; pass classes"):
        DropoutSGDClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="not among the classes"):
        DropoutSGDClassifier().partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="use fit"):
        DropoutSGDClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])


def test_a_new_fit_may_have_other_features(data):
    X, y = data
    model = DropoutSGDClassifier(random_state=0).fit(X, y)
    model.fit(X[:, :4], y)
    assert model.missing_in_training_.shape == (4,)
