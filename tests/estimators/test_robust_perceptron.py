"""RobustPerceptron against the algorithm written out."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from noiseproof import RobustLPClassifier, RobustPerceptron
from noiseproof.datasets import make_leaky_labels


def by_the_book(X, y, budget, margin, C, tau=None):
    """Section 3, line by line, for equal values."""
    m, n = X.shape
    P = n - budget
    w, b, total_w, total_b, losses = np.zeros(n), 0.0, 0.0, 0.0, 0.0
    for i, (x, label) in enumerate(zip(X, y, strict=True), 1):
        total_w, total_b = total_w + w, total_b + b
        step = tau or C * np.sqrt(n + 1) / np.sqrt(2 * (m if tau is None else i))
        gains = label * w * x - margin / P
        deleted = np.argsort(-gains)[:budget]
        deleted = deleted[gains[deleted] > 0]
        left = np.setdiff1d(np.arange(n), deleted)
        loss = margin * len(left) / P - label * (b + w[left] @ x[left])
        if loss > 0:
            losses += loss
            w[left] = np.clip(w[left] + label * step * x[left], -C, C)
            b = np.clip(b + label * step, -C, C)
    return total_w / m, total_b / m, losses / (m * margin)


def data(n=150, d=9, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = (X @ rng.normal(size=(d, k)) + 0.3 * rng.normal(size=(n, k))).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("budget", [0, 1, 4])
@pytest.mark.parametrize("C", [0.2, 5.0])
def test_one_pass_is_the_papers(budget, C):
    X, y = data()
    model = RobustPerceptron(budget, margin=0.5, C=C, shuffle=False).fit(X, y)
    w, b, loss = by_the_book(X, 2 * y - 1, budget, 0.5, C)
    np.testing.assert_allclose(model.averaged_[0], w, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, b, atol=1e-12)
    np.testing.assert_allclose(model.online_loss_, loss)


def test_partial_fit_in_pieces_is_one_stream():
    X, y = data(k=3)
    whole = RobustPerceptron(2).partial_fit(X, y, classes=[0, 1, 2])
    pieces = RobustPerceptron(2)
    for part in np.array_split(np.arange(len(y)), 7):
        pieces.partial_fit(X[part], y[part], classes=[0, 1, 2])
    np.testing.assert_allclose(pieces.coef_, whole.coef_)
    assert pieces.n_seen_ == len(y)
    step = RobustPerceptron(2, step=0.05, shuffle=False)
    np.testing.assert_allclose(
        step.fit(X, y).coef_,
        RobustPerceptron(2, step=0.05).partial_fit(X, y, classes=[0, 1, 2]).coef_,
    )


def test_theorem_4_bounds_the_online_loss():
    X, y = data(n=400)
    X = X / np.abs(X).sum(axis=1).max()
    model = RobustPerceptron(2, margin=0.1, C=2.0).fit(X, y)
    best = RobustLPClassifier(2, margin=0.1, C=2.0, fit_intercept=False).fit(X, y)
    regret = 2.0 / 0.1 * np.sqrt(2 * (9 + 1) / 400)
    assert model.online_loss_[0] <= best.objective_ + regret


def test_sparse_equals_dense_and_missing_is_nothing():
    X, y = data(k=3)
    values = np.linspace(0.1, 2, 9)
    make = lambda: RobustPerceptron(2, feature_values=values, random_state=0)  # noqa: E731
    dense = make().fit(X, y)
    np.testing.assert_allclose(make().fit(sp.csr_matrix(X), y).coef_, dense.coef_)
    holes = np.where(X == 0, np.nan, X)
    np.testing.assert_allclose(make().fit(holes, y).coef_, dense.coef_)


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
@pytest.mark.parametrize("block", [1, 20, 10**6])
def test_blocks_of_rows_change_nothing(block, kind, monkeypatch):
    X, y = data(k=3)
    whole = RobustPerceptron(2, max_iter=3, random_state=0).fit(X, y)
    monkeypatch.setattr("noiseproof.estimators.robust_perceptron._BLOCK", block)
    parts = RobustPerceptron(2, max_iter=3, random_state=0).fit(kind(X), y)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_allclose(parts.online_loss_, whole.online_loss_, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_rows_are_not_copied_all_at_once(dtype, monkeypatch, rng):
    X, y = rng.random((20_000, 50)).astype(dtype), rng.integers(0, 2, 20_000)
    monkeypatch.setattr("noiseproof.estimators.robust_perceptron._BLOCK", 2**14)
    RobustPerceptron(2).fit(X[:10], y[:10])  # compile
    tracemalloc.start()
    RobustPerceptron(2).fit(X, y).partial_fit(X, y)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < X.nbytes / 2


def test_survives_the_loss_of_features_that_knew_the_label():
    X, y = make_leaky_labels(4000, random_state=0)
    values = np.r_[np.ones(20), 10, 10]
    model = RobustPerceptron(20, feature_values=values, random_state=0).fit(X, y)
    X[:, 20:] = 0.0
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"budget": -1}, "'budget' parameter"),
        ({"budget": 9.5}, "less than the total value of the features, 9"),
        ({"feature_values": [1.0]}, "one number for each of the 9 features"),
        ({"margin": -1}, "'margin' parameter"),
        ({"step": 0}, "'step' parameter"),
    ],
)
def test_bad_parameters_give_one_sentence(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        RobustPerceptron(**parameters).fit(*data())


def test_partial_fit_says_what_it_needs():
    X, y = data()
    with pytest.raises(ValueError, match="needs all class labels; pass classes"):
        RobustPerceptron().partial_fit(X, y)
    model = RobustPerceptron().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X, y + 1)
