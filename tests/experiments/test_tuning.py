"""Constants come from training rows, and test rows are seen once."""

import numpy as np
import pytest
from experiments.tuning import cross_validated, fitted, tuned_curve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from noiseproof import DropoutSVC
from noiseproof.evaluation import robustness_curve

GRID = {"C": [1e-4, 1e-2, 1.0, 100.0]}


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(240, 8))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=240) > 0).astype(int)
    return (X[:100], y[:100]), (X[100:160], y[100:160]), (X[160:], y[160:])


def test_cross_validation_agrees_with_scikit_learn(problem):
    (X, y), _, test = problem
    chosen = cross_validated(LogisticRegression(), GRID, X, y, folds=4)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    search = GridSearchCV(LogisticRegression(), GRID, cv=folds).fit(X, y)
    assert search.best_params_["C"] == chosen.model.C
    assert chosen.constants == f"C = {chosen.model.C}"
    np.testing.assert_allclose(chosen.score, search.best_score_)
    np.testing.assert_allclose(chosen.model.coef_, search.best_estimator_.coef_)
    np.testing.assert_allclose(chosen.test(*test)["error"], 1 - search.score(*test))


class Spy(ClassifierMixin, BaseEstimator):
    """Answers 1 always and remembers the rows it was fitted to and asked about."""

    def __init__(self, C=1.0, seen=None):
        self.C = C
        self.seen = seen

    def fit(self, X, y, X_unlabeled=None):
        self.classes_ = np.unique(y)
        self.seen.append((len(X), None if X_unlabeled is None else len(X_unlabeled)))
        return self

    def predict(self, X):
        return np.ones(len(X), dtype=int)

    def __sklearn_clone__(self):
        return Spy(self.C, self.seen)


def test_unlabelled_rows_go_whole_to_every_fit(problem):
    (X, y), (Z, _), _ = problem
    seen = []
    cross_validated(Spy(seen=seen), {"C": [1.0]}, X, y, folds=4, X_unlabeled=Z)
    assert seen == [(75, 60)] * 4 + [(100, 60)]


def test_a_tuned_curve_takes_the_best_on_validation_rows(problem):
    train, validation, test = problem
    models = fitted(LogisticRegression(), GRID, *train)
    levels = [0.0, 0.5]
    points = list(tuned_curve(models, validation, test, "delete", levels, seed=3))
    options = {"perturb": "delete", "levels": levels, "n_repeats": 1}
    held = robustness_curve(models, *validation, **options, random_state=3).mean
    out = robustness_curve(models, *test, **options, random_state=4).mean
    for k, point in enumerate(points):
        best = int(np.argmax(held[:, k]))
        assert point["level"] == levels[k]
        assert point["constants"] == list(models)[best]
        np.testing.assert_allclose(point["error"], 1 - out[best, k])
        np.testing.assert_allclose(point["validation_error"], 1 - held[best, k])


def test_a_tuned_curve_can_fit_the_chosen_again(problem):
    train, validation, test = problem
    both = tuple(np.concatenate(pair) for pair in zip(train, validation, strict=True))
    models = fitted(LogisticRegression(), {"C": [1.0]}, *train)
    (point,) = tuned_curve(
        models, validation, test, "delete", [0.0], seed=0, refit=both
    )
    expected = LogisticRegression().fit(*both).score(*test)
    np.testing.assert_allclose(point["error"], 1 - expected)


def test_warm_starts_reach_the_same_models(problem):
    (X, y), _, _ = problem
    grid = {"C": [0.01, 0.1, 1.0], "noise": [0.1, 0.9]}
    warm, cold = (
        fitted(DropoutSVC(warm_start=start, tol=1e-10), grid, X, y)
        for start in (True, False)
    )
    for constants in cold:
        np.testing.assert_allclose(
            warm[constants].coef_, cold[constants].coef_, rtol=1e-3, atol=1e-4
        )
