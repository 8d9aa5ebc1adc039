"""RobustLPRegressor as a user meets it."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss

import noiseproof
from noiseproof import RobustLPRegressor, as_sklearn, mutual_info_values


def data(n=120, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    return X, X @ rng.normal(size=d) + rng.normal(size=n) + 2


def allowed(values, budget):
    """Every set of groups that the adversary can afford, as a mask."""
    masks = np.array(list(itertools.product([False, True], repeat=len(values))))
    return masks[masks @ values <= budget * (1 + 1e-12)]


def minimum(X, y, values, model, weights, labels):
    """A constraint for each row, each branch of the loss and each deletion."""
    (n, d), rows, right = X.shape, [], []
    for gone in allowed(values, model.budget_):
        kept = np.where(gone[labels], 0.0, X)
        for slope in (model.quantile, model.quantile - 1):
            rows.append(np.hstack([-slope * kept, np.full((n, 1), -slope), -np.eye(n)]))
            right.append(-slope * y)
    free = (None, None) if model.fit_intercept else (0.0, 0.0)
    return linprog(
        np.concatenate([np.zeros(d + 1), weights / weights.sum()]),
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(right),
        bounds=[(-model.C_, model.C_)] * d + [free] + [(0, None)] * n,
    ).fun


def worst_loss(model, X, y, values, labels):
    """Mean over the rows of the largest pinball loss after any deletion."""
    worst = np.full(len(y), -np.inf)
    for gone in allowed(values, model.budget_):
        left = y - model.predict(np.where(gone[labels], 0.0, X))
        worst = np.maximum(worst, np.maximum(left, 0) - (1 - model.quantile) * left)
    return worst


def check_against_brute_force(seed):
    """A random small case: scales, quantile, groups, values, weights, container."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 18)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.4, 0.8, 1.0]))
    y = X @ rng.normal(size=d) * rng.choice([0, 1, 5]) + rng.normal(size=n)
    y = np.round(y) if rng.random() < 0.2 else y * 10 ** rng.uniform(-3, 3)
    grouped = rng.random() < 0.3
    labels = pd.factorize(rng.integers(0, 3, d))[0]  # numbered as they appear
    labels = labels if grouped else np.arange(d)
    values = (rng.random(labels.max() + 1) < 0.8).astype(float)
    values[0] = 1.0
    weights = rng.gamma(1.0, size=n) if rng.random() < 0.5 else np.ones(n)
    model = RobustLPRegressor(
        rng.uniform(0, 0.99) * values.sum(),
        quantile=rng.uniform(0.05, 0.95),
        feature_values=values,
        groups=labels if grouped else None,
        C=(np.abs(y).max() + 1e-3) * 10 ** rng.uniform(-2, 1),
        fit_intercept=bool(rng.integers(2)),
        tol=1e-8,
    )
    model.fit(sp.csr_array(X) if rng.random() < 0.5 else X, y, sample_weight=weights)
    best = minimum(X, y, values, model, weights, labels)
    typical = mean_pinball_loss(y, np.full(n, np.median(y)), sample_weight=weights)
    assert model.objective_ == pytest.approx(best, rel=1e-6, abs=1e-7 * typical)
    assert model.objective_ - model.gap_ <= best * (1 + 1e-9) + 1e-9 * typical
    losses = worst_loss(model, X, y, values, labels)
    assert model.objective_ == pytest.approx(np.average(losses, weights=weights))


@pytest.mark.parametrize("seed", range(60))
def test_equals_brute_force_over_all_deletions(seed):
    check_against_brute_force(seed)


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(60, 560))
def test_equals_brute_force_over_all_deletions_more_often(seed):
    check_against_brute_force(seed)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_whole_deletions_from_above_for_other_values(seed):
    X, y = data(20, 5, seed)
    values = np.random.default_rng(seed).gamma(1.0, size=5)
    model = RobustLPRegressor(0.4 * values.sum(), feature_values=values).fit(X, y)
    everyone = np.ones(20), np.arange(5)
    assert model.objective_ >= minimum(X, y, values, model, *everyone) - 1e-6
    whole = worst_loss(model, X, y, values, np.arange(5)).mean()
    assert model.objective_ >= whole * (1 - 1e-12)


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_without_a_budget_it_is_quantile_regression(quantile):
    X, y = data()
    ours = RobustLPRegressor(0.0, quantile=quantile, C=100.0, tol=1e-8).fit(X, y)
    theirs = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y)
    loss = mean_pinball_loss(y, theirs.predict(X), alpha=quantile)
    assert ours.objective_ == pytest.approx(loss, rel=1e-7)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_a_worst_case_that_plain_regression_does_not_survive():
    rng = np.random.default_rng(0)
    load = rng.normal(size=400)
    X = load[:, None] + np.array([0.1, 0.3, 0.3]) * rng.normal(size=(400, 3))
    plain = QuantileRegressor(alpha=0.0).fit(X[:200], load[:200])
    robust = RobustLPRegressor(1).fit(X[:200], load[:200])
    robust.budget_ = plain.budget_ = 1.0
    lost = [
        worst_loss(model, X[200:], load[200:], np.ones(3), np.arange(3)).mean()
        for model in (robust, plain)
    ]
    assert lost[0] < 0.6 * lost[1]


