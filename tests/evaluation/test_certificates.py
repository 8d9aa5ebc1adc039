"""Certificates against enumeration of every deletion, by the models' own predict."""

import itertools
import json
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from noiseproof import (
    AverageOverMissing,
    DropoutLogisticRegression,
    DropoutSGDClassifier,
    DropoutSVC,
    PartitionEnsemble,
    RobustPerceptron,
)
from noiseproof.attacks import ATTACKS, FeatureDeletion, FeatureScaling, NormBall
from noiseproof.evaluation import certificates as smallest_change
from noiseproof.evaluation import certify, robustness_curve

VALUES = {
    "none": lambda rng, d: None,
    "zero-one": lambda rng, d: rng.integers(0, 2, size=d),
    "free": lambda rng, d: np.zeros(d),
    "equal": lambda rng, d: np.full(d, 0.3),
    "whole": lambda rng, d: rng.integers(0, 6, size=d),
    "general": lambda rng, d: rng.gamma(1.0, size=d),
}


def brute_force(predict, X, values=None, factors=(0.0,)):
    """Least value of features, each times one of the factors, that changes a class."""
    n, d = X.shape
    values = np.ones(d) if values is None else np.asarray(values, dtype=float)
    ways = np.array(list(itertools.product([1.0, *factors], repeat=d)))[1:]
    changed = (predict((X[:, None] * ways).reshape(-1, d))).reshape(n, -1)
    flips = changed != predict(X)[:, None]
    return np.where(flips, (ways != 1.0) @ values, np.inf).min(axis=1)


def problem(seed, classes, n=8, d=7, density=0.8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    y = np.arange(n) % classes
    return rng, X, y


def random_model(rng, X, y, intercept=True, round_to=None):
    """A model with weights of its own, not learned, so that margins are all sizes."""
    model = LogisticRegression().fit(X, y)
    model.coef_ = rng.normal(size=model.coef_.shape)
    model.intercept_ = rng.normal(size=model.intercept_.shape) * intercept
    if round_to:
        model.coef_ = np.round(model.coef_ * round_to) / round_to
        model.intercept_ = np.round(model.intercept_ * round_to) / round_to
    return model


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("values", VALUES)
def test_equal_to_brute_force(values, classes):
    rng, X, y = problem(0, classes, n=20, d=9)
    v = VALUES[values](rng, 9)
    model = random_model(rng, X, y)
    found = certify(model, X, y, v)
    np.testing.assert_allclose(found.budget, brute_force(model.predict, X, v))
    assert found.exact.all()
    assert np.isfinite(found.budget).any()
    sparse = certify(model, sp.csc_array(X), y, v)
    np.testing.assert_array_equal(sparse.budget, found.budget)
    np.testing.assert_array_equal(sparse.exact, found.exact)


@pytest.mark.parametrize("model", [LinearSVC(random_state=0), RidgeClassifier()])
def test_equal_to_brute_force_with_twelve_features(model):
    rng, X, y = problem(1, 3, n=12, d=12)
    v = rng.gamma(2.0, size=12)
    model.fit(X, y)
    for values in (None, v):
        expected = brute_force(model.predict, X, values)
        np.testing.assert_allclose(certify(model, X, y, values).budget, expected)


@given(
    seed=st.integers(0, 10**6),
    classes=st.integers(2, 4),
    intercept=st.booleans(),
    values=st.sampled_from(sorted(VALUES)),
    round_to=st.sampled_from([None, 1, 2]),
)
@settings(max_examples=60, deadline=None)
def test_equal_to_brute_force_with_and_without_ties(
    seed, classes, intercept, values, round_to
):
    """Whole numbers tie all the time: then the model's own rule decides."""
    rng, X, y = problem(seed, classes)
    X = np.round(X * 2) / round_to if round_to else X
    model = random_model(rng, X, y, intercept, round_to)
    v = VALUES[values](rng, X.shape[1])
    found = certify(model, X, y, v)
    np.testing.assert_allclose(found.budget, brute_force(model.predict, X, v))
    assert found.exact.all()


@given(seed=st.integers(0, 10**6), classes=st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_never_too_high_where_rounding_decides(seed, classes):
    """Tenths tie in theory, and in practice this or that way."""
    rng, X, y = problem(seed, classes)
    X = np.round(X, 1)
    model = random_model(rng, X, y, round_to=10)
    found = certify(model, X, y)
    truth = brute_force(model.predict, X)
    assert (found.budget <= truth).all()
    np.testing.assert_array_equal(found.budget[found.exact], truth[found.exact])
    assert found.exact.mean() > 0.3


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((0.5, 1))])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("values", ["none", "general"])
def test_pipelines_in_both_spaces(scaler, classes, values):
    rng, X, y = problem(2, classes, n=24, d=7)
    v = VALUES[values](rng, 7)
    model = make_pipeline(scaler, LogisticRegression()).fit(X + 1, y)
    X = X + 1.5
    before = certify(model, X, y, v)
    after = certify(model, X, y, v, space="model")
    np.testing.assert_allclose(before.budget, brute_force(model.predict, X, v))
    Z = model[0].transform(X)
    np.testing.assert_allclose(after.budget, brute_force(model[-1].predict, Z, v))
    assert not np.array_equal(before.budget, after.budget)


