"""RobustLPClassifier as a user meets it."""

import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from highs_program import highs
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from noiseproof import RobustLPClassifier, mutual_info_values
from noiseproof._deletion import ROBUST_LP_SOLVERS
from noiseproof._deletion.interior import NewtonSystem, Path
from noiseproof._private import StrOptions
from noiseproof.attacks import FeatureDeletion
from noiseproof.datasets import make_leaky_labels


def data(n=120, d=8, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    scores = X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k))
    return X, np.array(["a", "b", "c", "d"])[scores.argmax(axis=1)]


def test_objective_is_the_worst_case_hinge_of_the_fitted_model():
    X, y = data()
    model = RobustLPClassifier(2, margin=0.7, C=0.6).fit(X, y)
    signs = np.where(y == "b", 1, -1)
    drop = FeatureDeletion(2).margin_drop
    # eq. (3): less damage must leave more margin, so the adversary pays γ v/P
    price, base = 0.7 / 6, 0.7 * 8 / 6
    gains = signs[:, None] * X * model.coef_[0] - price
    lost = np.sort(np.maximum(gains, 0), axis=1)[:, -2:].sum(axis=1)
    margins = signs * model.decision_function(X)
    hinge = np.maximum(base - margins + lost, 0)
    assert model.objective_ == pytest.approx(hinge.mean() / 0.7)
    assert 0 <= model.gap_ <= 1e-6 * model.objective_
    worst_margin = margins - drop(X, signs, model.coef_)
    assert (worst_margin <= 0).mean() <= model.objective_


@pytest.mark.parametrize("k", [2, 3])
def test_a_witness_agrees_and_sparse_equals_dense(k, monkeypatch):
    X, y = data(k=k)
    fit = RobustLPClassifier(1.5, C=0.5).fit(X, y)
    monkeypatch.setitem(ROBUST_LP_SOLVERS, "witness", highs)
    monkeypatch.setitem(
        RobustLPClassifier._parameter_constraints, "solver", [StrOptions({"witness"})]
    )
    other = RobustLPClassifier(1.5, C=0.5, solver="witness").fit(X, y)
    monkeypatch.undo()
    np.testing.assert_allclose(fit.objective_, other.objective_, rtol=3e-6)
    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_array):
        sparse = RobustLPClassifier(1.5, C=0.5).fit(kind(X), y)
        np.testing.assert_allclose(sparse.coef_, fit.coef_, atol=1e-9)
    assert np.shape(fit.objective_) == (() if k == 2 else (3,))


def test_missing_is_nothing():
    X, y = data()
    holes = X.copy()
    holes[X == 0] = np.nan
    a, b = RobustLPClassifier(1).fit(X, y), RobustLPClassifier(1).fit(holes, y)
    np.testing.assert_allclose(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.predict(X), b.predict(holes))
    assert b.missing_in_training_.all()
    with pytest.raises(ValueError, match="missing='error' forbids"):
        RobustLPClassifier(1, missing="error").fit(holes, y)


def test_refit_forgets_what_was_before():
    X, y = data()
    X[3, 2] = np.nan
    model = RobustLPClassifier(1, warm_start=True).fit(X, y)
    assert model.missing_in_training_[2]
    model.fit(np.nan_to_num(X[:, :5]), y)
    assert model.missing_in_training_.tolist() == [False] * 5
    fresh = RobustLPClassifier(1).fit(np.nan_to_num(X[:, :5]), y)
    np.testing.assert_allclose(model.coef_, fresh.coef_)


def test_mutual_info_values_are_taken_from_the_training_data():
    X, y = data()
    model = RobustLPClassifier(2, feature_values="mutual_info").fit(X, y)
    np.testing.assert_allclose(model.feature_values_, mutual_info_values(X, y))


def test_chunks_average_and_certify_what_that_costs():
    X, y = data(n=200)
    whole = RobustLPClassifier(2).fit(X, y)
    chunked = RobustLPClassifier(2, n_chunks=4, random_state=0).fit(X, y)
    assert whole.objective_ <= chunked.objective_ + 1e-6
    assert chunked.objective_ - chunked.gap_ <= whole.objective_ + 1e-6
    assert np.abs(chunked.coef_).max() <= 1


def test_an_unfinished_fit_warns_and_continues():
    X, y = data()
    model = RobustLPClassifier(2, max_iter=3, tol=1e-8, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="see gap_"):
        model.fit(X, y)
    first, gap = model.n_iter_, model.gap_
    model.set_params(max_iter=100).fit(X, y)
    cold = RobustLPClassifier(2, tol=1e-8).fit(X, y)
    assert model.n_iter_ == cold.n_iter_ - first
    assert model.gap_ < gap
    np.testing.assert_allclose(model.coef_, cold.coef_)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).coef_, cold.coef_)


