"""Contests: the same damage for all, costs, ties, and contenders that fail."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

from noiseproof import DropoutLogisticRegression, DropoutRidge
from noiseproof.evaluation import Contest, contest
from noiseproof.noise import Gaussian

SEEN: dict = {}


class Counts(ClassifierMixin, BaseEstimator):
    """Says "many" if it sees at least so many cells; keeps what it was shown."""

    def __init__(self, cells=2, name="one"):
        self.cells = cells
        self.name = name

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        SEEN.setdefault(self.name, []).append(np.array(X, dtype=float))
        there = np.sum(~np.isnan(np.asarray(X, dtype=float)), axis=1)
        return np.where(there >= self.cells, "many", "few")


class Fails(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("no disk left")


class FailsLater(Counts):
    def predict(self, X):
        raise ValueError("X contains NaN")


@pytest.fixture
def rows(rng):
    return rng.normal(size=(60, 4)), np.repeat(["many", "few"], 30)


@pytest.mark.parametrize("seed", [0, None, np.random.RandomState(0)])
def test_all_contenders_see_the_same_cells_gone(seed, rows):
    SEEN.clear()
    both = {"a": Counts(2, "a"), "b": Counts(3, "b")}
    contest(both, *rows, "missing", 0.4, cv=3, n_repeats=2, random_state=seed)
    assert len(SEEN["a"]) == len(SEEN["b"]) >= 3 * 2
    for a, b in zip(SEEN["a"], SEEN["b"], strict=True):
        np.testing.assert_array_equal(a, b)
    gone = np.concatenate([np.isnan(a).mean(axis=1) for a in SEEN["a"]])
    assert 0 < gone.mean() < 0.4  # clean rows among them


def test_each_contender_predicts_once_in_a_fold(rows):
    SEEN.clear()
    options = {"cv": 3, "n_repeats": 4, "random_state": 0}
    found = contest({"a": Counts(3, "a")}, *rows, "missing", 0.4, **options)
    shown = [len(X) for X in SEEN["a"]]  # two rows tell whether NaN is refused
    assert shown == 3 * [2, 20 + 4 * 20]
    again = contest(
        {"a": Counts(3, "a")}, *rows, "missing", 0.4, scoring="accuracy", **options
    )  # a scorer is asked draw by draw
    np.testing.assert_array_equal(found.perturbed, again.perturbed)
    np.testing.assert_array_equal(found.clean, again.clean)


def test_rows_may_be_a_list(rows):
    X, y = rows
    models, options = {"a": Counts(3)}, {"cv": 2, "random_state": 0}
    listed = contest(models, X.tolist(), y, "missing", 0.4, **options)
    found = contest(models, X, y, "missing", 0.4, **options)
    np.testing.assert_array_equal(listed.perturbed, found.perturbed)


def test_a_case_by_hand(rows):
    """Everything missing: "few" for all rows, and right for half of them."""
    X, y = rows
    found = contest({"two": Counts(2), "none": Counts(0)}, X, y, "missing", 1.0, cv=3)
    np.testing.assert_allclose(found.perturbed, 0.5)  # "few" or "many" for all rows
    np.testing.assert_allclose(found.clean, 0.5)
    assert found.best == "two"  # the first of equals
    assert found.within_one_error == ["none"]
    assert found.expected == "100% of values missing (NaN)"
    assert found.verdict == (
        "two is best under 100% of values missing (NaN): accuracy 0.500, "
        "0.500 on clean rows. Within one standard error of the best: none (0.500)."
    )


def made(perturbed):
    perturbed = np.array(perturbed)
    names = tuple("abc"[: len(perturbed)])
    zero = np.zeros(len(names))
    return Contest(
        names, perturbed, perturbed, zero, zero, {}, "30% of cells missing", "accuracy",
        100,
    )  # fmt: skip


def test_who_is_within_one_standard_error_of_the_best():
    """By hand: the best has 0.85 ± 0.0289 in the first case."""
    found = made([[0.9, 0.8, 0.9, 0.8], [0.8, 0.7, 0.8, 0.7], [0.8, 0.9, 0.8, 0.8]])
    assert found.best == "a"
    assert found.within_one_error == ["c"]
    assert found.verdict.endswith("Within one standard error of the best: c (0.825).")
    assert made([[0.9], [0.9]]).within_one_error == []  # one fold has no error


def test_the_verdict_says_what_the_printed_table_says(rng):
    """Read from the table: who is listed, and that no better one is left out."""
    for _ in range(100):
        found = made(rng.normal(0.7, 0.02, size=(3, 5)) + rng.normal(0, 0.01, (3, 1)))
        lines = [line.split() for line in repr(found).splitlines()[4:]]
        score = {line[0]: round(1000 * float(line[1])) for line in lines}
        error = {line[0]: round(1000 * float(line[2])) for line in lines}
        assert score[found.best] == max(score.values())
        least = score[found.best] - error[found.best]
        near = [n for n in score if score[n] >= least and n != found.best]
        assert found.within_one_error == near
        for name in near:
            assert f"{name} (0.{score[name]})" in found.verdict


def test_a_blend_that_is_not_the_best_is_taken_if_it_is_near():
    two = [[0.9, 0.8, 0.9, 0.8], [0.8, 0.9, 0.8, 0.8]]
    names = {"contenders": ("a", "blend"), "weights": {"a": 0.7, "b": 0.3}}
    found = replace(made(two), **names)
    assert found.choice == "blend"
    assert found.verdict == (
        "blend is taken under 30% of cells missing: accuracy 0.825, 0.825 on clean "
        "rows. It is within one standard error of the best, a (0.850). It is made of "
        "a (70%), b (30%)."
    )
    assert replace(found, perturbed=found.perturbed - [[0], [0.1]]).choice == "a"


class Shows(Counts):
    """Right about the rows whose first column is at most `limit`; counts its fits."""

    def __init__(self, limit=0.0, name="one"):
        self.limit = limit
        self.name = name

    def fit(self, X, y):
        SEEN[self.name] = SEEN.get(self.name, 0) + 1
        return super().fit(X, y)

    def predict(self, X):
        return np.where((X[:, 1] > 0) == (X[:, 0] <= self.limit), "many", "few")


def test_those_clearly_behind_after_two_folds_are_dropped(rng):
    """Three standard errors of paired differences, computed here from the rows."""
    X = np.column_stack([rng.random(200), rng.normal(size=200)])
    y = np.where(X[:, 1] > 0, "many", "few")
    folds = list(KFold(4).split(X))
    limits = {"best": 0.9, "near": 0.85, "far": 0.5}
    models = {name: Shows(limit, name) for name, limit in limits.items()}
    options = {"cv": folds, "n_repeats": 1, "drop": True}
    SEEN.clear()
    found = contest(models, X, y, Gaussian(), 0.0, **options)
    first = np.concatenate([test for _, test in folds[:2]])
    wrong = {name: X[first, 0] > limit for name, limit in limits.items()}
    behind = []
    for name in limits:
        gaps = wrong[name].astype(float) - wrong["best"]
        if gaps.mean() > 3 * gaps.std(ddof=1) / np.sqrt(len(first)):
            behind.append(name)
    assert found.dropped == behind == ["far"]
    assert SEEN == {"best": 4, "near": 4, "far": 2}
    assert np.isnan(found.perturbed[2, 2:]).all()
    score = 1 - wrong["far"].mean()
    assert found.means["far"][0] == pytest.approx(score)
    assert f"Clearly behind after two folds (*): far ({score:.3f})." in found.verdict
    assert "far" not in found.within_one_error
    whole = contest(models, X, y, Gaussian(), 0.0, **(options | {"drop": False}))
    assert not whole.dropped
    np.testing.assert_array_equal(whole.perturbed[:2], found.perturbed[:2])


def test_means_over_two_folds_are_marked():
    """Numbers of contenders that were dropped come from fewer rows."""
    found = made([[0.9, 0.8, 0.7, 0.8], [0.6, 0.5, np.nan, np.nan]])
    kept, gone = found.contenders
    assert found.to_dict()["folds"] == [4, 2]
    assert found.printed["contender"] == [kept, f"{gone} *"]
    assert f"\n{gone} *" in repr(found)
    assert f"Clearly behind after two folds (*): {gone} (0.550)." in found.verdict


def test_a_sample_is_called_one():
    found = replace(made([[0.9, 0.8]]), n_rows=20_000, sampled_from=45_312)
    assert repr(found).splitlines()[1] == "2 folds of 20,000 of 45,312 rows"


def test_failures_are_named(rows):
    contenders = {"bad": Fails(), "good": Counts(), "late": FailsLater()}
    found = contest(contenders, *rows, "missing", 0.5, cv=3)
    assert found.contenders == ("good",)
    assert found.failed.keys() == {"bad", "late"}
    assert found.failed["bad"] == "RuntimeError: no disk left"
    assert found.failed["late"] == "ValueError: X contains NaN"
    assert found.verdict.endswith(
        "Failed: bad (RuntimeError: no disk left); late (ValueError: X contains NaN)."
    )
    with pytest.raises(ValueError, match="could be evaluated: no disk left"):
        contest({"bad": Fails()}, *rows, "missing", 0.5, cv=3)


def test_contenders_that_were_not_tried_are_named_with_the_reason():
    few, many = "more than 8 patterns", "more than 3,000 rows"
    others = {"knn": many, "reduced": few, "kernel": many}
    assert replace(made([[0.9, 0.8]]), left_out=others).verdict.endswith(
        "Not tried: knn, kernel (more than 3,000 rows); reduced (more than 8 patterns)."
    )
    assert "Not tried" not in made([[0.9, 0.8]]).verdict


def test_bad_input_gets_one_sentence_before_any_work(rows):
    X, y = rows
    model = {"bad": Fails()}
    with pytest.raises(ValueError, match="at least one contender"):
        contest({}, X, y, "missing", 0.5)
    with pytest.raises(ValueError, match="levels are probabilities"):
        contest(model, X, y, "missing", 5)
    with pytest.raises(ValueError, match="perturb must be one of"):
        contest(model, X, y, "lost", 0.5)
    with pytest.raises(ValueError, match="at least 2 folds"):
        contest(model, X, y, "missing", 0.5, cv=1)
    with pytest.raises(TypeError, match="replace every zero of a sparse"):
        contest(model, csr_array(X), y, Gaussian(), 0.5)


def test_the_robust_one_wins_and_the_same_again():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    contenders = {
        "plain": LogisticRegression(C=10.0, max_iter=1000),
        "dropout": DropoutLogisticRegression(0.3),
        "guess": DummyClassifier(),
    }
    ticks = []
    found = contest(
        contenders, X, y, "delete", 0.5, cv=3,
        progress=lambda done, total: ticks.append((done, total)),
    )  # fmt: skip
    assert found.best == "dropout"
    assert "guess" not in found.within_one_error
    assert found.expected == "50% of values replaced by zero (the model is not told)"
    assert ticks == [(i + 1, 9) for i in range(9)]
    assert np.all(found.fit_seconds > 0)
    assert np.all(found.predict_seconds > 0)
    again = contest(contenders, X, y, "delete", 0.5, cv=3, progress=False)
    np.testing.assert_array_equal(found.perturbed, again.perturbed)
    other = contest(contenders, X, y, "delete", 0.5, cv=3, random_state=1)
    assert np.any(found.perturbed != other.perturbed)
    assert list(found.to_frame().columns[:2]) == ["contender", "perturbed"]
    assert max(map(len, repr(found).splitlines())) <= 80
    # the best is on top
    assert repr(found).splitlines()[4].startswith("dropout")


def test_regression_frames_with_text_and_csr(rng):
    X = rng.normal(size=(80, 3))
    y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=80)
    models = {"ridge": Ridge(), "dropout": DropoutRidge(0.2)}
    found = contest(models, X, y, Gaussian(), 0.5, cv=4)
    assert found.metric == "r2"
    assert found.expected == "scale of Gaussian noise = 0.5"
    sparse = contest(models, csr_array(X), y, "delete", 0.3, cv=4)
    dense = contest(models, X, y, "delete", 0.3, cv=4)
    np.testing.assert_allclose(sparse.clean, dense.clean, atol=1e-4)
    frame = pd.DataFrame({"word": np.where(y > 0, "up", "down")}).astype("category")
    trees = HistGradientBoostingClassifier(
        max_iter=3, categorical_features="from_dtype"
    )
    up = contest({"trees": trees}, frame, y > 0, "missing", 0.5, cv=3)
    assert np.all(up.clean == 1)
    assert up.perturbed.mean() < 0.95


class Mean(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_rows_in_order_of_their_target_are_mixed():
    y = np.arange(30.0)
    found = contest({"mean": Mean()}, y[:, None], y, "missing", 0.5, cv=3)
    assert found.clean.min() > -0.5  # folds in order give -6 for the first and last