def test_in_model_space_deleted_means_missing():
    """Behind a scaler NaN and a deletion in model space are the same to our models."""
    _, X, y = problem(3, 3, n=30, d=6)
    model = make_pipeline(StandardScaler(), DropoutSVC(0.3)).fit(X, y)
    found = certify(model, X, y, space="model")
    n, d = X.shape
    ways = np.array(list(itertools.product([False, True], repeat=d)))[1:]
    holes = np.where(ways, np.nan, X[:, None]).reshape(-1, d)
    flips = model.predict(holes).reshape(n, -1) != model.predict(X)[:, None]
    truth = np.where(flips, ways.sum(axis=1), np.inf).min(axis=1)
    np.testing.assert_array_equal(found.budget, truth)


@pytest.mark.parametrize("space", ["input", "model"])
def test_what_is_missing_cannot_be_deleted(space):
    rng, X, y = problem(4, 3, n=30, d=6, density=1.0)
    model = make_pipeline(StandardScaler(), DropoutSVC(0.3)).fit(X, y)
    X[rng.random(X.shape) < 0.3] = np.nan
    found = certify(model, X, y, space=space)
    Z, last = (X, model) if space == "input" else (model[0].transform(X), model[-1])
    np.testing.assert_array_equal(found.budget, brute_force(last.predict, Z))
    there = [set(np.flatnonzero(~np.isnan(row))) for row in X]
    assert all(set(found.deletion(i)) <= there[i] for i in range(len(X)))


def test_single_precision_is_safe():
    _, X, y = problem(5, 3, n=60, d=8)
    X = X.astype(np.float32)
    model = LogisticRegression().fit(X, y)
    model.coef_ = model.coef_.astype(np.float32)  # as it is from 1.9 on
    model.intercept_ = model.intercept_.astype(np.float32)
    found = certify(model, X, y)
    assert (found.budget <= brute_force(model.predict, X)).all()
    assert found.exact.mean() > 0.9


@pytest.mark.parametrize("values", ["none", "whole", "general"])
def test_the_deletion_named_does_it(values):
    rng, X, y = problem(6, 4, n=40, d=30)
    v = VALUES[values](rng, 30)
    cost = np.ones(30) if v is None else v
    model = random_model(rng, X, y)
    found = certify(model, X, y, v)
    for i, row in enumerate(X):
        features = found.deletion(i)
        deleted = row.copy()
        deleted[features] = 0.0
        flips = model.predict([deleted])[0] != found.prediction[i]
        assert flips == np.isfinite(found.budget[i])
        if flips:
            np.testing.assert_allclose(cost[features].sum(), found.budget[i])


