"""Features that are lost together: the closed form, and what follows from it."""

import numpy as np
import pandas as pd
import pytest
import reference
import scipy.sparse as sp
from numerics import standard_error
from problems import (
    CONVEX_KEYS,
    IN_MEMORY,
    LOSS_KEYS,
    as_storage,
    minimum,
    problem,
    whole_problem,
)
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from noiseproof import (
    DropoutLogisticRegression,
    DropoutRidge,
    DropoutSGDClassifier,
    DropoutSVC,
    penalty,
)
from noiseproof._marginal import Problem
from noiseproof._marginal.losses import LOSSES
from noiseproof._rows import DESIGNS
from noiseproof._stop import Stop
from noiseproof.noise import Dropout, Missing

LABELS = np.array([1, 0, 1, 0])


@pytest.mark.parametrize("design", IN_MEMORY)
@pytest.mark.parametrize("key", CONVEX_KEYS)
def test_minimum_against_other_solvers(key, design, rng):
    noise = Dropout(0.3, groups=LABELS)
    whole, _, (X, y, weights) = whole_problem(key, noise, rng, design=design, n=30, k=1)
    best = reference.minimum(key, noise, X, y[0], weights, True)
    end = minimum(whole, Stop(1e-9, 200))
    assert end.point.value[0] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("design", IN_MEMORY)
@pytest.mark.parametrize("key", LOSS_KEYS)
def test_groups_of_one_are_todays_dropout_to_the_bit(key, design, rng):
    objective, theta, (X, y, weights) = problem(key, Dropout(0.3), rng, design=design)
    alone = Problem(
        DESIGNS[design](as_storage(design, X)),
        *(y, weights, Dropout(0.3, groups=[[2], [0], [3], [1]]), LOSSES[key](), True),
    ).objective()
    one, other = objective.at(theta), alone.at(theta)
    np.testing.assert_array_equal(one.value, other.value)
    np.testing.assert_array_equal(one.gradient, other.gradient)


def test_samples_of_groups_of_one_are_todays_to_the_bit(rng):
    X = rng.normal(size=(50, 4))
    for rows in (X, sp.csr_array(X)):
        one = Dropout(0.3).sample(rows, 0)
        other = Dropout(0.3, groups=list("dbca")).sample(rows, 0)
        assert np.all(abs(one - other) == 0) if rows is X else (one != other).nnz == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_sample_has_the_variance_of_the_closed_form(sparse, rng):
    x, w = np.array([1.0, -2.0, 0.5, 1.5]), rng.normal(size=4)
    noise = Dropout([0.2, 0.6], groups=[[1, 3], [0, 2]])  # one rate per group
    rows = np.tile(x, (100_000, 1))
    draws = noise.sample(sp.csr_array(rows) if sparse else rows, rng=0)
    draws = draws.toarray() if sparse else draws
    assert np.array_equal(draws[:, 0] == 0, draws[:, 2] == 0)
    scores = draws @ w
    squares = (scores - x @ w) ** 2
    s = np.array([w[[1, 3]] @ x[[1, 3]], w[[0, 2]] @ x[[0, 2]]])
    expected = 0.25 * s[0] ** 2 + 1.5 * s[1] ** 2
    assert abs(squares.mean() - expected) <= 4 * standard_error(squares[:, None])[0]
    each = noise.on(range(4))
    np.testing.assert_allclose(each.variance(x), [1.5, 1.0, 0.375, 0.5625])


def test_penalty_is_the_mean_over_corrupted_copies(rng):
    X, coef = rng.normal(size=(20, 4)), 0.4 * rng.normal(size=4)
    found = penalty("poisson", "exact", Dropout(0.3, groups=LABELS), X, coef)
    estimate = found.monte_carlo(4000, random_state=0)
    assert abs(found.value - estimate.mean) <= 4 * estimate.standard_error
    alone = penalty("poisson", "exact", 0.3, X, coef)
    assert abs(alone.value - found.value) > 8 * estimate.standard_error


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "irls"])
def test_solvers_and_containers_agree(container, solver, rng):
    X = rng.normal(size=(80, 4)).astype(np.float32)
    X[3, 1] = X[5, 0] = np.nan
    y = rng.integers(0, 3, 80)
    noise = Dropout(0.4, groups=LABELS)
    tight = {"tol": 1e-9, "max_iter": 5000}
    expected = DropoutSVC(noise, **tight).fit(np.nan_to_num(X).astype(float), y)
    model = DropoutSVC(noise, solver=solver, **tight).fit(container(X), y)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-6)
    assert np.all(model.objective_ != DropoutSVC(0.4).fit(X, y).objective_)


def test_column_order_and_storage_order_do_not_matter(rng):
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    one = DropoutLogisticRegression(Dropout(0.3, groups=LABELS), tol=1e-10).fit(X, y)
    other = clone(one).fit(np.asfortranarray(X), y)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-8)


def test_unlabelled_rows(rng):
    X, y, more = (
        rng.normal(size=(40, 4)),
        rng.integers(0, 2, 40),
        rng.normal(size=(90, 4)),
    )
    model = DropoutLogisticRegression(Dropout(0.3, groups=LABELS), unlabeled_weight=1.0)
    alone = clone(model).fit(X, y)
    helped = clone(model).fit(X, y, X_unlabeled=more)
    assert np.isfinite(helped.objective_)
    assert np.abs(helped.coef_ - alone.coef_).max() > 1e-4


def test_names_and_grid_search(rng):
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = X["a"] + rng.normal(size=60)
    by_name = DropoutRidge(Dropout(0.3, groups={"arm": ["a", "c"]})).fit(X, y)
    by_number = DropoutRidge(Dropout(0.3, groups=[[0, 2]])).fit(X.to_numpy(), y)
    np.testing.assert_array_equal(by_name.coef_, by_number.coef_)
    search = GridSearchCV(by_name, {"noise__rate": [0.1, 0.5]}, cv=2).fit(X, y)
    assert search.best_estimator_.noise.groups == {"arm": ["a", "c"]}
    holes = Missing(0.5, groups={"arm": ["a", "c"]}).sample(X, 0).to_numpy()
    np.testing.assert_array_equal(np.isnan(holes[:, 0]), np.isnan(holes[:, 2]))


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (Dropout(0.1, [[0, 1], [1]]), "Feature 1 is in the groups"),
        (
            Dropout(0.1, {"arm": ["z"]}),
            "'arm' contains 'z', which is not a feature of X",
        ),
        (Dropout(0.1, {"arm": []}), "The group 'arm' has no features"),
        (Dropout(0.1, ["a", "b"]), "one label for each of the 3 features; got 2"),
        (
            Dropout([0.1, 0.2, 0.3], [[0, 1]]),
            "must be the same for all features of a group",
        ),
        (
            Dropout([0.1, 0.2], [[0], [1]]),
            "one value for each group, but feature 2 is in no",
        ),
        (
            Dropout([0.1, 0.2], [[0, 1, 2]]),
            "a number, or have one value for each feature; got",
        ),
    ],
)
def test_bad_groups(noise, message):
    with pytest.raises(ValueError, match=message):
        DropoutSVC(noise).fit(np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match=message):
        noise.sample(np.eye(3), 0)


def test_online_learning_refuses_groups():
    with pytest.raises(ValueError, match="its noise cannot have groups"):
        DropoutSGDClassifier(Dropout(0.3, [[0, 1]])).fit(np.eye(3), [0, 1, 0])
