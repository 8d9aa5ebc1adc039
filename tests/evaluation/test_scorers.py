"""Scorers do in a search what curves do by hand."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import DropoutSVC
from noiseproof.attacks import FeatureDeletion
from noiseproof.evaluation import perturbed_scorer, robustness_curve
from noiseproof.noise import Gaussian


def problem(rng, n=150, d=8):
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) > 0, "yes", "no")


SCORERS = [
    perturbed_scorer("delete", 0.4, n_repeats=3),
    perturbed_scorer("delete_count", 2, "f1_macro"),
    perturbed_scorer(Gaussian(), 0.5, random_state=4),
    perturbed_scorer(FeatureDeletion(), 2),
]


@pytest.mark.parametrize("scorer", SCORERS, ids=repr)
def test_a_scorer_is_a_point_of_the_curve(scorer, rng):
    X, y = problem(rng)
    model = DropoutSVC().fit(X, y)
    curve = robustness_curve(
        model,
        *(X, y, scorer.perturb, [0, scorer.level]),
        scoring=scorer.scoring,
        n_repeats=scorer.n_repeats,
        random_state=scorer.random_state,
    )
    assert scorer(model, X, y) == curve.mean[0, 1] < curve.mean[0, 0]


@pytest.mark.parametrize("scorer", SCORERS, ids=repr)
def test_scorers_are_copied_and_say_what_they_are(scorer, rng):
    X, y = problem(rng)
    model = DropoutSVC().fit(X, y)
    for other in (clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert repr(other) == repr(scorer)
        assert other(model, X, y) == scorer(model, X, y)
    assert f"level={scorer.level}" in repr(scorer)


def test_a_search_equals_the_search_by_hand(rng):
    X, y = problem(rng)
    noises, scorer = [None, 0.3, 0.8], perturbed_scorer("delete", 0.5, n_repeats=5)
    folds = StratifiedKFold(3)
    search = GridSearchCV(DropoutSVC(), {"noise": noises}, scoring=scorer, cv=folds)
    search.fit(X, y)
    means = [
        np.mean(
            [
                scorer(DropoutSVC(noise).fit(X[a], y[a]), X[b], y[b])
                for a, b in folds.split(X, y)
            ]
        )
        for noise in noises
    ]
    assert np.allclose(search.cv_results_["mean_test_score"], means)
    assert search.best_params_ == {"noise": noises[int(np.argmax(means))]}
    again = clone(search).fit(X, y)
    assert np.array_equal(
        again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )


def test_the_default_score_suits_the_model(rng):
    X, y = problem(rng)
    target = X.sum(axis=1).round()  # integers, which do not make it a classifier
    model = LinearRegression().fit(X, target)
    untouched = perturbed_scorer("delete", 0.0)
    assert untouched(model, X, target) == pytest.approx(model.score(X, target))
    classifier = DropoutSVC().fit(X, y)
    assert untouched(classifier, X, y) == classifier.score(X, y)


def test_scorers_take_sparse_rows_and_pipelines(rng):
    X, y = problem(rng)
    sparse = sp.csr_array(X * (rng.random(X.shape) < 0.5))
    scores = cross_val_score(
        LogisticRegression(), sparse, y, scoring=perturbed_scorer("delete", 0.2)
    )
    assert np.all(scores > 0.4)
    pipeline = make_pipeline(StandardScaler(), DropoutSVC()).fit(X + 5, y)
    before, behind = (
        perturbed_scorer("delete", 0.3, n_repeats=10, space=space)(pipeline, X + 5, y)
        for space in ("input", "model")
    )
    assert behind > before


def test_what_is_wrong_is_said_at_the_call(rng):
    X, y = problem(rng)
    model = DropoutSVC().fit(X, y)
    with pytest.raises(ValueError, match="from 0 to 1; got 3"):
        perturbed_scorer("delete", 3)(model, X, y)