def test_beyond_the_search_there_is_a_safe_bound(monkeypatch):
    rng, X, y = problem(7, 3, n=40, d=11, density=1.0)
    v = rng.gamma(2.0, size=11)
    model = random_model(rng, X, y)
    truth = brute_force(model.predict, X, v)
    monkeypatch.setattr(smallest_change, "MAX_BRANCHES", 16)
    found = certify(model, X, y, v)
    assert (found.budget <= truth * (1 + 1e-12)).all()
    np.testing.assert_allclose(found.budget[found.exact], truth[found.exact])
    assert 0 < found.exact.sum() < len(X)
    np.testing.assert_array_equal(np.isinf(found.budget), np.isinf(truth))
    assert "lower bounds" in repr(found)


@pytest.mark.parametrize("factors", [(0.0, 1.0), (0.5, 2.0), (-1.0, 3.0), (1.5, 2.0)])
@pytest.mark.parametrize("classes", [2, 3])
def test_scaling_equal_to_brute_force(factors, classes):
    rng, X, y = problem(8, classes, n=20, d=6)
    model = random_model(rng, X, y)
    attack = FeatureScaling(low=factors[0], high=factors[1])
    found = certify(model, X, y, attack=attack)
    expected = brute_force(model.predict, X, factors=set(factors) - {1.0})
    np.testing.assert_array_equal(found.budget, expected)
    assert found.exact.all()


LEVELS = {FeatureDeletion: "budget", FeatureScaling: "k", NormBall: "radius"}
CERTIFIED = [
    FeatureDeletion(),
    FeatureDeletion(mode="greedy"),
    FeatureDeletion(values=[0.5, 2, 1, 0, 3, 0.7, 1.1]),
    FeatureScaling(low=0.5, high=4.0),
    NormBall(ord=1),
    NormBall(ord=2),
    NormBall(ord=np.inf),
]


@pytest.mark.parametrize("attack", CERTIFIED, ids=repr)
@given(seed=st.integers(0, 10**6), classes=st.integers(2, 4), missing=st.booleans())
@settings(max_examples=15, deadline=None)
def test_no_attack_beats_a_certificate(attack, seed, classes, missing):
    rng, X, y = problem(seed, classes)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    model = DropoutSVC(0.3).fit(X, y)
    model.coef_ = rng.normal(size=model.coef_.shape)
    found = certify(model, X, y, attack=attack)
    own = found.prediction  # classes are 0, 1, ...
    label = own if classes > 2 else 2 * own - 1
    values = attack.get_params().get("values")
    most = X.shape[1] if values is None else np.sum(values)
    for i, budget in enumerate(found.budget):
        step = 1.0 if isinstance(attack, FeatureScaling) else 1e-9 * min(budget, most)
        level = min(budget - step, most)
        level = int(level) if isinstance(attack, FeatureScaling) else level
        if level <= 0:
            continue
        strong = clone(attack).set_params(**{LEVELS[type(attack)]: level})
        row = strong.worst(X[[i]], label[[i]], model.coef_, model.intercept_)
        assert model.predict(row)[0] == found.prediction[i]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=lambda a: a.__name__)
def test_every_attack_is_certified_or_refused(attack):
    _, X, y = problem(16, 2)
    model = LogisticRegression().fit(X, y)
    if attack in LEVELS:
        assert (certify(model, X, y, attack=attack()).budget > 0).all()
        return
    with pytest.raises(TypeError, match=f"smallest change .*got {attack.__name__}"):
        certify(model, X, y, attack=attack())


@pytest.mark.parametrize("order", [1, 2, np.inf])
@pytest.mark.parametrize("space", ["input", "model"])
def test_the_radius_is_the_smallest(order, space):
    rng, X, y = problem(9, 3, n=30, d=5)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X + 1, y)
    rows = X if space == "input" else model[0].transform(X)
    last = model if space == "input" else model[-1]
    found = certify(model, X, y, attack=NormBall(ord=order), space=space)
    scale = model[0].scale_ if space == "input" else 1.0
    for i, radius in enumerate(found.budget):
        moves = rng.normal(size=(300, 5)) * rng.choice([1e-6, 1], size=(300, 5))
        moves *= radius / np.linalg.norm(moves, order, axis=1)[:, None]
        inside = last.predict(rows[i] + moves * (1 - 1e-9))
        assert (inside == found.prediction[i]).all()
        reached = False
        for rival in range(3):
            u = (model[-1].coef_[rival] - model[-1].coef_[found.prediction[i]]) / scale
            top = np.eye(5)[np.abs(u).argmax()] * np.sign(u)
            best = {1: top, 2: u, np.inf: np.sign(u)}[order]
            step = best * radius / max(np.linalg.norm(best, order), 1e-300)
            beyond = last.predict([rows[i] + step * (1 + 1e-9)])[0]
            reached |= bool(beyond != found.prediction[i])
        assert reached