def test_an_interrupt_leaves_a_fitted_model(monkeypatch):
    X, y = data(k=3)
    advance, calls = Path.advance, []

    def impatient(path):
        calls.append(path)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return advance(path)

    monkeypatch.setattr(Path, "advance", impatient)
    model = RobustLPClassifier(2, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.gap_.shape == (3,)
    assert set(model.predict(X)) <= set(y)
    model.fit(X, y)
    np.testing.assert_allclose(
        model.objective_, RobustLPClassifier(2).fit(X, y).objective_, rtol=2e-6
    )


def test_progress_tells_objective_and_gap(capsys):
    RobustLPClassifier(2, verbose=1).fit(*data())
    assert "[RobustLPClassifier] step    1  objective" in capsys.readouterr().out


@given(
    seed=st.integers(0, 1000),
    budget=st.floats(0, 5),
    radius=st.floats(0.01, 100),
    scale=st.floats(0.01, 100),
)
@settings(max_examples=25, deadline=None)
def test_only_the_ratio_of_box_and_margin_matters(seed, budget, radius, scale):
    X, y = data(40, 6, seed=seed)
    a = RobustLPClassifier(budget, C=radius).fit(X, y)
    b = RobustLPClassifier(budget, C=radius * scale, margin=scale).fit(X, y)
    assert a.objective_ == pytest.approx(b.objective_, rel=3e-6, abs=3e-6)


@given(seed=st.integers(0, 1000), budget=st.integers(0, 4))
@settings(max_examples=15, deadline=None)
def test_permuting_features_permutes_weights(seed, budget):
    X, y = data(40, 6, seed=seed)
    order = np.random.default_rng(seed).permutation(6)
    values = np.linspace(0.5, 2, 6)
    a = RobustLPClassifier(budget, feature_values=values).fit(X, y)
    b = RobustLPClassifier(budget, feature_values=values[order]).fit(X[:, order], y)
    assert a.objective_ == pytest.approx(b.objective_, rel=3e-6, abs=3e-6)


def test_survives_the_loss_of_features_that_knew_the_label():
    X, y = make_leaky_labels(random_state=0)
    values = np.r_[np.ones(20), 10, 10]
    model = RobustLPClassifier(20, feature_values=values, C=3.0).fit(X[:500], y[:500])
    X, y = X[500:].copy(), y[500:]
    X[:, 20] = 0.0
    assert model.score(X, y) > 0.99
    X[:, 21] = 0.0
    assert model.score(X, y) > 0.72


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6, 1e9])
@pytest.mark.parametrize("small", [0.0, 1.0])
def test_a_few_rows_of_large_entries_are_soon_done(size, small):
    X = np.array([[size, small], [small, size], [-size, 3 * small], [2 * small, -size]])
    model = RobustLPClassifier(max_iter=30).fit(X, [0, 1, 0, 1])
    assert model.gap_ <= 1e-6 * model.objective_


def test_no_more_iterations_than_allowed():
    with pytest.warns(ConvergenceWarning, match="after 5 iterations"):
        model = RobustLPClassifier(max_iter=5, tol=1e-12).fit(*data())
    assert model.n_iter_ == 5


def test_the_keyboard_stops_a_fit(monkeypatch):
    """A signal as the keyboard sends it, in the middle of the third iteration."""
    factorise, calls = NewtonSystem.factorise, []

    def pressed(system, at):
        calls.append(at)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return factorise(system, at)

    monkeypatch.setattr(NewtonSystem, "factorise", pressed)
    model = RobustLPClassifier(2)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:  # shells start processes in the background with this signal ignored
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data())
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.n_iter_ == 2


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"budget": -1}, "'budget' parameter"),
        ({"budget": 8}, "must be less than the total value of the features, 8"),
        (
            {"feature_values": [1, 2]},
            "one number for each of the 8 features; got shape",
        ),
        ({"feature_values": [-1] + [1] * 7}, "finite and not negative"),
        ({"feature_values": [0] * 8}, "less than the total value of the features, 0"),
        ({"feature_values": "entropy"}, "'feature_values' parameter"),
        ({"margin": 0}, "'margin' parameter"),
        ({"C": -2}, "'C' parameter"),
        ({"solver": "simplex"}, "'solver' parameter"),
        ({"solver": "highs"}, "must be a str among {'interior'}. Got 'highs' instead"),
        ({"n_chunks": 100}, "the rarest class has"),
    ],
)
def test_bad_parameters_give_one_sentence(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        clone(RobustLPClassifier()).set_params(**parameters).fit(*data())
