"""The robust linear program and the Perceptron against the loss of whole groups."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from forged import refusal

import noiseproof
from noiseproof import InvariantSVC, RobustLPClassifier, RobustPerceptron
from noiseproof.attacks import FeatureDeletion

GROUPS = [[0, 3], [1, 4, 6], [2], [5]]
LABELS = np.array([0, 1, 2, 0, 1, 3, 1])


def _data(rng, n=25):
    X = rng.normal(size=(n, 7)) * (rng.random((n, 7)) < 0.8)
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > 0, 1, -1)
    return X, y


def _minimum(X, y, budget, margin, C):
    """Every set of groups that may be left is a constraint of its own, eq. (3)."""
    n, d = X.shape
    w, b, xi = cp.Variable(d), cp.Variable(), cp.Variable(n)
    constraints = [xi >= 0, cp.abs(w) <= C]
    for size in range(budget + 1):
        for gone in combinations(range(4), size):
            kept = np.where(np.isin(LABELS, gone), 0.0, X)
            asked = margin * (4 - size) / (4 - budget)
            constraints.append(cp.multiply(y, kept @ w + b) >= asked - xi)
    problem = cp.Problem(cp.Minimize(cp.sum(xi) / (n * margin)), constraints)
    return problem.solve(solver="CLARABEL")


@pytest.mark.parametrize("budget", [0, 1, 2, 3])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_linear_program_is_that_of_all_subsets(budget, container, rng):
    X, y = _data(rng)
    model = RobustLPClassifier(budget, groups=GROUPS, margin=0.7, C=0.9)
    model.fit(container(X), y)
    best = _minimum(X, y, budget, 0.7, 0.9)
    assert model.objective_ == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert -1e-9 <= model.gap_ <= 1e-6 * model.objective_


def test_groups_of_one_are_features(rng):
    X, y = _data(rng)
    values = rng.uniform(0.5, 2, 7)
    for v in (None, values):
        plain = RobustLPClassifier(2, feature_values=v).fit(X, y)
        alone = RobustLPClassifier(2, feature_values=v, groups=list("abcdefg"))
        assert alone.fit(X, y).objective_ == pytest.approx(plain.objective_, rel=1e-5)
        plain = RobustPerceptron(2, feature_values=v, random_state=0).fit(X, y)
        alone = RobustPerceptron(
            2, feature_values=v, groups=list("abcdefg"), random_state=0
        )
        np.testing.assert_allclose(alone.fit(X, y).coef_, plain.coef_, rtol=1e-12)


def test_perceptron_follows_the_paper_with_groups(rng):
    """The same learner, naively: the worst set of groups is found by trying all."""
    X, y = _data(rng, 60)
    budget, margin, C = 1, 1.0, 0.8
    model = RobustPerceptron(budget, groups=GROUPS, C=C, shuffle=False).fit(X, y)
    w, b, total, loss_sum = np.zeros(7), 0.0, np.zeros(8), 0.0
    tau = C * np.sqrt(8 / (2 * len(X)))
    for x, sign in zip(X, y, strict=True):
        total += np.r_[w, b]
        losses = {}
        for size in range(budget + 1):
            for gone in combinations(range(4), size):
                kept = np.where(np.isin(LABELS, gone), 0.0, x)
                asked = margin * (4 - size) / (4 - budget)
                losses[gone] = asked - sign * (w @ kept + b)
        gone = max(losses, key=losses.get)
        if losses[gone] > 0:
            loss_sum += losses[gone]
            kept = np.where(np.isin(LABELS, gone), 0.0, x)
            w = np.clip(w + tau * sign * kept, -C, C)
            b = np.clip(b + tau * sign, -C, C)
    assert model.online_loss_[0] == pytest.approx(loss_sum / len(X), rel=1e-10)
    np.testing.assert_allclose(model.coef_[0], total[:7] / len(X), rtol=1e-10)


def test_values_of_groups(rng):
    X, y = _data(rng)
    model = RobustLPClassifier(feature_values="mutual_info", groups=GROUPS).fit(X, y)
    assert model.feature_values_.shape == (4,)
    assert model.feature_values_.sum() == pytest.approx(7)
    for cls in (RobustLPClassifier, RobustPerceptron):
        with pytest.raises(
            ValueError, match="Group values must be one number for each of the 4 groups"
        ):
            cls(1, feature_values=np.ones(7), groups=GROUPS).fit(X, y)
        with pytest.raises(ValueError, match="total value of the groups, 4"):
            cls(4, groups=GROUPS).fit(X, y)
        with pytest.raises(ValueError, match="Feature 1 is in the groups"):
            cls(1, groups=[[0, 1], [1]]).fit(X, y)


def test_the_other_trainer_takes_the_attack(rng):
    X, y = _data(rng, 60)
    attack = FeatureDeletion(1, groups=GROUPS)
    plain, robust = InvariantSVC().fit(X, y), InvariantSVC(attack).fit(X, y)

    def worst(model):
        W = model.coef_ if len(model.coef_) == 1 else model.coef_[1:] - model.coef_[:1]
        drop = attack.margin_drop(X, y, W[0])
        return np.maximum(0, 1 - (y * (X @ W[0]) - drop)).mean()

    assert worst(robust) < worst(plain)


def test_files_with_groups(rng, tmp_path):
    X, y = _data(rng)
    model = RobustPerceptron(1, groups=GROUPS, random_state=0).fit(X, y)
    noiseproof.save(model, tmp_path / "model.npf")
    again = noiseproof.load(tmp_path / "model.npf")
    np.testing.assert_array_equal(
        again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_
    )
    for wrong in (LABELS + 1, LABELS - 1, LABELS[:-1], LABELS.astype(float)):
        model._labels = wrong
        assert "_labels of its RobustPerceptron does" in refusal(model, tmp_path)
