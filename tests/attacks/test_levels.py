"""What attacks say about themselves: their strength, and the data of certificates."""

import numpy as np
import pytest
from allowed_sets import ALLOWED, D, every_attack
from sklearn.base import clone

from noiseproof.attacks import (
    ATTACKS,
    Attack,
    FeatureDeletion,
    FeatureScaling,
    ImageScale,
    NormBall,
)

STRENGTHS = {name: cls.level_name for name, cls in ATTACKS.items()}


def test_the_strength_is_a_parameter_or_there_is_none():
    for name, cls in ATTACKS.items():
        assert STRENGTHS[name] is None or STRENGTHS[name] in cls().get_params()
    assert STRENGTHS["norm-ball"] == "radius"
    assert STRENGTHS["union"] is None


@every_attack
def test_the_same_attack_at_another_strength(name):
    attack = ALLOWED[name].attack
    before = repr(attack)
    if STRENGTHS[name] is None:
        for ask in (
            lambda: attack.at(1),
            lambda: attack.default_levels(D),
            lambda: attack.level_label,
        ):
            with pytest.raises(ValueError, match="no parameter for its strength"):
                ask()
        return
    for level in attack.default_levels(D):
        other = clone(attack).set_params(**{STRENGTHS[name]: level})
        assert repr(attack.at(level)) == repr(other)
        assert repr(attack.at(np.float64(level))) == repr(other)
        attack.at(level).worst(np.ones((1, D)), [1], np.ones(D))
    assert repr(attack) == before
    assert attack.level_label == f"{STRENGTHS[name]} of {type(attack).__name__}"


@every_attack
@pytest.mark.parametrize("level", [-1, np.nan, np.inf, "much", None, [1]])
def test_no_attack_takes_an_illegal_strength(name, level):
    attack = ALLOWED[name].attack
    sentence = "must be (.* not negative|at least 0 and less than 1); got"
    if STRENGTHS[name] is None:
        sentence = "no parameter for its strength"
    with pytest.raises(ValueError, match=sentence):
        attack.at(level)


@every_attack
def test_without_strength_nothing_happens(name, rng):
    attack = ALLOWED[name].attack
    if attack.level_name is not None:
        X = rng.normal(size=(5, D))
        drop = attack.at(0).margin_drop(X, np.ones(5), rng.normal(size=D))
        np.testing.assert_array_equal(drop, 0)
        assert attack.default_levels(D)[0] == 0


def test_counts_are_whole_whatever_their_type():
    X, y, coef = np.ones((1, 9)), [1], np.arange(9.0)
    for k in (5, 5.0, np.float32(5), np.int64(5)):
        assert type(FeatureScaling().at(k).k) is int
        assert FeatureScaling(k).margin_drop(X, y, coef) == 8 + 7 + 6 + 5 + 4
    with pytest.raises(
        ValueError, match=r"whole number that is not negative; got 2\.5"
    ):
        FeatureScaling().at(2.5)
    with pytest.raises(
        ValueError, match=r"whole number that is not negative; got 2\.5"
    ):
        FeatureScaling(2.5).worst(X, y, coef)
    assert FeatureDeletion().at(2.5).budget == 2.5


def test_an_image_cannot_shrink_to_nothing():
    with pytest.raises(ValueError, match="at least 0 and less than 1; got 1"):
        ImageScale().at(1)


def test_levels_follow_the_features():
    assert FeatureScaling().default_levels(100) == (0, 1, 2, 5, 10, 20, 50)
    assert FeatureDeletion().default_levels(10) == (0, 1, 2, 5)
    levels = FeatureDeletion(values=[1, 3]).default_levels(2)
    assert levels == pytest.approx((0, 0.04, 0.08, 0.2, 0.4, 0.8, 2))


def test_what_certificates_need():
    families = {name: cls.smallest_change for name, cls in ATTACKS.items()}
    named = {name: family for name, family in families.items() if family}
    assert named == {
        "feature-deletion": "deletion",
        "feature-scaling": "deletion",
        "norm-ball": "norm",
    }
    assert FeatureDeletion(values=[1, 3]).certificate_values(2).tolist() == [1, 3]
    assert FeatureDeletion().certificate_factors == (0, 1)
    assert FeatureScaling().certificate_values(2).tolist() == [1, 1]
    assert FeatureScaling(1, 0.5, 4).certificate_factors == (0.5, 4)
    assert NormBall(ord=1).ord == 1
    with pytest.raises(ValueError, match="one number for each of the 3 features"):
        FeatureDeletion(values=[1, 3]).certificate_values(3)
    with pytest.raises(ValueError, match="low must not exceed high"):
        FeatureScaling(1, 2, 1).certificate_factors  # noqa: B018


def test_an_attack_of_ones_own_names_its_strength():
    class Fog(Attack):
        level_name = "thickness"

        def __init__(self, thickness=1.0):
            self.thickness = thickness

        def candidates(self, x):
            return np.stack([x, x * (1 - self.thickness)])

    assert Fog().at(0.25).thickness == 0.25
    assert Fog().level_label == "thickness of Fog"
    assert Fog.smallest_change is None