def test_accuracy_at_counts_rows_that_are_and_stay_right():
    rng, X, y = problem(10, 3, n=50)
    model = random_model(rng, X, y)
    found = certify(model, X, y)
    right = model.predict(X) == y
    budgets = [0, 1, 2, 2.5, 100]
    expected = [np.mean(right & (found.budget > b)) for b in budgets]
    np.testing.assert_allclose(found.accuracy_at(budgets), expected)
    assert found.accuracy_at(0) == model.score(X, y)
    assert isinstance(found.accuracy_at(1), float)
    np.testing.assert_allclose(found.unchanged_at(1), np.mean(found.budget > 1))
    # three times 0.1 is a budget of 0.3, for certificates as for attacks
    tenth = certify(model, X, y, np.full(7, 0.1))
    assert tenth.accuracy_at(0.3) == found.accuracy_at(3)


@pytest.mark.parametrize("space", ["input", "model"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_curve_under_attack_is_the_certified_accuracy(space, classes):
    _, X, y = problem(15, classes, n=90)
    model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X, y)
    levels = np.arange(7)
    found = certify(model, X, y, space=space)
    options = {"space": space, "random_state": 0}
    attacked = robustness_curve(model, X, y, FeatureDeletion(), levels, **options)
    at_random = robustness_curve(model, X, y, "delete_count", levels, **options)
    certified = found.accuracy_at(levels)
    np.testing.assert_allclose(attacked.scores[0, :, 0], certified)
    assert (at_random.scores[0] >= certified[:, None]).all()


def test_wrong_rows_have_certificates_too():
    rng, X, y = problem(11, 2, n=30)
    model = random_model(rng, X, y)
    some, none = certify(model, X, y), certify(model, X, None)
    np.testing.assert_array_equal(some.budget, none.budget)
    assert none.correct is None
    assert none.unchanged_at(0) == 1.0
    with pytest.raises(ValueError, match="accuracy_at needs labels"):
        none.accuracy_at(1)


def test_risk_bound_is_above_the_exact_interval_but_not_far():
    rng, X, y = problem(12, 2, n=200)
    found = certify(random_model(rng, X, y), X, y)
    errors = round((1 - found.accuracy_at(1)) * 200)
    exact = beta.ppf(0.95, errors + 1, 200 - errors)
    assert exact <= found.risk_bound(1) <= exact + 0.03
    assert found.risk_bound(1, delta=0.5) < found.risk_bound(1)
    with pytest.raises(ValueError, match="delta"):
        found.risk_bound(1, delta=0)


def test_results_are_tidy_and_frozen():
    rng, X, y = problem(13, 2, n=30)
    found = certify(random_model(rng, X, y), X, y)
    frame = found.to_frame()
    assert list(frame.columns) == ["prediction", "correct", "budget", "exact"]
    assert len(json.loads(json.dumps(found.to_dict()))["budget"]) == 30
    assert "certified accuracy" in repr(found)
    assert found._repr_html_().startswith("<table>")
    with pytest.raises(ValueError, match="read-only"):
        found.budget[0] = 7


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"values": [1, 2]}, ValueError, "one number for each of the 7 features"),
        ({"values": -np.ones(7)}, ValueError, "not negative"),
        (
            {"values": np.ones(7), "attack": NormBall()},
            ValueError,
            "cannot be combined",
        ),
        ({"attack": NormBall(ord=3)}, ValueError, "1, 2 or inf"),
        (
            {"attack": FeatureScaling(low=2, high=1)},
            ValueError,
            "low must not exceed high",
        ),
        ({"space": "raw"}, ValueError, "'input' or 'model'"),
        ({"y": [1, 2]}, ValueError, "a label for each of the 8 rows"),
        ({"model": GaussianNB()}, TypeError, "GaussianNB is not a linear"),
    ],
)
def test_bad_input_gets_one_sentence(options, error, sentence):
    _, X, y = problem(14, 2)
    model = LogisticRegression().fit(X, y)
    given = {"model": model, "X": X, "y": y, **options}
    given["model"].fit(X, y)
    with pytest.raises(error, match=sentence):
        certify(**given)
    with pytest.raises(ValueError, match="must not be negative"):
        certify(model, X, y).accuracy_at(-1)
    with pytest.raises(ValueError, match="deletion is only for linear models"):
        certify(model, X, y, attack=NormBall()).deletion(0)


