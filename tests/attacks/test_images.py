"""Image attacks against SciPy's own transforms, and unions of attacks."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import ndimage

from noiseproof.attacks import (
    Attack,
    FeatureDeletion,
    ImageRotation,
    ImageScale,
    ImageShear,
    ImageShift,
    NormBall,
    Union,
    digit_invariances,
)

SHAPE = (7, 5)


def transformed(image, forward, shift=(0, 0)):
    """The image by SciPy: `forward` acts on places around the centre."""
    centre = (np.array(image.shape) - 1) / 2
    inverse = np.linalg.inv(forward)
    offset = centre - inverse @ (centre + shift)
    return ndimage.affine_transform(
        image, inverse, offset, order=1, mode="grid-constant"
    ).ravel()


def assert_same_set(ways, expected):
    assert len(ways) == len(expected)
    for way in expected:
        assert np.abs(ways - way).max(axis=1).min() < 1e-12


def turn(degrees):
    a = np.deg2rad(degrees)
    return [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]


def test_shifts(rng):
    image = rng.random(SHAPE)
    steps = [(a, b) for a in (-1.3, 0, 1.3) for b in (-1.3, 0, 1.3)]
    expected = [transformed(image, np.eye(2), step) for step in steps]
    attack = ImageShift(1.3, directions=8, shape=SHAPE)
    assert_same_set(attack.candidates(image.ravel()), expected)
    straight = [transformed(image, np.eye(2), s) for s in steps if 0 in s]
    assert_same_set(ImageShift(1.3, shape=SHAPE).candidates(image.ravel()), straight)


def test_rotations(rng):
    image = rng.random(SHAPE)
    expected = [transformed(image, turn(a)) for a in (0, 10, -10, 25, -25)]
    attack = ImageRotation([10, 25], shape=SHAPE)
    assert_same_set(attack.candidates(image.ravel()), expected)


def test_scales(rng):
    image = rng.random(SHAPE)
    expected = [transformed(image, f * np.eye(2)) for f in (1, 0.85, 1.15)]
    assert_same_set(ImageScale(shape=SHAPE).candidates(image.ravel()), expected)


def test_shears(rng):
    image = rng.random(SHAPE)
    slants = [np.eye(2)]
    for a in (-0.3, 0.3):
        slants += [np.array([[1, a], [0, 1]]), np.array([[1, 0], [a, 1]])]
    expected = [transformed(image, A) for A in slants]
    assert_same_set(ImageShear(0.3, shape=SHAPE).candidates(image.ravel()), expected)


def test_the_twenty_invariances_of_digits(rng):
    image = rng.random((28, 28))
    expected = [image.ravel()]
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            if (a, b) != (0, 0):
                expected.append(transformed(image, np.eye(2), (2 * a, 2 * b)))
            if (a == 0) != (b == 0):
                expected.append(transformed(image, np.eye(2), (a, b)))
    for sign in (-1, 1):
        expected.append(transformed(image, turn(10 * sign)))
        expected.append(transformed(image, (1 + 0.15 * sign) * np.eye(2)))
        expected.append(transformed(image, [[1, 0.15 * sign], [0, 1]]))
        expected.append(transformed(image, [[1, 0], [0.15 * sign, 1]]))
    assert len(expected) == 21
    assert_same_set(digit_invariances().candidates(image.ravel()), expected)
    assert digit_invariances((14, 56)).candidates(image.ravel()).shape == (21, 784)


def test_worst_image_is_the_worst_candidate(rng):
    X, y = rng.random((8, 16)), rng.integers(3, size=8)
    coef, b = rng.normal(size=(3, 16)), rng.normal(size=3)
    attack = digit_invariances()
    worst = attack.worst(X, y, coef, b)
    for x, label, changed in zip(X, y, worst, strict=True):
        scores = np.vstack([attack.candidates(x), changed]) @ coef.T + b
        margins = scores[:, label] - np.delete(scores, label, axis=1).max(axis=1)
        assert margins[-1] == pytest.approx(margins[:-1].min(), abs=1e-12)


@pytest.mark.parametrize(
    ("attack", "sentence"),
    [
        (ImageShift(), "Rows of 6 features are not square images"),
        (ImageRotation(shape=(2, 4)), r"shape=\(2, 4\) must be .* with 6 pixels"),
        (ImageRotation(shape=(6,)), r"shape=\(6,\) must be"),
        (ImageShift(directions=5, shape=(2, 3)), "directions must be 4 or 8; got 5"),
        (ImageShift(-1, shape=(2, 3)), "ImageShift.pixels must be finite and not neg"),
        (ImageRotation(np.inf, shape=(2, 3)), "ImageRotation.degrees must be finite"),
        (ImageScale(1, shape=(2, 3)), "ImageScale.amount must be less than 1; got 1"),
        (ImageShear(np.nan, shape=(2, 3)), "ImageShear.amount must be finite"),
    ],
)
def test_bad_parameters_give_one_sentence(attack, sentence):
    with pytest.raises(ValueError, match=sentence):
        attack.worst(np.ones((1, 6)), [1], np.ones(6))
    with pytest.raises(ValueError, match=sentence):
        attack.candidates(np.ones(6))


class Backwards(Attack):
    """Forgets to list the row itself first."""

    def candidates(self, x):
        return np.stack([x[::-1], x])


class Parts(Attack):
    """Rows differ in the number of their candidates."""

    def candidates(self, x):
        return np.vstack([x, np.diag(x)[x != 0]])


def test_union_of_finite_attacks_lists_each_row_once(rng):
    x = rng.random(4)
    both = Union([ImageShift(), ImageRotation(), Parts()])
    assert both.is_finite
    expected = [
        x[None],
        ImageShift().candidates(x)[1:],
        ImageRotation().candidates(x)[1:],
        Parts().candidates(x)[1:],
    ]
    np.testing.assert_array_equal(both.candidates(x), np.vstack(expected))
    X = np.array([[1.0, 2, 3, 4], [0, 0, 0, 5]])
    np.testing.assert_array_equal(both.copies(X)[1], [0] * 11 + [1] * 8)


def test_union_takes_the_worst_of_its_members(rng):
    X, y, coef = rng.random((60, 9)), rng.integers(3, size=60), rng.normal(size=(3, 9))
    members = [FeatureDeletion(1), NormBall(0.2), ImageShift(0.8)]
    both = Union(members)
    assert not both.is_finite
    drops = [member.margin_drop(X, y, coef) for member in members]
    np.testing.assert_allclose(both.margin_drop(X, y, coef), np.max(drops, axis=0))
    best = np.argmax(drops, axis=0)
    assert set(best) == {0, 1, 2}
    rows = [members[j].worst(X, y, coef)[i] for i, j in enumerate(best)]
    np.testing.assert_allclose(both.worst(X, y, coef), rows)
    sparse = both.worst(sp.csr_matrix(X), y, coef)
    np.testing.assert_allclose(sparse.toarray(), rows, atol=1e-12)


def test_union_says_what_its_members_must_be():
    with pytest.raises(TypeError, match="derived from Attack; got str"):
        Union(["shift"]).worst(np.ones((1, 2)), [1], np.ones(2))
    with pytest.raises(ValueError, match="the row itself as its first candidate"):
        Union([Backwards()]).candidates(np.arange(3.0))
    with pytest.raises(NotImplementedError, match="NormBall lists no candidates"):
        Union([NormBall()]).candidates(np.arange(3.0))
