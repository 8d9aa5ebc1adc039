"""A new attack needs a class and a line in the registry, and nothing else knows it."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from toy_members import Swap

from noiseproof import InvariantSVC
from noiseproof.attacks import ATTACKS, Attack, FeatureScaling
from noiseproof.evaluation import certify, robustness_curve


class Dimming(Attack):
    """Up to `count` features of a row fade to half of what they are."""

    level_name = "count"
    level_is_count = True
    smallest_change = "deletion"
    certificate_factors = (0.5, 1.0)

    def __init__(self, count=1):
        self.count = count

    def worst(self, X, y, coef, intercept=None):
        """For two classes: weights of one against the other, or of each."""
        X, w, sign = np.asarray(X), np.ravel(coef), np.asarray(y)
        if len(w) > X.shape[1]:
            w, sign = coef[1] - coef[0], 2 * sign - 1
        gains = sign[:, None] * X * w
        places = np.argsort(-gains, axis=1)[:, : self.count]
        chosen = np.zeros(X.shape, dtype=bool)
        np.put_along_axis(chosen, places, True, axis=1)
        return np.where(chosen & (gains > 0), X / 2, X)


@pytest.fixture(params=["dimming", "swap"])
def attack(request, monkeypatch):
    monkeypatch.setitem(ATTACKS, "dimming", Dimming)
    monkeypatch.setitem(ATTACKS, "swap", Swap)
    return ATTACKS[request.param]()


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(60, 5)) + 1
    return X, (X @ [1.0, 2, -1, 1, 0.5] > 3).astype(int)


def test_training(attack, problem):
    X, y = problem
    model = InvariantSVC(attack).fit(X, y)
    plain = InvariantSVC(FeatureScaling(0)).fit(X, y)
    assert model.objective_ > plain.objective_
    signs = 2 * y - 1
    lost = {}
    for name, fitted in (("robust", model), ("plain", plain)):
        margins = signs * fitted.decision_function(X)
        lost[name] = margins - attack.margin_drop(X, signs, fitted.coef_)
    assert (
        np.maximum(0, 1 - lost["robust"]).sum() < np.maximum(0, 1 - lost["plain"]).sum()
    )


def test_curves(attack, problem):
    X, y = problem
    model = LogisticRegression().fit(X, y)
    if attack.level_name is None:
        with pytest.raises(ValueError, match="no parameter for its strength"):
            robustness_curve(model, X, y, attack, [0, 1])
        return
    curve = robustness_curve(model, X, y, attack, [0, 1.0, 5])
    expected = robustness_curve(model, X, y, FeatureScaling(1, 0.5, 1), [0, 1, 5])
    assert curve.label == "count of Dimming"
    np.testing.assert_array_equal(curve.scores, expected.scores)


def test_levels_are_checked_by_the_attack(problem):
    X, y = problem
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"count must be a whole number .* got 2\.5"):
        robustness_curve(model, X, y, Dimming(), [2.5])


def test_certificates(attack, problem):
    X, y = problem
    model = LogisticRegression().fit(X, y)
    if attack.smallest_change is None:
        with pytest.raises(
            TypeError, match=r"certify needs an attack .* smallest_change; got Swap"
        ):
            certify(model, X, y, attack=attack)
        return
    found = certify(model, X[:10], y[:10], attack=attack).budget
    for x, budget in zip(X, found, strict=False):
        needed = [
            len(dimmed)
            for size in range(6)
            for dimmed in itertools.combinations(range(5), size)
            if model.predict([np.where(np.isin(range(5), dimmed), x / 2, x)])
            != model.predict([x])
        ]
        assert budget == min(needed, default=np.inf)