def fitted_with(model, coef, intercept):
    """A model with these weights; its training does not matter."""
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    classes = max(2, len(coef))
    X = np.random.default_rng(0).normal(size=(4 * classes, coef.shape[1]))
    model = clone(model).fit(X, np.arange(4 * classes) % classes)
    model.coef_, model.intercept_ = coef, np.asarray(intercept, dtype=np.float64)
    return model


SETTABLE = [
    LogisticRegression(),
    LinearSVC(random_state=0),
    RidgeClassifier(),
    SGDClassifier(random_state=0),
    Perceptron(random_state=0),
    LinearDiscriminantAnalysis(),
    DropoutSVC(0.2),
    DropoutLogisticRegression(0.2),
    DropoutSGDClassifier(0.2, random_state=0),
    RobustPerceptron(1, random_state=0),
]


@pytest.mark.parametrize("model", SETTABLE, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("values", ["none", "general"])
def test_ties_are_decided_as_each_family_decides_them(model, classes, values, rng):
    X = rng.integers(-2, 3, size=(60, 6)).astype(float)
    coef = rng.integers(-2, 3, size=(1 if classes == 2 else classes, 6))
    model = fitted_with(model, coef, np.zeros(len(coef)))
    v = VALUES[values](rng, 6)
    found = certify(model, X, None, v)
    np.testing.assert_allclose(found.budget, brute_force(model.predict, X, v))
    assert found.exact.all()


@pytest.mark.parametrize("model", [SVC(kernel="linear"), NuSVC(kernel="linear")])
@pytest.mark.parametrize("sign", [1, -1])
def test_support_vector_machines_have_a_tie_rule_of_their_own(model, sign):
    """Without features their decision is 0, and then the second class wins."""
    X = sign * np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 0.0], [1.0, 0.0]])
    model.fit(X, [0, 1, 0, 1])
    assert model.decision_function([[0.0, 0.0]]) == 0
    found = certify(model, X, None)
    truth = brute_force(model.predict, X)
    np.testing.assert_array_equal(found.budget, truth)
    assert found.exact.all()
    assert np.isfinite(truth).any()
    assert np.isinf(truth).any()


def test_the_weights_of_support_vectors_may_cancel(rng):
    """The decision is a sum over support vectors, whose rounding coef_ hides."""
    X = rng.normal(size=(60, 4)) + 1e5
    y = rng.integers(0, 2, size=60)
    model = SVC(kernel="linear", C=1e-4).fit(X, y)
    found = certify(model, X, None)
    assert (found.budget <= brute_force(model.predict, X)).all()


@pytest.mark.parametrize(
    "values",
    [
        [9e6, 1e4, 1e5, 3e-6],
        [1e9, 1e-9, 2e-9, 1e9],
        [1e12, 1.0, 1.0001, 1e-12],
        [1e300, 1.0, 2.0, 1e-300],
    ],
)
def test_costs_do_not_cancel(values):
    values = np.array(values)
    X = np.ones((1, 4))
    for coef in itertools.product([1.0, 1.3, 2.1], repeat=4):
        model = fitted_with(LogisticRegression(), coef, [-sum(coef) + 1.05])
        found = certify(model, X, None, values)
        ways = [w for r in range(5) for w in itertools.combinations(range(4), r)]
        costs = []
        for way in ways:
            row = X.copy()
            row[0, list(way)] = 0
            if model.predict(row) != model.predict(X):
                costs.append(math.fsum(values[list(way)]))
        assert found.budget[0] <= min(costs)
        if values.max() < 1e300:  # else what is next to nothing counts as free
            np.testing.assert_allclose(found.budget[0], min(costs), rtol=1e-12)


