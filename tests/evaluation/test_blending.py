"""Blends of contenders: the best weights, scored on rows that had no say in them."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from noiseproof import DropoutLogisticRegression
from noiseproof.evaluation import contest
from noiseproof.evaluation.blending import blend_weights, soft_predictions


def best_by_hand(loss, k):
    """Weights that minimise a convex loss on the simplex."""
    found = minimize(
        loss,
        np.full(k, 1 / k),
        method="SLSQP",
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return found.fun


def test_weights_of_probabilities_are_the_likeliest(rng):
    y = rng.integers(3, size=400)
    answers = rng.dirichlet(np.ones(3), size=(4, 400))
    for i, sure in enumerate((0.5, 0.3, 0.1)):
        answers[i] = sure * np.eye(3)[y] + (1 - sure) * answers[i]
    right = answers[:, np.arange(400), y]

    def loss(w):
        return -np.log(w @ right).mean()

    weights = blend_weights(answers, y, np.arange(3))
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert loss(weights) < best_by_hand(loss, 4) + 1e-3
    order = rng.permutation(4)
    np.testing.assert_allclose(
        blend_weights(answers[order], y, np.arange(3)), weights[order]
    )


def test_weights_of_quantities_have_the_least_squares(rng):
    y = 100 + 5 * rng.normal(size=300)
    answers = y + rng.normal(size=(4, 300)) * [[1.0], [2.0], [3.0], [50.0]]

    def loss(w):
        return np.mean((w @ answers - y) ** 2)

    weights = blend_weights(answers, y, None)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert loss(weights) < best_by_hand(loss, 4) * 1.001
    assert weights[3] == 0.0  # too little to be worth a model


def test_models_of_small_weight_are_left_out_unless_all_are(rng):
    y = rng.integers(2, size=2_000)
    sure, unsure = np.full((2, 2_000, 2), 0.5)
    sure[np.arange(2_000), y] = 0.9
    sure /= sure.sum(axis=1, keepdims=True)
    assert blend_weights(np.stack([sure, unsure]), y, np.arange(2)).tolist() == [1, 0]
    alike = np.repeat(unsure[None], 15, axis=0)
    np.testing.assert_allclose(blend_weights(alike, y, np.arange(2)), 1 / 15)


def test_a_model_that_met_fewer_classes(rng):
    X = rng.normal(size=(30, 2))
    model = GaussianNB().fit(X, np.arange(30) % 2 * 2)
    p = soft_predictions(model, X, np.arange(3))
    np.testing.assert_array_equal(p[:, [0, 2]], model.predict_proba(X))
    assert not p[:, 1].any()
    assert (
        soft_predictions(SVC().fit(X, X[:, 0] > 0), X, np.array([False, True])) is None
    )


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(150, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=150) > 1).astype(int)


def test_its_score_on_a_fold_comes_from_weights_of_the_others(rows):
    X, y = rows
    models = {"nb": GaussianNB(), "near": KNeighborsClassifier(15)}
    folds = list(StratifiedKFold(3).split(X, y))
    options = {"cv": folds, "n_repeats": 1, "blend": models}
    judged = contest(models, X, y, "delete", 0.0, **options)
    assert judged.contenders == ("nb", "near", "blend")
    told = []
    for train, test in folds:
        fitted = [model.fit(X[train], y[train]) for model in models.values()]
        told.append(np.array([model.predict_proba(X[test]) for model in fitted]))
    for i, (_, test) in enumerate(folds):
        others = [j for j in range(3) if j != i]
        answers = np.concatenate([told[j] for j in others], axis=1)
        wanted = np.concatenate([y[folds[j][1]] for j in others])
        weights = blend_weights(answers, wanted, np.arange(2))
        p = np.tensordot(weights, told[i], 1)
        expected = accuracy_score(y[test], p.argmax(axis=1))
        assert judged.perturbed[2, i] == judged.clean[2, i] == expected
    taken = [judged.contenders.index(name) for name in judged.weights]
    assert judged.fit_seconds[2] == pytest.approx(judged.fit_seconds[taken].sum())


@pytest.mark.parametrize("n_repeats", [1, 2, 3])
def test_a_blend_of_twins_scores_as_they_do(n_repeats, rows):
    """On rows as they are and on perturbed ones: neither is taken for the other."""
    twins = {"a": DropoutLogisticRegression(0.3), "b": DropoutLogisticRegression(0.3)}
    with parallel_config(n_jobs=2):
        judged = contest(
            twins, *rows, "missing", 0.8, cv=3, n_repeats=n_repeats, blend=twins
        )
    assert judged.clean.mean() > judged.perturbed.mean() + 0.02
    np.testing.assert_array_equal(judged.clean[2], judged.clean[0])
    np.testing.assert_allclose(judged.perturbed[2], judged.perturbed[0], rtol=1e-12)


class Dice(ClassifierMixin, BaseEstimator):
    """Probabilities at random."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.random.default_rng(len(X)).random(len(X))
        return np.column_stack([p, 1 - p])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_those_who_know_nothing_have_no_part_in_it(rows):
    models = {
        "good": DropoutLogisticRegression(0.3),
        "dice": Dice(),
        "silent": SVC(),
        "apart": LogisticRegression(),
    }
    judged = contest(
        models,
        *rows,
        "missing",
        0.3,
        cv=3,
        n_repeats=2,
        blend=("good", "dice", "silent"),
    )
    assert judged.weights == {}  # one contender alone is no blend
    assert "apart" in judged.contenders  # it takes no NaN, and so gets means
    assert "blend" not in judged.contenders
    assert "blend" not in judged.verdict
    alone = contest({"good": models["good"]}, *rows, "missing", 0.3, cv=2, blend="good")
    assert alone.contenders == ("good",)
    assert alone.choice == alone.best


def test_quantities(rng):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.normal(size=200)
    models = {"line": Ridge(), "tree": DecisionTreeRegressor(max_depth=4)}
    judged = contest(models, X, y, "delete", 0.1, cv=4, blend=models)
    score = dict(zip(judged.contenders, judged.perturbed.mean(axis=1), strict=True))
    assert judged.choice == judged.best == "blend"
    assert score["blend"] > max(score["line"], score["tree"])
    assert judged.metric == "r2"
    assert r2_score(y, y) >= score["blend"]
