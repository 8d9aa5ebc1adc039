"""Calibrated probabilities: as good as plain logistic regression's, and consistent."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import check_estimator

from noiseproof import (
    AverageOverMissing,
    DropoutLogisticRegression,
    as_sklearn,
    load,
    save,
)


def calibration_error(model, X, y):
    p = model.predict_proba(X)
    confidence, right = p.max(axis=1), model.classes_[p.argmax(axis=1)] == y
    bins = np.minimum((10 * confidence).astype(int), 9)
    return sum(
        np.mean(bins == b) * abs(confidence[bins == b].mean() - right[bins == b].mean())
        for b in np.unique(bins)
    )


@pytest.fixture(params=[load_breast_cancer, load_digits], ids=["two", "ten"])
def problem(request):
    X, y = request.param(return_X_y=True)
    X = np.nan_to_num(scale(X))
    order = np.random.default_rng(0).permutation(len(y))
    half = len(y) // 2
    return X[order[:half]], y[order[:half]], X[order[half:]], y[order[half:]]


def test_errors_against_plain_logistic_regression(problem):
    X, y, X_test, y_test = problem
    plain = LogisticRegression(max_iter=1000).fit(X, y)
    timid = DropoutLogisticRegression(0.3).fit(X, y)
    sure = DropoutLogisticRegression(0.3, calibrated=True).fit(X, y)
    errors = [calibration_error(m, X_test, y_test) for m in (plain, timid, sure)]
    assert errors[2] < errors[1] / 2
    assert errors[2] < errors[0] + 0.03
    np.testing.assert_array_equal(sure.predict(X_test), timid.predict(X_test))
    np.testing.assert_array_equal(sure.coef_, timid.coef_)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_scale_is_that_of_the_plain_objective(class_weight, problem, rng):
    X, y, *_ = problem
    weights = rng.uniform(0.5, 2, len(y))
    model = DropoutLogisticRegression(
        0.4, C=0.3, calibrated=True, class_weight=class_weight
    ).fit(X, y, sample_weight=weights)
    scores = X @ model.coef_.T + model.intercept_
    if len(model.classes_) == 2:
        scores = np.hstack([0 * scores, scores])
    labels = np.searchsorted(model.classes_, y)
    own = np.ones(len(y))
    if class_weight:
        mass = np.array([weights[y == c].sum() for c in model.classes_])
        own = (mass.sum() / len(mass) / mass)[labels]

    def objective(a):
        losses = -log_softmax(a * scores, axis=1)[np.arange(len(y)), labels]
        return 0.5 * np.sum((a * model.coef_) ** 2) + 0.3 * (weights * own) @ losses

    best = minimize_scalar(objective, bounds=(0.1, 50), method="bounded")
    assert model.scale_ == pytest.approx(best.x, rel=1e-3)


def test_two_classes_without_noise_are_as_they_were():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"noise": None, "tol": 1e-10}
    model = DropoutLogisticRegression(calibrated=True, **options).fit(scale(X), y)
    assert model.scale_ == pytest.approx(1.0, abs=1e-3)


def test_files_and_plain_models_say_the_same(problem, tmp_path):
    X, y, X_test, _ = problem
    model = DropoutLogisticRegression(0.3, calibrated=True).fit(X, y)
    expected = model.predict_proba(X_test)
    save(model, tmp_path / "model.npf")
    np.testing.assert_array_equal(
        load(tmp_path / "model.npf").predict_proba(X_test), expected
    )
    np.testing.assert_allclose(as_sklearn(model).predict_proba(X_test), expected)
    if len(model.classes_) == 2:
        score = model.decision_function(X_test)
        np.testing.assert_allclose(expected[:, 1], expit(model.scale_ * score))


def test_averages_of_calibrated_models(problem, rng):
    X, y, X_test, y_test = problem
    model = DropoutLogisticRegression(0.3, calibrated=True)
    for law in ("donors", "joint-gaussian"):
        averaged = AverageOverMissing(model, law, random_state=0).fit(X, y)
        whole = averaged.estimator_.predict_proba(X_test)
        np.testing.assert_allclose(averaged.predict_proba(X_test), whole)
        holes = np.where(rng.random(X_test.shape) < 0.3, np.nan, X_test)
        assert calibration_error(averaged, holes, y_test) < 0.12


def test_scores_that_tell_nothing(rng):
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    model = DropoutLogisticRegression(calibrated=True).fit(X, y)
    assert model.scale_ == 1.0
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


def test_it_is_a_citizen():
    check_estimator(DropoutLogisticRegression("auto", calibrated=True), on_skip=None)