def test_a_class_that_hangs_on_rounding_has_no_budget(rng):
    """The same row may be another class alone than among others."""
    X = rng.normal(size=(2000, 40))
    coef = rng.normal(size=40)
    X[:, -1] = -(X[:, :-1] @ coef[:-1]) / coef[-1]
    model = fitted_with(LogisticRegression(), coef, [0.0])
    found = certify(model, X, None)
    alone = np.array([model.predict(row[None])[0] for row in X])
    assert (alone != found.prediction).any()
    assert (found.budget == 0).all()
    assert not found.exact.any()
    assert found.unchanged_at(0) == 0


@pytest.mark.parametrize("size", [1e308, 1.7e308, 1e-320, 5e-324, 1e-310])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("attack", [FeatureDeletion(), NormBall()])
def test_weights_at_the_ends_of_floating_point(size, classes, attack, rng):
    X = rng.integers(-2, 3, size=(40, 5)).astype(float) / 3
    coef = rng.choice([-1.0, 1.0, 0.3], size=(1 if classes == 2 else 3, 5)) * size
    model = fitted_with(LogisticRegression(), coef, rng.normal(size=len(coef)) * size)
    with np.errstate(all="ignore"):
        found = certify(model, X, None, attack=attack)
        truth = brute_force(model.predict, X)
    if isinstance(attack, FeatureDeletion):
        assert (found.budget <= truth).all()
        np.testing.assert_array_equal(found.budget[found.exact], truth[found.exact])
    else:  # deleting everything is a change of the length of the row
        length = np.linalg.norm(X, axis=1)
        zeros = np.zeros((1, 5))
        flips = model.predict(zeros) != found.prediction
        assert (found.budget <= np.where(flips, length, np.inf) * (1 + 1e-9)).all()


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()])
@pytest.mark.parametrize("space", ["input", "model"])
def test_half_precision_is_safe(scaler, space, rng):
    """Scalers keep float16, so a scaled feature has three digits."""
    X = np.round(rng.normal(size=(400, 6)), 1).astype(np.float16)
    y = rng.integers(0, 2, size=400)
    model = make_pipeline(scaler, LogisticRegression()).fit(X, y)
    found = certify(model, X, None, space=space)
    rows, last = (X, model) if space == "input" else (model[0].transform(X), model[-1])
    ways = np.array(list(itertools.product([1, 0], repeat=6)), dtype=rows.dtype)
    after = last.predict((rows[:, None] * ways).reshape(-1, 6)).reshape(400, -1)
    cost = (ways == 0).sum(axis=1)
    truth = np.where(after != found.prediction[:, None], cost, np.inf).min(axis=1)
    assert (found.budget <= truth).all()
    np.testing.assert_array_equal(found.budget[found.exact], truth[found.exact])
    assert found.exact.mean() > 0.8


def test_scalers_that_undo_each_other_are_safe(rng):
    """What they add cancels in the weights, but not in the model's own sums."""
    X = rng.normal(size=(300, 5))
    y = rng.integers(0, 2, size=300)
    scalers = (MinMaxScaler((1e9, 1e9 + 1)), StandardScaler())
    model = make_pipeline(*scalers, LogisticRegression()).fit(X, y)
    found = certify(model, X, None)
    assert (found.budget <= brute_force(model.predict, X)).all()


def test_an_infinite_budget_buys_all_that_can_be_bought():
    _, X, y = problem(17, 2, n=40)
    model = fitted_with(LogisticRegression(), np.ones((1, 7)), [0.5])
    found = certify(model, np.abs(X), np.ones(40))
    assert np.isinf(found.budget).all()
    assert found.accuracy_at(np.inf) == found.unchanged_at(np.inf) == 1.0
    rng, X, y = problem(18, 3, n=50)
    found = certify(random_model(rng, X, y), X, y)
    expected = np.mean(found.correct & np.isinf(found.budget))
    assert found.accuracy_at(np.inf) == expected == found.accuracy_at(1e300)