@given(
    seed=st.integers(0, 1000),
    budget=st.floats(0, 5),
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
    quantile=st.floats(0.05, 0.95),
)
@settings(max_examples=25, deadline=None)
def test_units_of_the_target_do_not_matter(seed, budget, scale, shift, quantile):
    X, y = data(40, 6, seed)
    model = RobustLPRegressor(budget, quantile=quantile, C=1.0)
    a = clone(model).fit(X, y).objective_
    b = clone(model).set_params(C=scale).fit(X, scale * (y + shift)).objective_
    assert b / scale == pytest.approx(a, rel=3e-6, abs=1e-9 * abs(shift))
    mirrored = clone(model).set_params(quantile=1 - quantile).fit(X, -y)
    assert mirrored.objective_ == pytest.approx(a, rel=3e-6)


@given(seed=st.integers(0, 1000), budget=st.integers(0, 4))
@settings(max_examples=15, deadline=None)
def test_order_and_repetition(seed, budget):
    X, y = data(40, 6, seed)
    rng = np.random.default_rng(seed)
    order, times, values = rng.permutation(6), rng.integers(0, 4, 40), np.arange(1, 7)
    model = RobustLPRegressor(budget, feature_values=values / 3)
    a = clone(model).fit(X, y, sample_weight=times)
    b = clone(model).set_params(feature_values=values[order] / 3)
    b.fit(np.repeat(X, times, axis=0)[:, order], np.repeat(y, times))
    assert a.objective_ == pytest.approx(b.objective_, rel=3e-6)


def test_sparse_equals_dense_and_missing_is_nothing():
    X, y = data()
    dense = RobustLPRegressor(1.5).fit(X, y)
    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_array):
        sparse = RobustLPRegressor(1.5).fit(kind(X), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)
        np.testing.assert_allclose(sparse.predict(kind(X)), dense.predict(X))
    holes = np.where(X == 0, np.nan, X)
    model = RobustLPRegressor(1.5).fit(holes, y)
    np.testing.assert_allclose(model.coef_, dense.coef_)
    np.testing.assert_allclose(model.predict(holes), dense.predict(X))
    assert model.missing_in_training_.all()
    with pytest.raises(ValueError, match="missing='error' forbids"):
        RobustLPRegressor(missing="error").fit(holes, y)


def test_mutual_information_is_with_being_above_the_quantile():
    X, y = data()
    model = RobustLPRegressor(2, feature_values="mutual_info", quantile=0.8).fit(X, y)
    values = mutual_info_values(X, y > np.quantile(y, 0.8, method="inverted_cdf"))
    np.testing.assert_allclose(model.feature_values_, values)


@pytest.mark.parametrize("groups", [None, np.arange(8) // 2])
def test_chunks_average_and_certify_what_that_costs(groups):
    X, y = data(n=200)
    whole = RobustLPRegressor(1, groups=groups).fit(X, y)
    chunked = clone(whole).set_params(n_chunks=4, random_state=0).fit(X, y)
    assert whole.objective_ <= chunked.objective_ * (1 + 1e-6)
    assert chunked.objective_ - chunked.gap_ <= whole.objective_ + 1e-6
    assert np.abs(chunked.coef_).max() <= 1


def test_an_unfinished_fit_warns_and_continues():
    X, y = data()
    model = RobustLPRegressor(2, max_iter=3, tol=1e-8, warm_start=True)
    with pytest.warns(ConvergenceWarning, match=r"^RobustLPRegressor .*see gap_"):
        model.fit(X, y)
    first = model.n_iter_
    model.set_params(max_iter=100).fit(X, y)
    cold = RobustLPRegressor(2, tol=1e-8).fit(X, y)
    assert model.n_iter_ == cold.n_iter_ - first
    np.testing.assert_allclose(model.coef_, cold.coef_)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_targets_that_are_all_equal(fit_intercept):
    X, _ = data()
    y = np.full(len(X), 7.5 * fit_intercept)
    model = RobustLPRegressor(2, fit_intercept=fit_intercept).fit(X, y)
    assert (model.objective_, model.gap_) == (0.0, 0.0)
    np.testing.assert_array_equal(model.predict(X), y)


def test_targets_far_from_zero():
    X, y = data()
    near, far = (RobustLPRegressor(2).fit(X, y + far) for far in (0.0, 1e9))
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-5)


def test_files_and_plain_models(tmp_path):
    X, y = data()
    model = RobustLPRegressor(1, groups=np.arange(8) // 2).fit(X, y)
    noiseproof.save(model, tmp_path / "model.npf")
    again = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_allclose(as_sklearn(model).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"budget": -1}, "'budget' parameter"),
        ({"budget": 8}, "must be less than the total value of the features, 8"),
        ({"quantile": 0}, "'quantile' parameter"),
        ({"quantile": 1.0}, "'quantile' parameter"),
        (
            {"feature_values": [1, 2]},
            "one number for each of the 8 features; got shape",
        ),
        ({"feature_values": "entropy"}, "'feature_values' parameter"),
        ({"groups": [[0, 1], [1]]}, "Feature 1 is in the groups"),
        ({"C": -2}, "'C' parameter"),
        (
            {"n_chunks": 121},
            "n_chunks=121 needs at least that many rows, but there are only 120",
        ),
    ],
)
def test_bad_parameters_give_one_sentence(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        RobustLPRegressor().set_params(**parameters).fit(*data())


def test_by_default_weights_are_in_units_of_the_target():
    X, y = data()
    times = np.random.default_rng(0).integers(1, 4, len(y))
    model = RobustLPRegressor(1).fit(X, 1e4 * y, sample_weight=times)
    np.testing.assert_allclose(model.C_, 1e4 * np.std(np.repeat(y, times)))
    assert RobustLPRegressor(1, C=0.5).fit(X, y).C_ == 0.5
    assert np.abs(model.coef_).max() <= model.C_
