"""Risk bounds: their arithmetic, their truth on simulated data, their assumptions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr

from noiseproof import RobustLPClassifier, RobustPerceptron
from noiseproof.attacks import FeatureDeletion
from noiseproof.bounds import (
    corruption_margin,
    kl_inverse,
    online_to_batch_risk,
    pac_bayes_risk,
)


@given(st.floats(0, 0.999), st.floats(1e-6, 5))
def test_inverse_of_the_divergence(empirical, divergence):
    epsilon = kl_inverse(empirical, divergence)
    assert empirical <= epsilon <= 1
    # the bound lies within 1e-10 of the place where the divergence is met
    for shift, sign in ((-1e-10, -1), (1e-10, 1)):
        near = epsilon + shift
        if empirical < near < 1:
            kl = rel_entr(empirical, near) + rel_entr(1 - empirical, 1 - near)
            assert sign * (kl - divergence) >= -1e-14


def test_inverse_at_the_ends():
    assert kl_inverse(0, 0.3) == pytest.approx(1 - np.exp(-0.3), abs=1e-15)
    assert kl_inverse(1, 0.3) == 1
    assert kl_inverse(0.3, 0) == 0.3
    for empirical in (0.0, 0.5, 1 - 1e-16, 1.0):
        assert kl_inverse(empirical, np.inf) == 1
        assert kl_inverse(empirical, 1e308) == 1
    with pytest.raises(ValueError, match="must not be negative; got nan"):
        kl_inverse(0.5, np.nan)


def sample(m, rng, d=5):
    X = rng.uniform(-1, 1, size=(m, d))
    return X, np.where(X.sum(axis=1) + 0.3 * rng.normal(size=m) > 0, 1, -1)


def test_pac_bayes_holds_on_fresh_data():
    rng = np.random.default_rng(0)
    X, y = sample(5000, rng)
    options = {"budget": 1, "margin": 0.4, "C": 1.0}
    model = RobustLPClassifier(**options, fit_intercept=False).fit(X, y)
    bound = pac_bayes_risk(model.coef_, X, y, **options)
    Z, t = sample(100_000, rng)
    margins = t * (Z @ model.coef_[0])
    risk = np.mean(margins - FeatureDeletion(1).margin_drop(Z, t, model.coef_) <= 0)
    assert risk <= bound.risk <= bound.explicit < 1
    assert bound.empirical <= bound.risk


def test_pac_bayes_arithmetic():
    X, y = np.eye(4)[[0, 1, 2, 3] * 5], np.array([1, -1] * 10)
    w = np.array([0.5, -0.5, 0.5, -0.5])
    bound = pac_bayes_risk(w, X, y, budget=1, margin=0.3, C=0.5, delta=0.1)
    volume = 4 * np.log(4 * 3 * 0.5 / 0.3)
    assert bound.complexity == pytest.approx((np.log(20 / 0.1) + volume) / 19)
    assert bound.empirical == 1.0  # the one feature of a row can be deleted
    lenient = pac_bayes_risk(w, X, y, budget=0, margin=0.3, C=0.5)
    assert lenient.empirical == 0.0


def test_no_feature_shortens_the_bound():
    """Where a feature is worth more than 4 P C / γ its logarithm must not count."""
    X, y = sample(50, np.random.default_rng(0))
    w = np.full(5, 0.001)
    bound = pac_bayes_risk(w, X, y, budget=0, margin=100.0, C=0.001)
    assert bound.complexity == pytest.approx(np.log(50 / 0.05) / 49)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"X": 2 * np.ones((10, 5))}, "between -1 and 1"),
        ({"coef": 2 * np.ones(5)}, "beyond C=1"),
        ({"coef": np.ones(4)}, "must have 5 weights"),
        ({"intercept": 0.1}, "without intercept"),
        ({"values": [0, 1, 1, 1, 1]}, "above zero"),
        ({"budget": 5}, "less than the total value"),
        ({"budget": -1}, "between 0 and the total"),
        ({"y": np.zeros(10)}, "-1 and 1"),
        ({"delta": 0}, "within"),
        ({"margin": 0}, "margin must be positive"),
        ({"X": np.ones((1, 5)), "y": [1]}, "at least 2 rows"),
    ],
)
def test_pac_bayes_checks_its_assumptions(change, sentence):
    given = {"coef": np.ones(5), "X": np.ones((10, 5)), "y": np.ones(10), "budget": 1}
    with pytest.raises(ValueError, match=sentence):
        pac_bayes_risk(**(given | change))


def test_online_to_batch_holds_on_fresh_data():
    rng = np.random.default_rng(0)
    X, y = sample(50_000, rng)
    options = {"budget": 1, "margin": 0.3, "C": 1.0}
    model = RobustPerceptron(**options, random_state=0).fit(X / 5, y)
    best = RobustLPClassifier(**options).fit(X[:2000] / 5, y[:2000])
    bound = online_to_batch_risk(1.1 * 0.3 * best.objective_, X / 5, **options)
    Z, t = sample(50_000, rng)
    margins = t * model.decision_function(Z / 5)
    drop = FeatureDeletion(1).margin_drop(Z / 5, t, model.coef_)
    assert np.mean(margins - drop <= 0) <= bound <= 1


def test_online_to_batch_arithmetic_and_assumptions():
    X = np.full((1_000_000, 2), 0.5)
    bound = online_to_batch_risk(0.1, X, budget=1, margin=0.5, C=2.0, delta=0.1)
    phi = 0.5 * 2 / 1
    expected = 0.1 + (6 + phi) * np.sqrt(2 * (3 + np.log(20)) / 1e6)
    assert bound == pytest.approx(expected / 0.5)
    with pytest.raises(ValueError, match="add up to at most 1"):
        online_to_batch_risk(0.1, np.ones((5, 2)), budget=1)
    with pytest.raises(ValueError, match="best_loss must not be negative"):
        online_to_batch_risk(-0.1, X[:5], budget=1)


def test_corruption_margin_is_provable_and_the_printed_one_is_not():
    """Two-valued noise on all N features is the worst that Hoeffding allows for."""
    rng = np.random.default_rng(0)
    N, epsilon = 25, 0.05
    noise = rng.choice([-1.0, 1.0], size=(200_000, N)).sum(axis=1)
    gamma = corruption_margin(N, C=1.0, epsilon=epsilon)
    assert np.mean(noise <= -gamma) <= epsilon
    assert np.mean(noise <= -gamma / 2) > epsilon
    assert gamma == pytest.approx(np.sqrt(2 * N * np.log(1 / epsilon)))
    with pytest.raises(ValueError, match="must not be negative"):
        corruption_margin(-1)
    with pytest.raises(ValueError, match="within"):
        corruption_margin(1, epsilon=1.5)