def test_averages_over_missing_values_are_refused():
    """What is known of such a row does not determine the prediction."""
    _, X, y = problem(23, 2, n=60)
    model = AverageOverMissing(LogisticRegression(), "donors").fit(X, y)
    assert certify(model, X, y).budget.shape == (60,)
    X[:, 0] = np.where(np.arange(60) % 2 == 0, X[:, 0], np.nan)
    with pytest.raises(TypeError, match="For rows with missing values the model does"):
        certify(model, X, y)


def test_several_labels_per_row_are_refused():
    _, X, y = problem(19, 2, n=30)
    model = RidgeClassifier().fit(X, np.column_stack([y, 1 - y]))
    with pytest.raises(TypeError, match="several labels"):
        certify(model, X, None)


def forged():
    X = sp.csr_array(np.eye(7))
    X.indices[3] = 10**6
    return X


def doubled():
    parts = [0.75, 0.25, 1.0, -2.0], [0, 0, 3, 1], [0, 3, 4]
    return sp.csr_array(parts, shape=(2, 7))


def test_stored_entries_are_checked_and_summed(rng):
    _, X, y = problem(20, 2, n=30)
    model = random_model(rng, X, y)
    with pytest.raises(ValueError, match="column index outside 0 to 6"):
        certify(model, forged(), None)
    np.testing.assert_array_equal(
        certify(model, doubled(), None).budget,
        certify(model, doubled().toarray(), None).budget,
    )


def test_blocks_of_rows_change_nothing(monkeypatch):
    rng, X, y = problem(21, 3, n=50, d=8)
    model = make_pipeline(StandardScaler(), random_model(rng, X, y))
    model[0].fit(X)
    values = rng.gamma(1.0, size=8)
    whole = certify(model, X, y, values)
    monkeypatch.setattr(smallest_change, "_BLOCK", 40)
    for rows in (X, pd.DataFrame(X), X.tolist()):
        found = certify(model, rows, y, values)
        np.testing.assert_array_equal(found.budget, whole.budget)
        np.testing.assert_array_equal(found.correct, whole.correct)
        assert all((found.deletion(i) == whole.deletion(i)).all() for i in range(50))
    plain = certify(model[-1], X, y)
    sparse = certify(model[-1], sp.csr_array(X), y)
    np.testing.assert_array_equal(plain.budget, sparse.budget)
    assert (plain.changes != sparse.changes).nnz == 0


def test_memory_does_not_grow_with_the_rows(rng):
    X = rng.standard_normal((100_000, 50))
    model = fitted_with(LogisticRegression(), rng.normal(size=50), [0.1])
    certify(model, X[:10], None)
    tracemalloc.start()
    certify(model, X, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes


@pytest.mark.parametrize("space", ["input", "model"])
def test_the_model_predicts_the_rows_once(space, rng, monkeypatch):
    """And one probe of three rows for ties: nothing is asked twice."""
    X, y = rng.normal(size=(50, 4)), np.arange(50) % 3
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    asked, predict = [], LogisticRegression.predict

    def counted(self, rows):
        asked.append(len(rows))
        return predict(self, rows)

    monkeypatch.setattr(LogisticRegression, "predict", counted)
    certify(model, X, y, space=space)
    assert sorted(asked) == [3, 50]


def test_a_model_that_votes_predicts_once(rng, monkeypatch):
    X, y = rng.normal(size=(50, 4)), np.arange(50) % 3
    model = PartitionEnsemble(DecisionTreeClassifier(max_depth=2), n_parts=2).fit(X, y)
    asked, predict = [], DecisionTreeClassifier.predict

    def counted(self, rows):
        asked.append(len(rows))
        return predict(self, rows)

    monkeypatch.setattr(DecisionTreeClassifier, "predict", counted)
    certify(model, X, y)
    assert asked == [50, 50]  # by each of the two parts
